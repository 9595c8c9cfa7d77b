// kernelc: OpenCL C in, facts and rewritten sources out. Not for people: `heddle analyze` is.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/kernelc/answer.hpp"
#include "tools/kernelc/serve.hpp"

namespace {

constexpr const char* usage =
    "Usage: kernelc [--memory BYTES] [--seconds N] [--serve DESCRIPTOR]\n"
    "Answers the JSON request on standard input, or all those that come over a socket (docs/kernelc.md).\n";

}  // namespace

int main(int argc, char** argv) {
  using namespace heddle::kernelc;
  int socket = -1;
  unsigned seconds = 0;
  for (int i = 1; i < argc; ++i) {
    const bool more = i + 1 < argc;
    if (more && std::strcmp(argv[i], "--serve") == 0)
      socket = std::atoi(argv[++i]);
    else if (more && std::strcmp(argv[i], "--seconds") == 0)
      seconds = static_cast<unsigned>(std::atoi(argv[++i]));
    else if (more && std::strcmp(argv[i], "--memory") == 0)
      limit_memory(std::strtoull(argv[++i], nullptr, 10));
    else
      return std::fputs(usage, std::strcmp(argv[i], "--help") == 0 ? stdout : stderr),
             std::strcmp(argv[i], "--help") == 0 ? 0 : 2;
  }
  // A source that crashes the compiler is no event worth a core file in somebody's folder.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // The host's folder may be gone, which LLVM does not survive; requests say where theirs is.
  if (::chdir("/") != 0) return 1;
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGALRM, SIG_DFL);
  if (socket >= 0) return serve(socket, seconds);
  const std::string request(std::istreambuf_iterator<char>(std::cin), {});
  std::cout << answer(request) << "\n";
  return std::cout.flush() ? 0 : 1;
}

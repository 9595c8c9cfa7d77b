// prove [--seconds N] LIBRARY: tries an OpenCL driver in a process that may crash or hang, and says what happened: a
// line per device, and a last one about the end. Exit code 0 whatever the driver did.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/trial.hpp"
#include "process/mortal.hpp"

namespace {

double now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void put(int to, const std::string& line) {
  const std::string all = line + "\n";
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t wrote = ::write(to, all.data() + done, all.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

// The process that may die.
[[noreturn]] void try_it(const std::string& library, int to, pid_t parent) {
  heddle::process::become_mortal(parent);
  ::setenv("HEDDLE_PROVE", "off", 1);  // Heddle's own driver under another name would prove those below it
  try {
    heddle::device::try_driver(library, [&](const std::string& line) { put(to, line); });
  } catch (const std::exception& error) {
    put(to, std::string("failed\t") + error.what());
  }
  put(to, "done");
  ::_exit(0);  // no handler of the driver's may spoil it
}

}  // namespace

int main(int count, char** words) {
  double limit = 10;
  int first = 1;
  if (count == 4 && std::string(words[1]) == "--seconds") limit = std::atof(words[2]), first = 3;
  if (first != count - 1 || limit <= 0) {
    std::fprintf(stderr, "Usage: prove [--seconds N] LIBRARY\n");
    return 2;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return 1;
  const double end = now() + limit;
  const pid_t self = ::getpid(), child = ::fork();
  if (child < 0) return 1;
  if (child == 0) {
    ::close(ends[0]);
    try_it(words[first], ends[1], self);
  }
  ::close(ends[1]);
  std::string said;
  bool open = true;
  while (open && now() < end) {
    pollfd one{ends[0], POLLIN, 0};
    if (::poll(&one, 1, static_cast<int>(1000 * (end - now())) + 1) <= 0) continue;
    char bytes[4096];
    const ssize_t got = ::read(ends[0], bytes, sizeof bytes);
    if (got > 0) said.append(bytes, static_cast<std::size_t>(got));
    open = got > 0 || (got < 0 && errno == EINTR);
    if (said.find("\ndone\n") != std::string::npos || said == "done\n") open = false;  // what it started may go on
  }
  const bool hung = open;
  if (hung) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::fputs(said.c_str(), stdout);
  if (hung)
    std::printf("hung\t%g s\n", limit);
  else if (WIFSIGNALED(status))
    std::printf("%s\tSIG%s\n", heddle::process::is_crash(WTERMSIG(status)) ? "crashed" : "killed",
                ::sigabbrev_np(WTERMSIG(status)));
  else if (said.size() < 5 || said.compare(said.size() - 5, 5, "done\n") != 0)
    std::printf("exited\texit code %d\n", WEXITSTATUS(status));
  std::fflush(stdout);
  ::_exit(0);  // who waits for the end of it need not wait for a leak checker
}

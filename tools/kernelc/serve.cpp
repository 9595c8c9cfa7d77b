// The loop of a resident kernel compiler, and its limits.
#include "tools/kernelc/serve.hpp"

#include <array>
#include <cerrno>
#include <string>

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/kernelc/answer.hpp"

namespace heddle::kernelc {

namespace {

constexpr std::uint32_t longest_message = 64u << 20;
constexpr int idle_limit_ms = 300'000;  // starting again costs the client 30 ms

bool read_all(int from, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(from, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got, size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int to, const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::write(to, from, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from += put, size -= static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace

int serve(int socket, unsigned seconds) {
  for (;;) {
    // A process that forked may hold the other end open for ever, without ever asking.
    pollfd idle{socket, POLLIN, 0};
    if (::poll(&idle, 1, idle_limit_ms) == 0) return 0;
    std::array<unsigned char, 4> head;
    if (!read_all(socket, reinterpret_cast<char*>(head.data()), head.size())) return 0;
    const std::uint32_t size = head[0] | head[1] << 8 | head[2] << 16 | static_cast<std::uint32_t>(head[3]) << 24;
    if (size > longest_message) return 1;
    std::string request(size, '\0');
    if (!read_all(socket, request.data(), size)) return 1;
    ::alarm(seconds);  // SIGALRM ends this process; the client sees its socket close
    const std::string reply = answer(request);
    ::alarm(0);
    const auto n = static_cast<std::uint32_t>(reply.size());
    const std::array<char, 4> out = {static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(n >> 16),
                                     static_cast<char>(n >> 24)};
    if (!write_all(socket, out.data(), out.size()) || !write_all(socket, reply.data(), reply.size())) return 1;
  }
}

void limit_memory(std::uint64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve terabytes
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
#else
  (void)bytes;
#endif
}

}  // namespace heddle::kernelc

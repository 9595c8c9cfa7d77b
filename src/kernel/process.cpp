// Starting and talking.
#include "kernel/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace heddle::kernel {

namespace {

using process::Clock;
using process::ready;

constexpr std::uint32_t longest_answer = 256u << 20;
constexpr int socket_there = 3;  // the descriptor that the compiler finds its socket at

core::Failure failed(core::FailureKind kind, const std::string& what) { return {kind, what, ""}; }

using Wrong = std::optional<core::Failure>;  // nothing: all went well

Wrong send_all(int socket, const char* data, std::size_t size, Clock::time_point end) {
  while (size > 0) {
    if (!ready(socket, POLLOUT, end)) return failed(core::FailureKind::hang, "it does not take the request");
    const ssize_t put = ::send(socket, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (put <= 0) return failed(core::FailureKind::lost, "it ended before it took the request");
    data += put, size -= static_cast<std::size_t>(put);
  }
  return std::nullopt;
}

Wrong receive_all(int socket, char* data, std::size_t size, Clock::time_point end) {
  while (size > 0) {
    if (!ready(socket, POLLIN, end)) return failed(core::FailureKind::hang, "it takes too long");
    const ssize_t got = ::recv(socket, data, size, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return failed(core::FailureKind::lost, "it ended without an answer");
    data += got, size -= static_cast<std::size_t>(got);
  }
  return std::nullopt;
}

Wrong receive_answer(int socket, std::string& answer, Clock::time_point end) {
  std::array<unsigned char, 4> size{};
  if (auto wrong = receive_all(socket, reinterpret_cast<char*>(size.data()), size.size(), end)) return wrong;
  const std::size_t length = size[0] | size[1] << 8 | size[2] << 16 | static_cast<std::uint32_t>(size[3]) << 24;
  if (length > longest_answer) return failed(core::FailureKind::transfer, "its answer is too long to be one");
  try {
    while (answer.size() < length) {  // no memory is taken for what may never come
      const std::size_t have = answer.size();
      answer.resize(std::min(length, have + (1 << 20)));
      if (auto wrong = receive_all(socket, answer.data() + have, answer.size() - have, end)) return wrong;
    }
  } catch (const std::bad_alloc&) {
    return failed(core::FailureKind::allocation, "there is no memory for its answer");
  }
  return std::nullopt;
}

}  // namespace

core::Result<Process> Process::start(const std::string& program, const Limits& limits) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failed(core::FailureKind::launch, "no socket: " + std::string(std::strerror(errno)));
  process::Program compiler{program,
                            {"--memory", std::to_string(limits.memory), "--seconds", std::to_string(limits.seconds),
                             "--serve", std::to_string(socket_there)},
                            {},
                            ends[1],
                            socket_there};
  auto child = process::Child::start(compiler, ends[0]);
  ::close(ends[1]);
  if (!child) return child.failure();
  return Process(std::move(*child));
}

core::Result<std::string> Process::exchange(const std::string& request, Clock::time_point until) {
  const auto n = static_cast<std::uint32_t>(request.size());
  const std::array<char, 4> head = {static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(n >> 16),
                                    static_cast<char>(n >> 24)};
  std::string answer;
  Wrong wrong = send_all(child_.line(), head.data(), head.size(), until);
  if (!wrong) wrong = send_all(child_.line(), request.data(), request.size(), until);
  if (!wrong) wrong = receive_answer(child_.line(), answer, until);
  ++exchanges_;
  if (!wrong) return answer;
  child_.kill();
  child_.end();
  return *wrong;
}

}  // namespace heddle::kernel

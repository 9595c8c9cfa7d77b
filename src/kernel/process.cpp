// Starting and talking.
#include "kernel/process.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

#include "process/frames.hpp"

namespace heddle::kernel {

namespace {

constexpr int socket_there = 3;  // the descriptor that the compiler finds its socket at

core::Failure failed(core::FailureKind kind, const std::string& what) { return {kind, what, ""}; }

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

core::Result<std::string> Process::exchange(const std::string& request, process::Clock::time_point until) {
  ++exchanges_;
  const auto sent = process::send_frame(child_.line(), request, until);
  auto answer = sent ? process::receive_frame(child_.line(), until) : sent.failure();
  if (answer) return answer;
  child_.kill();
  child_.end();
  return answer;
}

}  // namespace heddle::kernel

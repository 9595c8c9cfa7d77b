// Starting, talking, ending.
#include "kernel/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::kernel {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t longest_answer = 256u << 20;
constexpr int socket_there = 3;  // the descriptor that the compiler finds its socket at

core::Failure failed(core::FailureKind kind, const std::string& what) { return {kind, what, ""}; }

// Whether a program that could not be started for this reason never can be; else something was short at the moment.
bool for_good(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM || error == ENOEXEC ||
         error == EISDIR || error == ELOOP || error == ENAMETOOLONG || error == ELIBBAD;
}

struct Start {
  const char* program;
  char* const* arguments;
  posix_spawn_file_actions_t* actions;
  posix_spawnattr_t* attributes;
  int error = 0;
  pid_t id = -1;
};

// Runs in a process that shares this one's memory and ends at once, while the thread that made it waits.
int start_from_between(void* data) {
  auto& start = *static_cast<Start*>(data);
  char* const nothing[] = {nullptr};
  start.error = ::posix_spawn(&start.id, start.program, start.actions, start.attributes, start.arguments, nothing);
  return 0;
}

// The compiler becomes the child of a process that ends at once, so that it is nobody's to wait for. That process in
// turn has no exit signal: neither SIGCHLD nor wait(-1) of the host program knows of it. Only a host that inherits
// orphans (process 1 of a container, a subreaper) gets it as a child.
bool start_unseen(Start& start) {
  std::vector<char> stack(256 << 10);
  char* top = stack.data() + stack.size();
  top -= reinterpret_cast<std::uintptr_t>(top) % 16;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of the host runs in between
  const int between = ::clone(start_from_between, top, CLONE_VM | CLONE_VFORK, &start);
  const int error = errno;
  if (between > 0) {
    while (::waitpid(between, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (between < 0) start.error = error;
  return start.error == 0;
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

// Waits for `events`; false when time is up.
bool ready(int socket, short events, Clock::time_point end) {
  for (;;) {
    pollfd one{socket, events, 0};
    const int got = ::poll(&one, 1, milliseconds_until(end));
    if (got > 0) return true;
    if (got == 0 || errno != EINTR) return false;
  }
}

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
  const std::string descriptor = std::to_string(socket_there), seconds = std::to_string(limits.seconds),
                    memory = std::to_string(limits.memory);
  const std::array<const char*, 8> words = {program.c_str(), "--memory", memory.c_str(),     "--seconds",
                                            seconds.c_str(), "--serve",  descriptor.c_str(), nullptr};

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], socket_there);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, socket_there + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  Start start{program.c_str(), const_cast<char* const*>(words.data()), &actions, &attributes};
  const bool started = start_unseen(start);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  if (!started) {
    ::close(ends[0]);
    return failed(for_good(start.error) ? core::FailureKind::unsupported : core::FailureKind::launch,
                  program + " cannot be started: " + std::strerror(start.error));
  }
  // By number, as C libraries of this age declare it for C alone.
  const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, start.id, 0));
  return Process(ends[0], start.id, handle, ::getpid());
}

Process::Process(Process&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      id_(std::exchange(other.id_, -1)),
      handle_(std::exchange(other.handle_, -1)),
      owner_(other.owner_),
      exchanges_(other.exchanges_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  end();
  socket_ = std::exchange(other.socket_, -1);
  id_ = std::exchange(other.id_, -1);
  handle_ = std::exchange(other.handle_, -1);
  owner_ = other.owner_;
  exchanges_ = other.exchanges_;
  return *this;
}

Process::~Process() { end(); }

void Process::kill() const {
  if (handle_ >= 0) {
    ::syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0);
    return;
  }
  // While its socket is open it lives, so the number is still its own.
  pollfd state{socket_, POLLIN, 0};
  const bool gone = ::poll(&state, 1, 0) > 0 && (state.revents & POLLHUP);
  if (!gone && id_ > 0) ::kill(id_, SIGKILL);
}

void Process::end() {
  if (socket_ < 0) return;
  if (::getpid() == owner_) {
    ::shutdown(socket_, SHUT_RDWR);  // also where a child that the host forked holds a copy of the descriptor
    // A host that inherits orphans is to have no more of it than a SIGCHLD. For all others it is no child.
    siginfo_t ended{};
    const auto handle = static_cast<id_t>(handle_);
    if (handle_ >= 0 && ::waitid(P_PIDFD, handle, &ended, WEXITED | WNOHANG) == 0 && ended.si_pid == 0) {
      kill();
      while (::waitid(P_PIDFD, handle, &ended, WEXITED) != 0 && errno == EINTR) {
      }
    }
  }
  ::close(socket_);
  if (handle_ >= 0) ::close(handle_);
  socket_ = handle_ = -1;
}

core::Result<std::string> Process::exchange(const std::string& request, Clock::time_point until) {
  const auto n = static_cast<std::uint32_t>(request.size());
  const std::array<char, 4> head = {static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(n >> 16),
                                    static_cast<char>(n >> 24)};
  std::string answer;
  Wrong wrong = send_all(socket_, head.data(), head.size(), until);
  if (!wrong) wrong = send_all(socket_, request.data(), request.size(), until);
  if (!wrong) wrong = receive_answer(socket_, answer, until);
  ++exchanges_;
  if (!wrong) return answer;
  kill();
  end();
  return *wrong;
}

}  // namespace heddle::kernel

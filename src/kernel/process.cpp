// Starting, talking, ending.
#include "kernel/process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::kernel {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t longest_answer = 256u << 20;
constexpr int socket_there = 3;  // the descriptor that the compiler finds its socket at

core::Failure failed(const std::string& what) { return {core::FailureKind::unsupported, what, ""}; }

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
// turn has no exit signal: neither SIGCHLD nor wait(-1) of the host program ever knows of it.
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

// What went wrong with a transfer; empty: nothing.
std::string send_all(int socket, const char* data, std::size_t size, Clock::time_point end) {
  while (size > 0) {
    if (!ready(socket, POLLOUT, end)) return "it does not take the request";
    const ssize_t put = ::send(socket, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (put <= 0) return "it ended before it took the request";
    data += put, size -= static_cast<std::size_t>(put);
  }
  return "";
}

std::string receive_all(int socket, char* data, std::size_t size, Clock::time_point end) {
  while (size > 0) {
    if (!ready(socket, POLLIN, end)) return "it takes too long";
    const ssize_t got = ::recv(socket, data, size, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return "it ended without an answer";
    data += got, size -= static_cast<std::size_t>(got);
  }
  return "";
}

}  // namespace

core::Result<Process> Process::start(const std::string& program, const Limits& limits) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failed("no socket: " + std::string(std::strerror(errno)));
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
    return failed(program + " cannot be started: " + std::strerror(start.error));
  }
  return Process(ends[0], start.id, limits);
}

Process::Process(Process&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      id_(std::exchange(other.id_, -1)),
      limits_(other.limits_),
      exchanges_(other.exchanges_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  end();
  socket_ = std::exchange(other.socket_, -1);
  id_ = std::exchange(other.id_, -1);
  limits_ = other.limits_;
  exchanges_ = other.exchanges_;
  return *this;
}

Process::~Process() { end(); }

void Process::end() {
  if (socket_ < 0) return;
  ::shutdown(socket_, SHUT_RDWR);  // also where a child that the host forked holds a copy of the descriptor
  ::close(socket_);
  socket_ = -1;
}

core::Result<std::string> Process::exchange(const std::string& request) {
  // Its own limit ends it; ours is for one that does not keep to it.
  const auto until = Clock::now() + std::chrono::seconds(limits_.seconds) + std::chrono::seconds(1);
  const auto n = static_cast<std::uint32_t>(request.size());
  const std::array<char, 4> head = {static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(n >> 16),
                                    static_cast<char>(n >> 24)};
  std::string wrong = send_all(socket_, head.data(), head.size(), until);
  if (wrong.empty()) wrong = send_all(socket_, request.data(), request.size(), until);
  std::array<unsigned char, 4> size{};
  if (wrong.empty()) wrong = receive_all(socket_, reinterpret_cast<char*>(size.data()), size.size(), until);
  std::string answer;
  if (wrong.empty()) {
    const std::uint32_t length = size[0] | size[1] << 8 | size[2] << 16 | static_cast<std::uint32_t>(size[3]) << 24;
    if (length > longest_answer) {
      wrong = "its answer is too long to be one";
    } else {
      answer.resize(length);
      wrong = receive_all(socket_, answer.data(), length, until);
    }
  }
  ++exchanges_;
  if (wrong.empty()) return answer;
  // While its socket is open it lives, so the number is still its own.
  pollfd state{socket_, POLLIN, 0};
  const bool gone = ::poll(&state, 1, 0) > 0 && (state.revents & POLLHUP);
  if (!gone && id_ > 0) ::kill(id_, SIGKILL);
  end();
  return failed(wrong);
}

}  // namespace heddle::kernel

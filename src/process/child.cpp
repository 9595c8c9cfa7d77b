// Starting, reading, ending.
#include "process/child.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::process {

namespace {

core::Failure failed(core::FailureKind kind, const std::string& what) { return {kind, what, ""}; }

// Whether a program that could not be started for this reason never can be; else something was short at the moment.
bool for_good(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM || error == ENOEXEC ||
         error == EISDIR || error == ELOOP || error == ENAMETOOLONG || error == ELIBBAD;
}

struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  posix_spawn_file_actions_t* actions;
  posix_spawnattr_t* attributes;
  int error = 0;
  pid_t id = -1;
};

// Runs in a process that shares this one's memory and ends at once, while the thread that made it waits.
int start_from_between(void* data) {
  auto& start = *static_cast<Start*>(data);
  start.error =
      ::posix_spawn(&start.id, start.program, start.actions, start.attributes, start.arguments, start.environment);
  return 0;
}

// The program becomes the child of a process that ends at once, so that it is nobody's to wait for. That process in
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

// As exec wants them. They point into `texts`.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
}

}  // namespace

bool ready(int descriptor, short events, Clock::time_point until) {
  for (;;) {
    pollfd one{descriptor, events, 0};
    const int got = ::poll(&one, 1, milliseconds_until(until));
    if (got > 0) return true;
    if (got == 0 || errno != EINTR) return false;
  }
}

core::Result<Child> Child::start(const Program& program, int line) {
  std::vector<std::string> words = {program.path};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  const std::vector<char*> arguments = pointers(words), environment = pointers(program.environment);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (program.given >= 0) ::posix_spawn_file_actions_adddup2(&actions, program.given, program.given_as);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (standard != program.given_as) ::posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_addclosefrom_np(&actions, std::max(STDERR_FILENO, program.given_as) + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  Start start{program.path.c_str(), arguments.data(), environment.data(), &actions, &attributes};
  const bool started = start_unseen(start);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (!started) {
    ::close(line);
    return failed(for_good(start.error) ? core::FailureKind::unsupported : core::FailureKind::launch,
                  program.path + " cannot be started: " + std::strerror(start.error));
  }
  // By number, as C libraries of this age declare it for C alone.
  const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, start.id, 0));
  return Child(line, start.id, handle, ::getpid());
}

Child::Child(Child&& other) noexcept
    : line_(std::exchange(other.line_, -1)),
      id_(std::exchange(other.id_, -1)),
      handle_(std::exchange(other.handle_, -1)),
      owner_(other.owner_) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  end();
  line_ = std::exchange(other.line_, -1);
  id_ = std::exchange(other.id_, -1);
  handle_ = std::exchange(other.handle_, -1);
  owner_ = other.owner_;
  return *this;
}

void Child::kill() const {
  if (handle_ >= 0) {
    ::syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0);
    return;
  }
  // While its end of the line is open it lives, so the number is still its own.
  pollfd state{line_, POLLIN, 0};
  const bool gone = ::poll(&state, 1, 0) > 0 && (state.revents & POLLHUP);
  if (!gone && id_ > 0) ::kill(id_, SIGKILL);
}

void Child::end() {
  if (line_ < 0) return;
  if (::getpid() == owner_) {
    // Also where a child that the host forked holds a copy of the descriptor. No matter to a pipe.
    ::shutdown(line_, SHUT_RDWR);
    // A host that inherits orphans is to have no more of it than a SIGCHLD. For all others it is no child.
    siginfo_t ended{};
    const auto handle = static_cast<id_t>(handle_);
    if (handle_ >= 0 && ::waitid(P_PIDFD, handle, &ended, WEXITED | WNOHANG) == 0 && ended.si_pid == 0) {
      kill();
      while (::waitid(P_PIDFD, handle, &ended, WEXITED) != 0 && errno == EINTR) {
      }
    }
  }
  ::close(line_);
  if (handle_ >= 0) ::close(handle_);
  line_ = handle_ = -1;
}

core::Result<std::string> output_of(Program program, Clock::time_point until, core::Bytes most) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return failed(core::FailureKind::launch, "no pipe: " + std::string(std::strerror(errno)));
  program.given = ends[1];
  program.given_as = STDOUT_FILENO;
  auto child = Child::start(program, ends[0]);
  ::close(ends[1]);
  if (!child) return child.failure();
  std::string out;
  while (out.size() < most) {
    char bytes[4096];
    const bool said = ready(child->line(), POLLIN, until);
    const ssize_t got = said ? ::read(child->line(), bytes, sizeof bytes) : -1;
    if (said && got < 0 && errno == EINTR) continue;
    if (said && got == 0) return out;
    if (got <= 0) {
      child->kill();
      return failed(core::FailureKind::hang, program.path + " takes too long");
    }
    out.append(bytes, static_cast<std::size_t>(got));
  }
  child->kill();
  return failed(core::FailureKind::transfer, program.path + " says too much");
}

}  // namespace heddle::process

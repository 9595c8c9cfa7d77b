// builder SOCKET DEVICE: builds kernels on trial for device/build_worker.hpp, which starts it. This process only
// watches: another one opens the driver and builds, and may crash, hang or eat memory. It is started again for the next
// request, and ends with everything that it started when the socket closes.
#include <cerrno>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/build_trial.hpp"
#include "process/frames.hpp"
#include "process/mortal.hpp"

namespace {

using heddle::core::Failure;
using heddle::core::FailureKind;
using heddle::process::Clock;
namespace device = heddle::device;
namespace process = heddle::process;

constexpr std::chrono::minutes idle_limit{1};  // an open GPU takes hundreds of MB of its memory; opening it again, 1 s

struct Worker {
  pid_t id = -1;
  int line = -1;
  bool opened = false;
  bool full = false;
};

// The process that may die.
[[noreturn]] void work(const std::string& wanted, int line, pid_t parent) {
  process::become_mortal(parent);
  ::setenv("HEDDLE_PROVE", "off", 1);  // Heddle's own driver under another name would prove those below it
  const auto never = Clock::now() + std::chrono::hours(24 * 365);
  try {
    device::serve_trials(
        wanted,
        [&]() -> std::optional<std::string> {
          auto request = process::receive_frame(line, never);
          if (!request) return std::nullopt;
          return std::move(request).value();
        },
        [&](const std::string& what) { (void)process::send_frame(line, what, never).ok(); });
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);  // no handler of the driver's may spoil it
}

bool start(Worker& worker, const std::string& wanted, int socket) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const pid_t self = ::getpid(), id = ::fork();
  if (id == 0) {
    ::close(ends[0]);
    ::close(socket);  // who asks notices by it that this program is gone
    work(wanted, ends[1], self);
  }
  ::close(ends[1]);
  if (id < 0) {
    ::close(ends[0]);
    return false;
  }
  ::setpgid(id, id);  // by whichever of the two comes first
  worker = {id, ends[0]};
  return true;
}

// Ends it and whatever it started; its status as waitpid has it.
int end(Worker& worker) {
  if (worker.id < 0) return 0;
  // It has its number until it is waited for, and so has its group.
  ::kill(-worker.id, SIGKILL);
  int status = 0;
  while (::waitpid(worker.id, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(worker.line);
  worker = {};
  return status;
}

bool has_ended(const Worker& worker) {
  siginfo_t ended{};
  return worker.id < 0 ||
         (::waitid(P_PID, static_cast<id_t>(worker.id), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0);
}

// What it means that the process ended. `doing` is empty before it took the request.
Failure of_end(Worker& worker, const std::string& doing) {
  // It closed its line, so it is about to be dead, and is not to die of the signal that we send. One that only closed
  // the line gets it in the end.
  for (int i = 0; i < 200 && !has_ended(worker); ++i) ::usleep(10'000);
  const int status = end(worker);
  std::string how = fmt::format("ended its process (exit code {})", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    how = fmt::format("{} (SIG{})", process::is_crash(signal) ? "crashed" : "was killed", ::sigabbrev_np(signal));
    if (!process::is_crash(signal)) return {FailureKind::lost, "the process of a trial build " + how, ""};
  }
  if (doing.empty()) return {FailureKind::unsupported, "no trial build: the driver " + how + " in another process", ""};
  return {FailureKind::build, "its " + doing + " " + how, ""};
}

Failure too_late(Worker& worker, const std::string& doing, std::chrono::milliseconds limit) {
  const bool opened = worker.opened;
  end(worker);
  if (!opened) return {FailureKind::unsupported, "no trial build: the driver does not open in another process", ""};
  return {FailureKind::hang,
          fmt::format("its {} did not end within {} s", doing.empty() ? "compiler" : doing,
                      std::chrono::duration<double>(limit).count()),
          ""};
}

// What the process says to one request, or what its end says. Nothing where the one who asks is gone. `doing` becomes
// what the request has come to.
std::optional<std::string> answer(Worker& worker, const std::string& request, int socket, std::string& doing) {
  const std::chrono::milliseconds limit(nlohmann::json::parse(request).at("limit_ms").get<long long>());
  auto until = Clock::now() + device::open_limit;
  const auto ask = [&] {
    until = Clock::now() + limit;
    return process::send_frame(worker.line, request, until).ok();
  };
  bool talks = !worker.opened || ask();
  while (talks) {
    pollfd both[] = {{worker.line, POLLIN, 0}, {socket, POLLRDHUP, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int got = left > 0 ? ::poll(both, 2, static_cast<int>(left)) : 0;
    if (got < 0 && errno == EINTR) continue;
    if (got > 0 && both[1].revents) return std::nullopt;
    if (got <= 0) return device::outcome_of(too_late(worker, doing, limit));
    const auto said = process::receive_frame(worker.line, until);
    talks = said.ok();
    if (!talks) break;
    if (said.value() == device::trial_opened)
      worker.opened = true, talks = ask();
    else if (said.value() == device::trial_taken)
      doing = "compiler";
    else if (said.value() == device::trial_built)
      doing = "first launch";
    else if (said.value() == device::trial_full)
      worker.full = true;
    else
      return said.value();
  }
  return device::outcome_of(of_end(worker, doing));
}

std::optional<std::string> serve(Worker& worker, const std::string& wanted, const std::string& request, int socket) {
  for (;;) {
    const bool idle = worker.id >= 0;
    if (!idle && !start(worker, wanted, socket))
      return device::outcome_of(Failure{FailureKind::launch, "no process for a trial build", ""});
    std::string doing;
    auto said = answer(worker, request, socket, doing);
    // One that died while it was idle did not die of this.
    const bool died = worker.id < 0;
    if (!(said && died && idle && doing.empty())) return said;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const int socket = std::atoi(words[1]);
  Worker worker;
  // A process that forked may hold the other end open for ever, without ever asking.
  while (process::ready(socket, POLLIN, Clock::now() + idle_limit)) {
    const auto soon = Clock::now() + std::chrono::seconds(10);
    const auto request = process::receive_frame(socket, soon);
    const auto said = request ? serve(worker, words[2], request.value(), socket) : std::nullopt;
    if (!said || !process::send_frame(socket, *said, Clock::now() + std::chrono::seconds(10))) break;
    if (worker.full) end(worker);
  }
  end(worker);
  ::_exit(0);  // who waits for the end of it need not wait for a leak checker
}

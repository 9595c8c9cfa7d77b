// The side of the one who asks. The program `builder` is on the other, and build_trial.cpp in the process that may die.
#include "device/build_worker.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire_text.hpp"
#include "device/build_trial.hpp"
#include "process/frames.hpp"
#include "process/installed_program.hpp"

namespace heddle::device {

using core::Failure;
using core::FailureKind;
using Json = nlohmann::json;

namespace {

constexpr int socket_there = 3;  // the descriptor that the program finds its socket at

Failure nothing_tried(const std::string& why) { return {FailureKind::unsupported, "no trial build: " + why, ""}; }

Json json_of(const TrialArgument& argument) {
  if (const auto* buffer = std::get_if<ZeroBuffer>(&argument)) return {{"buffer", buffer->size}};
  if (const auto* local = std::get_if<LocalMemory>(&argument)) return {{"local", local->size}};
  const auto& bytes = std::get<Scalar>(argument);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {{"scalar", core::text_of_bytes(text)}};
}

std::string request_of(const BuildWorker::Ask& ask, Nanoseconds limit) {
  const core::NdRange& range = ask.range;
  Json out = {{"source", core::text_of_bytes(ask.source.text)},
              {"options", core::text_of_bytes(ask.source.options)},
              {"entry", core::text_of_bytes(ask.entry)},
              {"offset", range.offset},
              {"global", range.global},
              {"local", range.local},
              {"dimensions", range.dimensions},
              {"limit_ms", std::chrono::ceil<std::chrono::milliseconds>(limit).count()}};
  if (ask.arguments) {
    out["arguments"] = Json::array();
    for (const TrialArgument& argument : *ask.arguments) out["arguments"].push_back(json_of(argument));
  }
  return out.dump();
}

// Whether processes that lose their parent become ours.
bool inherits_orphans() {
  int set = 0;
  return ::getpid() == 1 || (::prctl(PR_GET_CHILD_SUBREAPER, &set) == 0 && set != 0);
}

}  // namespace

std::string installed_builder() { return process::installed_program("builder"); }

BuildWorker::BuildWorker(const Info& device, const core::Settings& settings, const BuilderProgram& program)
    : program_(program.path),
      device_(device.library.empty() ? "" : trial_device(device, settings, program.memory)),
      owner_(::getpid()) {}

BuildWorker::~BuildWorker() {
  // Where it would be ended at once, the process below it would be ours, and nobody would wait for it.
  if (!watcher_ || ::getpid() != owner_ || !inherits_orphans()) return;
  ::shutdown(watcher_->line(), SHUT_WR);
  process::ready(watcher_->line(), POLLIN, process::Clock::now() + std::chrono::seconds(1));
}

pid_t BuildWorker::id() const {
  const std::lock_guard lock(mutex_);
  return watcher_ ? watcher_->id() : -1;
}

Status BuildWorker::build(const Ask& ask, Nanoseconds limit) {
  if (::getpid() != owner_) return nothing_tried("this process was forked and has no builder of its own");
  if (device_.empty()) return nothing_tried("the device has no driver that another process could open");
  if (program_.empty()) return nothing_tried("no builder is installed");
  const std::lock_guard lock(mutex_);
  limit = std::clamp<Nanoseconds>(limit, std::chrono::milliseconds(1), std::chrono::hours(24));
  const auto answer = exchange(request_of(ask, limit), limit);
  if (!answer) return answer.failure();
  return read_outcome(answer.value());
}

Status BuildWorker::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Failure{FailureKind::launch, "no socket: " + std::string(std::strerror(errno)), ""};
  process::Program program{program_, {std::to_string(socket_there), device_}, {}, ends[1], socket_there};
  for (char** variable = ::environ; variable && *variable; ++variable) program.environment.emplace_back(*variable);
  auto started = process::Child::start(program, ends[0]);
  ::close(ends[1]);
  if (!started) return started.failure();
  watcher_.emplace(std::move(started).value());
  return core::Done{};
}

Result<std::string> BuildWorker::exchange(const std::string& request, Nanoseconds limit) {
  for (;;) {
    const bool fresh = !watcher_;
    if (fresh) {
      if (auto started = start(); !started) return started.failure();
    }
    // It keeps to the limits itself; the seconds more are for one that does not.
    const auto until = process::Clock::now() + limit + open_limit + std::chrono::seconds(3);
    const auto sent = process::send_frame(watcher_->line(), request, until);
    auto answer = sent ? process::receive_frame(watcher_->line(), until) : sent.failure();
    if (answer) return answer;
    watcher_->kill();
    watcher_.reset();
    // It ends by itself when it was idle for long, and others may end it. A compiler cannot.
    if (!fresh && answer.failure().kind == FailureKind::lost) continue;
    return Failure{answer.failure().kind, "the builder gave no answer: " + answer.failure().what, ""};
  }
}

}  // namespace heddle::device

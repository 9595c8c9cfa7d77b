// Begin and end of the driver's life in a process.
#include "front/icd/runtime.hpp"

#include <cstdio>
#include <cstdlib>

#include <pthread.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "front/icd/callbacks.hpp"
#include "front/icd/observe.hpp"

namespace heddle::front::icd {

std::atomic<Life> life{Life::running};

namespace {

std::optional<std::string> from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (!value) return std::nullopt;
  return value;
}

void at_exit() {
  Life running = Life::running;
  if (!life.compare_exchange_strong(running, Life::ending)) return;
  stop_callbacks();
  finish_observing();
}

void in_child() { life = Life::forked; }

Runtime* start() {
  auto* runtime = new Runtime;
  try {
    runtime->settings = core::read_settings(from_environment);
    core::set_log_level(runtime->settings.log);
    const std::string& show = runtime->settings.show;
    if (show != "one" && show != "all") throw core::UsageError("HEDDLE_SHOW='" + show + "': one or all expected");
    // Leaked like everything else: sub-devices must outlive their use.
    auto* choice = new device::Choice(device::choose_devices(runtime->settings, from_environment));
    if (choice->devices.empty()) {
      core::log_once(core::LogLevel::warn, "there is no OpenCL device below Heddle, so it offers none");
      return runtime;
    }
    const device::Chosen& primary = device::primary_of(choice->devices);
    const bool all = show == "all";
    runtime->devices.push_back(new Device(primary, true, all ? "Heddle on " + primary.info.name : primary.info.name));
    for (const device::Chosen& real : choice->devices) {
      if (all) runtime->devices.push_back(new Device(real, false, real.info.name));
    }
    if (runtime->settings.active) start_observing(runtime->settings, *runtime->devices[0]);
  } catch (const std::exception& error) {
    core::log_once(core::LogLevel::warn, error.what());
    runtime->devices.clear();
  }
  // After the drivers were loaded: exit handlers run in the reverse order, so ours comes before theirs.
  std::atexit(at_exit);
  pthread_atfork(nullptr, nullptr, in_child);
  return runtime;
}

}  // namespace

Runtime& runtime() {
  static Runtime* const the = start();
  return *the;
}

Platform& the_platform() {
  static auto* const the = new Platform;
  return *the;
}

cl_int too_late(const char* function) {
  // In a forked child any lock may be held by a thread that is not there, the log's among them.
  static std::atomic<bool> said{false};
  if (life == Life::forked && !said.exchange(true)) {
    char line[256];
    const int length = std::snprintf(line, sizeof line,
                                     "heddle: warning: %s: this process is a fork of one that used OpenCL; only a "
                                     "program started by exec can use it\n",
                                     function);
    if (write(STDERR_FILENO, line, static_cast<size_t>(length)) < 0) return CL_OUT_OF_RESOURCES;  // nobody to tell
  }
  return CL_OUT_OF_RESOURCES;
}

void refused(const char* function, cl_int code) {
  if (life == Life::forked) return;
  if (core::log_enabled(core::LogLevel::debug)) {
    core::log(core::LogLevel::debug, std::string(function) + ": " + device::error_name(code));
  }
}

cl_int unexpected(const char* function, const std::exception& error) {
  core::log(core::LogLevel::warn, std::string(function) + ": " + error.what());
  return CL_OUT_OF_RESOURCES;
}

}  // namespace heddle::front::icd

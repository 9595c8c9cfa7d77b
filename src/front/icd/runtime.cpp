// Begin and end of the driver's life in a process.
#include "front/icd/runtime.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "front/icd/callbacks.hpp"
#include "front/icd/groups.hpp"
#include "front/icd/loom.hpp"
#include "front/icd/observe.hpp"

namespace heddle::front::icd {

std::atomic<Life> life{Life::running};

namespace {

std::atomic<profile::Store*> the_store{nullptr};

void keep_measured() {
  if (profile::Store* store = the_store) store->flush();
}

std::optional<std::string> from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (!value) return std::nullopt;
  return value;
}

// Work in flight may end, if it does so soon. Several threads, as some queues may wait for what never comes.
void let_work_end() {
  static std::atomic<bool> done{false};
  if (life != Life::running || done.exchange(true)) return;
  struct Count {
    std::mutex mutex;
    std::condition_variable ended;
    std::size_t busy = 0;
  };
  const auto queues = live_queues();
  const auto count = std::make_shared<Count>();
  constexpr std::size_t most = 8;
  std::unique_lock lock(count->mutex);
  for (std::size_t first = 0; first < std::min(most, queues.size()); ++first) {
    try {
      std::thread([queues, count, first] {
        for (std::size_t i = first; i < queues.size(); i += most) pass<&Slots::clFinish>(queues[i]);
        std::lock_guard ended(count->mutex);
        if (--count->busy == 0) count->ended.notify_one();
      }).detach();
      ++count->busy;
    } catch (const std::system_error&) {
      break;  // no more threads to be had: then it is as it would be without us
    }
  }
  // A compiler must not be at work when its own static objects are destroyed: what is being built is waited for.
  const auto woven = std::make_shared<Count>();
  woven->busy = 2;
  try {
    std::thread([woven] {
      const auto less = [&] {
        std::lock_guard ended(woven->mutex);
        --woven->busy;
        woven->ended.notify_one();
      };
      stop_building();
      less();
      stop_recalling();
      keep_measured();  // what was found out; rather that than the last launches
      finish_weaving();
      keep_measured();
      less();
    }).detach();
  } catch (const std::system_error&) {
    woven->busy = 0;
  }
  count->ended.wait_for(lock, std::chrono::milliseconds(500), [&] { return count->busy == 0; });
  std::unique_lock both(woven->mutex);
  woven->ended.wait_for(both, std::chrono::seconds(10), [&] { return woven->busy <= 1; });
  woven->ended.wait_for(both, std::chrono::milliseconds(500), [&] { return woven->busy == 0; });
  if (observing()) collect();
}

void at_exit() {
  let_work_end();
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
    runtime->choice = device::choose_devices(runtime->settings, from_environment);
    std::vector<device::Chosen>& chosen = runtime->choice.devices;
    std::vector<Device*> real;
    std::erase_if(chosen, [&](const device::Chosen& c) {
      try {
        real.push_back(new Device(c, false, c.info.name));
        return false;
      } catch (const Error& error) {
        core::log_once(core::LogLevel::warn, "device " + c.info.id + " of " + c.platform.library +
                                                 " cannot be used: " + device::error_name(error.code));
        return true;
      }
    });
    if (chosen.empty()) {
      core::log_once(core::LogLevel::warn, "there is no OpenCL device below Heddle, so it offers none");
      return runtime;
    }
    const device::Chosen& primary = device::primary_of(chosen);
    const bool all = show == "all";
    runtime->devices.push_back(new Device(primary, true, all ? "Heddle on " + primary.info.name : primary.info.name));
    runtime->hidden = std::move(real);
    if (all) runtime->devices.insert(runtime->devices.end(), runtime->hidden.begin(), runtime->hidden.end());
    if (runtime->settings.active) start_observing(runtime->settings, *runtime->devices[0]);
  } catch (const Error& error) {
    core::log_once(core::LogLevel::warn, "no device can be used: " + device::error_name(error.code));
    runtime->devices.clear();
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

profile::Store& measured() {
  static profile::Store* const the = the_store = new profile::Store(runtime().settings.store);
  return *the;
}

// Static objects of a driver's libraries are destroyed at exit, in the reverse order of their making, while the
// driver's threads may still be using them (seen: PoCL compiling a kernel). What belongs to the main thread is
// destroyed before all of them. Other threads register an exit handler again and again: the latest comes before
// whatever was made by then.
void expect_end() {
  struct EndOfMain {
    ~EndOfMain() { let_work_end(); }
  };
  static std::atomic<int> registered{0};
  if (getpid() == gettid()) {
    static thread_local EndOfMain end;
    (void)end;
  } else if (registered.fetch_add(1) < 64) {
    std::atexit(let_work_end);
  }
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

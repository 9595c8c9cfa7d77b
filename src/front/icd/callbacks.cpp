// One queue of calls and one list of events that are watched for them.
#include "front/icd/callbacks.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include <signal.h>

#include "front/icd/strand.hpp"

namespace heddle::front::icd {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A callback that waits for its event.
struct Watch {
  Ref<Event> event;
  cl_int status;
  EventCallback callback;
  void* user;
};

struct State {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> calls;
  std::map<std::uintptr_t, Watch> watched;  // in the order in which they were asked for
  std::uintptr_t last = 0;
  std::timed_mutex inside;  // held by the thread while it calls an inner driver
  bool started = false;
};

State& state() {
  static auto* const the = new State;  // leaked: the thread lasts as long as the process
  return *the;
}

// The code with which it failed, or CL_QUEUED (the largest status) if it did not.
cl_int failure_of(const Event& event) {
  cl_int status = CL_QUEUED;
  pass<&Slots::clGetEventInfo>(event.inner, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return status < 0 ? status : CL_QUEUED;
}

// Calls an inner driver, unless the process is ending.
template <class Call>
bool inside_driver(Call call) {
  std::lock_guard lock(state().inside);
  if (life != Life::running) return false;
  call();
  return true;
}

// The event of watch `number` got this far; whoever comes second finds nothing.
void reached(std::uintptr_t number, cl_int status) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  const auto found = s.watched.find(number);
  if (found == s.watched.end()) return;
  s.calls.emplace_back([watch = std::move(found->second), status]() mutable {
    // Told of a status that was reached, though the event has failed since: PoCL does so for callbacks that come late.
    cl_int failure = CL_QUEUED;
    if (!inside_driver([&] { failure = failure_of(*watch.event); })) return;
    watch.callback(handle_of(*watch.event), std::min(status, failure), watch.user);
  });
  s.watched.erase(found);
  s.wake.notify_one();
}

void CL_CALLBACK told(cl_event, cl_int status, void* number) {
  reached(reinterpret_cast<std::uintptr_t>(number), status);
}

// Asks the inner driver about every watched event.
void look_after(std::unique_lock<std::mutex>& lock) {
  std::vector<std::pair<std::uintptr_t, Ref<Event>>> events;
  for (const auto& [number, watch] : state().watched) events.emplace_back(number, watch.event);
  lock.unlock();
  inside_driver([&] {
    for (const auto& [number, event] : events) {
      if (const cl_int failure = failure_of(*event); failure < 0) reached(number, failure);
    }
    events.clear();
  });
  lock.lock();
}

void run() {
  State& s = state();
  milliseconds pause(1);
  std::unique_lock lock(s.mutex);
  for (;;) {
    if (s.watched.empty() && s.calls.empty()) {
      s.wake.wait(lock);
      pause = milliseconds(1);
    } else if (s.calls.empty() && s.wake.wait_for(lock, pause) == std::cv_status::timeout) {
      // Looking takes at most a twentieth of the time, and happens less and less often.
      const auto begin = Clock::now();
      look_after(lock);
      pause = std::max(std::min(2 * pause, milliseconds(50)),
                       20 * std::chrono::duration_cast<milliseconds>(Clock::now() - begin));
    }
    if (life != Life::running) return;
    if (s.calls.empty()) continue;
    auto call = std::move(s.calls.front());
    s.calls.pop_front();
    lock.unlock();
    call();
    if (!inside_driver([&] { call = nullptr; })) {  // its references go, and with the last of them inner objects
      new auto(std::move(call));                    // too late for that
      return;
    }
    lock.lock();
  }
}

// The mutex is held. Throws std::system_error where no thread can be had; the next call tries again.
void start_thread() {
  if (state().started) return;
  // The program's signals are for the program's threads, but for those that a fault of its own callback raises.
  sigset_t others, before;
  sigfillset(&others);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&others, fault);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  try {
    std::thread(run).detach();
    state().started = true;
  } catch (const std::system_error&) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void call_back(std::function<void()> call) {
  State& s = state();
  try {
    std::lock_guard lock(s.mutex);
    start_thread();
    s.calls.push_back(std::move(call));
    s.wake.notify_one();
    return;
  } catch (const std::system_error&) {
    // Better here than not at all.
  }
  call();
}

cl_int call_back_at(Event& event, cl_int status, EventCallback callback, void* user) {
  State& s = state();
  if (event.ours) {  // it ends by itself, so the thread may wait for it
    call_back([reference = Ref<Event>(event), status, callback, user]() mutable {
      const cl_int ended = wait_for(*reference);
      if (life != Life::running) return;
      callback(handle_of(*reference), std::min(status, ended < 0 ? ended : status), user);
    });
    return CL_SUCCESS;
  }
  std::uintptr_t number;
  {
    std::lock_guard lock(s.mutex);
    start_thread();
    number = ++s.last;
    s.watched.emplace(number, Watch{Ref<Event>(event), status, callback, user});
    s.wake.notify_one();
  }
  // The inner driver may call at once, and does not know the lock.
  const cl_int code = pass<&Slots::clSetEventCallback>(event.inner, status, told, reinterpret_cast<void*>(number));
  if (code == CL_SUCCESS) return code;
  Watch dropped{};
  std::lock_guard lock(s.mutex);
  if (const auto found = s.watched.find(number); found != s.watched.end()) {
    dropped = std::move(found->second);
    s.watched.erase(found);
  }
  return code;
}

void stop_callbacks() {
  // Never unlocked again. An inner driver that does not return is not waited for.
  (void)state().inside.try_lock_for(milliseconds(200));
}

}  // namespace heddle::front::icd

#include "front/icd/line.hpp"

#include <thread>

#include <signal.h>

namespace heddle::front::icd {

void Line::add(std::function<void()> job) {
  State& s = *state_;
  std::lock_guard hold(s.mutex);
  if (s.closing) return;
  s.jobs.push_back(std::move(job));
  if (s.started) return s.changed.notify_all();
  // The program's signals are for the program's threads.
  sigset_t others, before;
  sigfillset(&others);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&others, fault);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  try {
    std::thread([state = state_] { work(state); }).detach();
    s.started = true;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    s.jobs.pop_back();
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Line::work(const std::shared_ptr<State>& state) {
  State& s = *state;
  std::unique_lock lock(s.mutex);
  for (;;) {
    s.changed.wait(lock, [&] { return !s.jobs.empty() || s.closing; });
    if (s.jobs.empty() || s.closing) return;
    auto job = std::move(s.jobs.front());
    s.jobs.pop_front();
    s.at_work = true;
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    s.at_work = false;
    s.changed.notify_all();
  }
}

void Line::drain() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return (state_->jobs.empty() || state_->closing) && !state_->at_work; });
}

bool Line::idle() {
  std::lock_guard hold(state_->mutex);
  return state_->jobs.empty() && !state_->at_work;
}

void Line::close() {
  {
    std::lock_guard hold(state_->mutex);
    state_->closing = true;
    state_->changed.notify_all();
  }
  drain();
}

Line::~Line() {
  std::lock_guard hold(state_->mutex);
  state_->closing = true;
  state_->changed.notify_all();
}

}  // namespace heddle::front::icd

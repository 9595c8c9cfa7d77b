// Work in the background, in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace heddle::front::icd {

// Jobs one after the other, on a thread that starts with the first of them.
class Line {
 public:
  ~Line();
  void add(std::function<void()> job);
  void drain();  // until none is left
  bool idle();
  void close();  // what waits is never done; returns when what is at work is

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> jobs;
    bool at_work = false, closing = false, started = false;
  };
  static void work(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_ = std::make_shared<State>();  // shared: a job may drop the line that it is in
};

}  // namespace heddle::front::icd

// Long work that a person may stop and keep what there is.
#pragma once

#include <atomic>
#include <csignal>

namespace heddle::bench {

inline std::atomic<bool> stop_asked{false};

// While it lives, SIGINT asks for a stop instead of ending the program; a second one ends it.
class CatchInterrupt {
 public:
  CatchInterrupt() {
    stop_asked = false;
    struct sigaction action {};
    action.sa_handler = [](int) { stop_asked = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~CatchInterrupt() { sigaction(SIGINT, &before_, nullptr); }
  CatchInterrupt(const CatchInterrupt&) = delete;
  CatchInterrupt& operator=(const CatchInterrupt&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace heddle::bench

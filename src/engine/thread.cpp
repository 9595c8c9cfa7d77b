#include "engine/thread.hpp"

#include <cstdint>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heddle::engine {

void be_prompt() {
  ::prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds: short sleeps are meant to be short
#ifdef SYS_sched_setattr
  // Linux from 6.12 on takes a short slice for the wish to run soon; before, this changes nothing.
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } wish{};
  if (::syscall(SYS_sched_getattr, 0, &wish, sizeof wish, 0) != 0 || wish.policy != 0) return;
  wish.size = sizeof wish;
  wish.runtime = 100'000;  // nanoseconds: the shortest
  (void)::syscall(SYS_sched_setattr, 0, &wish, 0);
#endif
}

}  // namespace heddle::engine

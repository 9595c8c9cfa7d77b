// A CPU of many cores, in numbers: groups are handed out as PoCL does it, threads come late, and cores are slowed down
// now and then, as those of a machine that is shared with others are. Seen on 16 x86 cores: a part of one group for
// each core takes 20 to 50 % longer per point than a launch, which is what this gives with a disturbance of about 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace heddle::engine {

class ManyCores {
 public:
  // `disturbance`: 0, none; 1, every core is 1.6 times as slow for 20 ms of 220, and threads come 20 us late.
  ManyCores(int cores, double disturbance, std::uint64_t seed)
      : cores_(static_cast<std::size_t>(cores)), disturbance_(disturbance), random_(seed) {}

  // Nanoseconds from `begin` until the last of the groups is done; `work`: nanoseconds of one core for groups from the
  // first to before the second. Launches follow each other.
  double run(double begin, std::int64_t groups, const std::function<double(std::int64_t, std::int64_t)>& work) {
    using Free = std::pair<double, std::size_t>;  // when a core is free
    std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
    for (std::size_t c = 0; c < cores_.size(); ++c) free.emplace(begin + disturbance_ * exponential(late), c);
    const auto count = static_cast<std::int64_t>(cores_.size());
    double end = begin;
    for (std::int64_t next = 0; next < groups;) {
      const auto [when, core] = free.top();
      free.pop();
      const std::int64_t left = groups - next, most = (left > 256 * count * count ? 256 : 32) * count;
      const std::int64_t taken = std::min(most, (left + count - 1) / count);
      const double done = compute(cores_[core], when, work(next, next + taken));
      next += taken;
      end = std::max(end, done);
      free.emplace(done, core);
    }
    return end - begin;
  }

 private:
  struct Core {
    double until = 0;  // when it becomes as slow, or as fast, as it is not now
    bool slow = true;
  };
  static constexpr double late = 20e3, slow_time = 20e6, fast_time = 200e6, slowness = 0.6;

  double exponential(double mean) {  // not the library's, which is not the same everywhere
    return -mean * std::log(1 - static_cast<double>(random_() >> 11) * 0x1p-53);
  }

  double compute(Core& core, double now, double work) {
    if (disturbance_ == 0) return now + work;
    for (;;) {
      while (core.until <= now) {
        core.slow = !core.slow;
        core.until += exponential(core.slow ? slow_time : fast_time);
      }
      const double factor = core.slow ? 1 + slowness * disturbance_ : 1, can = (core.until - now) / factor;
      if (can >= work) return now + work * factor;
      work -= can;
      now = core.until;
    }
  }

  std::vector<Core> cores_;
  double disturbance_;
  std::mt19937_64 random_;
};

}  // namespace heddle::engine

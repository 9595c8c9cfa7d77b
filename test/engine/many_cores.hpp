// Cores of a CPU that is shared with others, in numbers: threads come late, and cores are slowed down now and then.
// Fake devices hand out groups as PoCL does it. Seen on 16 x86 cores: a part of one group for each core takes 20 to 50
// % longer per point than a launch, which is what this gives with a disturbance of about 1.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace heddle::engine {

class ManyCores {
 public:
  // `disturbance`: 0, none; 1, every core is 1.6 times as slow for 20 ms of 220, and threads come 20 us late.
  ManyCores(int cores, double disturbance, std::uint64_t seed)
      : cores_(static_cast<std::size_t>(cores)), disturbance_(disturbance), random_(seed) {}

  // Nanoseconds that a core needs from `begin` on for so many of work; a little more where it had nothing to do before.
  double run(std::size_t core, double begin, double work) {
    const double from = begin > cores_[core].end ? begin + disturbance_ * exponential(late) : begin;
    cores_[core].end = compute(cores_[core], from, work);
    return cores_[core].end - begin;
  }

 private:
  struct Core {
    double end = -1;   // of what it did last
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

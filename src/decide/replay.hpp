// A search on a space whose every configuration was measured before, instead of a device.
#pragma once

#include <array>
#include <span>

#include "decide/search.hpp"

namespace heddle::decide {

// "Within 5 % of the best" is a time of at most best / 0.95.
struct Replay {
  std::optional<int> to_5, to_1;    // evaluations until a time within 5 %, 1 % of the best; none: never
  int evaluations = 0;              // in all
  std::array<double, 4> reached{};  // best / best so far, after as many evaluations as below; 0: all had failed
};
constexpr std::array<int, 4> looks{25, 50, 100, 200};

// `times` per number of the space, NaN where a configuration fails. Ends when the best was found.
Replay replay(const core::ParameterSpace& space, std::span<const double> times, const Strategy& strategy,
              std::uint64_t seed, int budget);

struct Replays {
  double median_to_5 = 0, median_to_1 = 0;  // infinite where half of the runs or more did not get there
  int failed = 0;                           // runs that never came within 5 %
  std::array<double, 4> reached{};          // means
};
Replays summarise(std::span<const Replay> runs);

}  // namespace heddle::decide

// Rivals that are only numbers.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "decide/select.hpp"

namespace heddle::decide {

inline Rival rival(std::int64_t footprint, bool prepared = true) {
  return {.footprint = {{footprint, 1, 1}, true}, .ready = true, .prepared = prepared};
}

struct Competition {
  std::size_t winner = 0;
  int probes = 0;
  double seconds = 0;        // of all probes
  std::int64_t wasted = 0;   // points that were computed again
  std::int64_t covered = 0;  // points that were computed
};

// Until the winner is known; costs are seconds per point.
inline Competition compete(Selection s, std::int64_t points, const std::function<double(std::size_t)>& cost) {
  Competition out;
  while (const auto probe = next_probe(s, points)) {
    const auto count = probe->whole ? points : probe->points;
    begin(s, *probe, core::box_of(count));
    Probe done = *probe;
    done.points = count;
    const double seconds = 10e-6 + static_cast<double>(count) * cost(probe->rival);
    learn(s, done, seconds);
    out.seconds += seconds;
    (probe->repeat ? out.wasted : out.covered) += count;
    if (++out.probes > 1000) break;
  }
  out.winner = best_of(s);
  EXPECT_TRUE(s.winner);
  return out;
}

// The next probe, which takes so long; of the region's points, if it computes that again.
inline Probe take_part(Selection& s, double seconds) {
  Probe probe = next_probe(s, 1 << 20).value();
  if (probe.repeat) probe.points = s.region.volume();
  begin(s, probe, core::box_of(probe.points));
  learn(s, probe, seconds);
  return probe;
}

}  // namespace heddle::decide

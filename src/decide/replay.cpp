// Looks up instead of measuring, and keeps count.
#include "decide/replay.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/median.hpp"

namespace heddle::decide {

Replay replay(const core::ParameterSpace& space, std::span<const double> times, const Strategy& strategy,
              std::uint64_t seed, int budget) {
  if (times.size() != space.size()) throw core::InternalError("a replay without a time for every configuration");
  double best = Tried::failed;
  for (double time : times) best = std::isnan(time) ? best : std::min(best, time);
  Search search(space, strategy, seed);
  Replay out;
  double so_far = Tried::failed;
  const auto look = [&] { return so_far == Tried::failed ? 0 : best / so_far; };
  while (out.evaluations < budget && so_far > best) {
    const auto number = search.next();
    if (!number) break;
    ++out.evaluations;
    search.tell(*number, times[*number]);
    if (times[*number] < so_far) so_far = times[*number];
    if (!out.to_5 && so_far <= best / 0.95) out.to_5 = out.evaluations;
    if (!out.to_1 && so_far <= best / 0.99) out.to_1 = out.evaluations;
    for (std::size_t l = 0; l < looks.size(); ++l) {
      if (looks[l] == out.evaluations) out.reached[l] = look();
    }
  }
  for (std::size_t l = 0; l < looks.size(); ++l) {
    if (looks[l] > out.evaluations) out.reached[l] = look();
  }
  return out;
}

Replays summarise(std::span<const Replay> runs) {
  if (runs.empty()) throw core::InternalError("no replays to summarise");
  std::vector<double> to_5, to_1;
  Replays out;
  for (const Replay& run : runs) {
    to_5.push_back(run.to_5 ? *run.to_5 : Tried::failed);
    to_1.push_back(run.to_1 ? *run.to_1 : Tried::failed);
    out.failed += !run.to_5;
    for (std::size_t l = 0; l < looks.size(); ++l) out.reached[l] += run.reached[l] / static_cast<double>(runs.size());
  }
  out.median_to_5 = core::median(to_5), out.median_to_1 = core::median(to_1);
  return out;
}

}  // namespace heddle::decide

// Regions are equal parts; what they find is for them to find.
#include "decide/mix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "decide/abreast.hpp"

namespace heddle::decide {

namespace {

// In lengths of a probe: what a region must last at least. With later launches in view, finding out costs a small part
// of each; in the launch that is at work, all at once, and so much for each rival.
constexpr double shortest_region = 1, shortest_region_begun = 250, shortest_for_each = 60;
constexpr int most_regions = 8;
// Nobody who is that bad in all of a launch is looked at in a region, and of many only the best.
constexpr double hopeless_in_all = 4;
constexpr std::size_t most_rivals = 8;

double expected_of(const Selection& s) { return s.expected.value_or(guess_of(s.rivals[*s.winner]).value_or(0)); }

// Who may win in a region: per rival, whether it competes there.
std::vector<bool> contenders(const Selection& all) {
  std::vector<std::pair<double, std::size_t>> others;
  for (std::size_t r = 0; r < all.rivals.size(); ++r) {
    const double factor = factor_of(all, r);
    const bool known = !std::isinf(factor);
    if (r != *all.winner && all.rivals[r].ready && !all.rivals[r].failed && (!known || factor <= hopeless_in_all))
      others.emplace_back(factor, r);
  }
  std::sort(others.begin(), others.end());
  if (others.size() >= most_rivals) others.resize(most_rivals - 1);
  std::vector<bool> out(all.rivals.size());
  out[*all.winner] = true;
  for (const auto& [factor, r] : others) out[r] = true;
  return out;
}

}  // namespace

int count_of_regions(const Selection& all, std::int64_t points, bool begun) {
  if (!all.winner || all.mode == Mode::fully) return 0;
  // Where several places were seen, they tell. In this very launch pieces cost more than what is left can gain.
  if (is_abreast(all) && (begun || !places_differ(all))) return 0;
  const std::vector<bool> competing = contenders(all);
  const auto rivals = static_cast<double>(std::count(competing.begin(), competing.end(), true));
  double one = (begun ? std::max(shortest_region_begun, shortest_for_each * rivals) : shortest_region) * all.shortest;
  // Where a region ends, cores wait for the slowest: of many, longer, and the next launch does, too.
  if (crowded(all)) one = std::max(one, shortest_region_begun * all.shortest) * all.units / 2;
  one = std::max(one, 2 * expected_of(all) * static_cast<double>(all.rivals[*all.winner].wave));
  const double seconds = expected_of(all) * static_cast<double>(points);
  const auto fit = static_cast<unsigned>(std::clamp(seconds / one + 1e-6, 0.0, double{most_regions}));
  return static_cast<int>(
      std::bit_floor(fit));  // halves of halves: where data change, if they do, is rarely at a fifth
}

std::vector<core::Box> regions_of(const core::Box& space, const core::Footprint& part, int axis, int count) {
  const std::int64_t one = part.points[static_cast<std::size_t>(axis)], all = space.extent(axis);
  const std::int64_t parts = (all + one - 1) / one;
  std::vector<core::Box> out;
  core::Box rest = space;
  for (int r = 1; r <= count && !rest.empty(); ++r) {
    const std::int64_t end = r == count ? all : parts * r / count * one;
    auto [region, after] = core::cut(rest, axis, space.begin[static_cast<std::size_t>(axis)] + end);
    if (!region.empty()) out.push_back(region);
    rest = after;
  }
  return out;
}

Selection selection_in_region(const Selection& all, const core::Box& region, std::uint64_t launch) {
  const std::int64_t points = region.volume();
  std::vector<Rival> rivals = all.rivals;
  const double expected = expected_of(all);
  std::vector<std::optional<double>> costs;
  const std::vector<bool> competing = contenders(all);
  for (std::size_t r = 0; r < rivals.size(); ++r) {
    rivals[r].failed |= !competing[r];
    rivals[r].out = rivals[r].failed;
    rivals[r].first_reach = rivals[r].reach;
    // Only the winner's matters: others must be worse.
    costs.emplace_back(r == *all.winner ? expected : std::max(2 * expected, guess_of(rivals[r]).value_or(0)));
  }
  Selection out = selection_of(all.mode, all.units, std::move(rivals), all.shortest);
  out.abreast = all.abreast, out.least = all.least;
  recall(out, costs, points);
  std::optional<Selection> agreed;
  const Rival& winner = all.rivals[*all.winner];
  for (std::size_t i = 0; i < winner.places.size(); ++i) {
    const Rival::Place& place = winner.places[i];
    if (place.launch != launch || place.box.empty() || !region.contains(place.box)) continue;
    for (const Rival& rival : all.rivals) {
      for (std::size_t j = 0; j < rival.places.size(); ++j) {
        if (rival.places[j] == place && worse * rival.samples[j] < winner.samples[i]) return out;
      }
    }
    const std::int64_t there = place.box.volume();
    agreed = out;
    learn(*agreed, {.rival = *all.winner, .points = there, .of = points},
          winner.samples[i] * static_cast<double>(there));
    if (!agreed->winner) return out;
  }
  return agreed.value_or(out);
}

double gain_of(const std::vector<std::pair<const Selection*, std::int64_t>>& regions, std::size_t winner) {
  double by_one = 0, mixed = 0;
  for (const auto& [selection, points] : regions) {
    if (!selection->winner) return 1;
    const double own = guess_of(selection->rivals[*selection->winner]).value_or(0);
    mixed += own * static_cast<double>(points);
    by_one += std::max(own, guess_of(selection->rivals[winner]).value_or(own)) * static_cast<double>(points);
  }
  return mixed > 0 ? by_one / mixed : 1;
}

}  // namespace heddle::decide

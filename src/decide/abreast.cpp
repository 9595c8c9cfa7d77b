#include "decide/abreast.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include "decide/look.hpp"

namespace heddle::decide {

namespace {

// Where parts lie if work differs, and how much of a launch each stands for. Sorted data have most of their work at the
// beginning, which few points are; there, and in the middle, where data of two halves change, not the first. Not at the
// very beginning, as what has no offset is compiled apart. What a launch begins with counts less: it may find both of
// the driver's threads on one core, where they stay for milliseconds (seen on two cores: 8 ms instead of 5).
struct Place {
  double where, weight;
};
constexpr Place places[] = {{0.3, 0.25}, {0.75, 1}, {0.006, 0.1}, {0.55, 1}, {0.15, 1}, {0.9, 1}};
// At so many of them whoever is left is alike.
constexpr std::size_t most = std::size(places);
// Of a launch: more in one round of parts, or in the first, and there is no other, or launches are compared.
constexpr double much = 1.0 / 16, too_much = 1.0 / 4;
// In lengths of a probe: a part that tells, and one that shows who is hopeless.
constexpr double tells_enough = 0.5, tells_little = 0.125, tells_single = 0.25;
constexpr double hopeless = 4;
// The first part is one in so many points, as it may be a hundred times as slow as others, or be compiled.
constexpr std::int64_t first_part = 16384;

std::int64_t part_of(const Rival& rival) { return core::volume(rival.footprint); }

// Whole parts, a multiple of what keeps all cores busy.
std::int64_t wide(const Selection& s, const Rival& rival, std::int64_t points) {
  const std::int64_t one = std::min(part_of(rival), (std::int64_t{1} << 60) / s.units) * s.units;
  return (std::max(points, one) + one - 1) / one * one;
}

bool is_single(const Selection& s, const Rival& rival) { return rival.single && !rival.wide && s.units > 1; }

std::int64_t next_part(const Selection& s, const Rival& rival, std::int64_t points) {
  if (is_single(s, rival)) return part_of(rival);
  if (rival.reach > 0) return rival.reach;
  // Little of what was enough for somebody else.
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Rival& other : s.rivals) {
    if (!other.samples.empty()) least = std::min(least, other.reach / 16);
  }
  return wide(s, rival, least < std::numeric_limits<std::int64_t>::max() ? least : points / first_part);
}

std::size_t rounds_of(const Selection& s) {
  std::size_t out = std::numeric_limits<std::size_t>::max();
  for (const Rival& rival : s.rivals) out = runs(rival) ? std::min(out, rival.samples.size()) : out;
  return out;
}

std::size_t most_of(const Selection& s, std::int64_t points) {
  double round = 0;
  for (const Rival& rival : s.rivals) {
    if (!runs(rival)) continue;
    round += static_cast<double>(next_part(s, rival, points));
  }
  // One that is not worth another round decides by what there is; where work differs, by two places at least.
  const auto fit = static_cast<std::size_t>(much * static_cast<double>(points) / std::max(1.0, round));
  return std::clamp<std::size_t>(fit, s.mode == Mode::fully ? 1 : 2, most);
}

double sum_of(const Rival& rival, std::size_t count) {
  double out = 0;
  for (std::size_t i = 0; i < count; ++i) out += places[i % std::size(places)].weight * rival.samples[i];
  return out;
}

// After so many places: by how much somebody must be worse to be out. Where all points take the same, one tells more.
double limit_after(const Selection& s, std::size_t count) {
  const double spread = s.mode == Mode::fully ? 1 : 1.5;
  return 1 + spread / static_cast<double>(count);
}

// Whether what one took at each place, against another, is too much for chance: Student's test, one time in twenty.
bool is_surely_worse(const Rival& rival, const Rival& other, std::size_t count) {
  static constexpr double limits[] = {0, 0, 0, 2.92, 2.35, 2.13, 2.02};
  constexpr double tie = 0.03;  // who is that near is as good
  if (count < 3 || count >= std::size(limits)) return false;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double more = std::log(rival.samples[i] / std::max(1e-18, other.samples[i]));
    sum += more, squares += more * more;
  }
  const auto n = static_cast<double>(count);
  const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean) * n / (n - 1);
  return mean - tie > limits[count] * std::sqrt(variance / n);
}

void leave_out(Selection& s) {
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    Rival& rival = s.rivals[r];
    if (!runs(rival)) continue;
    for (std::size_t o = 0; o < s.rivals.size() && !rival.out; ++o) {
      const Rival& other = s.rivals[o];
      if (o == r || !runs(other)) continue;
      const std::size_t count = std::min(rival.samples.size(), other.samples.size());
      if (count == 0 || factor_abreast(s, r, o) <= 1) continue;
      rival.out = factor_abreast(s, r, o) > limit_after(s, count) || is_surely_worse(rival, other, count);
    }
  }
}

// Launches are too short for parts: whole ones are compared from here on, by whoever is not far off.
void compare_whole(Selection& s) {
  s.whole = s.looked = true;
  double best = std::numeric_limits<double>::infinity();
  for (const Rival& rival : s.rivals) best = runs(rival) && rival.look ? std::min(best, *rival.look) : best;
  for (Rival& rival : s.rivals) {
    rival.out |= runs(rival) && rival.look && *rival.look > far_off_elsewhere * best;
    rival.samples.clear(), rival.places.clear();
  }
  if (std::count_if(s.rivals.begin(), s.rivals.end(), runs) == 1) s.winner = lead_of(s);
}

}  // namespace

bool is_abreast(const Selection& s) { return s.abreast && !s.whole; }

std::optional<std::size_t> lead_abreast(const Selection& s) {
  std::optional<std::size_t> best;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    if (!runs(s.rivals[r]) || s.rivals[r].samples.empty()) continue;
    if (!best || factor_abreast(s, r, *best) < 1) best = r;
  }
  return best;
}

std::optional<double> cost_abreast(const Selection& s, std::size_t r) {
  const Rival& rival = s.rivals[r];
  if (rival.samples.empty()) return rival.look;
  double weights = 0;
  for (std::size_t i = 0; i < rival.samples.size(); ++i) weights += places[i % std::size(places)].weight;
  return sum_of(rival, rival.samples.size()) / weights;
}

double factor_abreast(const Selection& s, std::size_t r, std::size_t other) {
  const std::size_t count = std::min(s.rivals[r].samples.size(), s.rivals[other].samples.size());
  if (count == 0) {
    const auto mine = cost_abreast(s, r), theirs = cost_abreast(s, other);
    return mine && theirs ? *mine / *theirs : std::numeric_limits<double>::infinity();
  }
  return sum_of(s.rivals[r], count) / std::max(1e-18, sum_of(s.rivals[other], count));
}

bool places_differ(const Selection& s) {
  if (!s.winner) return false;
  const std::vector<double>& best = s.rivals[*s.winner].samples;
  for (const Rival& rival : s.rivals) {
    for (std::size_t i = 0; i < std::min(best.size(), rival.samples.size()); ++i) {
      if (surprising * rival.samples[i] < best[i]) return true;
    }
  }
  return false;
}

double place_abreast(const Selection& s, std::size_t r) {
  return places[s.mode == Mode::fully ? 0 : s.rivals[r].samples.size() % std::size(places)].where;
}

bool tells_alone(const Selection& s, std::size_t r, double cost) {
  return cost * s.units * static_cast<double>(part_of(s.rivals[r])) >= tells_single * s.shortest;
}

int most_singles(const Selection& s) { return std::min(32, s.units + std::max(1, s.units / 4)); }

bool leaves_cores(const Selection& s, std::int64_t points) {
  const auto is_wide = [&](const Rival& rival) { return rival.pending && !is_single(s, rival); };
  const auto is_pending = [](const Rival& rival) { return rival.pending; };
  return std::none_of(s.rivals.begin(), s.rivals.end(), is_wide) &&
         std::any_of(s.rivals.begin(), s.rivals.end(), is_pending) && !next_abreast(s, points);
}

std::optional<Probe> next_abreast(const Selection& s, std::int64_t points) {
  if (s.winner) return std::nullopt;
  const auto pending = std::count_if(s.rivals.begin(), s.rivals.end(), [](const Rival& r) { return r.pending; });
  const auto probe = [&](std::size_t r) {
    const Rival& rival = s.rivals[r];
    return Probe{.rival = r, .points = next_part(s, rival, points), .of = points, .single = is_single(s, rival)};
  };
  if (s.believed) {
    if (pending > 0) return std::nullopt;
    Probe out = probe(*s.believed);
    const auto wanted = static_cast<std::int64_t>(tells_enough * s.shortest / std::max(1e-15, *s.expected));
    if (!out.single) out.points = std::max(out.points, wide(s, s.rivals[*s.believed], wanted));
    return out;
  }
  // Round after round. At first those that keep all cores busy, then single groups, short ones first: while others have
  // not been seen, nobody knows what is good. Later the order turns.
  const std::size_t count = s.rivals.size(), round = rounds_of(s);
  std::optional<std::size_t> next;
  const auto place_in_round = [&](std::size_t r) {
    const bool single = is_single(s, s.rivals[r]);
    return std::tuple(single, round == 0 ? part_of(s.rivals[r]) : static_cast<std::int64_t>((r + round) % count));
  };
  for (std::size_t r = 0; r < count; ++r) {
    if (!runs(s.rivals[r]) || s.rivals[r].samples.size() > round || s.rivals[r].pending) continue;
    if (!next || place_in_round(r) < place_in_round(*next)) next = r;
  }
  if (!next || (pending > 0 && !is_single(s, s.rivals[*next]))) return std::nullopt;
  const auto is_wide = [&](const Rival& rival) { return rival.pending && !is_single(s, rival); };
  if (std::any_of(s.rivals.begin(), s.rivals.end(), is_wide)) return std::nullopt;
  return probe(*next);
}

void learn_abreast(Selection& s, const Probe& probe, double seconds) {
  if (s.winner || probe.points == 0) return;
  Rival& rival = s.rivals[probe.rival];
  if (!rival.prepared) {
    rival.prepared = true;
    return;
  }
  const auto points = static_cast<double>(probe.points);
  const double took = seconds, cost = seconds / points / (probe.single ? s.units : 1);
  s.points = probe.of;
  if (s.believed) {
    if (probe.rival != *s.believed) return;
    const double expected = *s.expected;
    if (cost > surprising * expected || expected > pleasing * cost) return begin_again(s);
    s.expected.reset();  // a part tells little of launches
    rival.reach = probe.points, rival.look = cost;
    rival.samples.push_back(cost), rival.places.push_back(rival.at);
    s.winner = std::exchange(s.believed, std::nullopt);
    return;
  }
  const bool whole = 16 * probe.points >= probe.of;  // there is hardly more
  // Who was seen where it takes longer need not do so again: elsewhere there may be little work.
  const bool enough = whole || !rival.samples.empty();
  if (probe.single && took < tells_single * s.shortest && !enough) {
    rival.wide = true;  // one does not tell
    const double wanted = 1.2 * tells_enough * s.shortest / std::max(cost, 1e-15);
    rival.reach = wide(s, rival, static_cast<std::int64_t>(std::min(wanted, static_cast<double>(probe.of) / 16)));
    return;
  }
  double best = std::numeric_limits<double>::infinity();
  for (const Rival& other : s.rivals) best = runs(other) && other.look ? std::min(best, *other.look) : best;
  const bool clear = took >= tells_little * s.shortest && cost > hopeless * best;
  if (!probe.single && took < tells_enough * s.shortest && !clear && !enough) {
    const double factor = std::clamp(1.2 * tells_enough * s.shortest / std::max(took, 1e-9), 1.2, 16.0);
    rival.reach = wide(s, rival, static_cast<std::int64_t>(std::ceil(factor * points)));
    return;
  }
  rival.reach = probe.points;
  rival.look = std::min(cost, rival.look.value_or(cost));
  rival.samples.push_back(cost), rival.places.push_back(rival.at);
  settle_abreast(s, probe.of);
}

void settle_abreast(Selection& s, std::int64_t points) {
  if (s.winner || s.believed) return;
  leave_out(s);
  const std::size_t round = rounds_of(s);
  const auto left = std::count_if(s.rivals.begin(), s.rivals.end(), runs);
  const auto best = lead_abreast(s);
  if (!best) return;
  if (round >= 1 && !s.looked) {
    s.looked = true;
    double all = 0;
    for (const Rival& rival : s.rivals) all += runs(rival) ? static_cast<double>(rival.reach) : 0;
    if (too_short(s, *cost_abreast(s, *best) * static_cast<double>(points)) ||
        (left > 1 && all > too_much * static_cast<double>(points)))
      return compare_whole(s);
  }
  if (round >= 1 && (left == 1 || round >= most_of(s, points))) s.winner = best;
}

}  // namespace heddle::decide

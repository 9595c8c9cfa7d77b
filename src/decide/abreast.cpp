#include "decide/abreast.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include "core/median.hpp"
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
// Where all points take the same: what is left is one large piece then, that begins where the launch does, and a little
// one. Not at the very end, which may be a margin that computes less.
constexpr double place_of_alike = 0.94;
// At so many of them whoever is left is alike.
constexpr std::size_t most = std::size(places);
// Of a launch: more in all rounds of parts, or lost by them, and there is no other; more in the first, and launches are
// compared.
constexpr double much = 1.0 / 5, much_lost = 0.02, too_much = 1.0 / 4;
// In lengths of a probe: a part that tells, and one that shows who is hopeless; and a single group that tells.
constexpr double tells_enough = 0.5, tells_little = 0.125, tells_single = 0.25;
constexpr double hopeless = 4;
// A group on one of many cores that do little has their bandwidth. So where others are timed on all cores, it is, too,
// unless that takes long.
constexpr double tells_beside = 5;
// Of few cores, where parts lie apart, one that takes less is seen with its neighbours, if it is not out at once.
constexpr double tells_cold = 2;
constexpr std::int64_t warm_groups = 8;
// What the device waits, between two parts that keep all of it busy, for whoever decides.
constexpr double lost_between = 0.125;
// The first part is one in so many points, as it may be a hundred times as slow as others, or be compiled.
constexpr std::int64_t first_part = 16384;

std::int64_t part_of(const Rival& rival) { return core::volume(rival.footprint); }

// Seconds of one group on one core, in lengths of a probe, by what a point takes on all of them.
double group_of(const Selection& s, const Rival& rival, double cost) {
  return cost * s.units * static_cast<double>(part_of(rival)) / s.shortest;
}

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

// Rounds of parts that are worth it: what they lose is little of a launch.
std::size_t most_of(const Selection& s, std::int64_t points) {
  const auto best = lead_abreast(s);
  double round = 0, lost = 0;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    if (!runs(s.rivals[r])) continue;
    const auto part = static_cast<double>(next_part(s, s.rivals[r], points));
    round += part;
    if (!best) continue;
    if (const double factor = factor_abreast(s, r, *best); std::isfinite(factor))
      lost += std::max(0.0, factor - 1) * part;
    if (!is_single(s, s.rivals[r])) lost += lost_between * s.shortest / std::max(1e-15, *cost_abreast(s, *best));
  }
  // One that is not worth another round decides by what there is; where work differs, by two places at least.
  const auto all = static_cast<double>(points);
  const auto fit = static_cast<std::size_t>(
      std::min({much * all / std::max(1.0, round), much_lost * all / std::max(1e-9, lost), 1.0 * most}));
  return std::clamp<std::size_t>(fit, s.mode == Mode::fully && 16 * round > all ? 1 : 2, most);
}

// Seconds per point, by the first so many parts: by what each stands for, or where all points take the same the least
// of single groups, as whatever disturbs one makes it longer. What keeps all cores busy is timed less precisely.
double cost_of(const Selection& s, const Rival& rival, std::size_t count) {
  const auto end = rival.samples.begin() + static_cast<std::ptrdiff_t>(count);
  if (s.mode == Mode::fully && is_single(s, rival)) return *std::min_element(rival.samples.begin(), end);
  if (s.mode == Mode::fully) return core::median(std::vector<double>(rival.samples.begin(), end));
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = places[i % std::size(places)].weight;
    sum += weight * rival.samples[i], weights += weight;
  }
  return sum / weights;
}

// After so many places: by how much somebody must be worse to be out.
double limit_after(const Selection& s, const Rival& rival, const Rival& other, std::size_t count) {
  const auto n = static_cast<double>(count);
  if (s.mode != Mode::fully) return 1 + 1.5 / n;
  return 1 + (is_single(s, rival) && is_single(s, other) ? 1.4 / (n * n) : 1 / n);
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
      rival.out = factor_abreast(s, r, o) > limit_after(s, rival, other, count) || is_surely_worse(rival, other, count);
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

bool any_wide(const Selection& s) {
  return std::any_of(s.rivals.begin(), s.rivals.end(), [](const Rival& rival) { return runs(rival) && rival.wide; });
}

// From here on its parts keep all cores busy: as long as tells enough, by what it seems to take, and where parts lie
// apart with some groups for each of few cores, as what the first reads is not in its cache.
void widen(const Selection& s, Rival& rival, double cost, std::int64_t points) {
  const double wanted = 1.2 * tells_enough * s.shortest / std::max(cost, 1e-15), all = static_cast<double>(points);
  const double warm = s.mode == Mode::fully || crowded(s)
                          ? 0
                          : std::min(static_cast<double>(warm_groups * s.units * part_of(rival)), all / 64);
  rival.wide = true;
  rival.reach = wide(s, rival, static_cast<std::int64_t>(std::min(std::max(wanted, warm), all / 16)));
  rival.look.reset(), rival.samples.clear(), rival.places.clear();
}

// Whether its groups, which were timed alone, take less than so many lengths of a probe.
bool is_within(const Selection& s, const Rival& rival, double lengths) {
  if (!runs(rival) || !is_single(s, rival) || rival.samples.empty()) return false;
  return group_of(s, rival, rival.samples.back()) < lengths;
}

void widen_all(Selection& s, std::int64_t points) {
  for (Rival& rival : s.rivals) {
    const bool fits = 16 * s.units * part_of(rival) <= points;
    if (fits && is_within(s, rival, tells_beside)) widen(s, rival, rival.samples.back(), points);
  }
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
  return cost_of(s, rival, rival.samples.size());
}

double factor_abreast(const Selection& s, std::size_t r, std::size_t other) {
  const std::size_t count = std::min(s.rivals[r].samples.size(), s.rivals[other].samples.size());
  if (count == 0) {
    const auto mine = cost_abreast(s, r), theirs = cost_abreast(s, other);
    return mine && theirs ? *mine / *theirs : std::numeric_limits<double>::infinity();
  }
  return cost_of(s, s.rivals[r], count) / std::max(1e-18, cost_of(s, s.rivals[other], count));
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
  return s.mode == Mode::fully ? place_of_alike : places[s.rivals[r].samples.size() % std::size(places)].where;
}

void recall_abreast(Selection& s, const std::vector<std::optional<double>>& costs) {
  const auto widen_within = [&](double lengths) {
    for (std::size_t r = 0; r < s.rivals.size(); ++r)
      s.rivals[r].wide |= costs[r] && group_of(s, s.rivals[r], *costs[r]) < lengths;
  };
  widen_within(s.mode != Mode::fully && !crowded(s) ? tells_cold : tells_single);
  if (crowded(s) && any_wide(s)) widen_within(tells_beside);
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
  if (probe.single && !enough &&
      (took < tells_single * s.shortest || (crowded(s) && any_wide(s) && took < tells_beside * s.shortest))) {
    widen(s, rival, cost, probe.of);
    if (crowded(s)) widen_all(s, probe.of);
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
    const auto is_short = [&](const Rival& rival) { return is_within(s, rival, tells_cold); };
    if (left > 1 && s.mode != Mode::fully && !crowded(s) && std::any_of(s.rivals.begin(), s.rivals.end(), is_short))
      return widen_all(s, points);
  }
  if (round >= 1 && (left == 1 || round >= most_of(s, points))) s.winner = best;
}

}  // namespace heddle::decide

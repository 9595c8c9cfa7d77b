// A look at each, then rounds among those who are not far off.
#include "decide/select.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace heddle::decide {

namespace {

// Whether rivals compute the same parts.
bool same_parts(const Selection& s) { return s.mode != Mode::fully; }

// Whole footprints, as many as keep every unit equally busy.
std::int64_t rounded(const Selection& s, std::size_t rival, std::int64_t points, bool own) {
  const std::int64_t part = core::volume(same_parts(s) && !own ? s.together : s.rivals[rival].footprint);
  const std::int64_t one = std::min(part, (std::int64_t{1} << 60) / s.units) * s.units;
  return (std::max(points, one) + one - 1) / one * one;
}

// Samples that decide: repeats cost time; others by a variant that is nearly as good as the best cost nothing.
std::size_t enough(const Selection& s, const Rival& rival) {
  if (same_parts(s) && !s.whole) return 2;
  const auto mine = cost_of(rival), best = cost_of(s.rivals[best_of(s)]);
  return mine && best && *mine <= close * *best ? 9 : 5;
}

// One probe of every rival takes about this share of a launch, if they are all alike.
constexpr double share_of_probes = 0.02;
// Launches that take less than so many probes are not worth to be shared.
constexpr double shortest_launch = 50;

bool runs(const Rival& rival) { return rival.ready && !rival.out; }

// The one that is looked at first: the base, or the first that is there.
std::size_t lead_of(const Selection& s) {
  const auto first = std::find_if(s.rivals.begin(), s.rivals.end(), runs);
  return first == s.rivals.end() ? 0 : static_cast<std::size_t>(first - s.rivals.begin());
}

void decide_if_clear(Selection& s) {
  // Samples of the same part belong together.
  const std::size_t samples = s.rivals[lead_of(s)].samples.size();
  const auto alike = [&](const Rival& rival) { return !runs(rival) || rival.samples.size() == samples; };
  if (same_parts(s) && !s.whole && !std::all_of(s.rivals.begin(), s.rivals.end(), alike)) return;
  const std::size_t best = best_of(s);
  const auto cost = cost_of(s.rivals[best]);
  if (!cost) return;
  bool open = false;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    Rival& rival = s.rivals[r];
    if (!runs(rival)) continue;
    const auto mine = cost_of(rival);
    const double limit = rival.samples.size() >= 5 ? close : rival.samples.size() >= 2 ? worse : hopeless;
    if (r != best && mine && *mine > limit * *cost) rival.out = true;
    open |= runs(rival) && rival.samples.size() < enough(s, rival);
  }
  const auto left = std::count_if(s.rivals.begin(), s.rivals.end(), runs);
  if (s.looked && (left == 1 || !open)) s.winner = best;
}

// Seconds that a probe should take in a launch that takes `all`.
double wanted_of(const Selection& s, double all) {
  return std::clamp(share_of_probes * all / static_cast<double>(s.rivals.size()), s.shortest / 4, s.shortest);
}
bool too_short(const Selection& s, double all) { return all < shortest_launch * s.shortest; }

double best_look(const Selection& s) {
  double best = std::numeric_limits<double>::infinity();
  for (const Rival& rival : s.rivals) best = runs(rival) && rival.look ? std::min(best, *rival.look) : best;
  return best;
}

bool is_far_off(const Selection& s, const Rival& rival, std::int64_t points) {
  const bool in_short = too_short(s, best_look(s) * static_cast<double>(points));
  const double limit = in_short ? far_off_in_short : same_parts(s) ? far_off_elsewhere : far_off;
  return *rival.look > limit * best_look(s);
}

// Nobody is out by chance: a short look at one who is not that bad is repeated.
bool to_be_looked_at(const Selection& s, const Rival& rival, std::int64_t points) {
  if (!runs(rival) || !rival.look) return runs(rival);
  const double seconds = *rival.look * static_cast<double>(rival.reach);
  return rival.looks < 2 && is_far_off(s, rival, points) && *rival.look < 2 * best_look(s) && seconds < 5 * s.shortest;
}

// When all have been seen: who is left, and how long their probes are.
void settle_looks(Selection& s, std::int64_t points) {
  for (const Rival& rival : s.rivals) {
    if (to_be_looked_at(s, rival, points)) return;
  }
  const double best = std::max(best_look(s), 1e-15), all = best * static_cast<double>(points);
  s.together = {};
  for (Rival& rival : s.rivals) {
    rival.out |= runs(rival) && is_far_off(s, rival, points);
    if (runs(rival)) s.together = core::joint(s.together, rival.footprint);
  }
  s.looked = true;
  s.whole = too_short(s, all);
  s.length = static_cast<std::int64_t>(std::ceil(wanted_of(s, all) / best));
  if (std::count_if(s.rivals.begin(), s.rivals.end(), runs) == 1) s.winner = lead_of(s);
}

bool surprises(double cost, double expected) { return cost > surprising * expected || expected > surprising * cost; }

}  // namespace

Selection selection_of(Mode mode, int units, std::vector<Rival> rivals, double shortest) {
  Selection out;
  out.shortest = shortest;
  out.mode = mode, out.units = std::max(1, units), out.rivals = std::move(rivals);
  begin_again(out);
  return out;
}

std::optional<double> cost_of(const Rival& rival) {
  if (rival.samples.empty()) return std::nullopt;
  std::vector<double> sorted = rival.samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::optional<double> guess_of(const Rival& rival) {
  const auto cost = cost_of(rival);
  return cost ? cost : rival.look;
}

std::optional<double> fair_guess_of(const Selection& s, std::size_t r) {
  const std::size_t samples = s.rivals[lead_of(s)].samples.size();
  const auto alike = [&](const Rival& rival) { return !runs(rival) || rival.samples.size() == samples; };
  return std::all_of(s.rivals.begin(), s.rivals.end(), alike) ? guess_of(s.rivals[r]) : s.rivals[r].look;
}

std::size_t best_of(const Selection& s) {
  if (s.winner) return *s.winner;
  if (s.believed) return *s.believed;
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    const auto cost = cost_of(s.rivals[r]);
    if (runs(s.rivals[r]) && cost && *cost < least) best = r, least = *cost;
  }
  return best;
}

std::optional<Probe> next_probe(const Selection& s, std::int64_t points, std::uint64_t launch) {
  if (s.winner) return std::nullopt;
  double all = 0;  // points of one round
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    const std::int64_t one = s.looked ? rounded(s, r, s.length, false) : rounded(s, r, s.rivals[r].reach, true);
    all += runs(s.rivals[r]) ? static_cast<double>(one) : 0;
  }
  // Two rounds must leave most of the launch to the winner; else whole launches are compared. Looks may take all of it:
  // nobody who is a hundred times as slow should get a launch.
  const bool whole = s.whole || (s.looked ? 4 : 1) * all > static_cast<double>(points);
  const auto visited = [&](std::size_t r) {
    return std::find(s.visitors.begin(), s.visitors.end(), r) != s.visitors.end();
  };
  const auto probe = [&](std::size_t r) {
    const bool repeat = same_parts(s) && !whole && !s.visitors.empty() && s.region_of == launch && !visited(r);
    return Probe{r, rounded(s, r, s.length, false), whole, repeat, points};
  };
  if (s.believed) return probe(*s.believed);
  for (std::size_t r = 0; r < s.rivals.size() && !s.looked && !whole; ++r) {
    const Rival& rival = s.rivals[r];
    if (!to_be_looked_at(s, rival, points)) continue;
    const std::int64_t reach = std::max({rival.reach, s.rivals[lead_of(s)].reach, points / 1024});
    return Probe{r, rounded(s, r, reach, true), false, false, points, true};
  }
  // Whoever has run least; the order turns from round to round, so that nobody is always the first.
  std::optional<std::size_t> next;
  const auto runs_of = [&](std::size_t r) { return s.rivals[r].samples.size() + s.rivals[r].prepared; };
  const std::size_t count = s.rivals.size();
  const std::size_t first = static_cast<std::size_t>(s.regions) % count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t r = (first + i) % count;
    if (!runs(s.rivals[r]) || s.rivals[r].samples.size() >= enough(s, s.rivals[r])) continue;
    // A region is finished before the next is begun.
    if (next && probe(r).repeat != probe(*next).repeat ? probe(r).repeat : !next || runs_of(r) < runs_of(*next))
      next = r;
  }
  if (!next) return std::nullopt;
  return probe(*next);
}

bool to_be_repeated(const Selection& s, const Probe& probe) {
  return same_parts(s) && !s.believed && !probe.look && !probe.whole;
}

void begin(Selection& s, const Probe& probe, const core::Box& box, std::uint64_t launch) {
  if (probe.look) return;
  if (!probe.repeat) s.region = box, s.region_of = launch, s.visitors.clear(), ++s.regions;
  s.visitors.push_back(probe.rival);
}

bool tells(const Selection& s, double seconds) {
  return seconds >= s.shortest / 16 && (seconds >= 4 * s.least || seconds >= s.shortest / 2);
}

void learn(Selection& s, const Probe& probe, double seconds, bool disturbed) {
  const std::size_t r = probe.rival;
  const std::int64_t points = probe.points;
  Rival& rival = s.rivals[r];
  if (s.winner || points == 0) return;
  if (!rival.prepared) {
    rival.prepared = true;
    std::erase(s.visitors, r);  // once more
    return;
  }
  if (disturbed && ++rival.disturbed <= 2) {
    std::erase(s.visitors, r);  // once more
    return;
  }
  const double cost = seconds / static_cast<double>(points);
  s.points = probe.of;
  if (s.believed) {
    if (r != *s.believed) return;
    if (surprises(cost, *s.expected)) return begin_again(s);
    if (same_parts(s)) s.expected.reset();  // a part tells little of launches
    rival.samples.push_back(cost);
    s.winner = std::exchange(s.believed, std::nullopt);
    return;
  }
  if (!probe.look) {
    rival.samples.push_back(cost);
    if (probe.whole) s.looked = s.whole = true;
    return decide_if_clear(s);
  }
  if (!rival.look && !tells(s, seconds) && 16 * points < probe.of) {
    const double wanted = std::max(s.shortest / 8, std::min(4 * s.least, s.shortest / 2));
    const double factor = std::clamp(wanted / std::max(seconds, 1e-9), 1.2, 8.0);
    rival.reach = rounded(s, r, static_cast<std::int64_t>(std::ceil(static_cast<double>(points) * factor)), true);
    return;
  }
  rival.reach = std::max(rival.reach, points);
  rival.look = std::min(cost, rival.look.value_or(cost));
  ++rival.looks;
  settle_looks(s, probe.of);
}

void give_up(Selection& s, std::size_t r) {
  s.rivals[r].out = s.rivals[r].failed = true;
  s.visitors.clear();  // what it was to compute is not there
  if (s.believed == r) begin_again(s);
  const auto left = std::count_if(s.rivals.begin(), s.rivals.end(), runs);
  if (left == 0) s.rivals[r].out = s.rivals[r].failed = false;  // nobody else: it may be tried again
  if (left == 1 && !s.winner) {
    const auto last = std::find_if(s.rivals.begin(), s.rivals.end(), runs);
    s.winner = static_cast<std::size_t>(last - s.rivals.begin());
  }
  if (s.winner == r) s.winner.reset();
  if (!s.looked && !s.winner && s.points > 0 && best_look(s) < std::numeric_limits<double>::infinity())
    settle_looks(s, s.points);
  if (!s.winner) decide_if_clear(s);
}

void begin_again(Selection& s) {
  s.together = {};
  for (Rival& rival : s.rivals) {
    rival.out = rival.failed;
    rival.look.reset(), rival.looks = 0, rival.reach = 0, rival.disturbed = 0, rival.samples.clear();
    s.together = core::joint(s.together, rival.footprint);
  }
  s.winner.reset(), s.believed.reset(), s.expected.reset();
  s.surprises = 0, s.length = 0;
  s.looked = s.whole = s.misled;
  s.visitors.clear(), s.regions = 0;
  if (std::count_if(s.rivals.begin(), s.rivals.end(), runs) == 1) s.winner = lead_of(s);
}

void recall(Selection& s, const std::vector<std::optional<double>>& costs, std::int64_t points) {
  if (s.winner) return;
  std::optional<std::size_t> best;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    if (!runs(s.rivals[r])) continue;
    if (!costs[r]) return;
    if (!best || *costs[r] < *costs[*best]) best = r;
  }
  if (!best || *costs[*best] <= 0) return;
  s.believed = best, s.expected = costs[*best];
  for (std::size_t r = 0; r < s.rivals.size(); ++r) s.rivals[r].look = costs[r];
  const double all = *s.expected * static_cast<double>(points);
  s.whole = too_short(s, all);
  s.looked = true;
  s.length = static_cast<std::int64_t>(std::ceil(wanted_of(s, all) / *s.expected));
}

namespace {

// All but those who are not worth a launch.
void compare_launches(Selection& s) {
  const double best = best_look(s);
  std::vector<bool> out;
  for (const Rival& rival : s.rivals) out.push_back(rival.failed || (rival.look && *rival.look > 8 * best));
  begin_again(s);
  for (std::size_t r = 0; r < out.size(); ++r) s.rivals[r].out = out[r];
  s.looked = s.whole = s.misled = true;
}

}  // namespace

void watch(Selection& s, double seconds, std::int64_t points) {
  const double cost = seconds / static_cast<double>(std::max<std::int64_t>(1, points));
  if (!s.winner || seconds < s.shortest ||
      std::count_if(s.rivals.begin(), s.rivals.end(), [](const Rival& r) { return r.ready; }) < 2)
    return;
  const auto shown = guess_of(s.rivals[*s.winner]);
  const bool by_parts = !s.whole || s.rivals[*s.winner].samples.empty();
  if (same_parts(s) && by_parts && !s.misled && shown && (cost > 2 * *shown || *shown > 2 * cost))
    return compare_launches(s);
  // What it took as a probe; where parts differ, or that has misled before, what it took for the first real work.
  if (!s.expected) s.expected = s.reopened == 0 && !same_parts(s) ? shown.value_or(cost) : cost;
  s.surprises = surprises(cost, *s.expected) ? s.surprises + 1 : 0;
  if (s.surprises < 2 << std::min(s.reopened, 20)) return;
  begin_again(s);
  ++s.reopened;
}

}  // namespace heddle::decide

#include "decide/look.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace heddle::decide {

namespace {

bool on_cpu(const Selection& s) {
  return std::all_of(s.rivals.begin(), s.rivals.end(), [](const Rival& rival) { return rival.wave == 0; });
}

}  // namespace

bool crowded(const Selection& s) { return s.units >= many_units && on_cpu(s); }

bool same_parts(const Selection& s) { return s.mode != Mode::fully && !s.alike; }

std::int64_t rounded(const Selection& s, std::size_t rival, std::int64_t points, bool look, std::int64_t waves) {
  const std::int64_t part = core::volume(same_parts(s) && !look ? s.together : s.rivals[rival].footprint);
  const std::int64_t one = std::min(part, (std::int64_t{1} << 60) / s.units) * s.units;
  return (std::max({points, waves * one, look ? 0 : s.rivals[rival].wave}) + one - 1) / one * one;
}

bool is_coarse(const Selection& s, const Rival& rival, std::int64_t points) {
  const double four = 4.0 * s.units * static_cast<double>(core::volume(rival.footprint));
  return crowded(s) || (rival.wave == 0 && s.units > 1 && static_cast<double>(points) < four);
}

bool runs(const Rival& rival) { return rival.ready && !rival.out; }

std::size_t lead_of(const Selection& s) {
  const auto first = std::find_if(s.rivals.begin(), s.rivals.end(), runs);
  return first == s.rivals.end() ? 0 : static_cast<std::size_t>(first - s.rivals.begin());
}

namespace {

// One probe of every rival takes about this share of a launch, if they are all alike.
constexpr double share_of_probes = 0.02;
// A round of probes is costly if it, or three of its longest, are a larger part of the launch than one in so many.
constexpr double costly_round = 32;
// The first look is one in so many points, at least.
constexpr std::int64_t first_look = 1024;
// Launches that take less than so many probes are not worth to be shared.
constexpr double shortest_launch = 50;

// Of many units one is late, and who has one footprint for each takes twice as long then; and the first footprints of a
// part find nothing in a CPU's cache of what their neighbours have read. So a few for each, if that is little of the
// launch: a 400th for each, of few units a 100th together; or, where all compute the same, and all but one of them in
// vain, a 200th together.
std::int64_t waves_of(const Selection& s, std::int64_t points) {
  if (s.units == 1 || !on_cpu(s)) return 1;
  double largest = 0, rivals = 0;
  for (const Rival& rival : s.rivals) {
    if (runs(rival)) largest = std::max(largest, static_cast<double>(core::volume(rival.footprint))), ++rivals;
  }
  if (largest == 0) return 1;
  double part = 400 * largest;
  if (!crowded(s))
    part = same_parts(s) ? 200 * rivals * static_cast<double>(core::volume(s.together))
                         : 100 * std::max(4.0, rivals) * largest;
  return static_cast<std::int64_t>(std::clamp(static_cast<double>(points) / (part * s.units), 1.0, 8.0));
}

// Seconds that a probe should take in a launch that takes `all`.
double wanted_of(const Selection& s, double all) {
  return std::clamp(share_of_probes * all / static_cast<double>(s.rivals.size()), s.shortest / 4, s.shortest);
}

}  // namespace

bool too_short(const Selection& s, double all) {
  // Where little time passes before and after the work, shorter probes tell as much.
  const double probe = s.least > 0 ? std::clamp(8 * s.least, s.shortest / 8, s.shortest) : s.shortest;
  return all < shortest_launch * probe;
}

bool is_round_costly(const Selection& s, std::int64_t points) {
  double all = 0, largest = 0;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    if (!runs(s.rivals[r])) continue;
    const auto one = static_cast<double>(rounded(s, r, s.length, false, s.waves));
    all += one, largest = std::max(largest, one);
  }
  return std::max(all, 3 * largest) * costly_round > static_cast<double>(points);
}

bool leave_too_little(double points_of_round, std::int64_t points) {
  return 4 * points_of_round > static_cast<double>(points);
}

void set_length(Selection& s, double best, std::int64_t points) {
  s.length = static_cast<std::int64_t>(std::ceil(wanted_of(s, best * static_cast<double>(points)) / best));
  s.waves = waves_of(s, points);
}

double best_look(const Selection& s) {
  double best = std::numeric_limits<double>::infinity();
  for (const Rival& rival : s.rivals) best = runs(rival) && rival.look ? std::min(best, *rival.look) : best;
  return best;
}

bool tells(const Selection& s, double seconds) {
  return seconds >= s.shortest / 16 && (seconds >= 4 * s.least || seconds >= s.shortest / 2);
}

namespace {

// A look that takes longer than so many probes.
constexpr double long_look = 5;

double limit_of_looks(const Selection& s, std::int64_t points) {
  const bool in_short = too_short(s, best_look(s) * static_cast<double>(points));
  return in_short || same_parts(s) ? far_off_elsewhere : far_off;
}

// Points, of those of the launch, on which a look tells as much as the best one did, where fewer of them might take as
// long: with those the device is full, and what any launch takes is spread over as many.
std::int64_t fair_reach(const Selection& s, const Rival& rival, std::int64_t points) {
  std::int64_t out = rival.wave;
  const double best = best_look(s);
  for (const Rival& other : s.rivals) {
    if (runs(other) && other.look == best) out = std::max(out, other.reach);
  }
  return rival.wave > 0 ? std::min(out, points) : 0;
}

// Seconds per point that it takes at least for a launch of `all` points, as a part of so many has shown.
double at_least(const Selection& s, const Rival& rival, double cost, std::int64_t points, std::int64_t all) {
  const std::int64_t fair = fair_reach(s, rival, all);
  return points < fair ? cost * static_cast<double>(points) / static_cast<double>(fair) : cost;
}

bool is_far_off(const Selection& s, const Rival& rival, std::int64_t points) {
  double limit = limit_of_looks(s, points);
  // A few footprints alone do not show what they find of each other in the cache: longer parts will.
  if (!crowded(s) && !same_parts(s) && is_coarse(s, rival, rival.reach) && waves_of(s, points) > 1)
    limit = std::max(limit, far_off_elsewhere);
  // Where the least part takes long, looks are as long as what would be compared after them.
  if (same_parts(s) && *rival.look * static_cast<double>(rival.reach) > long_look * s.shortest)
    limit = std::min(limit, far_off_when_long);
  if (same_parts(s) && crowded(s)) {
    // Looks lie side by side: where they are much of the launch, one place may have several times the work of another.
    double seen = 0;
    for (const Rival& other : s.rivals) seen += other.look ? static_cast<double>(other.reach) : 0;
    const double part = seen / static_cast<double>(points);
    if (part > 0.2) limit *= 1 + 3 * part;
  }
  return at_least(s, rival, *rival.look, rival.reach, points) > limit * best_look(s);
}

// Points on which one that was seen on fewer than the best should be seen again; 0: on none. As many as that, but no
// more than should take as long as a launch does. If that is a good part of the launch, even who is nearly as good:
// else launches would have to tell.
std::int64_t wider_reach(const Selection& s, const Rival& rival, std::int64_t points) {
  const std::int64_t fair = fair_reach(s, rival, points);
  const double best = best_look(s);
  const bool much = 8 * fair > points;
  if (rival.looks >= 3 || rival.reach >= fair || *rival.look <= (much ? 1 : limit_of_looks(s, points)) * best) return 0;
  const auto affordable = static_cast<std::int64_t>(best / *rival.look * static_cast<double>(points));
  if (much && affordable < 2 * rival.reach) return 0;
  return std::min(fair, std::max(affordable, 2 * rival.reach));
}

// Seconds after which one that is seen on less than the first was is far off, whatever any launch takes: the first did
// more meanwhile.
double certain(const Selection& s, std::int64_t points) {
  return limit_of_looks(s, points) * best_look(s) * static_cast<double>(s.rivals[lead_of(s)].reach);
}

// Whether a look is enough: it was long enough to be timed, and saw as much as the first did or a full device, or was a
// good part of the launch, or showed that there is nothing more to see.
bool is_enough(const Selection& s, const Probe& probe, double seconds) {
  const Rival& rival = s.rivals[probe.rival];
  if (16 * probe.points >= probe.of) return true;
  if (!tells(s, seconds)) return false;
  // Less than it would have begun with, had it been compiled.
  if (rival.wave == 0 && probe.rival == lead_of(s) && probe.points < probe.of / first_look && seconds < s.shortest)
    return false;
  // Where parts differ, one row may be most of a small one.
  const double limit = rival.wave > 0  ? limit_of_looks(s, probe.of)
                       : same_parts(s) ? 2 * far_off_on_less
                                       : far_off_on_less;
  const double cost = seconds / static_cast<double>(probe.points);
  const bool surely = rival.wave > 0 || seconds > certain(s, probe.of);
  if (surely && at_least(s, rival, cost, probe.points, probe.of) > limit * best_look(s)) return true;
  return probe.points >= (rival.wave > 0 ? rival.wave : s.rivals[lead_of(s)].reach);
}

// Nobody is out by chance: a short look at one who is not that bad is repeated. Nor because it was seen on less than
// the best: then it is seen on as much, or stays in.
bool to_be_looked_at(const Selection& s, const Rival& rival, std::int64_t points) {
  if (!runs(rival) || !rival.look) return runs(rival);
  if (is_far_off(s, rival, points)) {
    const double seconds = *rival.look * static_cast<double>(rival.reach), best = best_look(s);
    const bool coarse = is_coarse(s, rival, rival.reach) && rival.reach <= points / little_of;
    return rival.looks < 2 &&
           (seconds < s.shortest / 2 ||
            (coarse ? *rival.look < 2 * far_off * best : *rival.look < 2 * best && seconds < 5 * s.shortest));
  }
  return wider_reach(s, rival, points) > 0;
}

// Of many cores every part costs, and of few one that is a good part of the launch: looks that are what probes would be
// are the first of these. Not where rivals compare the same parts, or whole launches.
bool are_probes(const Selection& s, std::int64_t points) {
  if (s.whole || same_parts(s) || !(crowded(s) || (on_cpu(s) && is_round_costly(s, points)))) return false;
  double all = 0;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    if (!runs(s.rivals[r])) continue;
    const std::int64_t probe = rounded(s, r, s.length, false, s.waves);
    if (s.rivals[r].reach != probe) return false;
    all += static_cast<double>(probe);
  }
  return !leave_too_little(all, points);
}

}  // namespace

void settle_looks(Selection& s, std::int64_t points) {
  for (const Rival& rival : s.rivals) {
    if (to_be_looked_at(s, rival, points)) return;
  }
  const double best = std::max(best_look(s), 1e-15), all = best * static_cast<double>(points);
  s.together = {};
  // Whoever is hopeless first: how long parts are, and so who is far off, depends on who is left.
  for (Rival& rival : s.rivals)
    rival.out |= runs(rival) && is_far_off(s, rival, points) && *rival.look > far_off_elsewhere * best_look(s);
  for (Rival& rival : s.rivals) {
    rival.out |= runs(rival) && is_far_off(s, rival, points);
    if (runs(rival)) s.together = core::joint(s.together, rival.footprint);
  }
  const bool again = std::exchange(s.looked, true);  // somebody was given up while another was looked at once more
  s.whole = too_short(s, all);
  set_length(s, best, points);
  if (std::count_if(s.rivals.begin(), s.rivals.end(), runs) == 1) s.winner = lead_of(s);
  if (again || s.winner || !are_probes(s, points)) return;
  for (Rival& rival : s.rivals) {
    if (runs(rival)) rival.samples.push_back(*rival.look), rival.places.emplace_back();
  }
}

std::optional<Probe> next_look(const Selection& s, std::int64_t points) {
  // Whoever was not seen yet, then longer or once more who was: beside the best of all that may be needless.
  const std::size_t lead = lead_of(s);
  for (std::size_t i = 0; i < 2 * s.rivals.size(); ++i) {
    const bool unseen = i < s.rivals.size();
    const std::size_t r = i % s.rivals.size();
    const Rival& rival = s.rivals[r];
    if (unseen && (rival.look || (rival.glimpsed > 0 && r != lead))) continue;
    if (!to_be_looked_at(s, rival, points)) continue;
    // Each may be a hundred times as slow as the best: the first begins with little, and with less where it may have to
    // be compiled, as that tells nothing; whoever comes after it with little of that.
    const std::int64_t first = points / (rival.prepared ? first_look : 16 * first_look);
    const std::int64_t least = r == lead ? first : std::min(s.rivals[lead].reach, points / 16) / 16;
    const std::int64_t reach =
        std::max({rival.reach, rival.first_reach, least, rival.look ? wider_reach(s, rival, points) : 0});
    return Probe{r, rounded(s, r, reach, true), false, false, points, true};
  }
  return std::nullopt;
}

void learn_look(Selection& s, const Probe& probe, double seconds) {
  const std::size_t r = probe.rival;
  const std::int64_t points = probe.points;
  Rival& rival = s.rivals[r];
  const double cost = seconds / static_cast<double>(points);
  if (!rival.look && !is_enough(s, probe, seconds)) {
    const double wanted = std::max(s.shortest / 8, std::min(4 * s.least, s.shortest / 2));
    const double factor = std::clamp(wanted / std::max(seconds, 1e-9), 1.2, 8.0);
    const auto longer = static_cast<std::int64_t>(std::ceil(static_cast<double>(points) * factor));
    const bool lead = r == lead_of(s);
    std::int64_t full = rival.wave > 0 ? rival.wave : lead ? probe.of / first_look : s.rivals[lead_of(s)].reach;
    // No more than shows that it is slow, if it is.
    if (rival.wave == 0 && !lead && tells(s, seconds))
      full = static_cast<std::int64_t>(std::min(static_cast<double>(full), 1.2 * certain(s, probe.of) / cost));
    rival.reach = rounded(s, r, std::max(longer, full), true);
    rival.glimpsed = points, rival.glimpse = seconds;
    return;
  }
  rival.reach = std::max(rival.reach, points);
  rival.look = std::min(cost, rival.look.value_or(cost));
  ++rival.looks;
  for (std::size_t other = 0; other < s.rivals.size(); ++other) {
    Rival& seen = s.rivals[other];
    if (!runs(seen) || seen.look || seen.glimpsed == 0) continue;
    if (!is_enough(s, {.rival = other, .points = seen.glimpsed, .of = probe.of}, seen.glimpse)) continue;
    seen.look = seen.glimpse / static_cast<double>(seen.glimpsed), seen.reach = seen.glimpsed, ++seen.looks;
  }
  settle_looks(s, probe.of);
}

}  // namespace heddle::decide

#include "decide/look.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decide/abreast.hpp"

namespace heddle::decide {

bool same_parts(const Selection& s) { return s.mode != Mode::fully && !s.alike && !is_abreast(s); }

std::int64_t rounded(const Selection& s, std::size_t rival, std::int64_t points, bool look) {
  const std::int64_t part = core::volume(same_parts(s) && !look ? s.together : s.rivals[rival].footprint);
  const std::int64_t one = std::min(part, (std::int64_t{1} << 60) / s.units) * s.units;
  return (std::max({points, one, look ? 0 : s.rivals[rival].wave}) + one - 1) / one * one;
}

bool runs(const Rival& rival) { return rival.ready && !rival.out; }

std::size_t lead_of(const Selection& s) {
  const auto first = std::find_if(s.rivals.begin(), s.rivals.end(), runs);
  return first == s.rivals.end() ? 0 : static_cast<std::size_t>(first - s.rivals.begin());
}

namespace {

// One probe of every rival takes about this share of a launch, if they are all alike.
constexpr double share_of_probes = 0.02;
// The first look is one in so many points, at least.
constexpr std::int64_t first_look = 1024;
// Launches that take less than so many probes are not worth to be shared.
constexpr double shortest_launch = 50;

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

void set_length(Selection& s, double best, std::int64_t points) {
  s.length = static_cast<std::int64_t>(std::ceil(wanted_of(s, best * static_cast<double>(points)) / best));
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
  return std::min(out, points);
}

// Seconds per point that it takes at least for a launch of `all` points, as a part of so many has shown.
double at_least(const Selection& s, const Rival& rival, double cost, std::int64_t points, std::int64_t all) {
  const std::int64_t fair = fair_reach(s, rival, all);
  return points < fair ? cost * static_cast<double>(points) / static_cast<double>(fair) : cost;
}

bool is_far_off(const Selection& s, const Rival& rival, std::int64_t points) {
  double limit = limit_of_looks(s, points);
  // Where the least part takes long, looks are as long as what would be compared after them.
  if (same_parts(s) && *rival.look * static_cast<double>(rival.reach) > long_look * s.shortest)
    limit = std::min(limit, far_off_when_long);
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

// Whether a look is enough: it was long enough to be timed, and filled the device, or was a good part of the launch, or
// showed that there is nothing more to see.
bool is_enough(const Selection& s, const Probe& probe, double seconds) {
  const Rival& rival = s.rivals[probe.rival];
  if (16 * probe.points >= probe.of) return true;
  if (!tells(s, seconds)) return false;
  const double cost = seconds / static_cast<double>(probe.points);
  return probe.points >= rival.wave ||
         at_least(s, rival, cost, probe.points, probe.of) > limit_of_looks(s, probe.of) * best_look(s);
}

// Nobody is out by chance: a short look at one who is not that bad is repeated. Nor because it was seen on less than
// the best: then it is seen on as much, or stays in.
bool to_be_looked_at(const Selection& s, const Rival& rival, std::int64_t points) {
  if (!runs(rival) || !rival.look) return runs(rival);
  if (is_far_off(s, rival, points)) {
    const double seconds = *rival.look * static_cast<double>(rival.reach), best = best_look(s);
    return rival.looks < 2 && (seconds < s.shortest / 2 || (*rival.look < 2 * best && seconds < 5 * s.shortest));
  }
  return wider_reach(s, rival, points) > 0;
}

}  // namespace

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
  set_length(s, best, points);
  if (std::count_if(s.rivals.begin(), s.rivals.end(), runs) == 1) s.winner = lead_of(s);
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
    rival.reach = rounded(s, r, std::max(longer, rival.wave), true);
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

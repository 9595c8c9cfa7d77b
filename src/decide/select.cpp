// Rounds among those who are not far off at first sight.
#include "decide/select.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/median.hpp"
#include "decide/abreast.hpp"
#include "decide/look.hpp"

namespace heddle::decide {

namespace {

// A part that takes longer than so many probes is not computed twice.
constexpr double long_part = 10;

// Little of a region, which may be much of it where no part is small.
std::int64_t little_of_region(const Selection& s, std::size_t r) { return rounded(s, r, s.length / 16, false); }
bool can_be_piloted(const Selection& s, std::size_t r) {
  return 2 * little_of_region(s, r) <= rounded(s, r, s.length, false);
}

// Of two samples of longer parts the lesser: one that was disturbed must not decide.
std::optional<double> cost_in(const Selection& s, const Rival& rival) {
  if (s.longer && rival.samples.size() == 2) return std::min(rival.samples[0], rival.samples[1]);
  return cost_of(rival);
}

// Of parts of its own, which are at the same places for all, two that differ may be two halves of the launch, or
// something disturbed one: unless even the lesser shows that it is not the best, all have a third.
bool want_third(const Selection& s) {
  if (!s.alike) return false;
  const auto lesser = [](const Rival& rival) { return std::min(rival.samples[0], rival.samples[1]); };
  const auto has_two = [](const Rival& rival) { return runs(rival) && rival.samples.size() >= 2; };
  double best = std::numeric_limits<double>::infinity();
  for (const Rival& rival : s.rivals) best = has_two(rival) ? std::min(best, lesser(rival)) : best;
  return std::any_of(s.rivals.begin(), s.rivals.end(), [&](const Rival& rival) {
    return has_two(rival) && lesser(rival) <= worse * best &&
           std::max(rival.samples[0], rival.samples[1]) > pleasing * lesser(rival);
  });
}

// Samples that decide: repeats cost time; others by a variant that is nearly as good as the best cost nothing.
std::size_t enough(const Selection& s, const Rival& rival) {
  if (same_parts(s) && !s.whole) return 2;
  if (want_third(s)) return 3;
  const auto mine = cost_in(s, rival), best = cost_in(s, s.rivals[best_of(s)]);
  const bool near = mine && best && *mine <= close * *best;
  return s.longer ? (near ? 3 : 2) : near ? 9 : 5;
}

// Of a launch whose parts are alike two probes of each rival take this share, together.
constexpr double share_apart = 0.125;
// Where parts tell nothing, only launches that take less than so many probes are given to somebody unseen.
constexpr double long_launch = 100;

// Whether what it takes for two regions shows that these are alike for others, too.
bool can_tell_regions(const Selection& s, const Rival& rival) {
  const auto differs = [](const Rival& one) { return runs(one) && !one.uniform; };
  return !rival.uniform || std::none_of(s.rivals.begin(), s.rivals.end(), differs);
}

// Whether those who have computed parts of two regions took the same for both, all in all, and one of them is good:
// then nobody need compute again what another has. The others will show it in parts of their own.
bool regions_are_alike(const Selection& s) {
  double best = std::numeric_limits<double>::infinity(), first = 0, second = 0;
  for (const Rival& rival : s.rivals) {
    if (!runs(rival)) continue;
    if (rival.samples.empty()) return false;
    best = std::min(best, rival.samples.front());
  }
  bool good = false;
  for (const Rival& rival : s.rivals) {
    if (!runs(rival) || rival.samples.size() < 2 || !can_tell_regions(s, rival)) continue;
    good |= rival.samples.front() <= worse * best;
    first += rival.samples.front(), second += rival.samples.back();
  }
  return good && second <= worse * first && first <= worse * second;
}

// From now on each computes parts of its own: longer ones, as they cost nothing but what it is slower than the best.
// What was seen of short ones, some of which another had just computed, does not count any more.
void part(Selection& s) {
  const auto least = [](const Rival& rival) { return *std::min_element(rival.samples.begin(), rival.samples.end()); };
  double best = std::numeric_limits<double>::infinity();
  for (const Rival& rival : s.rivals) {
    if (runs(rival)) best = std::min(best, least(rival));
  }
  std::int64_t left = 0;
  for (Rival& rival : s.rivals) {
    rival.out |= runs(rival) && least(rival) > far_off * best;
    left += runs(rival);
  }
  if (left == 1) {
    s.winner = lead_of(s);
    return;
  }
  for (Rival& rival : s.rivals) {
    if (runs(rival)) rival.samples.clear(), rival.places.clear();
  }
  const auto longer = static_cast<std::int64_t>(share_apart * static_cast<double>(s.points)) / (2 * left);
  s.alike = true, s.longer = longer > s.length;
  s.length = std::max(s.length, longer);
}

// Parts take rather more than launches than less.
bool surprises(double cost, double expected) { return cost > surprising * expected || expected > pleasing * cost; }

// Far off in the only region that was compared: it is heard again where the next one differs.
bool is_doubtful(const Selection& s, std::size_t r) {
  const Rival& rival = s.rivals[r];
  if (!same_parts(s) || s.whole || !runs(rival) || rival.samples.size() != 1) return false;
  double best = rival.samples.front();
  for (const Rival& other : s.rivals) {
    if (runs(other) && other.samples.empty()) return false;
    if (runs(other)) best = std::min(best, other.samples.front());
  }
  return rival.samples.front() > far_off * best;
}

// What it took for one region it takes for others.
bool is_known_everywhere(const Selection& s, std::size_t r) {
  const Rival& rival = s.rivals[r];
  return same_parts(s) && !s.whole && runs(rival) && !can_tell_regions(s, rival) && !rival.samples.empty();
}

// A region is begun. Others who take the same everywhere count as if they had computed it: that would cost a probe in
// vain.
void excuse_others(Selection& s, std::size_t first) {
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    Rival& rival = s.rivals[r];
    if (r == first || !is_known_everywhere(s, r) || rival.samples.size() >= enough(s, rival)) continue;
    rival.samples.push_back(rival.samples.front()), rival.places.emplace_back();
    s.visitors.push_back(r);
  }
}

// Whoever is nearly the best has taken the same in another region: those who are far off need not be seen there.
void leave_out_doubtful(Selection& s, const Rival& rival) {
  if (rival.samples.size() != 2 || surprises(rival.samples[1], rival.samples[0]) || !can_tell_regions(s, rival)) return;
  std::vector<std::size_t> out;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    if (is_doubtful(s, r)) out.push_back(r);
  }
  for (std::size_t r : out) s.rivals[r].out = true;
}

void decide_if_clear(Selection& s) {
  if (same_parts(s) && !s.whole && s.looked && regions_are_alike(s)) return part(s);
  // Samples of the same part belong together.
  const std::size_t samples = s.rivals[lead_of(s)].samples.size();
  const auto alike = [&](const Rival& rival) { return !runs(rival) || rival.samples.size() == samples; };
  if (same_parts(s) && !s.whole && !std::all_of(s.rivals.begin(), s.rivals.end(), alike)) return;
  const auto has_three = [](const Rival& rival) { return !runs(rival) || rival.samples.size() >= 3; };
  if (want_third(s) && !std::all_of(s.rivals.begin(), s.rivals.end(), has_three)) return;
  const std::size_t best = best_of(s);
  const auto cost = cost_in(s, s.rivals[best]);
  if (!cost) return;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    Rival& rival = s.rivals[r];
    if (!runs(rival)) continue;
    const auto mine = cost_in(s, rival);
    const bool doubtful = (same_parts(s) && !s.whole) || s.longer;
    const double at_once = doubtful ? far_off_elsewhere : far_off;
    if (rival.samples.size() == 1 && is_known_everywhere(s, r)) continue;  // to hear it again costs nothing
    const double limit = rival.samples.size() >= 5 ? close : rival.samples.size() >= 2 ? worse : at_once;
    if (r != best && mine && *mine > limit * *cost) rival.out = true;
  }
  const auto is_open = [&](const Rival& rival) { return runs(rival) && rival.samples.size() < enough(s, rival); };
  const bool open = std::any_of(s.rivals.begin(), s.rivals.end(), is_open);
  const auto left = std::count_if(s.rivals.begin(), s.rivals.end(), runs);
  if (s.looked && (left == 1 || !open)) s.winner = best;
}

}  // namespace

bool crowded(const Selection& s) { return s.units >= many_units && s.rivals.front().wave == 0; }

Selection selection_of(Mode mode, int units, std::vector<Rival> rivals, double shortest) {
  Selection out;
  out.shortest = shortest;
  out.mode = mode, out.units = std::max(1, units), out.rivals = std::move(rivals);
  begin_again(out);
  return out;
}

std::optional<double> cost_of(const Rival& rival) {
  if (rival.samples.empty()) return std::nullopt;
  return core::median(rival.samples);
}

std::optional<double> guess_of(const Rival& rival) {
  const auto cost = cost_of(rival);
  return cost ? cost : rival.look;
}

std::optional<double> fair_guess_of(const Selection& s, std::size_t r) {
  if (const auto lead = is_abreast(s) ? lead_abreast(s) : std::nullopt) {
    if (!cost_abreast(s, r)) return std::nullopt;
    return *cost_abreast(s, *lead) * factor_abreast(s, r, *lead);
  }
  const std::size_t samples = s.rivals[lead_of(s)].samples.size();
  const auto alike = [&](const Rival& rival) { return !runs(rival) || rival.samples.size() == samples; };
  return std::all_of(s.rivals.begin(), s.rivals.end(), alike) ? guess_of(s.rivals[r]) : s.rivals[r].look;
}

std::size_t best_of(const Selection& s) {
  if (s.winner) return *s.winner;
  if (s.believed) return *s.believed;
  if (is_abreast(s)) return lead_abreast(s).value_or(lead_of(s));
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    const auto cost = cost_in(s, s.rivals[r]);
    if (runs(s.rivals[r]) && cost && *cost < least) best = r, least = *cost;
  }
  return best;
}

std::optional<Probe> next_probe(const Selection& s, std::int64_t points, std::uint64_t launch) {
  if (s.winner) return std::nullopt;
  if (is_abreast(s)) return next_abreast(s, points);
  double all = 0;  // points of one round
  std::int64_t first_look = 0;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    const Rival& rival = s.rivals[r];
    const std::int64_t one =
        s.looked ? rounded(s, r, s.length, false) : std::max(rival.wave, rounded(s, r, rival.reach, true));
    all += runs(s.rivals[r]) ? static_cast<double>(one) : 0;
    if (r == lead_of(s)) first_look = one;
  }
  // Two rounds must leave most of the launch to the winner; else whole launches are compared. Looks may take all of it:
  // nobody who is a hundred times as slow should get a launch; and if they would take more, and the first a good part
  // of that, it gets one, and what that takes says whether others do.
  const bool too_much = all > static_cast<double>(points) && first_look > points / 16;
  const bool whole =
      s.whole || (s.looked ? 4 * all > static_cast<double>(points) : too_much && !s.rivals[lead_of(s)].look);
  const auto visited = [&](std::size_t r) {
    return std::find(s.visitors.begin(), s.visitors.end(), r) != s.visitors.end();
  };
  const auto probe = [&](std::size_t r) {
    const bool goes_on = same_parts(s) && !whole && !s.visitors.empty() && s.region_of == launch && !visited(r);
    const bool beside = goes_on && s.heavy, repeat = goes_on && !s.heavy;
    // Data may be sorted: a region at the beginning can hold most of the work, and is compared on little of it.
    const bool pilot = s.mode == Mode::hybrid && same_parts(s) && !whole && !goes_on && !s.believed && !s.piloted &&
                       can_be_piloted(s, r);
    const std::int64_t part = pilot || beside ? little_of_region(s, r) : rounded(s, r, s.length, false);
    return Probe{r, part, whole, repeat, points, false, pilot, beside};
  };
  if (s.believed) return probe(*s.believed);
  if (whole && !s.whole && !s.looked) return probe(lead_of(s));
  if (!s.looked && !whole) {
    if (const auto look = next_look(s, points)) return look;
  }
  // Whoever has run least, and who is far off behind the others; the order turns from round to round, so that nobody is
  // always the first.
  std::optional<std::size_t> next;
  const auto runs_of = [&](std::size_t r) { return s.rivals[r].samples.size() + s.rivals[r].prepared; };
  const std::size_t count = s.rivals.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t r = (static_cast<std::size_t>(s.regions) + i) % count;
    if (!runs(s.rivals[r]) || s.rivals[r].samples.size() >= enough(s, s.rivals[r])) continue;
    // A region is finished before the next is begun.
    const auto goes_on = [&](std::size_t one) { return probe(one).repeat || probe(one).beside; };
    const auto late = [&](std::size_t one) {
      return std::pair(is_doubtful(s, one) || is_known_everywhere(s, one), runs_of(one));
    };
    if (next && goes_on(r) != goes_on(*next) ? goes_on(r) : !next || late(r) < late(*next)) next = r;
  }
  if (!next) return std::nullopt;
  return probe(*next);
}

bool to_be_repeated(const Selection& s, const Probe& probe) {
  if (!same_parts(s) || s.believed || probe.look || probe.whole) return false;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    if (r != probe.rival && runs(s.rivals[r]) && !is_known_everywhere(s, r)) return true;
  }
  return false;
}

void begin(Selection& s, const Probe& probe, const core::Box& box, std::uint64_t launch) {
  if (probe.look) return;
  s.latest = {box, launch};
  Rival& rival = s.rivals[probe.rival];
  rival.pending = true, rival.at = s.latest;
  if (is_abreast(s)) return;
  if (!probe.repeat && !probe.beside) {
    s.region = box, s.region_of = launch, s.visitors.clear(), ++s.regions;
    s.piloted = s.heavy = false;
  }
  s.visitors.push_back(probe.rival);
}

void drop(Selection& s, const Probe& probe) { s.rivals[probe.rival].pending = false; }

void learn(Selection& s, const Probe& probe, double seconds) {
  const std::size_t r = probe.rival;
  drop(s, probe);
  const std::int64_t points = probe.points;
  if (is_abreast(s)) return learn_abreast(s, probe, seconds);
  Rival& rival = s.rivals[r];
  if (s.winner || points == 0) return;
  if (!rival.prepared) {
    rival.prepared = !probe.look;  // the next look may be in another form
    std::erase(s.visitors, r);     // once more
    return;
  }
  if (probe.pilot && seconds < s.shortest / 2) {
    s.visitors.clear(), --s.regions, s.piloted = true;
    return;
  }
  const bool begins = same_parts(s) && !probe.look && !probe.whole && !probe.repeat && !probe.beside;
  const bool least = s.mode == Mode::hybrid && begins && !can_be_piloted(s, r);  // there is no less of it
  s.heavy |= (probe.pilot || least) && seconds > long_part * s.shortest;
  const double cost = seconds / static_cast<double>(points);
  s.points = probe.of;
  if (s.believed) {
    if (r != *s.believed) return;
    if (surprises(cost, *s.expected)) return begin_again(s);
    if (same_parts(s)) s.expected.reset();  // a part tells little of launches
    rival.samples.push_back(cost), rival.places.push_back(s.latest);
    s.winner = std::exchange(s.believed, std::nullopt);
    return;
  }
  if (!probe.look) {
    if (probe.whole && !s.looked && seconds > long_launch * s.shortest) {
      rival.look = cost, rival.reach = points;
      return settle_looks(s, probe.of);
    }
    if (!s.looked && !probe.whole) {  // of a larger launch, of which this one needs no more looks
      settle_looks(s, probe.of);
      if (s.looked) return;
    }
    rival.samples.push_back(cost), rival.places.push_back(s.latest);
    if (begins) excuse_others(s, r);
    if (probe.whole) s.looked = s.whole = true;
    leave_out_doubtful(s, rival);
    return decide_if_clear(s);
  }
  learn_look(s, probe, seconds);
}

bool worth_repeating(const Selection& s) {
  if (!s.winner || s.whole || s.spent <= 0) return false;  // nothing was found out, or that is not over
  double cost = guess_of(s.rivals[*s.winner]).value_or(0);
  cost = std::min(cost, s.expected.value_or(cost));
  if (s.usual > 0) cost = std::min(cost, s.usual);  // parts may take several times as much
  const double all = cost * static_cast<double>(s.points);
  return all * s.since >= 20 * (s.spent - cost * static_cast<double>(s.done));
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
  if (is_abreast(s)) return settle_abreast(s, s.points);
  if (!s.looked && !s.winner && s.points > 0 && best_look(s) < std::numeric_limits<double>::infinity())
    settle_looks(s, s.points);
  if (!s.winner) decide_if_clear(s);
}

double factor_of(const Selection& s, std::size_t r) {
  if (is_abreast(s)) return factor_abreast(s, r, best_of(s));
  const Rival &best = s.rivals[best_of(s)], &rival = s.rivals[r];
  std::vector<double> factors;  // at the same places
  for (std::size_t i = 0; i < best.places.size(); ++i) {
    for (std::size_t j = 0; j < rival.places.size(); ++j) {
      if (best.places[i] == rival.places[j] && !best.places[i].box.empty())
        factors.push_back(rival.samples[j] / best.samples[i]);
    }
  }
  if (!factors.empty()) return core::median(factors);
  const bool both = cost_of(best) && cost_of(rival), seen = best.look && rival.look;
  const bool sampled = both && (s.mode == Mode::fully || !seen);
  const auto mine = sampled ? cost_of(rival) : rival.look, least = sampled ? cost_of(best) : best.look;
  return mine && least ? *mine / *least : std::numeric_limits<double>::infinity();
}

double share_compared(const Selection& s, std::int64_t points, std::uint64_t launch) {
  const Rival& best = s.rivals[best_of(s)];
  if (best.samples.empty() && !best.look) return 1;
  std::vector<std::pair<core::Box, double>> places;  // seconds that the best needs for each
  double seconds = 0;
  std::int64_t seen = 0;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    const Rival& rival = s.rivals[r];
    const double factor = factor_of(s, r), slower = std::isinf(factor) ? 1 : std::max(1.0, factor);
    seconds += rival.look ? std::min(best_look(s), *rival.look) * static_cast<double>(rival.reach) : 0;
    seen += rival.look ? rival.reach : 0;
    for (std::size_t i = 0; i < rival.places.size(); ++i) {
      const auto& [box, of] = rival.places[i];
      if (of != launch || box.empty()) continue;
      const double here = rival.samples[i] / slower * static_cast<double>(box.volume());
      const auto same = [&](const auto& place) { return place.first == box; };
      const auto at = std::find_if(places.begin(), places.end(), same);
      if (at == places.end())
        places.emplace_back(box, here);
      else
        at->second = std::min(at->second, here);
    }
  }
  for (const auto& [box, least] : places) seconds += least, seen += box.volume();
  // Of two places one may be most of the work: the rest takes what lies in the middle of these and the look.
  std::vector<double> usual = best.samples;
  if (best.look) usual.push_back(*best.look);
  return seconds / (seconds + core::median(usual) * static_cast<double>(std::max<std::int64_t>(0, points - seen)));
}

void begin_again(Selection& s) {
  s.together = {};
  for (Rival& rival : s.rivals) {
    rival.out = rival.failed;
    rival.look.reset(), rival.looks = 0, rival.reach = 0, rival.wide = false, rival.glimpsed = 0;
    rival.samples.clear(), rival.places.clear();
    s.together = core::joint(s.together, rival.footprint);
  }
  s.winner.reset(), s.believed.reset(), s.expected.reset();
  s.surprises = 0, s.length = 0, s.doubted = false;
  s.looked = s.whole = s.misled;
  s.visitors.clear(), s.regions = 0, s.alike = s.longer = s.piloted = s.heavy = false;
  s.spent = 0, s.done = 0, s.since = 0, s.usual = 0;
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
  if (s.abreast) recall_abreast(s, costs);
  const double all = *s.expected * static_cast<double>(points);
  s.whole = too_short(s, all);
  s.looked = true;
  set_length(s, *s.expected, points);
}

namespace {

// All but those who are not worth a launch.
void compare_launches(Selection& s) {
  const double hopeless = s.abreast ? 2 : 8;  // several places have told of who is abreast
  std::vector<bool> out;
  for (std::size_t r = 0; r < s.rivals.size(); ++r) {
    const double factor = factor_of(s, r);
    out.push_back(s.rivals[r].failed || (!std::isinf(factor) && factor > hopeless));
  }
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
  s.usual = s.usual > 0 ? std::min(s.usual, cost) : cost;
  const auto shown = is_abreast(s) ? cost_abreast(s, *s.winner) : guess_of(s.rivals[*s.winner]);
  const bool by_parts = !s.whole || s.rivals[*s.winner].samples.empty();
  const bool differ = s.mode != Mode::fully || s.abreast;
  if (s.mode != Mode::fully && by_parts && !s.misled && shown &&
      (cost > 2 * *shown || (!is_abreast(s) && *shown > 2 * cost))) {
    // Many cores take that long now and then for no reason: twice running they do not.
    if (!is_abreast(s) || std::exchange(s.doubted, true)) return compare_launches(s);
    return;
  }
  s.doubted = false;
  // What it took as a probe; where parts differ, or that has misled before, what it took for the first real work.
  if (!s.expected) s.expected = s.reopened == 0 && !differ ? shown.value_or(cost) : cost;
  const bool slower = cost > surprising * *s.expected, faster = *s.expected > surprising * cost;
  s.surprises = slower ? std::max(0, s.surprises) + 1 : faster ? std::min(0, s.surprises) - 1 : 0;
  if (s.surprises <= -2) s.expected = cost, s.surprises = 0;  // no reason to doubt it: parts often take longer
  if (s.surprises < 2 << std::min(s.reopened, 20)) return;
  begin_again(s);
  ++s.reopened;
}

}  // namespace heddle::decide

// Undivided launches, then shares: most of each in tasks, the rest in shrinking ones to whoever is free.
#include "decide/step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <numeric>

#include "decide/abreast.hpp"

namespace heddle::decide {

namespace {

// Of a launch, as much as it costs to divide what is left: slices that wait for the slowest core, and code for an
// offset that happens to be slower.
constexpr double most_twice = 0.06;
// Of a launch: where variants are looked at; and whatever is computed beside those that are compared at several places,
// which is between these, so that few pieces are left.
constexpr double place_of_looks = 0.3, place_of_others = 0.48;
// What is less than one in so many points is not worth to be waited for.
constexpr std::int64_t little = 16;

double alone(const State& s, const Member& member) {
  return duration({s.space.volume(), 1, {member.worker}}, {s.space.volume()});
}

// The member for work that only one can do: the primary, or whoever else is ready; another where it is surely faster.
std::optional<std::size_t> one_of(const State& s) {
  auto may = [&](std::size_t m) {
    return s.members[m].ready && (!s.one_space || !s.home || s.members[m].worker.space == *s.home);
  };
  std::optional<std::size_t> out;
  if (may(s.primary)) out = s.primary;
  for (std::size_t m = 0; m < s.members.size() && !out; ++m) {
    if (may(m)) out = m;
  }
  if (!out || !s.members[*out].known) return out;
  double least = alone(s, s.members[*out]);
  for (std::size_t m = 0; m < s.members.size(); ++m) {
    const Member& member = s.members[m];
    const Member& now = s.members[*out];
    if (!may(m) || !member.known || now.worker.space != member.worker.space || now.worker.compute.error > 0.2) continue;
    const double sure = alone(s, member) * (1 + 2 * member.worker.compute.error);
    if (sure < least) out = m, least = sure;
  }
  return out;
}

std::size_t emptiest_queue(const Member& member) {
  return static_cast<std::size_t>(std::min_element(member.queued.begin(), member.queued.end()) - member.queued.begin());
}

bool can(const Member& member, std::size_t variant) {
  return member.ready && (member.can.empty() || member.can[variant]);
}

// All variants, the best for so many points first; those that were not timed after the others.
std::vector<std::size_t> by_cost(const State& s, const Member& member, std::int64_t points) {
  std::vector<std::size_t> out(s.footprints.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  if (!member.selection) return out;
  const auto cost = [&](std::size_t v) {
    constexpr double unknown = std::numeric_limits<double>::infinity();
    const Rival& rival = member.selection->rivals[v];
    if (rival.failed) return unknown;
    // Less than what fills the device takes as long.
    return fair_guess_of(*member.selection, v).value_or(unknown) * static_cast<double>(std::max(points, rival.wave));
  };
  // While others are compared, what was seen of those who are out is of other parts.
  const auto place = [&](std::size_t v) {
    return std::pair(!member.selection->winner && member.selection->rivals[v].out, cost(v));
  };
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  return out;
}

// The variant that a device uses where nothing is to be found out: its best so far, or any that is there.
std::size_t variant_of(const State& s, const Member& member) {
  std::size_t best = s.initial;
  if (const Selection* selection = member.selection) {
    const std::size_t first = by_cost(s, member, s.space.volume()).front();
    if (selection->winner || selection->believed)
      best = best_of(*selection);
    else if (fair_guess_of(*selection, first))
      best = first;
  }
  if (can(member, best)) return best;
  for (std::size_t v = 0; v < s.footprints.size(); ++v) {
    if (can(member, v)) return v;
  }
  return best;
}

// Who takes part, and how much of the launch is expected of it.
struct Share {
  std::size_t member = 0;
  double part = 0;
};

// A launch that cannot be cut: all of it at once; rivals take turns, a launch each.
std::optional<std::vector<Action>> run_whole(const State& s) {
  if (!s.whole) return std::nullopt;
  const auto m = one_of(s);
  if (s.remaining.empty() || s.in_flight > 0 || !m) return std::vector<Action>{};
  const Member& member = s.members[*m];
  const std::size_t queue = emptiest_queue(member);
  if (member.queued[queue] >= slices_per_queue) return std::vector<Action>{};
  Action out{*m, queue, s.remaining.hull(), "cannot be cut", variant_of(s, member), std::nullopt};
  if (member.selection && !member.probing) {
    out.probe = next_probe(*member.selection, s.space.volume(), s.launch);
    if (out.probe && !can(member, out.probe->rival)) out.probe.reset();
  }
  if (out.probe) {
    out.variant = out.probe->rival;
    out.probe->whole = true, out.probe->repeat = out.probe->single = false, out.probe->points = s.space.volume();
  }
  return std::vector<Action>{out};
}

// Whether a device that compares variants computes other parts, too: where the program wants that, or whole launches
// are compared. Not where what a part changes is copied before: nobody may write there meanwhile.
bool goes_on(const State& s, const Member& member) {
  const Selection& selection = *member.selection;
  // Beside single groups, when all that are due are on their way and anybody was seen.
  if (is_abreast(selection) && !selection.winner)
    return s.meanwhile ||
           (leaves_cores(selection, s.space.volume()) && (selection.believed || lead_abreast(selection)));
  if (selection.mode == Mode::swap && !selection.whole) return false;
  return s.meanwhile || selection.whole;
}

// Points of such a part: who still compares can change to a better variant soon.
std::int64_t part_between(const State& s, const Selection& selection) {
  if (selection.whole) return std::numeric_limits<std::int64_t>::max();
  std::int64_t reach = std::max<std::int64_t>(1, selection.length);
  for (const Rival& rival : selection.rivals) reach = std::max({reach, rival.reach, rival.wave});
  // In whole rounds of all units, if those are not a good part of the launch.
  std::int64_t round = std::min(core::volume(selection.together), std::int64_t{1} << 40) * selection.units;
  if (16 * round > s.space.volume()) round = 1;
  return (4 * reach + round - 1) / round * round;
}

constexpr std::string_view for_choosing = "to find the best variant";

bool is_idle(const Member& member) {
  return member.beside == 0 && member.singles == 0 &&
         std::all_of(member.queued.begin(), member.queued.end(), [](int queued) { return queued == 0; });
}

// The same for a device that compares abreast: whatever is due. True where it does nothing else meanwhile.
bool probes_abreast(const State& s, std::size_t m, core::BoxSet* remaining, std::vector<Action>& out) {
  Member member = s.members[m];
  Selection selection = *member.selection;
  core::BoxSet& left = remaining ? *remaining : member.own;
  const std::int64_t points = s.settled ? member.given + member.own.volume() : s.space.volume();
  // In a region of a launch, whose winner must only agree, at the beginning: the rest is one piece then. But for the
  // first one, where data that are sorted have most of their work.
  const bool agrees = selection.believed && s.space.begin != core::Index{};
  while (auto probe = next_abreast(selection, points)) {
    if (!can(member, probe->rival)) return false;
    if (probe->single ? member.singles >= most_singles(selection) : !is_idle(member)) return true;
    const core::Footprint& footprint = s.footprints[probe->rival];
    const bool in_common = core::volume(selection.together) <= probe->points / selection.units;
    std::int64_t step = 1;
    for (std::size_t d = 0; d < 3; ++d)
      step = s.space.extent(static_cast<int>(d)) > 1 ? selection.together.points[d] : step;
    const auto box = left.carve(in_common ? selection.together : footprint, s.space, probe->points,
                                agrees ? 0 : place_abreast(selection, probe->rival), step);
    if (!box) return false;
    probe->points = box->volume();
    out.push_back(
        {m, emptiest_queue(member), *box, for_choosing, probe->rival, probe, false, probe->single, probe->single});
    begin(selection, *probe, *box, s.launch);
    ++(probe->single ? member.singles : member.queued[emptiest_queue(member)]);
    if (!probe->single) return !s.meanwhile;
  }
  member.selection = &selection;
  return !selection.winner && !goes_on(s, member);
}

// Parts of the launch that show which variant is best, for those of the devices that do not know.
std::vector<Action> probes(const State& s, std::vector<Share>& shares) {
  std::vector<Action> out;
  core::BoxSet left_to_all = s.remaining;
  std::erase_if(shares, [&](const Share& share) {
    const Member& member = s.members[share.member];
    if (!member.selection) return false;
    if (is_abreast(*member.selection)) return probes_abreast(s, share.member, s.settled ? nullptr : &left_to_all, out);
    const bool alone = !goes_on(s, member);
    if (member.probing) return alone;
    // Whoever has a part of its own finds out there.
    core::BoxSet own = member.own;
    core::BoxSet& remaining = s.settled ? own : left_to_all;
    const std::int64_t points = s.settled ? member.given + own.volume() : s.space.volume();
    auto probe = next_probe(*member.selection, points, s.launch);
    if (!probe || !can(member, probe->rival)) return false;
    const std::size_t queue = emptiest_queue(member);
    if (alone ? !is_idle(member) : member.queued[queue] >= slices_per_queue) return alone;
    const core::Footprint& footprint = s.footprints[probe->rival];
    std::optional<core::Box> box;
    if (probe->repeat) {
      box = member.selection->region;
    } else if (probe->whole) {
      const core::Box all = core::align(s.settled ? own.hull() : s.space, footprint, s.space);
      if (all.empty() || member.given > 0 || !remaining.covers(all)) return false;
      remaining.remove(all);
      box = all;
    } else {
      // Where parts differ, looks lie side by side, and regions apart. Not around the middle, where data that have two
      // halves change: some would be looked at in one, and some in the other.
      static constexpr double places[] = {0.6, 0, 1, 0.2, 0.8};
      const Selection& selection = *member.selection;
      const core::Footprint& together = selection.together;
      const bool differ = selection.mode != Mode::fully;
      // In a region of a launch, whose winner must only agree, at the beginning: the rest is one piece then. But for
      // the first one, where data that are sorted have most of their work.
      const bool agrees = selection.believed && s.space.begin != core::Index{};
      // The n-th parts of all lie side by side, too: of two places apart, each may suit another.
      static constexpr double places_of_own[] = {1, 0.2, 0.6, 0, 0.8};
      const double place =
          probe->look       ? place_of_looks
          : agrees          ? 0
          : selection.alike ? places_of_own[selection.rivals[probe->rival].samples.size() % std::size(places_of_own)]
                            : places[static_cast<std::size_t>(selection.regions - probe->beside) % std::size(places)];
      // In multiples of what all are made of, if that is not too large, so that nothing is left that only some can
      // take.
      const bool in_common = (differ && !probe->look) || core::volume(together) <= probe->points / selection.units;
      std::int64_t step = 1;
      for (std::size_t d = 0; d < 3; ++d) step = s.space.extent(static_cast<int>(d)) > 1 ? together.points[d] : step;
      box = remaining.carve(in_common ? together : footprint, s.space, probe->points,
                            differ ? std::optional(place) : std::nullopt, step);
      if (!box || (selection.longer && 2 * box->volume() < probe->points)) return false;  // a scrap tells nothing
    }
    probe->points = box->volume();
    out.push_back({share.member, queue, *box, for_choosing, probe->rival, probe});
    return alone;
  });
  return out;
}

// Looks do not count.
bool begun_by_several(const State& s) {
  return std::count_if(s.members.begin(), s.members.end(),
                       [&](const Member& member) { return member.given > s.space.volume() / 512; }) > 1;
}

// Who takes part, with its share of the points: those in one memory, as copies are for the caller to try.
std::vector<Share> shares(const State& s) {
  std::vector<Share> out;
  for (std::size_t m = 0; s.settled && m < s.members.size(); ++m) {
    const Member& member = s.members[m];
    if (member.ready && !member.own.empty())
      out.push_back({m, static_cast<double>(member.own.volume()) / static_cast<double>(s.space.volume())});
  }
  // In turn where they cannot be at work at once, whoever has little first.
  if (s.one_space && out.size() > 1) {
    const auto first =
        *std::min_element(out.begin(), out.end(), [](const Share& a, const Share& b) { return a.part < b.part; });
    const int space = s.members[first.member].worker.space;
    std::erase_if(out, [&](const Share& share) { return s.members[share.member].worker.space != space; });
  }
  const auto lead = one_of(s);
  if (!lead || !out.empty()) return out;
  const Member& first = s.members[*lead];
  for (std::size_t m = 0; m < s.members.size(); ++m) {
    const Member& member = s.members[m];
    if (member.ready && (member.worker.space == first.worker.space || (s.spread && !s.one_space)))
      out.push_back({m, 1});
  }
  if (out.size() <= 1) return out;
  const auto knows = [&](const Share& share) { return s.members[share.member].known; };
  // Who is not known is taken for the mean of those who are; where nobody is, all are alike.
  const auto known = std::count_if(out.begin(), out.end(), knows);
  if (known == 0) {
    for (Share& share : out) share.part = 1.0 / static_cast<double>(out.size());
    return out;
  }
  Job job{s.space.volume(), 1, {}, begun_by_several(s)};
  predict::Curve mean;
  for (const Share& share : out) {
    const Worker& worker = job.workers.emplace_back(s.members[share.member].worker);
    const auto all = static_cast<double>(job.points);
    if (knows(share)) mean.slope += worker.compute(all) / all / static_cast<double>(known);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!knows(out[i])) job.workers[i].compute = mean;
  }
  const Shares points = s.spread ? in_proportion(job) : split(job);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].part = static_cast<double>(points.points[i]) / static_cast<double>(job.points);
  std::erase_if(out, [](const Share& share) { return share.part == 0; });
  return out;
}

// Points of its share that a device gets whatever others do: most of what is expected of it. Where points differ none,
// as nothing can be expected; of whom nothing is known yet, little.
double safe_part(const State& s, const Share& share) {
  const Member& member = s.members[share.member];
  const double part = static_cast<double>(s.space.volume()) * share.part;
  if (!member.known) return part / 8;
  const double doubt = s.uniform ? std::clamp(2 * member.worker.compute.error, 0.1, 0.75) : 1;
  return part * doubt < static_cast<double>(member.least) ? part : part * (1 - doubt);
}

// Points of the next task of a device that shares the launch with others. First what is safe; the rest is for whoever
// is free, in parts that shrink, so that all end together whatever was expected.
std::int64_t task_of(const State& s, const Share& share, std::int64_t remaining) {
  const Member& member = s.members[share.member];
  const double part = static_cast<double>(s.space.volume()) * share.part;
  const auto most =
      static_cast<std::int64_t>(std::ceil(part / member.worker.tasks));  // whatever is wanted: more may find no room
  const double safe = safe_part(s, share), left = safe - static_cast<double>(member.given);
  if (!member.known) return std::min(most, static_cast<std::int64_t>(std::ceil(safe)));
  // A part that waits in a queue is given away: at first that is one of the safe ones.
  const int tasks = std::max(member.worker.tasks, safe < part ? 2 : 1);
  if (left > 0) return std::min(most, static_cast<std::int64_t>(std::ceil(std::min(left, safe / tasks))));
  // What is hardly worth starting goes in one piece; more than that, nobody takes all of.
  if (remaining <= member.least) return std::min(most, remaining);
  const double fair = static_cast<double>(remaining) * share.part;
  const double points = std::max(fair / (s.uniform ? 2 : 8), std::min(fair, static_cast<double>(member.least)));
  return std::min(most, static_cast<std::int64_t>(std::ceil(points)));
}

// Whether scraps that its footprint does not fit into cost more, as others must compute them, than all that was
// computed.
bool leaves_costly_scraps(const State& s, const Member& member, std::size_t winner) {
  core::BoxSet left = s.remaining;
  const auto drain = [&](std::size_t v) {
    const std::int64_t before = left.volume();
    while (left.take(s.footprints[v], s.space, s.space.volume(), s.axis)) {
    }
    return static_cast<double>(before - left.volume());
  };
  drain(winner);
  double more = 0;  // points of the winner
  for (std::size_t v : by_cost(s, member, left.volume())) {
    if (left.empty() || v == winner || !can(member, v)) continue;
    const double points = drain(v), factor = factor_of(*member.selection, v);
    more += points > 0 && std::isfinite(factor) ? (factor - 1) * points : 0;
  }
  return more > static_cast<double>(s.space.volume() - s.remaining.volume());
}

}  // namespace

bool begins_anew(const State& s, const Member& member) {
  const Selection* selection = member.selection;
  const auto probing = [](const Member& one) { return one.probing; };
  if (!s.again || s.whole || s.settled || s.spread || s.meanwhile || !selection || !selection->winner ||
      std::any_of(s.members.begin(), s.members.end(), probing) || selection->mode == Mode::swap ||
      member.worker.tasks > 1 || s.space.begin != core::Index{})
    return false;
  const std::size_t winner = *selection->winner;
  const bool covers = core::align(s.space, s.footprints[winner], s.space) == s.space;
  const bool first = s.remaining.boxes().size() == 1 && s.remaining.boxes().front().begin == core::Index{};
  if (!covers || first || s.remaining.empty() || !can(member, winner)) return false;
  // Few points may be most of the work; and what was done between probes is points, too.
  const double of_points = 1 - static_cast<double>(s.remaining.volume()) / static_cast<double>(s.space.volume());
  if (of_points <= 0 || of_points > most_twice) return false;
  // To compile it for that would cost more.
  if ((selection->mode == Mode::fully || is_abreast(*selection)) &&
      ((!member.compiled.empty() && !member.compiled[winner]) || !leaves_costly_scraps(s, member, winner)))
    return false;
  return share_compared(*selection, s.space.volume(), s.launch) <= most_twice;
}

namespace {

bool fills_cores(const State& s, const Member& member) {
  if (!member.selection || !is_abreast(*member.selection) || member.selection->winner || s.meanwhile) return false;
  // Where nothing is on its way, what is due cannot be: too little is left, or who should compute it is not there.
  const auto& rivals = member.selection->rivals;
  return !is_idle(member) || std::any_of(rivals.begin(), rivals.end(), [](const Rival& r) { return r.pending; });
}

// Beside single groups that are timed: others by the best so far, one for each core that is free. So each has a core of
// its own, and what is timed begins when its driver says so.
void fill_cores(const State& s, std::size_t m, Member& member, core::BoxSet& left, std::vector<Action>& out) {
  const Selection& selection = *member.selection;
  const std::size_t variant = variant_of(s, member);
  const Rival& rival = selection.rivals[variant];
  const std::int64_t one = core::volume(s.footprints[variant]);
  const std::int64_t points =
      rival.single && !rival.wide ? one : std::max(one, rival.reach / selection.units / one * one);
  const double place = selection.mode == Mode::fully ? place_abreast(selection, variant) : place_of_others;
  while (goes_on(s, member) && member.singles < most_singles(selection)) {
    const auto box = left.carve(s.footprints[variant], s.space, points, place);
    if (!box) return;
    ++member.singles;
    out.push_back({m, emptiest_queue(member), *box, "beside what is timed", variant, std::nullopt, false, true, true});
  }
}

// What was left by variants that were compared abreast lies in pieces. Large ones go first, two at once, or of few
// cores one, as nobody waits long there, and what it takes tells which form of a kernel is faster (forms.hpp); little
// ones follow behind them, for whoever finds nothing else to do.
void take_pieces(const State& s, std::size_t m, Member& member, core::BoxSet& left, std::vector<Action>& out) {
  const Selection& selection = *member.selection;
  const auto is_little = [&](const core::Box& box) { return little * box.volume() < s.space.volume(); };
  const std::size_t best = variant_of(s, member);
  const int most = crowded(selection) ? 2 : 1;
  const auto begin = [&](const core::Box& box, std::size_t v) {
    const bool single = is_little(box);
    ++(single ? member.singles : member.beside);
    out.push_back({m, emptiest_queue(member), box, "what is left", v, std::nullopt, false, true, single});
  };
  const auto pieces_of_best = [&] { return left.whole_footprints(s.footprints[best], s.space); };
  while (can(member, best) && member.singles < most_singles(selection) && member.beside < most) {
    const auto box = left.take(s.footprints[best], s.space, s.space.volume(), s.axis);
    if (!box) break;
    begin(*box, best);
  }
  // What its footprint does not fit into is for others. They are slow, so they begin soon.
  core::BoxSet scraps = left;
  for (const core::Box& box : can(member, best) ? pieces_of_best() : std::vector<core::Box>{}) scraps.remove(box);
  for (std::size_t v : by_cost(s, member, scraps.volume())) {
    while (can(member, v) && member.singles < most_singles(selection)) {
      const auto box = scraps.take(s.footprints[v], s.space, s.space.volume(), s.axis);
      if (!box || (!is_little(*box) && member.beside >= most)) break;
      left.remove(*box);
      begin(*box, v);
    }
  }
  std::vector<core::Box> pieces = can(member, best) ? pieces_of_best() : std::vector<core::Box>{};
  std::erase_if(pieces, [&](const core::Box& box) { return !is_little(box); });
  const auto larger = [](const core::Box& a, const core::Box& b) { return a.volume() > b.volume(); };
  std::stable_sort(pieces.begin(), pieces.end(), larger);
  for (const core::Box& box : pieces) {
    if (member.singles >= most_singles(selection)) return;
    left.remove(box);
    begin(box, best);
  }
}

// Tasks to whoever has room, the emptiest queues first.
std::vector<Action> stream(const State& s, const std::vector<Share>& shares) {
  std::vector<Action> out;
  State now = s;
  const bool begun = begun_by_several(s);
  const std::size_t sharing = shares.size();
  if (sharing == 1 && !begun && begins_anew(s, s.members[shares.front().member])) {
    if (s.in_flight > 0) return {};  // what was computed between probes ends first
    const std::size_t m = shares.front().member;
    return {{m, emptiest_queue(s.members[m]), s.space, "all of it, from the beginning", variant_of(s, s.members[m]),
             std::nullopt, true}};
  }
  // What belongs to nobody.
  for (const Member& member : s.members) {
    for (const core::Box& box : s.settled&& member.ready ? member.own.boxes() : std::vector<core::Box>{})
      now.remaining.remove(box);
  }
  const auto left_for = [&](Member& member) -> core::BoxSet& {
    return s.settled && !member.own.empty() ? member.own : now.remaining;
  };
  for (const Share& share : shares) {
    Member& member = now.members[share.member];
    if (fills_cores(s, member)) fill_cores(s, share.member, member, left_for(member), out);
    const bool in_pieces = member.selection && is_abreast(*member.selection) && !s.meanwhile &&
                           !fills_cores(s, member) && !now.remaining.covers(s.space);
    if (!in_pieces || sharing > 1 || begun || s.settled || member.worker.tasks > 1) continue;
    take_pieces(s, share.member, member, now.remaining, out);
    return out;
  }
  for (;;) {
    const Share* next = nullptr;
    int least = slices_per_queue;
    for (const Share& share : shares) {
      Member& member = now.members[share.member];
      if (left_for(member).empty()) continue;
      // Of what is for whoever is free, nobody takes more than it can work on at once.
      const auto busy = static_cast<std::size_t>(std::accumulate(member.queued.begin(), member.queued.end(), 0));
      const bool tail =
          !s.settled && (sharing > 1 || begun) && static_cast<double>(member.given) >= safe_part(now, share);
      if (tail && busy >= (member.worker.tasks > 1 ? std::max<std::size_t>(2, member.queued.size()) : 2)) continue;
      // Whoever takes all of its part at once begins before others, of whom each task must be started.
      if (fills_cores(s, member)) continue;
      const int queued = member.queued[emptiest_queue(member)];
      const bool sooner = next && queued == least && member.worker.tasks < now.members[next->member].worker.tasks;
      if (queued < least || sooner) least = queued, next = &share;
    }
    if (!next) break;
    Member& member = now.members[next->member];
    core::BoxSet& left = left_for(member);
    const int tasks = member.worker.tasks;
    std::int64_t points = (s.space.volume() + tasks - 1) / tasks;
    if (s.settled)
      points = (member.given + left.volume() + tasks - 1) / tasks;
    else if (sharing > 1 || begun)
      points = task_of(now, *next, left.volume());
    if (member.selection && !member.selection->winner && goes_on(s, member))
      points = std::min(points, part_between(s, *member.selection));
    std::size_t variant = variant_of(s, member);
    const auto take = [&](std::size_t v) {
      return left.take(s.footprints[v], s.space, std::max<std::int64_t>(1, points), s.axis);
    };
    auto box = take(variant);
    // What its footprint does not fit into is for another variant, the best that does.
    for (std::size_t v : box ? std::vector<std::size_t>{} : by_cost(s, member, left.volume())) {
      if (!box && can(member, v)) box = take(variant = v);
    }
    if (!box) break;
    const std::size_t queue = emptiest_queue(member);
    ++member.queued[queue];
    member.given += box->volume();
    out.push_back({next->member, queue, *box,
                   s.settled     ? "its part, as last time"
                   : sharing > 1 ? "share of several devices"
                                 : "task of its device",
                   variant, std::nullopt});
  }
  return out;
}

// Pieces that no variant of those who take part fits into: for whoever has one that does.
std::vector<Action> left_over(const State& s) {
  core::BoxSet remaining = s.remaining;
  for (const Member& member : s.members) {  // who is busy comes back to its part
    if (!member.ready || member.queued[emptiest_queue(member)] < slices_per_queue) continue;
    for (const core::Box& box : member.own.boxes()) remaining.remove(box);
  }
  for (std::size_t m = 0; m < s.members.size(); ++m) {
    const Member& member = s.members[m];
    if (!member.ready || (s.one_space && s.home && member.worker.space != *s.home)) continue;
    const std::size_t queue = emptiest_queue(member);
    if (member.queued[queue] >= slices_per_queue) continue;
    for (std::size_t v = 0; v < s.footprints.size(); ++v) {
      if (!can(member, v)) continue;
      const std::int64_t points = std::max<std::int64_t>(1, s.space.volume() / member.worker.tasks);
      if (const auto box = remaining.take(s.footprints[v], s.space, points, s.axis))
        return {{m, queue, *box, "left by others", v, std::nullopt}};
    }
  }
  return {};
}

}  // namespace

std::vector<Action> step(const State& s) {
  if (auto whole = run_whole(s)) return *whole;
  auto members = shares(s);
  std::vector<Action> out = probes(s, members);
  if (out.empty() && s.in_flight == 0 && !members.empty()) {
    out = stream(s, members);
    // Whose cores are busy with other launches is asked again when these have ended.
    const auto waits = [&](const Share& share) {
      const Member& member = s.members[share.member];
      return member.selection && is_abreast(*member.selection) && !s.meanwhile && !is_idle(member);
    };
    return out.empty() && std::none_of(members.begin(), members.end(), waits) ? left_over(s) : out;
  }
  if (out.empty()) return stream(s, members);
  State rest = s;
  std::list<Selection> compared;  // as they are when these have begun
  for (const Action& probe : out) {
    rest.remaining.remove(probe.box);
    Member& member = rest.members[probe.member];
    member.probing = true;
    ++(probe.single ? member.singles : member.queued[probe.queue]);
    if (!member.selection || !is_abreast(*member.selection)) continue;
    const bool first = compared.empty() || member.selection != &compared.back();
    if (first) member.selection = &compared.emplace_back(*member.selection);
    begin(compared.back(), *probe.probe, probe.box, s.launch);
  }
  for (Action& action : stream(rest, members)) out.push_back(std::move(action));
  return out;
}

}  // namespace heddle::decide

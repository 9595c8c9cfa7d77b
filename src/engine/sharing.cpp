// What is known of each device that could take part in a launch: how long it computes, and which part it had before.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/answers.hpp"
#include "engine/engine.hpp"
#include "profile/store.hpp"

namespace heddle::engine {

using device::host_memory;

// Equal parts of one device are as fast as each other.
Pace& Engine::pace_of(const Way& way, std::size_t m) const {
  std::size_t twin = 0;
  while (members_[twin].device->info().fingerprint != members_[m].device->info().fingerprint) ++twin;
  return way.kernel->paces[twin];
}

// What a launch that is over tells later ones. Where the work of points differs, parts tell little, and only all that a
// device and its equals did is taken for a sample: each of them has worked as long as the others, on however many.
void Engine::learn_paces(const Launch& launch) const {
  const core::KernelFacts* facts = launch.ways.front().kernel->facts();
  std::vector<Launch::Observed> all;
  for (const Launch::Observed& one : launch.observed) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Launch::Observed& other) {
      return &pace_of(launch.ways[one.way], other.member) == &pace_of(launch.ways[one.way], one.member) &&
             other.way == one.way;
    });
    if (same == all.end() || (facts && core::uniform_work(*facts)))
      all.push_back(one);
    else
      same->what.points += one.what.points, same->what.seconds += one.what.seconds;
  }
  for (const Launch::Observed& one : all) {
    const Way& way = launch.ways[one.way];
    const bool taught = pace_of(way, one.member).add(one.what);
    const std::string& kernel = way.kernel->paces_kept_as;
    if (!taught || kernel.empty() || one.what.points < 1) continue;
    options_.store->add(
        {kernel, way.variant, text_of(one.what.variables), members_[one.member].device->info().fingerprint, pace_shape},
        {.points = std::llround(one.what.points), .duration = Nanoseconds(std::llround(1e9 * one.what.seconds))});
  }
}

// What earlier runs have seen, once for each kernel.
void Engine::recall_paces(const Launch& launch) const {
  if (!options_.store || members_.size() == 1) return;
  for (const Way& way : launch.ways) {
    if (!way.kernel->paces_kept_as.empty()) continue;
    way.kernel->paces_kept_as = key_of(launch, way, "").kernel;
    options_.store->name(way.kernel->paces_kept_as, launch.name());
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const device::Info& info = members_[m].device->info();
      Pace& pace = pace_of(way, m);
      if (pace.known()) continue;  // a twin's
      options_.store->name(info.fingerprint, info.name);
      const core::History history = options_.store->load(way.kernel->paces_kept_as, info.fingerprint);
      for (const auto& [key, record] : history.records()) {
        if (key.shape != pace_shape || key.variant != way.variant) continue;
        const std::optional<std::vector<double>> variables = variables_in(key.parameters);
        for (const core::Sample& sample : record.samples) {
          if (variables && sample.duration.count() > 0)
            pace.add({static_cast<double>(sample.points), *variables, core::seconds(sample.duration)});
        }
      }
    }
  }
}

void Engine::describe(const Launch& launch, std::size_t m, decide::Member& to) const {
  decide::Worker& worker = to.worker;
  worker.space = members_[m].device->info().space;
  // Where no bytes move, there is nothing to overlap.
  const bool moves = worker.space != host_memory || launch.request.wishes.tasks > 0 || launch.crowded;
  worker.tasks = moves ? std::max(1, launch.tasks) : 1;
  if (members_.size() == 1) return;  // nobody to share with

  // By the variant that is best there.
  const auto volume = static_cast<double>(launch.space.volume());
  for (std::size_t w = 0; w < launch.ways.size(); ++w) {
    const Way& way = launch.ways[w];
    const Pace& pace = pace_of(way, m);
    if (!pace.known() || !way.shape || !to.can[w]) continue;
    const predict::Curve curve = pace.at(way.shape->variables);
    if (!to.known || curve(volume) < worker.compute(volume)) worker.compute = curve;
    to.known = true;
  }
  // This launch may differ from what others were like; but where points differ, it is the points that were met.
  const Launch::Seen& seen = launch.seen[m];
  const core::KernelFacts* facts = launch.ways.front().kernel->facts();
  const bool uniform = facts && core::uniform_work(*facts);
  if (to.known && uniform && seen.expected > 0) worker.compute *= seen.seconds / seen.expected;
  if (!to.known && seen.seconds > 0) worker.compute = predict::line(seen.points / seen.seconds, 0.3), to.known = true;
  to.given = launch.given[m];
  if (!to.known) return;
  const double alone = decide::duration({launch.space.volume(), 1, {worker}}, {launch.space.volume()});
  to.least = static_cast<std::int64_t>(volume * std::min(1.0, core::seconds(options_.shortest_slice) / alone)) + 1;
}

// What a slice that has ended tells of its device: at once for this launch, for others when it is over.
void Engine::note_pace(const Slice& slice, Nanoseconds wall) {
  Launch& launch = *slice.launch;
  const Way& way = launch.ways[slice.way];
  Pace& pace = pace_of(way, slice.member);
  const auto points = static_cast<double>(slice.box.volume());
  if (way.shape) {
    double& of_late = way.shape->rates[slice.member];
    const double rate = points / std::max(1e-9, core::seconds(wall));
    of_late = of_late == 0 ? rate : 0.7 * of_late + 0.3 * rate;
  }
  if (members_.size() == 1 || slice.first || slice.windowed || !way.shape) return;
  // Where copies overlap with computing, only the device's clock tells one from the other; elsewhere it does not count
  // how late the end was noticed.
  const Member& member = members_[slice.member];
  const bool on_host = member.device->info().space == host_memory;
  if (!on_host && !(slice.probe && member.timed)) return;
  auto times = slice.events.back()->times();
  double seconds = times ? core::seconds(times->duration()) : 0;
  if (seconds <= 0 && on_host) seconds = core::seconds(wall);
  if (seconds <= 0) return;
  Launch::Seen& seen = launch.seen[slice.member];
  seen.points += points, seen.seconds += seconds;
  if (pace.known()) seen.expected += pace.at(way.shape->variables)(points);
  launch.observed.push_back({slice.member, slice.way, slice.box, {points, way.shape->variables, seconds}});
}

// Whether it is still to be found out who should take part in launches like this one.
bool Engine::undecided(const Launch& launch, const decide::State& state, std::size_t lead) const {
  if (members_.size() == 1 || !launch.undivided.empty() || launch.one_space) return false;
  const decide::Member& first = state.members[lead];
  if (first.known && 4 * first.least >= launch.space.volume()) return false;  // whoever it is, it is short
  bool others = false, unknown = false;
  for (const decide::Member& m : state.members) {
    if (!m.ready || m.worker.space != first.worker.space) continue;
    others |= &m != &first, unknown |= !m.known;
  }
  return others && unknown;
}

// Steps along the axis in which a launch can be cut: whole parts of what all variants are made of.
std::int64_t Engine::step_of(const Launch& launch) const {
  std::int64_t step = 1;
  for (const Way& way : launch.ways) step = std::max(step, way.part.points[static_cast<std::size_t>(launch.axis)]);
  return step;
}

std::int64_t Engine::steps_of(const Launch& launch) const {
  const std::int64_t step = step_of(launch);
  return (launch.space.extent(launch.axis) + step - 1) / step;
}

// Boxes side by side along the axis; none where there are too few steps.
std::vector<core::Box> Engine::cut(const Launch& launch, const decide::Parts& parts) const {
  const auto axis = static_cast<std::size_t>(launch.axis);
  const std::int64_t step = step_of(launch), steps = steps_of(launch), extent = launch.space.extent(launch.axis);
  const decide::Parts whole = decide::in_steps(parts, steps);
  if (whole.empty()) return {};
  std::vector<core::Box> out(members_.size());
  std::int64_t begin = 0;
  for (std::size_t m = 0; m < members_.size() && m < whole.size(); ++m) {
    if (whole[m] <= 0) continue;
    const std::int64_t end = begin + std::llround(whole[m] * static_cast<double>(steps));
    out[m] = launch.space;
    out[m].begin[axis] = launch.space.begin[axis] + begin * step;
    out[m].end[axis] = launch.space.begin[axis] + std::min(end * step, extent);
    begin = end;
  }
  return out;
}

// Parts as the program says, as in launches before, where those ended together, or to try them.
void Engine::recall_cuts(Launch& launch) {
  const auto& shape = launch.ways.front().shape;
  const Wishes& wishes = launch.request.wishes;
  std::vector<core::Box> boxes;
  recall_paces(launch);
  if (shape) {
    decide::Next next = parts_to_try(launch);
    launch.tried = std::move(next.parts), launch.settled = next.settled;
  }
  if (!wishes.parts.empty() && launch.undivided.empty())
    boxes = cut(launch, wishes.parts);
  else if (!launch.tried.empty())
    boxes = cut(launch, launch.tried);
  else if (shape && shape->cuts && wishes.profiling == Profiling::once && wishes.tasks == 0 &&
           shape->cuts->generation == generation_ && shape->cuts->items == launch.request.items &&
           shape->cuts->spread == wishes.spread)
    boxes = shape->cuts->boxes;
  if (launch.one_space && !launch.in_turn && !join_parts(launch, boxes) && !launch.tried.empty()) boxes.clear();
  if (boxes.empty()) launch.tried.clear();
  for (const core::Box& box : boxes) launch.own.push_back(box.empty() ? core::BoxSet() : core::BoxSet(box));
}

// Equal parts of one device, and work that differs between points: the next launch alike gets parts that would have
// taken as long as each other in this one. Each begins and ends once then, and not for every piece that is handed out.
void Engine::settle_by_time(const Launch& launch, double seconds) const {
  const Shape& shape = *launch.ways.front().shape;
  const auto axis = static_cast<std::size_t>(launch.axis);
  const auto extent = static_cast<double>(launch.space.extent(launch.axis));
  const std::string& first = members_.front().device->info().fingerprint;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (launch.given[m] == 0 || members_[m].device->info().fingerprint != first) return;
  }
  std::vector<decide::Piece> pieces;
  std::int64_t points = 0;
  for (const Launch::Observed& one : launch.observed) {
    for (std::size_t d = 0; d < 3; ++d) {
      if (d != axis && (one.box.begin[d] != launch.space.begin[d] || one.box.end[d] != launch.space.end[d])) return;
    }
    points += one.box.volume();
    const auto place = [&](std::int64_t at) { return static_cast<double>(at - launch.space.begin[axis]) / extent; };
    pieces.push_back({place(one.box.begin[axis]), place(one.box.end[axis]), one.what.seconds});
  }
  if (points != launch.space.volume()) return;
  decide::Parts parts = decide::of_equal_time(std::move(pieces), members_.size());
  std::optional<Cuts>& cuts = shape.cuts;
  if (launch.own.empty()) {
    if (shape.no_cuts_for > 0 && --shape.no_cuts_for > 0) return;
    std::vector<core::Box> boxes = cut(launch, parts);
    if (!boxes.empty())
      cuts = Cuts{std::move(boxes), launch.request.items, launch.request.wishes.spread, generation_, 0, seconds};
    return;
  }
  // Data that have changed need other parts; if they go on to change, none are better.
  cuts->uneven = seconds > 1.05 * cuts->in_shares ? cuts->uneven + 1 : 0;
  if (cuts->uneven > 3) {
    shape.no_cuts_for = 8 << std::min(shape.cuts_failed++, 10);
    cuts.reset();
    return;
  }
  // Once may be chance: a core was somebody else's for a moment.
  const auto latest =
      static_cast<std::size_t>(std::max_element(launch.ready.begin(), launch.ready.end()) - launch.ready.begin());
  if (std::exchange(cuts->latest, latest) != latest) return;
  for (std::size_t m = 0; m < members_.size(); ++m)
    parts[m] = 0.5 * (parts[m] + static_cast<double>(launch.given[m]) / static_cast<double>(points));
  if (std::vector<core::Box> boxes = cut(launch, parts); !boxes.empty()) cuts->boxes = std::move(boxes);
}

// After a launch on several devices: whether the next one alike gets the same parts. Then bytes stay where they are,
// and only those at the edges of parts move.
void Engine::settle_cuts(const Launch& launch) {
  if (members_.size() == 1) return;
  learn_paces(launch);
  const auto& shape = launch.ways.front().shape;
  if (!shape || launch.failure || launch.report.retries > 0 || !launch.request.wishes.parts.empty()) return;
  std::vector<std::size_t> members;
  Nanoseconds first = Nanoseconds::max(), last{0};
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (launch.given[m] == 0) continue;
    members.push_back(m);
    first = std::min(first, launch.ready[m]), last = std::max(last, launch.ready[m]);
  }
  if (members.size() < 2 || !launch.began || last <= *launch.began) return;
  const double uneven = core::seconds(last - first) / core::seconds(last - *launch.began);
  constexpr double together = 0.1;
  if (!launch.own.empty()) {
    if (!shape->cuts) return;  // another that ran beside it has ended uneven
    if (shape->cuts->in_shares > 0) return settle_by_time(launch, core::seconds(last - *launch.began));
    shape->cuts->uneven = uneven > 1.5 * together ? shape->cuts->uneven + 1 : 0;
    if (shape->cuts->uneven > 1) shape->cuts.reset();
    return;
  }
  const core::KernelFacts* facts = launch.ways.front().kernel->facts();
  const bool settles = launch.timed_fairly && launch.regions.empty() && !launch.divided_later && facts &&
                       std::none_of(launch.choices.begin(), launch.choices.end(),
                                    [](const Choice* choice) { return choice && !choice->selection.winner; });
  if (!settles) return;
  if (all_on_host_ && !core::uniform_work(*facts)) return settle_by_time(launch, core::seconds(last - *launch.began));
  const decide::State state = state_of(launch);
  const auto sure = [&](std::size_t m) {
    return state.members[m].known && state.members[m].worker.compute.error < 0.2;
  };
  if (uneven > together || launch.one_space || !core::uniform_work(*facts) ||
      !std::all_of(members.begin(), members.end(), sure))
    return;
  std::vector<double> parts(launch.given.begin(), launch.given.end());
  std::vector<core::Box> boxes = cut(launch, parts);
  if (!boxes.empty())
    shape->cuts = Cuts{std::move(boxes), launch.request.items, launch.request.wishes.spread, generation_, 0};
}

}  // namespace heddle::engine

// Launches whose regions are computed by different variants.
#include <algorithm>

#include <fmt/format.h>

#include "core/trace.hpp"
#include "decide/mix.hpp"
#include "engine/engine.hpp"

namespace heddle::engine {

namespace {

// By so much a launch must gain from regions, each of which costs a slice.
constexpr double worth_mixing = 1.1;

// Neighbours whose winner is known, and the same, are one: at the end of each, units wait for the last group.
void join_neighbours(std::vector<Region>& regions) {
  std::vector<Region> out;
  for (Region& region : regions) {
    const auto& winner = region.choice->selection.winner;
    if (!out.empty() && winner && out.back().choice->selection.winner == winner) {
      out.back().box.end = region.box.end;
      decide::Selection& joined = out.back().choice->selection;
      joined.expected.reset();  // it is another region now
      decide::Rival &to = joined.rivals[*winner], &from = region.choice->selection.rivals[*winner];
      to.samples.insert(to.samples.end(), from.samples.begin(), from.samples.end());
      to.places.insert(to.places.end(), from.places.begin(), from.places.end());
    } else {
      out.push_back(std::move(region));
    }
  }
  regions = std::move(out);
}

}  // namespace

Choice* Engine::choice_of(const Launch& launch, std::size_t member, const core::Box& box) const {
  if (member != launch.divided_by || launch.whole_choice) return launch.choices[member];
  for (const Region& region : launch.regions) {
    if (region.box.contains(box)) return region.choice.get();
  }
  return launch.choices[member];
}

// Only what one device computes, and only where it is known which variant is best of all.
bool Engine::divide(Launch& launch) {
  if (launch.ways.size() < 2 || launch.whole_choice) return false;
  const Wishes& wishes = launch.request.wishes;
  const decide::State state = state_of(launch);
  const int space = members_[primary_].device->info().space;
  // Pieces that only the base fits into must not be left; nor may it have begun in another memory, if that is its home.
  const auto may = [&](std::size_t m) {
    return state.members[m].ready && state.members[m].can.front() && !launch.windowed[m] &&
           (!launch.one_space || !launch.home || *launch.home == state.members[m].worker.space);
  };
  if (!launch.regions.empty()) {
    launch.whole_choice = !may(launch.divided_by);  // it goes on as any other; its slices hold on to regions
    return !launch.whole_choice;
  }
  // Where bytes move meanwhile, tasks overlap with that, and gain more.
  launch.whole_choice = wishes.profiling != Profiling::once || wishes.tasks > 0 || launch.tasks > 1 || wishes.spread ||
                        !launch.undivided.empty() || !launch.own.empty();
  std::vector<std::size_t> takers;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (state.members[m].ready && state.members[m].worker.space == space) takers.push_back(m);
  }
  if (launch.whole_choice || takers.size() != 1 || !launch.choices[takers[0]]) return false;
  const std::size_t member = takers[0];
  Choice& choice = *launch.choices[member];
  if (!may(member) || choice.probing > 0 || !choice.selection.winner) return false;
  if (choice.regions.empty() && !choice.settled) {
    const bool begun = !launch.remaining.covers(launch.space) || launch.report.retries > 0;
    if (begun && decide::begins_anew(state, state.members[member])) return false;
    const int count = decide::count_of_regions(choice.selection, launch.remaining.volume(), begun);
    core::Footprint part;
    for (const Way& way : launch.ways) part = core::joint(part, way.part);
    const auto boxes = decide::regions_of(launch.space, part, launch.axis, count);
    if (boxes.size() > 1 && !begun && choice.undivided.count() == 0) {  // in one piece first
      launch.whole_choice = launch.divided_later = true;
      launch.divided_by = member;
      return false;
    }
    for (std::size_t r = 0; boxes.size() > 1 && r < boxes.size(); ++r) {
      choice.regions.push_back({boxes[r], std::make_shared<Choice>()});
      choice.regions.back().choice->selection = decide::selection_in_region(choice.selection, boxes[r], launch.number);
    }
    join_neighbours(choice.regions);
    if (choice.regions.size() == 1) choice.regions.clear();
    launch.whole_choice = choice.regions.empty();
  }
  launch.regions = choice.regions;
  launch.divided_by = member;
  return !launch.regions.empty();
}

// One region after the other, as launches of their own.
std::vector<decide::Action> Engine::next_in_regions(Launch& launch) {
  for (const Region& region : launch.regions) {
    decide::State state = state_of(launch);
    state.space = region.box, state.again = false;  // parts of others are not done anew
    state.remaining = launch.remaining.within(region.box);
    if (state.remaining.empty()) continue;
    state.in_flight = static_cast<int>(std::count_if(launch.in_flight.begin(), launch.in_flight.end(),
                                                     [&](const auto& s) { return region.box.contains(s->box); }));
    for (std::size_t m = 0; m < members_.size(); ++m) state.members[m].ready &= m == launch.divided_by;
    decide::Member& member = state.members[launch.divided_by];
    member.worker.tasks = 1;
    member.selection = &region.choice->selection, member.probing = region.choice->probing > 0;
    ++steps_;
    return decide::step(state);
  }
  return {};
}

// When every region has a winner: whether that is worth it.
void Engine::settle_regions(Launch& launch) {
  const Nanoseconds took = launch.began ? members_[launch.divided_by].device->now() - *launch.began : Nanoseconds{0};
  if (launch.divided_later && launch.timed_fairly && !launch.failure) {
    Choice* whole = launch.choices[launch.divided_by];
    if (whole && whole->selection.winner) whole->undivided = took;
  }
  if (launch.regions.empty() || launch.failure || !launch.choices[launch.divided_by] || launch.report.slices.empty())
    return;
  Choice& choice = *launch.choices[launch.divided_by];
  if (choice.settled || !choice.selection.winner || choice.regions.empty()) return;
  std::vector<std::pair<const decide::Selection*, std::int64_t>> found;
  for (const Region& region : choice.regions) found.emplace_back(&region.choice->selection, region.box.volume());
  const std::string& best = launch.ways[*choice.selection.winner].variant;
  const bool by_one = std::all_of(launch.report.slices.begin(), launch.report.slices.end(),
                                  [&](const SliceReport& slice) { return slice.variant == best; });
  if (const double cost = core::seconds(took) / std::max(1e-9, core::seconds(choice.undivided));
      by_one && launch.timed_fairly && choice.undivided.count() > 0 && cost > worth_mixing) {
    choice.settled = true;
    choice.regions.clear();
    launch.report.notes.push_back(
        fmt::format("'{}' is not divided into regions: so it takes {:.3g} times as long", launch.name(), cost));
    return;
  }
  const auto open = [](const Region& region) { return !region.choice->selection.winner; };
  if (std::any_of(choice.regions.begin(), choice.regions.end(), open)) return;
  const double gain = decide::gain_of(found, *choice.selection.winner);
  choice.settled = true;
  if (gain < worth_mixing) {
    choice.regions.clear();
    return;
  }
  join_neighbours(choice.regions);
  std::string where;
  for (const Region& region : choice.regions)
    where += fmt::format("{}{} '{}'", where.empty() ? "" : ", ", core::to_string(region.box),
                         launch.ways[*region.choice->selection.winner].variant);
  launch.report.notes.push_back(
      fmt::format("regions of '{}' favour different variants, {:.3g} times as fast as one for all: {}", launch.name(),
                  gain, where));
  if (core::TraceSink* sink = core::trace())
    sink->add({core::TraceKind::decision, "host", launch.name(), launch.report.notes.back(),
               members_[launch.divided_by].device->now(), Nanoseconds{0}});
}

}  // namespace heddle::engine

// Whose turn it is: what of a launch is started when, on which device, and when it is over.
#include <algorithm>

#include <fmt/format.h>

#include "core/answers.hpp"
#include "core/trace.hpp"
#include "engine/engine.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using device::host_memory;

std::vector<Slice::Use> uses_of(const std::vector<Argument>& arguments, const std::vector<Touch>& touches,
                                const Aside* apart) {
  std::vector<Slice::Use> out;
  for (std::size_t i = 0; i < touches.size(); ++i) {
    const auto* view = std::get_if<View>(&arguments[i]);
    if (!view) continue;
    const std::shared_ptr<Memory>& memory = apart ? apart->instead_of(view->memory) : view->memory;
    auto at = std::find_if(out.begin(), out.end(), [&](const Slice::Use& u) { return u.memory == memory; });
    if (at == out.end()) at = out.insert(at, Slice::Use{.memory = memory, .host = memory->host()});
    const auto by = static_cast<std::int64_t>(view->begin);
    at->touch.read.add(core::shifted(touches[i].read, by));
    at->touch.written.add(core::shifted(touches[i].written, by));
    at->touch.exact &= touches[i].exact || touches[i].written.empty();
  }
  return out;
}

std::vector<Slice::Use> uses_of(const Launch& launch) { return uses_of(launch.request.arguments, launch.whole); }

core::Box Way::groups(const core::Box& points) const {
  core::Box out;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t one = footprint.points[d];
    out.begin[d] = points.begin[d] / one;
    out.end[d] = (points.end[d] + one - 1) / one;  // the last one guards itself where it reaches over the end
  }
  return out;
}

core::NdRange Way::range(const core::Box& groups) const {
  core::NdRange out{grid.offset, {}, grid.local, grid.dimensions};
  for (std::size_t d = 0; d < 3; ++d) {
    out.global[d] = groups.extent(static_cast<int>(d)) * grid.local[d];
    out.offset[d] += groups.begin[d] * grid.local[d];
  }
  return out;
}

decide::State Engine::state_of(const Launch& launch) const {
  decide::State out;
  out.launch = launch.number;
  out.space = launch.space;
  for (const Way& way : launch.ways) out.footprints.push_back(way.part);
  out.initial = launch.initial;
  out.remaining = launch.remaining;
  out.in_flight = static_cast<int>(launch.in_flight.size());
  out.whole = !launch.undivided.empty();
  out.one_space = launch.one_space;
  out.home = launch.home;
  out.axis = launch.axis;
  out.primary = primary_;
  out.spread = launch.request.wishes.spread;
  out.meanwhile = launch.request.wishes.meanwhile;
  const core::KernelFacts* facts = launch.ways.front().kernel->facts();
  out.uniform = facts && core::uniform_work(*facts);
  out.again = launch.repeatable && all_on_host_;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    decide::Member& to = out.members.emplace_back();
    for (const Way& way : launch.ways) {
      const Built& built = way.kernel->built[m];
      const bool can_cut = way.kernel->cut_by() != CutBy::box || built.box;
      const bool can =
          built.state == Built::State::ready && (out.whole || can_cut) && way.inputs != Way::Inputs::failed;
      to.can.push_back(can);
      if (out.again && launch.ways.size() > 1)
        to.compiled.push_back(can && built.original &&
                              built.original->is_prepared(way.range(way.groups(launch.space))));
      to.ready |= can && !member.aside && !launch.excluded[m];
    }
    describe(launch, m, to);
    if (const Choice* choice = launch.choices[m]) to.selection = &choice->selection, to.probing = choice->probing > 0;
    for (const Member::Lane& lane : member.lanes) to.queued.push_back(lane.queued);
    to.beside = member.beside, to.singles = member.singles;
    if (!launch.own.empty()) to.own = launch.own[m], out.settled = true;
  }
  return out;
}

// Cutting a share into tasks pays where bytes move to or from a device meanwhile: vector_add on the H200, from locked
// memory and back, takes 15.1 ms in one task, 11.6 in 4, 10.7 in 16 of 48 MB each, and no less in 32.
int Engine::tasks_of(const Launch& launch) const {
  if (launch.request.wishes.tasks > 0) return launch.request.wishes.tasks;
  const int space = members_[primary_].device->info().space;
  if (space == host_memory || !launch.undivided.empty()) return 1;
  std::int64_t moves = 0;
  for (const Slice::Use& use : uses_of(launch)) {
    moves += core::subtract(use.touch.needed(), use.memory->fresh(space)).size();
    if (use.memory->host_reads) moves += use.touch.written.size();
  }
  constexpr std::int64_t worth = 8 << 20;  // a task of less is mostly latency
  const auto tasks = static_cast<int>(std::clamp<std::int64_t>(moves / worth, 1, 16));
  if (tasks == 1) return 1;
  // Nor where cuts leave many pieces, each of which is a copy.
  core::Box half = launch.space;
  const auto axis = static_cast<std::size_t>(launch.axis);
  half.end[axis] = half.begin[axis] + std::max<std::int64_t>(1, half.extent(launch.axis) / 2);
  const Way& way = launch.ways.front();
  std::int64_t pieces = 1;
  for (const Touch& touch : way.kernel->touches(*way.shape, way.groups(half)))
    pieces += static_cast<std::int64_t>(touch.read.spans().size() + touch.written.spans().size());
  constexpr std::int64_t piece_worth = 64 << 10;
  return moves / tasks / pieces < piece_worth ? 1 : tasks;
}

// What to start now: as last time where nothing has changed since a launch alike ran in one slice, else what `step`
// says.
std::vector<decide::Action> Engine::next(Launch& launch) {
  std::optional<Plan>& plan = launch.ways.front().shape->plan;
  const Wishes& wishes = launch.request.wishes;
  const bool fresh = launch.tasks == 1 && launch.own.empty() && launch.in_flight.empty() &&
                     launch.report.retries == 0 && launch.remaining.covers(launch.space) && launch.regions.empty() &&
                     (launch.ways.size() == 1 || (wishes.profiling != Profiling::never && wishes.tasks == 0));
  // A choice lives as long as its pool.
  const auto holds = [&](const Choice* choice) {
    if (!choice) return true;
    const bool again = wishes.profiling == Profiling::always && decide::worth_repeating(choice->selection);
    return launch.request.pool && choice->selection.winner == plan->way && choice->regions.empty() && !again;
  };
  if (fresh && plan && plan->generation == generation_ && plan->spread == wishes.spread &&
      plan->always == (wishes.profiling == Profiling::always) && plan->ways == launch.ways.size() &&
      plan->items == launch.request.items && holds(plan->choice)) {
    const auto& lanes = members_[plan->member].lanes;
    const auto lane = std::min_element(
        lanes.begin(), lanes.end(), [](const Member::Lane& a, const Member::Lane& b) { return a.queued < b.queued; });
    if (lane->queued >= decide::slices_per_queue) return {};
    if (plan->choice && !launch.choices[plan->member]) ++plan->choice->selection.since;
    launch.choices[plan->member] = plan->choice;
    return {
        {plan->member, static_cast<std::size_t>(lane - lanes.begin()), launch.space, "as last time", plan->way, {}}};
  }
  choose(launch);
  if (divide(launch)) return next_in_regions(launch);
  decide::State state = state_of(launch);
  // Where all of its memory's devices are gone, a launch may go on in another.
  const auto stays = [&](const decide::Member& m) { return m.ready && m.worker.space == launch.home; };
  if (launch.in_flight.empty() && launch.home && std::none_of(state.members.begin(), state.members.end(), stays))
    state.home = launch.home = std::nullopt;
  ++steps_;
  auto actions = decide::step(state);
  const bool one = actions.size() == 1 && actions[0].box == launch.space &&
                   std::find(launch.excluded.begin(), launch.excluded.end(), true) == launch.excluded.end();
  if (!fresh || !one || actions[0].probe || undecided(launch, state, actions[0].member)) return actions;
  Choice* choice = launch.choices[actions[0].member];
  if (!choice || (choice->selection.winner && !launch.divided_later))
    plan = Plan{.member = actions[0].member,
                .way = actions[0].variant,
                .ways = launch.ways.size(),
                .choice = choice,
                .items = launch.request.items,
                .spread = wishes.spread,
                .always = wishes.profiling == Profiling::always,
                .generation = generation_};
  return actions;
}

// Starts whatever can be started; ends the launch where nothing is left.
void Engine::turn(const std::shared_ptr<Launch>& first) {
  to_turn_.push_back(first);
  if (turning_) return;  // starting a slice may end another: whoever is at it goes on with that
  turning_ = true;
  const std::shared_ptr<void> at_the_end(nullptr, [this](void*) { turning_ = false; });
  while (!to_turn_.empty()) {
    const std::shared_ptr<Launch> launch = std::move(to_turn_.back());
    to_turn_.pop_back();
    if (launch->over || launch->blockers > 0) continue;
    if (launch->tasks == 0) launch->tasks = tasks_of(*launch), recall_cuts(*launch);
    while (!launch->failure && !launch->remaining.empty()) {
      launch->draining &= !launch->in_flight.empty();
      if (launch->draining) break;
      bool again = false;
      const auto actions = next(*launch);
      const std::size_t all = launch->in_flight.size() + actions.size();
      for (const decide::Action& action : actions) {
        if (launch->failure || launch->draining) break;
        const Placed started = start(launch, action);
        again |= started != Placed::later;
        if (started == Placed::otherwise) break;
      }
      // Whoever has one variant is told all that can be started at once.
      if (!again || (launch->ways.size() == 1 && launch->in_flight.size() == all)) break;
    }
    const bool hungry = !launch->failure && !launch->remaining.empty();
    // The program's function reads its buffers, which nobody may write before the launch is over.
    const bool preparing = std::any_of(launch->ways.begin(), launch->ways.end(),
                                       [](const Way& way) { return way.inputs == Way::Inputs::coming; });
    if (!launch->in_flight.empty() || preparing ||
        (hungry && somebody_may_run(*launch) && something_will_change(*launch))) {
      // Whoever ends next makes room for more.
      for (const auto& other : active_) {
        const bool told =
            hungry ||
            (other == launch && (launch->waiting > 0 || !launch->dependents.empty() || launch->in_flight.size() > 1));
        for (std::size_t s = 0; told && s < other->in_flight.size(); ++s) watch(other->in_flight[s]);
      }
    } else {
      if (hungry) {
        launch->failure =
            launch->last_failure.value_or(Failure{FailureKind::unsupported, "no device is left that could run it", ""});
      }
      end(launch);
      for (const auto& weak : launch->dependents) {
        if (auto next = weak.lock(); next && --next->blockers == 0) to_turn_.push_back(std::move(next));
      }
    }
  }
}

// A launch that found nothing to start can hope for what others are doing.
bool Engine::something_will_change(const Launch& launch) const {
  const auto at_work = [](const auto& other) { return !other->in_flight.empty(); };
  if ((room_wanted_ && !gathers_.empty()) || std::any_of(active_.begin(), active_.end(), at_work)) return true;
  return std::any_of(launch.ways.begin(), launch.ways.end(), [](const Way& way) {
    return way.inputs == Way::Inputs::coming ||
           std::any_of(way.kernel->built.begin(), way.kernel->built.end(), [](const Built& built) {
             return built.state == Built::State::building || built.windows.state == RareForm::State::building;
           });
  });
}

// A device that could, when it has room, or has built the kernel.
bool Engine::somebody_may_run(const Launch& launch) const {
  const decide::State state = state_of(launch);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const bool building = std::any_of(launch.ways.begin(), launch.ways.end(), [&](const Way& way) {
      return way.kernel->built[m].state == Built::State::building;
    });
    if (state.members[m].ready || (building && !members_[m].aside)) return true;
  }
  return false;
}

Engine::Placed Engine::start(const std::shared_ptr<Launch>& launch, const decide::Action& action) {
  const Way& way = launch->ways[action.variant];
  const Kernel& kernel = *way.kernel;
  if (const Placed prepared = prepare(launch, action.variant); prepared != Placed::yes) return prepared;
  // Where all devices work on the host's copy, nobody needs to know which part of it a slice touches.
  const bool whole = action.box == launch->space || all_on_host_;
  const int space = members_[action.member].device->info().space;
  auto slice = std::make_shared<Slice>();
  slice->launch = launch, slice->box = action.box, slice->member = action.member, slice->queue = action.queue;
  slice->way = action.variant, slice->probe = action.probe;
  if (const auto& spares = members_[action.member].spares; action.beside && !spares.empty()) {
    const auto less = [](const Member::Lane& a, const Member::Lane& b) { return a.queued < b.queued; };
    slice->beside = true, slice->single = action.single;
    slice->queue = static_cast<std::size_t>(std::min_element(spares.begin(), spares.end(), less) - spares.begin());
  }
  const bool again = action.again || (action.probe && action.probe->repeat);
  std::shared_ptr<Aside>& aside = launch->asides[action.member];
  const bool swaps =
      action.probe && choice_of(*launch, action.member, action.box)->selection.mode == decide::Mode::swap;
  if (swaps && again) {
    if (!aside || aside->box != action.box) {  // what was there before could not be copied: it is not repeated
      choice_of(*launch, action.member, action.box)->selection.visitors.clear();
      return Placed::otherwise;
    }
    slice->apart = aside;
  }
  const std::vector<Touch>& all = way.preparation ? way.whole : launch->whole;
  slice->uses = uses_of(launch->arguments_of(way), whole ? all : kernel.touches(*way.shape, way.groups(action.box)),
                        slice->apart.get());
  for (const Slice::Use& use : slice->uses) {
    if (space == host_memory && use.memory->home) use.memory->wanted.add(use.touch.read);
  }
  if (!again && !launch->remaining.covers(action.box)) return Placed::later;  // given away meanwhile
  if (!launch->joins.empty()) {
    // What a slice leaves behind is compared with what was there before the launch, so others there must wait.
    const auto beside = [&](const auto& other) { return members_[other->member].device->info().space == space; };
    if (space != host_memory && std::any_of(launch->in_flight.begin(), launch->in_flight.end(), beside))
      return Placed::later;
    if (launch->windowed[action.member]) {  // they bring back all that they hold
      launch->excluded[action.member] = true;
      return Placed::otherwise;
    }
    for (Slice::Use& use : slice->uses) {
      if (const Join* join = launch->join_of(*use.memory)) {
        // A part touches nothing else than all of it does, whatever is known of the part alone.
        use.touch.read = core::intersect(use.touch.read, join->bytes);
        use.touch.written = core::intersect(use.touch.written, join->bytes);
        use.touch.picked = launch->merger && space != host_memory;
      } else if (!use.touch.exact) {  // one that nobody planned
        launch->failure = Failure{FailureKind::unsupported, "what is left of it cannot be joined", ""};
        return Placed::otherwise;
      }
    }
  } else if (!slice->exact()) {
    launch->one_space = true;
  }
  // What is perhaps not written can only be fresh in one place, so nobody may work in another meanwhile.
  if (launch->one_space && std::any_of(launch->in_flight.begin(), launch->in_flight.end(), [&](const auto& other) {
        return members_[other->member].device->info().space != space;
      })) {
    launch->home = members_[launch->in_flight.front()->member].device->info().space;
    return Placed::later;
  }
  // Windows of what is perhaps not written hold what was there before: nobody may write meanwhile.
  if (launch->one_space && !launch->in_flight.empty() &&
      (launch->windowed[action.member] || launch->in_flight.front()->windowed))
    return Placed::later;
  if (const Placed placed = place(*launch, *slice); placed != Placed::yes) return placed;
  if (launch->one_space) launch->home = space;
  const std::int64_t before = launch->remaining.volume();
  if (!slice->apart) launch->remaining.remove(action.box);
  for (core::BoxSet& own : launch->own) own.remove(action.box);
  slice->repeat = again && launch->remaining.volume() == before;
  if (action.probe) {
    slice->choice = choice_of(*launch, action.member, action.box);
    ++slice->choice->probing;
    if (slice->apart)
      slice->apart->fill();
    else
      aside = swaps && decide::to_be_repeated(slice->choice->selection, *action.probe) ? copy_aside(*launch, action.box)
                                                                                       : nullptr;
    decide::begin(slice->choice->selection, *action.probe, action.box, launch->number);
  }
  launch->given[action.member] += before - launch->remaining.volume();
  for (SliceReport& done : launch->report.slices) done.repeat |= action.again;  // all of it comes once more
  launch->in_flight.push_back(slice);
  ++lane_of(*slice).queued;
  if (slice->beside) ++(slice->single ? members_[action.member].singles : members_[action.member].beside);
  if (core::TraceSink* sink = core::trace()) {
    sink->add({core::TraceKind::decision, "host", kernel.source().name,
               fmt::format("{} on {}: {}", core::to_string(action.box), members_[action.member].device->info().id,
                           action.reason),
               members_[action.member].device->now(), Nanoseconds{0}});
  }
  run(slice);
  return Placed::yes;
}

// Launches that found no room.
void Engine::turn_hungry(const Launch* but) {
  for (const auto& launch : std::vector(active_.begin(), active_.end())) {
    if (launch.get() != but && !launch->over && !launch->remaining.empty()) turn(launch);
  }
}

void Engine::end(const std::shared_ptr<Launch>& launch) {
  launch->over = true;
  for (Join& join : launch->joins) {
    // What devices have of it is from before, and theirs.
    for (MemorySpace space : join.memory->spaces()) {
      if (space != host_memory) join.memory->forget(space, join.bytes);
    }
    join.before = {};
  }
  if (launch->failure) {
    // Outputs of a failed launch are undefined; what is fresh nowhere else may as well be what the host has.
    for (const Slice::Use& use : uses_of(*launch)) {
      for (const Span& span : use.touch.written.spans()) {
        SpanSet nowhere(span);
        for (MemorySpace space : use.memory->spaces()) nowhere.remove(use.memory->fresh(space));
        use.memory->copied(host_memory, nowhere);
      }
    }
  }
  const bool exact = std::all_of(launch->whole.begin(), launch->whole.end(),
                                 [](const Touch& touch) { return touch.exact || touch.written.empty(); });
  if (!launch->failure && !exact) {
    for (const Slice::Use& use : uses_of(*launch)) {
      if (use.memory->host_reads && !use.touch.exact) (void)gather(use.memory, use.touch.written);
    }
  }
  watch_winners(*launch);
  settle_regions(*launch);
  settle_cuts(*launch);
  note_parts(*launch);
  std::fill(launch->asides.begin(), launch->asides.end(), nullptr);
  launch->report.ended = members_.front().device->now();
  active_.remove(launch);
  changed_.notify_all();
}

}  // namespace heddle::engine

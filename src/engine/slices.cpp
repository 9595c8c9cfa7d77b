// The life of a slice: bytes to where it runs, the launch, what it wrote; and what happens where that fails.
#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "core/box_form.hpp"
#include "core/log.hpp"
#include "engine/engine.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using device::host_memory;

// Runs it now, or as soon as its bytes are where they can be copied from, and nothing is in its way.
void Engine::run(const std::shared_ptr<Slice>& slice) {
  choose_code(*slice);
  switch (clashes(*slice) ? AtHand::soon : at_hand(*slice)) {
    case AtHand::soon:
      if (std::find(held_.begin(), held_.end(), slice) == held_.end()) held_.push_back(slice);
      (void)watch_all(slice->member);  // what it waits for may be of a launch that nobody waits for
      return;
    case AtHand::never:
      std::erase(held_, slice);
      if (!slice->launch->failure)
        slice->launch->failure = Failure{FailureKind::lost, "bytes that it reads were lost with their device", ""};
      return release(*slice);
    case AtHand::yes:
      std::erase(held_, slice);
  }
  device::Device& device = *members_[slice->member].device;
  slice->begin = device.now();
  if (slice->probe) slice->cpu.emplace(device);
  slice->unstaged = 1;  // pieces may be there before all others are on their way
  auto queued = enqueue(slice);
  if (slice->over || slice->refused) return;
  if (queued && --slice->unstaged == 0) queued = this->launch(*slice);
  if (!queued) refuse(*slice, queued.failure());
}

// Its device takes no more of it. What was queued before that is still at work, and may hang: it fails when that has
// ended.
void Engine::refuse(Slice& slice, const Failure& failure) {
  if (slice.events.empty()) return fail(slice, failure);
  slice.refused = failure;
  slice.unstaged = 0;
  (void)queue_of(slice).flush();
}

Engine::AtHand Engine::at_hand(Slice& slice) {
  if (all_on_host_) return AtHand::yes;  // nothing ever moves
  const int space = members_[slice.member].device->info().space;
  bool soon = false;
  for (Slice::Use& use : slice.uses) {
    Memory& memory = *use.memory;
    memory.settle();
    if (const Join* join = slice.launch->join_of(memory); join && join->before.bytes.empty()) {
      if (!gather(use.memory, join->bytes)) return AtHand::never;
      if (!memory.pending(host_memory, join->bytes).empty()) {
        soon = true;
        continue;
      }
    }
    SpanSet needed = use.touch.needed();
    if (space != host_memory && !use.window) needed.remove(memory.fresh(space));
    // Bytes that another slice is just writing there are not to be brought over its results.
    if (being_written(slice, use)) {
      soon = true;
      continue;
    }
    if (!gather(use.memory, needed)) return AtHand::never;
    soon |= !memory.fresh(host_memory).covers(needed);
    // Nor may bytes change that are just being copied to the host.
    soon |= !memory.pending(host_memory, needed).empty() || !memory.pending(host_memory, use.touch.written).empty();
    // Nor is it to write where bytes are on their way that others need: they would come over its results.
    soon |= !use.window && memory.expects(space, use.touch.all());
  }
  if (soon) return AtHand::soon;
  return keep_before(slice) ? AtHand::yes : AtHand::never;
}

// Whether bytes that a slice lacks where it runs are being written there by others. Those of one launch write other
// bytes than it reads; but what it perhaps does not write must be there before, and they may.
bool Engine::being_written(const Slice& slice, const Slice::Use& use) const {
  const auto place_of_use = [&](const Slice& s, const Slice::Use& u) {
    return u.window ? host_memory : members_[s.member].device->info().space;
  };
  const int space = place_of_use(slice, use);
  const SpanSet missing = core::subtract(use.touch.needed(), use.memory->fresh(space));
  if (missing.empty()) return false;
  for (const auto& launch : active_) {
    for (const auto& other : launch->in_flight) {
      const bool begun = other->launched || !other->events.empty() || other->unstaged > 0;
      if (other.get() == &slice || !begun) continue;
      for (const Slice::Use& theirs : other->uses) {
        if (theirs.memory == use.memory && place_of_use(*other, theirs) == space && theirs.touch.written.meets(missing))
          return true;
      }
    }
  }
  return false;
}

// Copies in what the slice needs, or begins to where that takes the way of locked memory.
core::Status Engine::enqueue(const std::shared_ptr<Slice>& slice) {
  Member& member = members_[slice->member];
  device::Queue& queue = queue_of(*slice);
  const int space = member.device->info().space;
  if (space == host_memory) return core::Done{};
  slice->relies_on.clear();
  for (Slice::Use& use : slice->uses) {
    auto place = place_of(*slice, use);
    if (!place) return place.failure();
    if (!use.window) {
      const auto others = use.memory->pending(space, use.touch.needed());
      slice->relies_on.insert(slice->relies_on.end(), others.begin(), others.end());
    }
    const SpanSet missing =
        use.window ? use.touch.needed() : core::subtract(use.touch.needed(), use.memory->fresh(space));
    // Others may be at work on the host's copy.
    const Join* join = slice->launch->join_of(*use.memory);
    use.host = join && !slice->launch->merger ? join->before : use.memory->host();
    for (const Span& span : missing.spans()) {
      if (by_pieces(slice->member, use.host, span)) {
        add_pieces({.slice = slice,
                    .memory = use.memory,
                    .bytes = span,
                    .member = slice->member,
                    .host = use.host,
                    .windowed = use.window != nullptr});
        continue;
      }
      auto copied = queue.copy_in(*place->buffer, static_cast<Bytes>(span.begin) - place->begin, use.host.part(span));
      if (!copied) return copied.failure();
      use.brought.add(span);
      if (!use.window) use.memory->arrives(space, span, *copied);
      slice->events.push_back(*copied);
    }
  }
  if (slice->unstaged > 1) {
    (void)queue.flush();
    move_pieces();
  }
  return core::Done{};
}

// Where the bytes of a memory are on a slice's device: a buffer, and the byte that it begins with.
core::Result<Engine::InBuffer> Engine::place_of(const Slice& slice, const Slice::Use& use) {
  if (use.window) return InBuffer{use.window.get(), use.window_begin};
  auto buffer = use.memory->buffer(slice.member, *members_[slice.member].room, 0, use.memory->size());
  if (!buffer) return buffer.failure();
  return InBuffer{*buffer, 0};
}

// Where the program reads results on the host, they come by themselves. Not in place: the host's copy is what a retry
// would begin with. Small pieces are gathered when they are asked for.
bool Engine::brings_back(const Slice& slice, const Slice::Use& use) const {
  return use.memory->host_reads && use.touch.exact && !use.touch.in_place() && use.touch.written.spans().size() <= 16 &&
         !by_pieces(slice.member, use.memory->host(), use.memory->all());
}

// Whether the driver may compile for it: the kernel was not launched in this form before.
bool Engine::first_of(device::Kernel& kernel, const core::NdRange& range) {
  if (kernel.is_prepared(range)) return false;
  kernel.prepared.push_back(device::form_of(range));
  return true;
}

// Where there are two ways to compute part of a launch, whose code may be of different speed; else nothing.
std::optional<decide::Form> Engine::form_of(const Slice& slice, const core::NdRange& range) const {
  const Way& way = slice.launch->ways[slice.way];
  const bool on_cpu = members_[slice.member].device->info().space == host_memory;
  if (!on_cpu || !way.shape || way.kernel->cut_by() != CutBy::offset) return std::nullopt;
  if (range.offset == core::Index{}) return decide::Form::from_zero;
  const RareForm& box = way.kernel->built[slice.member].instead_of_offset;
  if (box.state != RareForm::State::ready || !core::fits_box_form(way.grid)) return decide::Form::offset;
  const std::int64_t group = way.grid.local[0] * way.grid.local[1] * way.grid.local[2];
  if (group > static_cast<std::int64_t>(box.kernel->limits().group)) return decide::Form::offset;
  return decide::form_of_part(way.shape->forms[slice.member], slice.probe.has_value());
}

// Probes are too short, and of chosen parts, to be compared with launches, as are small parts where points differ; and
// of many cores parts take longer than launches whatever the form: all wait for the slowest.
void Engine::note_form(const Slice& slice) {
  if (!slice.form || slice.first || slice.windowed || slice.probe) return;
  const core::KernelFacts* facts = slice.launch->ways[slice.way].kernel->facts();
  constexpr std::int64_t much = 8;  // one in so many points, at least
  const bool tells = facts && (core::uniform_work(*facts) || much * slice.box.volume() >= slice.launch->space.volume());
  if (!tells || members_[slice.member].device->info().units >= decide::many_units) return;
  auto times = slice.events.back()->times();
  if (!times) return;
  const Way& way = slice.launch->ways[slice.way];
  decide::Forms& forms = way.shape->forms[slice.member];
  decide::learn(forms, *slice.form, core::seconds(times->duration()), static_cast<double>(slice.box.volume()));
  if (slice.form == decide::Form::offset && !options_.exact && decide::suspects_offset(forms))
    (void)begin_form(way.kernel, slice.member, "box");
}

// What computes it: the kernel as it is, or a form of it.
void Engine::choose_code(Slice& slice) const {
  const Way& way = slice.launch->ways[slice.way];
  const Built& built = way.kernel->built[slice.member];
  const core::Box groups = way.groups(slice.box);
  slice.code = built.original.get();
  slice.range = way.range(groups);
  slice.form = form_of(slice, slice.range);
  const bool instead = slice.form == decide::Form::box, part = slice.box != slice.launch->space;
  if (!slice.windowed && !instead && !(part && way.kernel->cut_by() == CutBy::box)) return;
  slice.code = slice.windowed ? built.windows.kernel.get()
               : instead      ? built.instead_of_offset.kernel.get()
                              : built.box.get();
  slice.range = core::box_launch(way.grid, groups).range;
}

// Whether its device is at work on it; where others wait for that, they are told.
bool Engine::has_begun(Slice& slice) {
  const device::Event& event = slice.events.back();
  if (event->begun()) return true;
  if (std::exchange(slice.awaited, true)) return false;
  event->notify_begun([inbox = inbox_] {
    {
      std::lock_guard hold(inbox->mutex);
      inbox->happened.emplace_back(Inbox::Begun{});
    }
    inbox->changed.notify_one();
  });
  return event->begun();  // perhaps too early to be told
}

// Whether the same code is at work in another queue of its device, in a way that its driver does not stand beside this
// one (device/quirks.cpp).
bool Engine::clashes(Slice& slice) {
  slice.hold = device::hold_of(slice.range);
  if (members_[slice.member].spares.empty()) return false;
  const auto source_of = [](const Slice& one) -> const KernelSource& {
    return one.launch->ways[one.way].kernel->source();
  };
  std::vector<Slice*> others;
  bool before = true;
  for (const auto& launch : active_) {
    for (const auto& other : launch->in_flight) {
      before &= other.get() != &slice;
      if (other.get() == &slice || other->member != slice.member) continue;
      if (!slice.beside && !other->beside) continue;  // one after the other
      if (other->hold.local != slice.hold.local || !(source_of(*other) == source_of(slice))) continue;
      if (!other->launched && before) return true;  // it waits, and nobody overtakes it
      // One that follows others in its queue is held when its turn comes, and nobody knows how.
      if (other->launched && slice.beside != other->beside) return true;
      if (other->launched) others.push_back(other.get());
    }
  }
  // Those that are held the same way begin in any order. Else all follow one that has begun.
  const auto is_same = [&](const Slice* other) { return other->hold == slice.hold; };
  const auto leads = [&](Slice* lead) {
    const auto follows = [&](Slice* other) { return device::joins(other->hold, lead->hold) || has_begun(*other); };
    return device::joins(slice.hold, lead->hold) && has_begun(*lead) &&
           std::all_of(others.begin(), others.end(), follows);
  };
  if (!std::all_of(others.begin(), others.end(), is_same) && std::none_of(others.begin(), others.end(), leads))
    return true;
  for (const auto& launch : active_) {
    for (const auto& other : launch->in_flight) {
      if (other.get() == &slice || other->member != slice.member || !other->launched) continue;
      if (!slice.beside && !other->beside) continue;
      other->alone &= slice.single, slice.alone &= other->single;
    }
  }
  return false;
}

// All that it needs is there or on its way.
core::Status Engine::launch(Slice& slice) {
  const Launch& launch = *slice.launch;
  const Way& way = launch.ways[slice.way];
  const Kernel& kernel = *way.kernel;
  Member& member = members_[slice.member];
  device::Queue& queue = queue_of(slice);
  const int space = member.device->info().space;
  // Its own bytes may have taken a while, by way of locked memory.
  if (slice.is_let_down()) return let_down();
  std::vector<device::Argument> arguments;
  std::vector<std::uint64_t> windows;  // where they begin, seen from the argument
  const std::vector<Argument>& given = launch.arguments_of(way);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Argument& argument = given[i];
    if (const auto* view = std::get_if<View>(&argument)) {
      const std::shared_ptr<Memory>& memory = slice.apart ? slice.apart->instead_of(view->memory) : view->memory;
      const auto use =
          std::find_if(slice.uses.begin(), slice.uses.end(), [&](const Slice::Use& u) { return u.memory == memory; });
      if (slice.windowed && core::windowed(kernel.facts()->arguments[i]))
        windows.push_back(use->window ? use->window_begin - view->begin : 0);
      if (use->window) {
        arguments.push_back(device::BufferArgument{use->window.get()});
        continue;
      }
      auto buffer = memory->buffer(slice.member, *member.room, view->begin, view->size);
      if (!buffer) return buffer.failure();
      arguments.push_back(device::BufferArgument{*buffer});
    } else if (const auto* scalar = std::get_if<device::Scalar>(&argument)) {
      arguments.push_back(*scalar);
    } else {
      arguments.push_back(std::get<device::LocalMemory>(argument));
    }
  }
  // Copies that other queues brought, also to where it only writes; its own come before it anyway. But where they fail,
  // what comes behind them in a queue still runs, and of a window all bytes go back to the host: that must not.
  std::vector<device::Event> waits;
  if (slice.windowed) waits = slice.events;
  for (const Slice::Use& use : slice.uses) {
    if (space == host_memory) break;
    if (use.window) continue;
    for (device::Event& event : use.memory->pending(space, use.touch.all())) {
      if (std::find(slice.events.begin(), slice.events.end(), event) != slice.events.end()) continue;
      slice.relies_on.push_back(event);
      waits.push_back(std::move(event));
    }
  }
  try {
    for (Slice::Use& use : slice.uses) {
      if (space == host_memory || use.touch.written.empty() || !slice.launch->join_of(*use.memory)) continue;
      use.after = allocate_host(use.memory->size());
    }
  } catch (const std::bad_alloc&) {
    return Failure{FailureKind::allocation, "too little memory on the host to join what it changes", ""};
  }
  if (slice.code != kernel.built[slice.member].original.get()) {
    const core::BoxLaunch boxed = core::box_launch(way.grid, way.groups(slice.box));
    for (const auto& hidden :
         {boxed.arguments.base, boxed.arguments.count, boxed.arguments.groups, boxed.arguments.offset})
      arguments.push_back(device::scalar(hidden));
    for (std::uint64_t begin : windows) arguments.push_back(device::scalar(begin));
  }
  auto launched = queue.launch({*slice.code, arguments, slice.range}, waits);
  if (!launched) return launched.failure();
  slice.launched = true;
  slice.first = first_of(*slice.code, slice.range);
  slice.events.push_back(*launched);
  if (slice.single) {
    member.groups.push_back(*launched);
    if (member.groups.size() > 4 * member.spares.size()) member.groups.erase(member.groups.begin());
  }
  for (Slice::Use& use : slice.uses) {
    const bool joined = !use.after.bytes.empty();
    if (space == host_memory || !(use.window || joined || brings_back(slice, use))) continue;
    auto place = place_of(slice, use);
    if (!place) return place.failure();
    if (!joined) use.host = use.memory->host();
    for (const Span& span : use.touch.written.spans()) {
      auto copied = queue.copy_out((joined ? use.after : use.host).part(span), *place->buffer,
                                   static_cast<Bytes>(span.begin) - place->begin, {&*launched, 1});
      if (!copied && (use.window || joined)) return copied.failure();  // nobody can ask for it afterwards
      if (!copied) break;                                              // gathered when asked for
      slice.fetching.push_back(*copied);
      if (!joined) use.fetched.add(span);
    }
  }
  return queue.flush();
}

Engine::Member::Lane& Engine::lane_of(const Slice& slice) {
  Member& member = members_[slice.member];
  return slice.beside ? member.spares[slice.queue] : member.lanes[slice.queue];
}

device::Queue& Engine::queue_of(const Slice& slice) {
  Member& member = members_[slice.member];
  if (slice.beside) return *lane_of(slice).queue;
  return slice.probe && member.timed ? *member.timed : *member.lanes[slice.queue].queue;
}

void Engine::watch(const std::shared_ptr<Slice>& slice) {
  if (slice->watched || !slice->at_work() || slice->over) return;
  slice->watched = true;
  if (!members_[slice->member].device->info().prompt) {
    looked_at_.push_back(slice);
    return begin_to_look();
  }
  slice->last()->notify([inbox = inbox_, slice = std::weak_ptr(slice)] {
    {
      std::lock_guard hold(inbox->mutex);
      inbox->happened.emplace_back(slice);
    }
    inbox->changed.notify_one();
  });
}

// Its last command is done. Where one before that is not, the worker sees it end.
void Engine::collect(const std::shared_ptr<Slice>& slice) {
  if (slice->over || (worker_.joinable() && !slice->all_done())) return;
  const auto has_failed = [](const device::Event& event) { return !event->wait(); };
  auto failed = std::find_if(slice->events.begin(), slice->events.end(), has_failed);
  if (failed == slice->events.end() && slice->brings_all()) {
    failed = std::find_if(slice->fetching.begin(), slice->fetching.end(), has_failed);
    if (failed == slice->fetching.end()) failed = slice->events.end();
  }
  const bool right = failed == slice->events.end() && !slice->refused && !slice->spoilt && !slice->is_let_down();
  if (right && !slice->joining && joins_aside(*slice)) {
    slice->joining = true;
    slice->arrived = members_[slice->member].device->now();
    slice->watched = false;
    const auto joining = begin_joining(slice);
    if (joining) return watch(slice);
    fail_merging(*slice, joining.failure());
  } else if (failed != slice->events.end() && slice->joining) {
    fail_merging(*slice, (*failed)->wait().failure());
  } else if (failed != slice->events.end()) {
    fail(*slice, (*failed)->wait().failure());
  } else if (slice->refused) {
    fail(*slice, *slice->refused);
  } else if (slice->is_let_down()) {
    fail(*slice, let_down());
  } else if (slice->spoilt) {
    fail(*slice, slice->launch->last_failure.value());
  } else {
    succeed(*slice);
  }
  turn(slice->launch);
  turn_hungry(slice->launch.get());
  if (!held_.empty()) run_held();  // what it was in the way of
}

void Engine::succeed(Slice& slice) {
  Member& member = members_[slice.member];
  Launch& launch = *slice.launch;
  const int space = member.device->info().space;
  bool fetched = true;
  for (const device::Event& event : slice.fetching) {
    if (auto status = event->wait(); !status) {
      count_failure(slice.member, status.failure());
      fetched = false;
    }
  }
  for (Slice::Use& use : slice.uses) {
    use.memory->settle();
    const bool joined = !use.after.bytes.empty();
    if (joined) {
      if (!slice.joining) launch.join_of(*use.memory)->take(use.after, use.touch.written);
      launch.report.bytes_out += static_cast<Bytes>(use.touch.written.size());
    }
    use.memory->written(use.window || joined ? host_memory : space, use.touch.written);
    launch.report.bytes_in += static_cast<Bytes>(use.brought.size());
    if (fetched) {
      use.memory->copied(host_memory, use.fetched);
      launch.report.bytes_out += static_cast<Bytes>(use.fetched.size());
    }
    // What did not come behind it comes now; where others may still write there, when the launch is over.
    if (space != host_memory && use.memory->host_reads && use.touch.exact) (void)gather(use.memory, use.touch.written);
  }
  Nanoseconds now = member.device->now();
  // A merge waits for what its device computes itself: that is not this one's fault.
  if (slice.joining && launch.merger) {
    if (auto times = slice.fetching.back()->times(); times && times->duration() > Nanoseconds{0})
      now = std::min(now, slice.arrived + times->duration());
  }
  const Nanoseconds begin = std::max(slice.begin, lane_of(slice).last_end);
  if (!slice.beside) note_pace(slice, now - begin);
  if (slice.alone && !slice.single) note_form(slice);
  launch.ready[slice.member] = std::max(launch.ready[slice.member], now);
  if (slice.probe)
    learn(slice);
  else if (slice.alone && !slice.single)
    count_winner(slice);
  launch.began = std::min(begin, launch.began.value_or(begin));
  launch.timed_fairly &= !slice.first && (!slice.probe || !launch.divided_later);
  launch.report.windows += slice.windowed;
  launch.report.slices.push_back({member.device->info().id, launch.ways[slice.way].variant, slice.box, slice.begin, now,
                                  slice.repeat, slice.first});
  release(slice);
}

void Engine::release(Slice& slice) {
  if (slice.over) return;
  slice.over = true;
  std::erase_if(waiting_pieces_, [&](const auto& piece) { return piece->slice.get() == &slice && drop(*piece); });
  for (Slice::Use& use : slice.uses) use.window.reset();  // room for whoever comes next
  if (slice.choice) --slice.choice->probing;
  drop_aside(slice);
  if (slice.choice) decide::drop(slice.choice->selection, *slice.probe);
  if (slice.beside) --(slice.single ? members_[slice.member].singles : members_[slice.member].beside);
  --lane_of(slice).queued;
  lane_of(slice).last_end = members_[slice.member].device->now();
  auto& all = slice.launch->in_flight;
  all.erase(std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.get() == &slice; }));
}

void Engine::fail(Slice& slice, const Failure& failure) {
  Launch& launch = *slice.launch;
  const int space = members_[slice.member].device->info().space;
  bool again = true;
  slice.spoilt |= failure.kind != FailureKind::hang && slice.is_let_down();
  launch.asides[slice.member].reset();  // there is nothing to compare with
  for (Slice::Use& use : slice.uses) {
    use.memory->settle();
    if (slice.apart) {
      // What it has written is nobody's.
    } else if (space == host_memory) {
      // The host's copy is what it worked on: running again is right only if it reads nothing that it wrote.
      again &= !use.touch.in_place() || !slice.launched;
    } else if (use.window) {
      // The same where the launch succeeded, and its results did not come whole.
      const device::Event* ran = slice.launched ? &slice.events.back() : nullptr;
      again &= !use.touch.in_place() || !ran || ((*ran)->done() && !(*ran)->wait());
    } else {
      SpanSet spoilt = use.brought;
      if (slice.launched) spoilt.add(use.touch.written);
      use.memory->forget(space, spoilt);
      again &= use.memory->is_fresh_anywhere(use.touch.needed());
    }
  }
  // In another memory, what it has left behind in the host's would not be seen.
  for (std::size_t m = 0; space == host_memory && slice.launched && !launch.joins.empty() && m < members_.size(); ++m)
    launch.excluded[m] = launch.excluded[m] || members_[m].device->info().space != host_memory;
  if (space != host_memory && !slice.exact()) {
    // It may have left anything anywhere in its range, and others of this launch work in the same: they are over, too,
    // and nobody brings bytes there before they have ended.
    launch.draining = true;
    for (const auto& other : launch.in_flight) {
      if (other.get() != &slice && slice.launched && members_[other->member].device->info().space == space)
        other->spoilt = true;
    }
  }
  const std::string& id = members_[slice.member].device->info().id;
  launch.last_failure = Failure{failure.kind, fmt::format("{} on {}", failure.what, id), failure.log};
  // There is another form, which has run.
  const bool its_form =
      slice.form == decide::Form::box && failure.kind != FailureKind::lost && failure.kind != FailureKind::hang;
  if (its_form) launch.ways[slice.way].kernel->built[slice.member].instead_of_offset.state = RareForm::State::failed;
  if (slice.choice && !slice.spoilt && !its_form) decide::give_up(slice.choice->selection, slice.probe->rival);
  bool others = false;  // variants that may do better
  for (std::size_t r = 0; slice.choice && r < slice.choice->selection.rivals.size(); ++r) {
    const decide::Rival& rival = slice.choice->selection.rivals[r];
    others |= r != slice.probe->rival && rival.ready && !rival.out;
  }
  others &= failure.kind != FailureKind::lost && failure.kind != FailureKind::hang;
  if (slice.spoilt || others || its_form)
    ;  // not its device's fault, but that of another slice, or of a variant or a form that is out now
  else if (failure.kind == FailureKind::allocation || failure.kind == FailureKind::unsupported)
    launch.excluded[slice.member] = true, launch.ways.front().shape->plan.reset();
  else
    count_failure(slice.member, failure);
  if (slice.apart) {
    launch.report.notes.push_back(
        fmt::format("a copy of {} failed on {}, and is not needed: {}", core::to_string(slice.box), id, failure.what));
  } else if (again) {
    launch.remaining.add(slice.box);
    ++launch.report.retries;
    launch.report.notes.push_back(
        fmt::format("{} failed on {} and runs again: {}", core::to_string(slice.box), id, failure.what));
  } else {
    launch.failure = launch.last_failure;
    launch.remaining = {};
  }
  release(slice);
}

void Engine::count_failure(std::size_t number, const Failure& failure) {
  Member& member = members_[number];
  ++member.failures;
  const bool gone = failure.kind == FailureKind::lost || failure.kind == FailureKind::hang;
  member.gone |= gone;
  if (member.aside || (member.failures < 2 && !gone)) return;
  member.aside = true;
  ++generation_;
  core::log(core::LogLevel::warn, fmt::format("{} ({}) is set aside: {}", member.device->info().id,
                                              member.device->info().name, failure.what));
}

}  // namespace heddle::engine

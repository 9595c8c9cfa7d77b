// Memory of a device for what a slice touches; and what happens where there is too little: buffers that nobody uses
// leave, then slices get windows of their arguments alone, then they get smaller.
#include <algorithm>

#include <fmt/format.h>

#include "core/box_form.hpp"
#include "engine/engine.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using device::host_memory;

namespace {

// The bytes of a memory that a slice needs on its device, if it gets no more than those; all of them where that is not
// much less, as they can stay for the next.
Span window_of(const Launch& launch, const Slice& slice, const Slice::Use& use) {
  const Way& way = launch.ways[slice.way];
  const auto& arguments = way.kernel->facts()->arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* view = std::get_if<View>(&launch.arguments_of(way)[i]);
    if (view && view->memory == use.memory && !core::windowed(arguments[i])) return use.memory->all();
  }
  SpanSet touched = use.touch.read;
  touched.add(use.touch.written);
  const Span around = touched.empty() ? Span{} : Span{touched.spans().front().begin, touched.spans().back().end};
  const Span hull = core::window_around(around, use.memory->size());
  return 2 * hull.size() < use.memory->all().size() ? hull : use.memory->all();
}

}  // namespace

bool Engine::begin_windows(const Launch& launch, std::size_t way, std::size_t m) {
  const std::shared_ptr<Kernel>& kernel = launch.ways[way].kernel;
  if (!kernel->facts() || !launch.undivided.empty() || !core::fits_box_form(launch.ways[way].grid)) return false;
  return begin_form(kernel, m, "window");
}

// Lets buffers leave that no slice on the device is using, those first that were used longest ago, until `wanted` bytes
// are free. What only the device has comes to the host before.
Engine::Leaving Engine::make_room(std::size_t m, Bytes wanted, const Slice* slice) {
  Member& member = members_[m];
  const int space = member.device->info().space;
  std::vector<const Memory*> used, used_elsewhere;
  if (slice) {
    for (const Slice::Use& use : slice->uses) used.push_back(use.memory.get());
  }
  for (const auto& launch : active_) {
    for (const auto& other : launch->in_flight) {
      for (const Slice::Use& use : other->uses)
        (other->member == m ? used : used_elsewhere).push_back(use.memory.get());
    }
  }
  const auto among = [](const std::vector<const Memory*>& all, const std::shared_ptr<Memory>& one) {
    return std::find(all.begin(), all.end(), one.get()) != all.end();
  };
  std::vector<std::shared_ptr<Memory>> idle;
  for (const auto& weak : memories_) {
    auto memory = weak.lock();
    if (memory && memory->device_bytes(m) > 0 && !memory->adopted(m) && !among(used, memory))
      idle.push_back(std::move(memory));
  }
  std::sort(idle.begin(), idle.end(), [](const auto& a, const auto& b) { return a->last_used < b->last_used; });
  Leaving out;
  Bytes soon = 0;
  for (const auto& memory : idle) {
    if (member.room->free() + soon >= wanted) break;
    memory->settle();
    const SpanSet all(memory->all());
    // Bytes must not come to the host where somebody writes just now.
    const bool at_work = among(used_elsewhere, memory);
    if (!at_work) (void)gather(memory, core::subtract(memory->fresh(space), memory->fresh(host_memory)));
    if (at_work || !memory->pending(host_memory, all).empty()) {
      soon += memory->device_bytes(m);
      out.soon = room_wanted_ = true;
      continue;
    }
    memory->forget(space, all);
    memory->drop_buffers(m);
    out.some = true;
  }
  return out;
}

// Buffers for all that a slice touches. `otherwise`: not as it is, but something was changed so that `step` should be
// asked again; `later`: when something has ended.
Engine::Placed Engine::place(Launch& launch, Slice& slice) {
  const std::size_t m = slice.member;
  Member& member = members_[m];
  if (member.device->info().space == host_memory) return Placed::yes;
  slice.windowed = launch.windowed[m];
  ++slices_started_;
  struct Missing {
    Slice::Use* use;
    Span bytes;
    bool whole() const { return bytes == use->memory->all(); }
  };
  std::vector<Missing> missing;
  Bytes wanted = 0, in_windows = 0;
  for (Slice::Use& use : slice.uses) {
    use.memory->last_used = slices_started_;
    if (use.memory->device_bytes(m) > 0) continue;
    missing.push_back({&use, slice.windowed ? window_of(launch, slice, use) : use.memory->all()});
    const auto size = static_cast<Bytes>(missing.back().bytes.size());
    wanted += size;
    if (!missing.back().whole()) in_windows += size;
  }
  const std::string& id = member.device->info().id;
  const auto never = [&](const std::string& why) {
    launch.ways.front().shape->plan.reset();
    Way& way = launch.ways[slice.way];
    // What it prepared is its own: the base may find room.
    if (way.preparation && launch.ways.front().kernel->built[m].state == Built::State::ready) {
      way.inputs = Way::Inputs::failed;
      if (launch.choices[m]) decide::give_up(launch.choices[m]->selection, slice.way);
      for (const Region& region : launch.regions) decide::give_up(region.choice->selection, slice.way);
      launch.report.notes.push_back(fmt::format("variant '{}' does not run on {}: {}", way.variant, id, why));
      return Placed::otherwise;
    }
    launch.excluded[m] = true;
    launch.last_failure = Failure{FailureKind::allocation, why, ""};
    launch.report.notes.push_back(fmt::format("does not run on {}: {}", id, why));
    return Placed::otherwise;
  };
  if (slice.windowed) {
    const RareForm& form = launch.ways[slice.way].kernel->built[m].windows;
    if (form.state == RareForm::State::none) (void)begin_windows(launch, slice.way, m);
    if (form.state == RareForm::State::building) return Placed::later;
    if (form.state == RareForm::State::failed)
      return never(fmt::format("too little memory on {}, and no windows: {}", id, form.failure->what));
  }
  const auto axis = static_cast<std::size_t>(launch.axis);
  const bool divisible = launch.undivided.empty() &&
                         slice.box.end[axis] - slice.box.begin[axis] > launch.ways[slice.way].part.points[axis];
  const auto smaller = [&] {
    launch.tasks = std::min(2 * launch.tasks, 1 << 29);
    launch.crowded = true;
    return Placed::otherwise;
  };
  // Several must fit at once, so that copies and computing overlap.
  if (in_windows > member.room->limit() / 4 && divisible) return smaller();
  Leaving left;
  if (wanted > member.room->free()) left = make_room(m, wanted, &slice);
  core::Status placed = core::Done{};
  std::vector<Memory*> made;
  for (const Missing& one : missing) {
    if (one.whole()) {
      auto buffer = one.use->memory->buffer(m, *member.room, 0, one.use->memory->size());
      if (buffer)
        made.push_back(one.use->memory.get());
      else
        placed = buffer.failure();
    } else if (auto window = member.room->allocate(static_cast<Bytes>(one.bytes.size()))) {
      one.use->window = std::move(*window);
      one.use->window_begin = static_cast<Bytes>(one.bytes.begin);
    } else {
      placed = window.failure();
    }
    if (!placed) break;
  }
  if (placed) return Placed::yes;
  for (Slice::Use& use : slice.uses) use.window.reset();
  for (Memory* memory : made) memory->drop_buffers(m);
  // Perhaps the device has less than it says: whatever can leave does.
  if (!left.soon) left = make_room(m, member.room->limit(), &slice);
  if (left.some && !left.soon) return Placed::otherwise;
  const bool busy = std::any_of(active_.begin(), active_.end(), [&](const auto& other) {
    return std::any_of(other->in_flight.begin(), other->in_flight.end(), [&](const auto& s) { return s->member == m; });
  });
  if (left.soon || busy) return Placed::later;
  const std::string why = fmt::format("{} bytes of memory on {}: {}", wanted, id, placed.failure().what);
  if (slice.windowed && divisible) return smaller();
  if (!slice.windowed && begin_windows(launch, slice.way, m)) {
    // Whole buffers of its own that earlier launches left would be in the way of windows.
    if (make_room(m, member.room->limit(), nullptr).soon) return Placed::later;
    launch.windowed[m] = true;
    launch.report.notes.push_back("runs in windows, as it needs " + why);
    return Placed::otherwise;
  }
  return never("it needs " + why);
}

}  // namespace heddle::engine

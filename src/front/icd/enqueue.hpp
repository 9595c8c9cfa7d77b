// The direct path that every command takes: the calling thread puts it into the inner queue, and the program's event
// wraps the inner one.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "front/icd/objects.hpp"
#include "front/icd/observe.hpp"

namespace heddle::front::icd {

// A wait list of the program's as one of the inner driver's.
class WaitList {
 public:
  // Those that are the engine's are not in it: they were waited for.
  WaitList(cl_uint number, const cl_event* events, const Context& context) {
    if ((number == 0) != (events == nullptr)) throw Error{CL_INVALID_EVENT_WAIT_LIST};
    if (number == 0) return;
    cl_event* to = few_.data();
    if (number > few_.size()) {
      many_ = std::make_unique<cl_event[]>(number);
      to = many_.get();
    }
    for (cl_uint i = 0; i < number; ++i) {
      const Event* event = object_of(events[i]);
      if (!event || event->kind != Kind::event) throw Error{CL_INVALID_EVENT_WAIT_LIST};
      if (&*event->context != &context) throw Error{CL_INVALID_CONTEXT};
      if (event->inner) to[count++] = event->inner;
    }
    if (count > 0) list = to;
  }
  WaitList(const WaitList&) = delete;

  cl_uint count = 0;
  const cl_event* list = nullptr;

 private:
  std::array<cl_event, 16> few_;
  std::unique_ptr<cl_event[]> many_;
};

// The last three parameters of every clEnqueue*, and whether the call waits for its command.
struct Waits {
  cl_uint count;
  const cl_event* events;
  cl_event* event;
  cl_bool blocking = CL_FALSE;
  std::array<const Memory*, 2> uses{};      // what the command uses
  std::span<const Memory* const> others{};  // where that are more
  cl_event* watched = nullptr;              // gets a reference to the inner event
};

// A direct command of a queue that has a loom, from before it to when the inner driver has it: what it must come after
// is done, and it is the direct path's turn with its memories.
class Direct {
 public:
  Direct(Queue& queue, const Waits& waits) : queue_(queue.context->loom ? &queue : nullptr) {
    if (queue_) begin(waits);
  }
  ~Direct() {
    if (queue_) queue_->placed.fetch_add(1);
  }
  Direct(const Direct&) = delete;
  cl_int refused = CL_SUCCESS;  // what it waits for has failed
  void done(bool blocking);     // it was placed; where the call has waited for it, all before it is done, too

 private:
  void begin(const Waits& waits);

  Queue* queue_;
  std::uint64_t before_ = 0;
};
cl_int refuse(Queue& queue, const Waits& waits, cl_int status);  // a command that fails before it begins
void know_finished(Queue& queue, std::uint64_t number);          // of its direct commands, so many are done

// Whoever puts commands into a queue. A launch that is timed beside its queue is three commands, which nobody may come
// between: only the one thread that uses it may do that, and another waits until they are there.
inline const void* this_user() {
  static thread_local char here;
  return &here;
}
void another_user(Queue& queue);
cl_int finish_driver(Queue& queue);  // all that was put into it
inline void note_user(Queue& queue) {
  if (queue.user.load(std::memory_order_relaxed) != this_user()) another_user(queue);
}

// `enter(list, inner_event)` makes the inner call and returns its code; inner_event is null where nobody wants one.
template <class Enter>
cl_int enqueue(Queue& queue, const Work& work, const Waits& waits, Enter&& enter) {
  const WaitList list(waits.count, waits.events, *queue.context);
  note_user(queue);
  Direct direct(queue, waits);
  if (direct.refused != CL_SUCCESS) return refuse(queue, waits, direct.refused);
  const auto begin = observing() ? now() : core::Nanoseconds{0};
  auto event = waits.event ? Ref<Event>::born(new Event(queue)) : Ref<Event>();
  cl_event inner = nullptr;
  const cl_int code = enter(list, waits.event || waits.watched || observing() ? &inner : nullptr);
  if (code != CL_SUCCESS) return code;
  direct.done(waits.blocking);
  if (waits.watched) {
    if (waits.event || observing()) pass<&Slots::clRetainEvent>(inner);
    *waits.watched = inner;
  }
  if (observing()) {
    observe(queue, work, begin, inner, waits.event != nullptr);
    if (waits.blocking) collect();
  }
  if (waits.event) {
    event->inner = inner;
    *waits.event = event.hand_out();
  }
  return CL_SUCCESS;
}

// For the inner calls that take (queue, arguments..., count, list, event), which is nearly all of them.
template <auto Slot, class... P>
cl_int enqueue(Queue& queue, const Work& work, const Waits& waits, P... arguments) {
  return enqueue(queue, work, waits, [&](const WaitList& list, cl_event* inner) {
    return pass<Slot>(queue.inner, arguments..., list.count, list.list, inner);
  });
}

}  // namespace heddle::front::icd

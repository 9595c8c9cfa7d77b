// The direct path that every command takes: the calling thread puts it into the inner queue, and the program's event
// wraps the inner one.
#pragma once

#include <array>
#include <memory>

#include "front/icd/objects.hpp"
#include "front/icd/observe.hpp"

namespace heddle::front::icd {

// A wait list of the program's as one of the inner driver's.
class WaitList {
 public:
  WaitList(cl_uint number, const cl_event* events, const Context& context) : count(number) {
    if ((count == 0) != (events == nullptr)) throw Error{CL_INVALID_EVENT_WAIT_LIST};
    if (count == 0) return;
    cl_event* to = few_.data();
    if (count > few_.size()) {
      many_ = std::make_unique<cl_event[]>(count);
      to = many_.get();
    }
    list = to;
    for (cl_uint i = 0; i < count; ++i) {
      const Event* event = object_of(events[i]);
      if (!event || event->kind != Kind::event) throw Error{CL_INVALID_EVENT_WAIT_LIST};
      if (&*event->context != &context) throw Error{CL_INVALID_CONTEXT};
      to[i] = event->inner;
    }
  }
  WaitList(const WaitList&) = delete;

  const cl_uint count;
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
};

// `enter(list, inner_event)` makes the inner call and returns its code; inner_event is null where nobody wants one.
template <class Enter>
cl_int enqueue(Queue& queue, const Work& work, const Waits& waits, Enter&& enter) {
  const WaitList list(waits.count, waits.events, *queue.context);
  const auto begin = observing() ? now() : core::Nanoseconds{0};
  auto event = waits.event ? Ref<Event>::born(new Event(queue)) : Ref<Event>();
  cl_event inner = nullptr;
  const cl_int code = enter(list, waits.event || observing() ? &inner : nullptr);
  if (code != CL_SUCCESS) return code;
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

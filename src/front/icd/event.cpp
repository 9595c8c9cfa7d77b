// Events: the program's and its own user events.
#include <algorithm>

#include "front/icd/callbacks.hpp"
#include "front/icd/enqueue.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/strand.hpp"

namespace heddle::front::icd {

Event::~Event() {
  if (inner) pass<&Slots::clReleaseEvent>(inner);
}

cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event* events) {
  return answer(__func__, [&]() -> cl_int {
    if (count == 0 || !events) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; ++i) valid(events[i]);
    const WaitList list(count, events, *valid(events[0]).context);
    cl_int code = CL_SUCCESS;
    if (list.count > 0) code = device::Dispatch(list.list[0])(&Slots::clWaitForEvents, list.count, list.list);
    for (cl_uint i = 0; i < count; ++i) {
      if (valid(events[i]).ours && wait_for(valid(events[i])) < 0) code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    if (observing()) collect();
    // NVIDIA's driver does not count a user event that failed.
    for (cl_uint i = 0; code == CL_SUCCESS && i < count; ++i) {
      if (valid(events[i]).user_status < 0) code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    return code;
  });
}

cl_int CL_API_CALL clGetEventInfo(cl_event handle, cl_event_info what, size_t size, void* value, size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    Event& event = valid(handle);
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_EVENT_COMMAND_TYPE:
        if (event.ours) return place.put(event.ours->type);
        return pass<&Slots::clGetEventInfo>(event.inner, what, size, value, size_ret);
      case CL_EVENT_COMMAND_EXECUTION_STATUS:
        if (event.ours) return place.put(status_of(event));
        return pass<&Slots::clGetEventInfo>(event.inner, what, size, value, size_ret);
      case CL_EVENT_COMMAND_QUEUE:
        return place.put<cl_command_queue>(event.queue ? handle_of(*event.queue) : nullptr);
      case CL_EVENT_CONTEXT:
        return place.put(handle_of(*event.context));
      case CL_EVENT_REFERENCE_COUNT:
        return place.put<cl_uint>(event.references);
      default:
        if (event.ours) return CL_INVALID_VALUE;
        return pass<&Slots::clGetEventInfo>(event.inner, what, size, value, size_ret);
    }
  });
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event handle, cl_profiling_info what, size_t size, void* value,
                                           size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    Event& event = valid(handle);
    const bool asked = event.queue && (event.queue->properties & CL_QUEUE_PROFILING_ENABLE);
    if (!asked) return CL_PROFILING_INFO_NOT_AVAILABLE;  // though we may have asked for ourselves
    if (status_of(event) != CL_COMPLETE) return CL_PROFILING_INFO_NOT_AVAILABLE;
    if (event.ours) {
      const Ours& ours = *event.ours;
      const auto put = [&](core::Nanoseconds time) {
        return Place{size, value, size_ret}.put(static_cast<cl_ulong>(time.count()));
      };
      switch (what) {
        case CL_PROFILING_COMMAND_QUEUED:
          return put(ours.queued);
        case CL_PROFILING_COMMAND_SUBMIT:
          return put(ours.submitted);
        case CL_PROFILING_COMMAND_START:
          return put(std::max(ours.begin, ours.submitted));
        case CL_PROFILING_COMMAND_END:
        case CL_PROFILING_COMMAND_COMPLETE:
          return put(std::max({ours.begin, ours.submitted, ours.end}));
        default:
          return CL_INVALID_VALUE;
      }
    }
    return pass<&Slots::clGetEventProfilingInfo>(event.inner, what, size, value, size_ret);
  });
}

cl_int CL_API_CALL clRetainEvent(cl_event handle) {
  return always(__func__, [&] { retain(valid(handle)); });
}
cl_int CL_API_CALL clReleaseEvent(cl_event handle) {
  return always(__func__, [&] { release(valid(handle)); });
}

cl_event CL_API_CALL clCreateUserEvent(cl_context handle, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    allow_user_events(context);
    auto event = Ref<Event>::born(new Event(context));
    cl_int code = CL_SUCCESS;
    event->inner = pass<&Slots::clCreateUserEvent>(context.inner, &code);
    check(code);
    return event.hand_out();
  });
}

cl_int CL_API_CALL clSetUserEventStatus(cl_event handle, cl_int status) {
  return answer(__func__, [&]() -> cl_int {
    Event& event = valid(handle);
    if (event.queue) return CL_INVALID_EVENT;  // not a user event
    if (status > CL_COMPLETE) return CL_INVALID_VALUE;
    cl_int before = CL_SUBMITTED;
    if (!event.user_status.compare_exchange_strong(before, status)) return CL_INVALID_OPERATION;  // once only
    return pass<&Slots::clSetUserEventStatus>(event.inner, status);
  });
}

cl_int CL_API_CALL clSetEventCallback(cl_event handle, cl_int status, EventCallback callback, void* user) {
  return answer(__func__, [&]() -> cl_int {
    Event& event = valid(handle);
    if (!callback || (status != CL_SUBMITTED && status != CL_RUNNING && status != CL_COMPLETE)) return CL_INVALID_VALUE;
    return call_back_at(event, status, callback, user);
  });
}

}  // namespace heddle::front::icd

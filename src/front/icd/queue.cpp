// Command queues, and what concerns a queue as a whole.
#include "front/icd/enqueue.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/groups.hpp"
#include "front/icd/runtime.hpp"
#include "front/icd/strand.hpp"

namespace heddle::front::icd {

namespace {

// Where the times of a program are shown or used, its queues take them, whether it asked for that or not.
cl_command_queue_properties inner_properties(Queue& queue) {
  cl_command_queue_properties out = queue.properties;
  if (observing() || takes_times(queue.device)) out |= CL_QUEUE_PROFILING_ENABLE;
  queue.timed = (out & CL_QUEUE_PROFILING_ENABLE) != 0;
  return out;
}

cl_command_queue hand_out(Ref<Queue> queue, cl_command_queue inner, cl_int code) {
  queue->inner = inner;
  check(code);
  expect_end();
  note_live(&*queue, inner);  // queues of the device itself are kernel arguments
  return queue.hand_out();
}

}  // namespace

Queue::Queue(Context& its_context, Device& its_device) : Object(its_kind), context(its_context), device(its_device) {
  if (!context->loom) return;
  std::lock_guard hold(context->mutex);
  context->queues.push_back(this);
}

Queue::~Queue() {
  if (context->loom) {
    std::lock_guard hold(context->mutex);
    std::erase(context->queues, this);
  }
  forget_live(this);
  if (inner) pass<&Slots::clReleaseCommandQueue>(inner);
  if (beside) pass<&Slots::clReleaseCommandQueue>(beside);
}

void another_user(Queue& queue) {
  const void* nobody = nullptr;
  if (queue.user.compare_exchange_strong(nobody, this_user())) return;
  queue.several_users = true;
  queue.beside_busy.wait(true);
}

cl_int finish_driver(Queue& queue) {
  const cl_int code = pass<&Slots::clFinish>(queue.inner);
  // All of that is done; but what it knows of its events, a driver may look at only now.
  if (queue.beside_used.exchange(false)) pass<&Slots::clFinish>(queue.beside);
  return code;
}

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context handle, cl_device_id device,
                                                  cl_command_queue_properties properties, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    if (!device) throw Error{CL_INVALID_DEVICE};
    auto queue = Ref<Queue>::born(new Queue(context, device_in(context, device)));
    queue->properties = properties;
    cl_int code = CL_SUCCESS;
    const cl_command_queue inner =
        pass<&Slots::clCreateCommandQueue>(context.inner, queue->device.inner, inner_properties(*queue), &code);
    return hand_out(std::move(queue), inner, code);
  });
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context handle, cl_device_id device,
                                                                const cl_queue_properties* properties, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    if (!device) throw Error{CL_INVALID_DEVICE};
    auto queue = Ref<Queue>::born(new Queue(context, device_in(context, device)));
    std::vector<cl_queue_properties> others;
    for (const auto* p = properties; p && *p; p += 2) {
      if (p[0] == CL_QUEUE_PROPERTIES) {
        queue->properties = p[1];
      } else if (p[0] == CL_QUEUE_SIZE || p[0] == CL_QUEUE_PRIORITY_KHR || p[0] == CL_QUEUE_THROTTLE_KHR) {
        others.insert(others.end(), {p[0], p[1]});
        queue->has_hints = true;
      } else {
        throw Error{CL_INVALID_VALUE};
      }
      queue->properties_array.insert(queue->properties_array.end(), {p[0], p[1]});
    }
    if (properties) queue->properties_array.push_back(0);
    const cl_command_queue_properties wanted = inner_properties(*queue);
    cl_int code = CL_SUCCESS;
    cl_command_queue inner = nullptr;
    if (device::Dispatch(context.inner).has(&Slots::clCreateCommandQueueWithProperties)) {
      others.insert(others.end(), {CL_QUEUE_PROPERTIES, wanted, 0});
      inner =
          pass<&Slots::clCreateCommandQueueWithProperties>(context.inner, queue->device.inner, others.data(), &code);
    } else {  // a driver of OpenCL 1.x
      if (!others.empty()) throw Error{CL_INVALID_QUEUE_PROPERTIES};
      inner = pass<&Slots::clCreateCommandQueue>(context.inner, queue->device.inner, wanted, &code);
    }
    return hand_out(std::move(queue), inner, code);
  });
}

cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue handle) {
  return always(__func__, [&] { retain(valid(handle)); });
}

// The inner queue may outlive this call, as events hold it; what was queued must start all the same.
cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue handle) {
  return always(__func__, [&] {
    Queue& queue = valid(handle);
    pass<&Slots::clFlush>(queue.inner);
    // Buffers remember their queues by address; but where there are user events, nobody asks.
    if (queue.context->loom && !queue.context->user_events && queue.references == 1) finish_all(queue);
    if (observing()) collect();
    release(queue);
  });
}

cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info what, size_t size, void* value,
                                         size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Queue& queue = valid(handle);
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_QUEUE_CONTEXT:
        return place.put(handle_of(*queue.context));
      case CL_QUEUE_DEVICE:
        return place.put(handle_of(queue.device));
      case CL_QUEUE_REFERENCE_COUNT:
        return place.put<cl_uint>(queue.references);
      case CL_QUEUE_PROPERTIES:
        return place.put<cl_command_queue_properties>(queue.properties);
      case CL_QUEUE_PROPERTIES_ARRAY:
        return place.put(queue.properties_array);
      case CL_QUEUE_DEVICE_DEFAULT: {
        cl_command_queue inner = nullptr;
        const cl_int code = pass<&Slots::clGetCommandQueueInfo>(queue.inner, what, sizeof inner, &inner, nullptr);
        if (code != CL_SUCCESS) return code;
        return place.put<cl_command_queue>(inner == queue.inner ? handle : nullptr);
      }
      default:
        return pass<&Slots::clGetCommandQueueInfo>(queue.inner, what, size, value, size_ret);
    }
  });
}

cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue handle, cl_command_queue_properties properties,
                                             cl_bool enable, cl_command_queue_properties* old) {
  return answer(__func__, [&] {
    Queue& queue = valid(handle);
    const cl_int code = pass<&Slots::clSetCommandQueueProperty>(queue.inner, properties, enable, nullptr);
    if (code != CL_SUCCESS) return code;
    const auto before = enable ? queue.properties.fetch_or(properties) : queue.properties.fetch_and(~properties);
    if (old) *old = before;
    return code;
  });
}

cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context context_handle, cl_device_id device,
                                                  cl_command_queue handle) {
  return answer(__func__, [&] {
    Context& context = valid(context_handle);
    return pass<&Slots::clSetDefaultDeviceCommandQueue>(context.inner, device_in(context, device).inner,
                                                        valid(handle, context).inner);
  });
}

cl_int CL_API_CALL clFlush(cl_command_queue handle) {
  return answer(__func__, [&] { return pass<&Slots::clFlush>(valid(handle).inner); });
}

cl_int CL_API_CALL clFinish(cl_command_queue handle) {
  return answer(__func__, [&] {
    Queue& queue = valid(handle);
    const cl_int code = queue.context->loom ? finish_all(queue) : finish_driver(queue);
    if (observing()) collect();
    return code;
  });
}

cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* events,
                                               cl_event* event) {
  return answer(__func__, [&] {
    return enqueue<&Slots::clEnqueueMarkerWithWaitList>(valid(queue), nothing, {count, events, event});
  });
}

cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* events,
                                                cl_event* event) {
  return answer(__func__, [&] {
    return enqueue<&Slots::clEnqueueBarrierWithWaitList>(valid(queue), nothing, {count, events, event});
  });
}

// The three below are what OpenCL 1.1 had in their place.
cl_int CL_API_CALL clEnqueueMarker(cl_command_queue queue, cl_event* event) {
  return answer(__func__, [&]() -> cl_int {
    valid(queue);
    return event ? icd::clEnqueueMarkerWithWaitList(queue, 0, nullptr, event) : CL_INVALID_VALUE;
  });
}

cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event* events) {
  return answer(__func__, [&]() -> cl_int {
    valid(queue);
    if (count == 0 || !events) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; ++i) valid(events[i]);
    return icd::clEnqueueBarrierWithWaitList(queue, count, events, nullptr);
  });
}

cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue queue) {
  return icd::clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr);
}

}  // namespace heddle::front::icd

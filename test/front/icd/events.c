// Events: waiting, failing, calling back, timing.
#include "program.h"

static struct Machine m;
static cl_mem buffer;
static cl_kernel step;

static const char* const source =
    "kernel void advance(global uint* data, uint factor, uint add) { data[0] = data[0] * factor + add; }\n"
    "kernel void spin(global uint* data, uint rounds) {\n"
    "  uint x = data[1]; for (uint i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u; data[1] = x; }\n";

// data[0] = data[0] * factor + add, after `count` events.
static cl_event enqueue_step(cl_command_queue queue, cl_uint factor, cl_uint add, cl_uint count,
                             const cl_event* events) {
  const size_t one = 1;
  cl_event event = NULL;
  OK(clSetKernelArg(step, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(step, 1, sizeof factor, &factor));
  OK(clSetKernelArg(step, 2, sizeof add, &add));
  OK(clEnqueueNDRangeKernel(queue, step, 1, NULL, &one, &one, count, events, &event));
  return event;
}

static cl_uint value(void) {
  cl_uint got = 0xA5A5A5A5u;
  OK(clEnqueueReadBuffer(m.queue, buffer, CL_TRUE, 0, sizeof got, &got, 0, NULL, NULL));
  return got;
}

static void set_value(cl_uint to) {
  OK(clEnqueueWriteBuffer(m.queue, buffer, CL_TRUE, 0, sizeof to, &to, 0, NULL, NULL));
}

static void release_all(cl_uint count, cl_event* events) {
  for (cl_uint i = 0; i < count; ++i) OK(clReleaseEvent(events[i]));
}

static cl_event user_event(void) {
  cl_event event = NULL;
  MAKE(event, clCreateUserEvent(m.context, &error));
  return event;
}

static void user_events(void) {
  cl_event gate = user_event();
  CHECK(status_of(gate) == CL_SUBMITTED);
  cl_command_queue queue = m.queue;
  cl_context context = NULL;
  cl_command_type type = 0;
  OK(clGetEventInfo(gate, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL));
  CHECK(queue == NULL);
  OK(clGetEventInfo(gate, CL_EVENT_CONTEXT, sizeof context, &context, NULL));
  CHECK(context == m.context);
  OK(clGetEventInfo(gate, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(type == CL_COMMAND_USER);

  set_value(5);
  cl_event after = enqueue_step(m.queue, 3, 4, 1, &gate);
  OK(clFlush(m.queue));
  pause_ms(10);
  CHECK(status_of(after) == CL_QUEUED || status_of(after) == CL_SUBMITTED);
  GIVES(CL_INVALID_VALUE, clSetUserEventStatus(gate, CL_RUNNING));
  GIVES(CL_INVALID_VALUE, clSetUserEventStatus(gate, CL_QUEUED));
  OK(clSetUserEventStatus(gate, CL_COMPLETE));
  GIVES(CL_INVALID_OPERATION, clSetUserEventStatus(gate, CL_COMPLETE));
  GIVES(CL_INVALID_OPERATION, clSetUserEventStatus(gate, -1));
  OK(clWaitForEvents(1, &after));
  CHECK(status_of(after) == CL_COMPLETE);
  CHECK(status_of(gate) == CL_COMPLETE);
  CHECK(value() == 19);
  GIVES(CL_INVALID_EVENT, clSetUserEventStatus(after, CL_COMPLETE));
  OK(clReleaseEvent(after));
  OK(clReleaseEvent(gate));
  REFUSES(CL_INVALID_CONTEXT, clCreateUserEvent(NULL, &error));
  GIVES(CL_INVALID_EVENT, clSetUserEventStatus(NULL, CL_COMPLETE));
  group("user events");
}

static void failing(cl_command_queue out_of_order) {
  set_value(5);
  cl_event gate = user_event();
  cl_event chain[3];
  chain[0] = enqueue_step(out_of_order, 3, 4, 1, &gate);
  chain[1] = enqueue_step(out_of_order, 5, 6, 1, &chain[0]);
  chain[2] = enqueue_step(out_of_order, 7, 8, 1, &chain[1]);
  OK(clFlush(out_of_order));
  OK(clSetUserEventStatus(gate, -42));
  GIVES(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(3, chain));
  GIVES(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, &gate));
  CHECK(status_of(gate) == -42);
  for (int i = 0; i < 3; ++i) CHECK(status_of(chain[i]) < 0);
  release_all(3, chain);
  OK(clReleaseEvent(gate));
  // Commands that do not depend on it are none the worse.
  cl_event good = enqueue_step(out_of_order, 2, 1, 0, NULL);
  OK(clWaitForEvents(1, &good));
  OK(clReleaseEvent(good));
  OK(clFinish(out_of_order));
  CHECK(value() == 11);
  group("failing events");
}

static void wait_lists(cl_command_queue out_of_order) {
  enum { many = 40 };
  cl_event gates[many];
  for (int i = 0; i < many; ++i) gates[i] = user_event();
  set_value(1);
  cl_event first = enqueue_step(out_of_order, 3, 0, 1, gates);
  cl_event all[many + 1];
  memcpy(all, gates, sizeof gates);
  all[many] = first;
  cl_event last = enqueue_step(out_of_order, 5, 7, many + 1, all);
  OK(clFlush(out_of_order));
  for (int i = 0; i < many; ++i) {
    CHECK(status_of(last) > CL_RUNNING);
    OK(clSetUserEventStatus(gates[(i * 7) % many], CL_COMPLETE));
  }
  OK(clWaitForEvents(1, &last));
  OK(clWaitForEvents(many + 1, all));
  CHECK(value() == 22);
  OK(clReleaseEvent(last));
  release_all(many + 1, all);

  set_value(100);
  cl_event steps[many];
  for (int i = 0; i < many; ++i) steps[i] = enqueue_step(m.queue, 1, (cl_uint)i, 0, NULL);
  OK(clWaitForEvents(many, steps));
  for (int i = 0; i < many; ++i) CHECK(status_of(steps[i]) == CL_COMPLETE);
  CHECK(value() == 100 + many * (many - 1) / 2);
  release_all(many, steps);

  cl_event none = NULL;
  GIVES(CL_INVALID_VALUE, clWaitForEvents(0, NULL));
  GIVES(CL_INVALID_EVENT, clWaitForEvents(1, &none));
  cl_event gate = user_event();
  cl_event broken[2] = {gate, NULL};
  GIVES(CL_INVALID_EVENT, clWaitForEvents(2, broken));
  GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMarkerWithWaitList(m.queue, 2, broken, NULL));
  GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMarkerWithWaitList(m.queue, 1, NULL, NULL));
  GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueBarrierWithWaitList(m.queue, 0, &gate, NULL));
  cl_context stranger = NULL;
  MAKE(stranger, clCreateContext(NULL, 1, &m.device, NULL, NULL, &error));
  cl_event far = NULL;
  MAKE(far, clCreateUserEvent(stranger, &error));
  GIVES(CL_INVALID_CONTEXT, clEnqueueMarkerWithWaitList(m.queue, 1, &far, NULL));
  cl_event mixed[2] = {gate, far};
  OK(clSetUserEventStatus(gate, CL_COMPLETE));
  OK(clSetUserEventStatus(far, CL_COMPLETE));
  GIVES(CL_INVALID_CONTEXT, clWaitForEvents(2, mixed));
  OK(clReleaseEvent(far));
  OK(clReleaseContext(stranger));
  OK(clReleaseEvent(gate));
  group("wait lists");
}

static void markers(cl_command_queue out_of_order) {
  cl_event gate = user_event();
  cl_event marker = NULL, barrier = NULL;
  set_value(2);
  cl_event first = enqueue_step(out_of_order, 3, 1, 1, &gate);
  // Without a list both stand for everything before; what follows the barrier waits for it.
  OK(clEnqueueMarkerWithWaitList(out_of_order, 0, NULL, &marker));
  OK(clEnqueueBarrierWithWaitList(out_of_order, 0, NULL, &barrier));
  cl_event second = enqueue_step(out_of_order, 10, 5, 0, NULL);
  OK(clFlush(out_of_order));
  pause_ms(5);
  CHECK(status_of(marker) > CL_COMPLETE);
  CHECK(status_of(barrier) > CL_COMPLETE);
  CHECK(status_of(second) > CL_RUNNING);
  OK(clSetUserEventStatus(gate, CL_COMPLETE));
  OK(clWaitForEvents(1, &marker));
  CHECK(status_of(first) == CL_COMPLETE);
  OK(clWaitForEvents(1, &second));
  CHECK(status_of(barrier) == CL_COMPLETE);
  CHECK(value() == 75);
  cl_command_type type = 0;
  OK(clGetEventInfo(marker, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(type == CL_COMMAND_MARKER);
  OK(clGetEventInfo(barrier, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(type == CL_COMMAND_BARRIER);
  OK(clReleaseEvent(first));
  OK(clReleaseEvent(second));
  OK(clReleaseEvent(marker));
  OK(clReleaseEvent(barrier));
  OK(clReleaseEvent(gate));
  group("markers and barriers");

  gate = user_event();
  set_value(2);
  // Some drivers that have a slot for this call end the process there.
  if (m.heddle) {
    OK(clEnqueueWaitForEvents(out_of_order, 1, &gate));
  } else {
    OK(clEnqueueBarrierWithWaitList(out_of_order, 1, &gate, NULL));
  }
  first = enqueue_step(out_of_order, 3, 1, 0, NULL);
  OK(clEnqueueBarrier(out_of_order));
  second = enqueue_step(out_of_order, 10, 5, 0, NULL);
  OK(clEnqueueMarker(out_of_order, &marker));
  OK(clFlush(out_of_order));
  pause_ms(5);
  CHECK(status_of(first) > CL_RUNNING);
  CHECK(status_of(marker) > CL_COMPLETE);
  OK(clSetUserEventStatus(gate, CL_COMPLETE));
  OK(clWaitForEvents(1, &marker));
  CHECK(status_of(second) == CL_COMPLETE);
  CHECK(value() == 75);
  OK(clReleaseEvent(first));
  OK(clReleaseEvent(second));
  OK(clReleaseEvent(marker));
  OK(clReleaseEvent(gate));
  GIVES(CL_INVALID_VALUE, clEnqueueMarker(out_of_order, NULL));
  if (m.heddle) GIVES(CL_INVALID_VALUE, clEnqueueWaitForEvents(out_of_order, 0, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueBarrier(NULL));
  group("markers and barriers of OpenCL 1.1");
}

struct Call {
  cl_event event;
  cl_int asked;
  _Atomic int calls, status;
};

static void CL_CALLBACK note(cl_event event, cl_int status, void* data) {
  struct Call* call = data;
  CHECK(event == call->event);
  call->status = status;
  ++call->calls;
}

static void callbacks(void) {
  const cl_int asked[3] = {CL_SUBMITTED, CL_RUNNING, CL_COMPLETE};
  static struct Call early[3], late[3];
  for (int round = 0; round < 10; ++round) {
    memset(early, 0, sizeof early);
    memset(late, 0, sizeof late);
    set_value(1);
    cl_event gate = user_event();
    cl_event event = enqueue_step(m.queue, 3, 4, 1, &gate);
    for (int i = 0; i < 3; ++i) {
      early[i].event = late[i].event = event;
      OK(clSetEventCallback(event, asked[i], note, &early[i]));
    }
    OK(clFlush(m.queue));
    CHECK(early[1].calls == 0 && early[2].calls == 0);
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    OK(clWaitForEvents(1, &event));
    for (int i = 0; i < 3; ++i) {
      CHECK(soon(&early[i].calls, 1));
      CHECK(early[i].status == asked[i]);
    }
    for (int i = 0; i < 3; ++i) OK(clSetEventCallback(event, asked[i], note, &late[i]));
    for (int i = 0; i < 3; ++i) {
      CHECK(soon(&late[i].calls, 1));
      CHECK(late[i].status >= CL_COMPLETE && late[i].status <= asked[i]);
    }
    // The program's own reference may go first.
    struct Call* after = &early[0];
    after->calls = 0;
    OK(clReleaseEvent(gate));
    OK(clReleaseEvent(event));
    event = enqueue_step(m.queue, 3, 4, 0, NULL);
    after->event = event;
    OK(clSetEventCallback(event, CL_COMPLETE, note, after));
    OK(clReleaseEvent(event));
    OK(clFinish(m.queue));
    CHECK(soon(&after->calls, 1));
  }
  pause_ms(5);
  for (int i = 1; i < 3; ++i) CHECK(early[i].calls == 1 && late[i].calls == 1);
  cl_event user = user_event();
  static struct Call of_user;
  of_user.event = user;
  OK(clSetEventCallback(user, CL_COMPLETE, note, &of_user));
  OK(clSetUserEventStatus(user, CL_COMPLETE));
  CHECK(soon(&of_user.calls, 1));
  CHECK(of_user.status == CL_COMPLETE);
  GIVES(CL_INVALID_VALUE, clSetEventCallback(user, CL_COMPLETE, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clSetEventCallback(user, CL_QUEUED, note, NULL));
  GIVES(CL_INVALID_VALUE, clSetEventCallback(user, -1, note, NULL));
  GIVES(CL_INVALID_EVENT, clSetEventCallback(NULL, CL_COMPLETE, note, NULL));
  OK(clReleaseEvent(user));
  group("callbacks");
}

// An event that ends with an error calls everything that waits for it. Not every driver does so; this asks ours.
static void callbacks_of_failures(void) {
  if (m.heddle) {
    const cl_int asked[3] = {CL_SUBMITTED, CL_RUNNING, CL_COMPLETE};
    static struct Call dependent[3], user[3], late[3];
    cl_event gate = user_event();
    cl_event never = enqueue_step(m.queue, 3, 4, 1, &gate);
    for (int i = 0; i < 3; ++i) {
      dependent[i].event = late[i].event = never;
      user[i].event = gate;
      OK(clSetEventCallback(never, asked[i], note, &dependent[i]));
      OK(clSetEventCallback(gate, asked[i], note, &user[i]));
    }
    OK(clFlush(m.queue));
    OK(clSetUserEventStatus(gate, -77));
    GIVES(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, &never));
    for (int i = 0; i < 3; ++i) OK(clSetEventCallback(never, asked[i], note, &late[i]));
    for (int i = 1; i < 3; ++i) {  // both may have been submitted before they failed
      CHECK(soon(&dependent[i].calls, 1));
      CHECK(dependent[i].status < 0);
      CHECK(soon(&user[i].calls, 1));
      CHECK(user[i].status == -77);
    }
    CHECK(soon(&dependent[0].calls, 1) && soon(&user[0].calls, 1));
    for (int i = 0; i < 3; ++i) {
      CHECK(soon(&late[i].calls, 1));
      CHECK(late[i].status < 0);
    }
    pause_ms(120);  // longer than anybody looks at events again
    for (int i = 0; i < 3; ++i) CHECK(dependent[i].calls == 1 && user[i].calls == 1 && late[i].calls == 1);
    OK(clReleaseEvent(gate));
    OK(clReleaseEvent(never));
  }
  group("callbacks of failing events");
}

struct Busy {
  cl_event gate, next;
  _Atomic int done;
};

static void CL_CALLBACK call_in(cl_event event, cl_int status, void* data) {
  struct Busy* busy = data;
  cl_command_queue queue = NULL;
  cl_context context = NULL;
  CHECK(status == CL_COMPLETE);
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL));
  CHECK(queue == m.queue);
  OK(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL));
  CHECK(context == m.context);
  CHECK(status_of(event) == CL_COMPLETE);
  OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &busy->next));
  const cl_uint word = 99;
  OK(clEnqueueFillBuffer(queue, buffer, &word, sizeof word, 8, 4, 0, NULL, NULL));
  OK(clFlush(queue));
  OK(clRetainEvent(event));
  OK(clReleaseEvent(event));
  OK(clReleaseEvent(event));  // the one that the program gave up
  OK(clSetUserEventStatus(busy->gate, CL_COMPLETE));
  busy->done = 1;
}

static void callbacks_that_call(void) {
  cl_command_queue other = NULL;
  MAKE(other, clCreateCommandQueue(m.context, m.device, 0, &error));
  for (int round = 0; round < 20; ++round) {
    static struct Busy busy;
    memset(&busy, 0, sizeof busy);
    busy.gate = user_event();
    set_value(6);
    cl_event event = enqueue_step(m.queue, 2, 1, 0, NULL);
    OK(clSetEventCallback(event, CL_COMPLETE, call_in, &busy));
    // Waits for what only the callback does.
    cl_event waiting = NULL;
    OK(clEnqueueMarkerWithWaitList(other, 1, &busy.gate, &waiting));
    OK(clFlush(m.queue));
    OK(clFlush(other));
    OK(clWaitForEvents(1, &waiting));
    CHECK(soon(&busy.done, 1));
    OK(clWaitForEvents(1, &busy.next));
    CHECK(value() == 13);
    OK(clReleaseEvent(busy.next));
    OK(clReleaseEvent(waiting));
    OK(clReleaseEvent(busy.gate));
    OK(clFinish(m.queue));
  }
  OK(clReleaseCommandQueue(other));
  group("callbacks that call OpenCL");
}

static void profiling(cl_program program) {
  const cl_profiling_info what[4] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                     CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
  cl_command_queue timed = NULL;
  MAKE(timed, clCreateCommandQueue(m.context, m.device, CL_QUEUE_PROFILING_ENABLE, &error));
  cl_kernel spin = kernel_of(program, "spin");
  const cl_uint rounds = 200000;
  const size_t one = 1;
  OK(clSetKernelArg(spin, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(spin, 1, sizeof rounds, &rounds));
  cl_ulong before = 0;
  for (int round = 0; round < 10; ++round) {
    cl_event event = NULL;
    cl_uint word = 0;
    if (round % 2) {
      OK(clEnqueueNDRangeKernel(timed, spin, 1, NULL, &one, NULL, 0, NULL, &event));
    } else {
      OK(clEnqueueReadBuffer(timed, buffer, CL_FALSE, 0, sizeof word, &word, 0, NULL, &event));
    }
    OK(clWaitForEvents(1, &event));
    cl_ulong time[4] = {0};
    for (int i = 0; i < 4; ++i) OK(clGetEventProfilingInfo(event, what[i], sizeof time[i], &time[i], NULL));
    CHECK(time[0] <= time[1] && time[1] <= time[2] && time[2] <= time[3]);
    CHECK(time[0] > 0);
    CHECK(before <= time[2]);  // commands of an in-order queue do not overlap
    if (round % 2) CHECK(time[2] < time[3]);
    before = time[3];
    size_t size = 0;
    OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 0, NULL, &size));
    CHECK(size == sizeof(cl_ulong));
    GIVES(CL_INVALID_VALUE, clGetEventProfilingInfo(event, CL_EVENT_CONTEXT, sizeof time[0], time, NULL));
    GIVES(CL_INVALID_VALUE, clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 4, time, NULL));
    OK(clReleaseEvent(event));
  }
  cl_event gate = user_event();
  cl_event waiting = NULL;
  cl_ulong time = 0;
  OK(clEnqueueMarkerWithWaitList(timed, 1, &gate, &waiting));
  GIVES(CL_PROFILING_INFO_NOT_AVAILABLE,
        clGetEventProfilingInfo(waiting, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
  GIVES(CL_PROFILING_INFO_NOT_AVAILABLE,
        clGetEventProfilingInfo(gate, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
  OK(clSetUserEventStatus(gate, CL_COMPLETE));
  OK(clWaitForEvents(1, &waiting));
  GIVES(CL_PROFILING_INFO_NOT_AVAILABLE,
        clGetEventProfilingInfo(gate, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
  OK(clReleaseEvent(waiting));
  OK(clReleaseEvent(gate));
  cl_event plain = enqueue_step(m.queue, 1, 1, 0, NULL);
  OK(clWaitForEvents(1, &plain));
  GIVES(CL_PROFILING_INFO_NOT_AVAILABLE,
        clGetEventProfilingInfo(plain, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
  OK(clReleaseEvent(plain));
  GIVES(CL_INVALID_EVENT, clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
  OK(clReleaseKernel(spin));
  OK(clReleaseCommandQueue(timed));
  group("profiling");
}

static void queries(void) {
  cl_event event = enqueue_step(m.queue, 1, 1, 0, NULL);
  cl_command_queue queue = NULL;
  cl_context context = NULL;
  cl_command_type type = 0;
  cl_uint references = 0;
  size_t size = 0;
  OK(clWaitForEvents(1, &event));
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, &size));
  CHECK(queue == m.queue && size == sizeof queue);
  OK(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, &size));
  CHECK(context == m.context && size == sizeof context);
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, &size));
  CHECK(type == CL_COMMAND_NDRANGE_KERNEL && size == sizeof type);
  OK(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, &size));
  CHECK(references >= 1 && size == sizeof references);  // the driver may hold some itself
  OK(clRetainEvent(event));
  OK(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL));
  CHECK(references >= 2);
  OK(clReleaseEvent(event));
  GIVES(CL_INVALID_VALUE, clGetEventInfo(event, CL_EVENT_CONTEXT, 2, &context, NULL));
  GIVES(CL_INVALID_VALUE, clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 2, &context, NULL));
  GIVES(CL_INVALID_VALUE, clGetEventInfo(event, CL_PROFILING_COMMAND_END, 0, NULL, &size));
  GIVES(CL_INVALID_EVENT, clGetEventInfo(NULL, CL_EVENT_CONTEXT, sizeof context, &context, NULL));
  // What each command calls itself.
  unsigned char bytes[16];
  OK(clReleaseEvent(event));
  OK(clEnqueueReadBuffer(m.queue, buffer, CL_FALSE, 0, 16, bytes, 0, NULL, &event));
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(type == CL_COMMAND_READ_BUFFER);
  OK(clWaitForEvents(1, &event));
  OK(clReleaseEvent(event));
  OK(clEnqueueWriteBuffer(m.queue, buffer, CL_TRUE, 0, 16, bytes, 0, NULL, &event));
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(type == CL_COMMAND_WRITE_BUFFER && status_of(event) == CL_COMPLETE);
  OK(clReleaseEvent(event));
  OK(clEnqueueCopyBuffer(m.queue, buffer, buffer, 0, 32, 16, 0, NULL, &event));
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(type == CL_COMMAND_COPY_BUFFER);
  OK(clReleaseEvent(event));
  OK(clEnqueueFillBuffer(m.queue, buffer, bytes, 4, 32, 16, 0, NULL, &event));
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(type == CL_COMMAND_FILL_BUFFER);
  OK(clReleaseEvent(event));
  OK(clFinish(m.queue));
  group("queries");
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  m = open_machine(0);
  cl_command_queue out_of_order = NULL;
  MAKE(out_of_order, clCreateCommandQueue(m.context, m.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error));
  cl_program program = build(m, source, NULL);
  step = kernel_of(program, "advance");
  buffer = buffer_of(m, CL_MEM_READ_WRITE, 64, NULL);
  user_events();
  failing(out_of_order);
  wait_lists(out_of_order);
  markers(out_of_order);
  callbacks();
  callbacks_of_failures();
  callbacks_that_call();
  profiling(program);
  queries();
  OK(clReleaseMemObject(buffer));
  OK(clReleaseKernel(step));
  OK(clReleaseProgram(program));
  OK(clReleaseCommandQueue(out_of_order));
  close_machine(m);
  return result();
}

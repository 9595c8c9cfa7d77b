// What a program may rely on between commands of one queue, of several, and of several threads, whoever runs them.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "program.h"

enum { words = 4096, bytes = words * sizeof(cl_uint), rounds = 60000 };

static struct Machine m;
static cl_kernel spin, add;
static cl_uint zeros[words];

static const char* const source =
    "kernel void spin(global uint* data, uint rounds) {\n"
    "  size_t i = get_global_id(0); uint x = data[i];\n"
    "  for (uint r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u; data[i] = x; }\n"
    "kernel void add(global uint* data, uint k) { data[get_global_id(0)] += k; }\n";

static void launch(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, cl_uint value, cl_event* event) {
  const size_t global = words;
  OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(kernel, 1, sizeof value, &value));
  OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, event));
}

static cl_mem zeroed(cl_mem_flags flags, void* host) {
  cl_mem buffer = buffer_of(m, flags, bytes, host);
  OK(clEnqueueWriteBuffer(m.queue, buffer, CL_TRUE, 0, bytes, zeros, 0, NULL, NULL));
  return buffer;
}

static cl_uint first_word(cl_mem buffer) {
  cl_uint got = 12345;
  OK(clEnqueueReadBuffer(m.queue, buffer, CL_TRUE, 0, sizeof got, &got, 0, NULL, NULL));
  return got;
}

// What comes later in a queue in order is over later, also where it has nothing to do with what was before.
static void order(void) {
  cl_uint got[words];
  cl_mem a = zeroed(0, NULL), b = zeroed(0, NULL);
  cl_event early = NULL, late = NULL;
  for (int i = 0; i < 3; ++i) {
    launch(m.queue, add, b, 1, NULL);
    launch(m.queue, spin, a, rounds, &early);
    OK(clEnqueueReadBuffer(m.queue, b, CL_TRUE, 0, bytes, got, 0, NULL, NULL));
    CHECK(status_of(early) == CL_COMPLETE);
    CHECK(got[0] == (cl_uint)i + 1);
    OK(clReleaseEvent(early));
    launch(m.queue, spin, a, rounds, &early);
    OK(clEnqueueWriteBuffer(m.queue, b, CL_FALSE, 0, bytes, got, 0, NULL, &late));
    OK(clWaitForEvents(1, &late));
    CHECK(status_of(early) == CL_COMPLETE);
    OK(clReleaseEvent(early));
    OK(clReleaseEvent(late));
  }
  OK(clReleaseMemObject(a));
  OK(clReleaseMemObject(b));
  group("order");
}

// A barrier holds what comes after it, also in a queue out of order.
static void barriers(void) {
  cl_command_queue queue = NULL;
  MAKE(queue, clCreateCommandQueue(m.context, m.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error));
  cl_mem a = zeroed(0, NULL), b = zeroed(0, NULL);
  const cl_uint pattern = 7, last = 42;
  for (int i = 0; i < 3; ++i) {
    launch(queue, add, a, 1, NULL);
    launch(queue, spin, b, rounds, NULL);
    OK(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
    OK(clEnqueueFillBuffer(queue, a, &pattern, sizeof pattern, 0, bytes, 0, NULL, NULL));
    OK(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
    OK(clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, sizeof last, &last, 0, NULL, NULL));
    OK(clFinish(queue));
    CHECK(first_word(a) == 42);
  }
  OK(clReleaseCommandQueue(queue));
  OK(clReleaseMemObject(a));
  OK(clReleaseMemObject(b));
  group("barriers");
}

static void* finish_often(void* data) {
  for (int i = 0; i < 300; ++i) OK(clFinish((cl_command_queue)data));
  return NULL;
}

// Finishing waits for the thread's own commands, whatever others do with the queue.
static void finishing(void) {
  cl_mem a = zeroed(0, NULL);
  pthread_t other;
  pthread_create(&other, NULL, finish_often, m.queue);
  for (int i = 0; i < 100; ++i) {
    cl_event event = NULL;
    launch(m.queue, add, a, 1, &event);
    OK(clFinish(m.queue));
    CHECK(status_of(event) == CL_COMPLETE);
    OK(clReleaseEvent(event));
  }
  pthread_join(other, NULL);
  CHECK(first_word(a) == 100);
  OK(clReleaseMemObject(a));
  group("finishing");
}

static _Atomic int gone;
static void CL_CALLBACK destroyed(cl_mem buffer, void* event) {
  (void)buffer;
  if (event) CHECK(status_of(event) == CL_COMPLETE);
  ++gone;
}

// Buffers go when nobody needs them any more, neither before nor long after; the program's own memory may, then, too.
static void ends_of_buffers(void) {
  cl_uint got[words];
  gone = 0;
  cl_mem other = zeroed(0, NULL), a = zeroed(0, NULL);
  cl_event event = NULL;
  launch(m.queue, spin, a, rounds, &event);
  OK(clSetMemObjectDestructorCallback(a, destroyed, event));
  OK(clFlush(m.queue));
  OK(clSetKernelArg(spin, 0, sizeof other, &other));
  OK(clReleaseMemObject(a));
  CHECK(soon(&gone, 1));
  OK(clReleaseEvent(event));

  a = zeroed(0, NULL);
  OK(clSetMemObjectDestructorCallback(a, destroyed, NULL));
  launch(m.queue, add, a, 1, NULL);
  OK(clEnqueueReadBuffer(m.queue, a, CL_TRUE, 0, bytes, got, 0, NULL, NULL));
  OK(clSetKernelArg(add, 0, sizeof other, &other));
  OK(clReleaseMemObject(a));
  CHECK(soon(&gone, 2));

  // Nobody asked what became of these launches.
  for (int i = 0; i < 2; ++i) {
    a = zeroed(0, NULL);
    OK(clSetMemObjectDestructorCallback(a, destroyed, NULL));
    launch(m.queue, add, a, 1, i ? &event : NULL);
    OK(clFlush(m.queue));
    pause_ms(100);
    OK(clSetKernelArg(add, 0, sizeof other, &other));
    OK(clReleaseMemObject(a));
    CHECK(soon(&gone, 3 + i));
  }
  OK(clReleaseEvent(event));

  void* own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  a = zeroed(CL_MEM_USE_HOST_PTR, own);
  launch(m.queue, spin, a, rounds, NULL);
  OK(clEnqueueReadBuffer(m.queue, other, CL_TRUE, 0, bytes, got, 0, NULL, NULL));
  OK(clSetKernelArg(spin, 0, sizeof other, &other));
  OK(clReleaseMemObject(a));
  munmap(own, bytes);
  OK(clFinish(m.queue));
  OK(clReleaseMemObject(other));
  group("ends of buffers");
}

// Queues may be released, and user events made, while others wait.
static void user_events(void) {
  cl_command_queue second = NULL;
  MAKE(second, clCreateCommandQueue(m.context, m.device, 0, &error));
  cl_mem a = zeroed(0, NULL);
  cl_event user = NULL, event = NULL;
  cl_uint got = 0;
  launch(m.queue, spin, a, rounds, NULL);
  MAKE(user, clCreateUserEvent(m.context, &error));
  OK(clEnqueueReadBuffer(second, a, CL_FALSE, 0, sizeof got, &got, 1, &user, &event));
  OK(clReleaseCommandQueue(second));
  OK(clFinish(m.queue));
  OK(clSetUserEventStatus(user, CL_COMPLETE));
  OK(clWaitForEvents(1, &event));
  OK(clReleaseEvent(event));
  OK(clReleaseEvent(user));
  OK(clReleaseMemObject(a));
  group("user events");
}

// A launch whose event is waited for at once, behind a command that has not ended.
static void waits(void) {
  cl_mem a = zeroed(0, NULL), b = zeroed(0, NULL);
  for (cl_uint i = 0; i < 500; ++i) {
    cl_event event = NULL;
    OK(clEnqueueFillBuffer(m.queue, b, &i, sizeof i, 0, bytes, 0, NULL, NULL));
    launch(m.queue, add, a, 1, &event);
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
  }
  CHECK(first_word(a) == 500);
  OK(clReleaseMemObject(a));
  OK(clReleaseMemObject(b));
  group("waits");
}

// What a source included when it was built counts, whatever becomes of the file.
static void included(void) {
  char folder[] = "/tmp/heddle-XXXXXX", file[64], options[64];
  if (!mkdtemp(folder)) need(CL_OUT_OF_RESOURCES, "mkdtemp");
  snprintf(file, sizeof file, "%s/step.h", folder);
  snprintf(options, sizeof options, "-I %s", folder);
  cl_mem a = zeroed(0, NULL);
  cl_kernel kernels[2];
  for (int k = 0; k < 2; ++k) {
    FILE* header = fopen(file, "w");
    if (!header) need(CL_OUT_OF_RESOURCES, file);
    fprintf(header, "#define STEP %d\n", k == 0 ? 1 : 1000);
    fclose(header);
    cl_program program = build(
        m, "#include \"step.h\"\nkernel void by_step(global uint* x, uint k) { x[get_global_id(0)] += k * STEP; }",
        options);
    kernels[k] = kernel_of(program, "by_step");
    OK(clReleaseProgram(program));
  }
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 2; ++k) launch(m.queue, kernels[k], a, 1, NULL);
  }
  CHECK(first_word(a) == 5005);
  for (int k = 0; k < 2; ++k) OK(clReleaseKernel(kernels[k]));
  OK(clReleaseMemObject(a));
  remove(file);
  remove(folder);
  group("included files");
}

// Calls that need not wait return, whatever another thread puts into the queue meanwhile.
struct Caller {
  struct Machine machine;
  cl_kernel kernel;
  cl_mem buffer;
  _Atomic int calls;
};
enum { many = 1 << 18, calls = 30 };

static void* call_often(void* data) {
  struct Caller* caller = data;
  const size_t global = many;
  for (int i = 0; i < calls; ++i) {
    OK(clEnqueueNDRangeKernel(caller->machine.queue, caller->kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    ++caller->calls;
  }
  return NULL;
}

static void meanwhile(void) {
  for (int round = 0; round < 8; ++round) {
    struct Caller caller = {.machine = open_machine(0)};
    cl_program program = build(caller.machine, source, NULL);
    caller.kernel = kernel_of(program, "spin");
    caller.buffer = buffer_of(caller.machine, 0, many * sizeof(cl_uint), NULL);
    const cl_uint turns = 20, value = 1;
    OK(clSetKernelArg(caller.kernel, 0, sizeof caller.buffer, &caller.buffer));
    OK(clSetKernelArg(caller.kernel, 1, sizeof turns, &turns));
    pthread_t other;
    pthread_create(&other, NULL, call_often, &caller);
    CHECK(soon(&caller.calls, round));
    cl_event user = NULL;
    MAKE(user, clCreateUserEvent(caller.machine.context, &error));
    OK(clEnqueueWriteBuffer(caller.machine.queue, caller.buffer, CL_FALSE, 0, sizeof value, &value, 1, &user, NULL));
    CHECK(soon(&caller.calls, calls));
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    pthread_join(other, NULL);
    OK(clFinish(caller.machine.queue));
    OK(clReleaseEvent(user));
    OK(clReleaseMemObject(caller.buffer));
    OK(clReleaseKernel(caller.kernel));
    OK(clReleaseProgram(program));
    close_machine(caller.machine);
  }
  group("calls of two threads");
}

// Sizes that no device has are refused.
static void sizes(void) {
  for (int shift = 45; shift < 64; shift += 6)
    REFUSES(CL_INVALID_BUFFER_SIZE, clCreateBuffer(m.context, 0, (size_t)1 << shift, NULL, &error));
  REFUSES(CL_INVALID_BUFFER_SIZE, clCreateBuffer(m.context, CL_MEM_COPY_HOST_PTR, (size_t)-1, zeros, &error));
  group("sizes");
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  m = open_machine(0);
  cl_program program = build(m, source, NULL);
  spin = kernel_of(program, "spin"), add = kernel_of(program, "add");
  order();
  barriers();
  finishing();
  ends_of_buffers();
  sizes();
  waits();
  included();
  meanwhile();
  user_events();  // last: nothing is shared after it
  OK(clReleaseKernel(spin));
  OK(clReleaseKernel(add));
  OK(clReleaseProgram(program));
  close_machine(m);
  return result();
}

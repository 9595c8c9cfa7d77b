// Launches that leave the size of groups to the driver, again and again: whatever it tries, each computes what it
// should. Argument: launches of each kind.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "program.h"

enum { workers = 3 };

static const char* const blind =
    "kernel void turn(global uint* to, global const uint* from, uint key) {\n"
    "  const size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "  const size_t w = get_global_size(0), h = get_global_size(1), d = get_global_size(2);\n"
    "  const size_t i = (x - get_global_offset(0)) * h * d + (y - get_global_offset(1)) * d + z - "
    "get_global_offset(2);\n"
    "  to[i] = from[(w * h * d - 1) - i] * key + (uint)(x + 3 * y + 7 * z) + get_work_dim();\n"
    "}\n"
    "kernel void advance(global uint* to, uint key) { const size_t i = get_global_id(0); to[i] = to[i] * 3 + key; }\n"
    "kernel void increase(global uint* to, global const uint* from) {\n"
    "  const size_t i = get_global_id(0);\n"
    "  const uint before = to[i];\n"
    "  uint last = before;\n"
    "  for (int k = 0; k < 200; ++k) last = last * 1664525u + 1013904223u;\n"
    "  to[get_global_size(0) + i] = last;\n"
    "  to[i] = before + from[i];\n"
    "}\n"
    "kernel void count(global uint* to, global const uint* from, uint key) { atomic_add(to, from[get_global_id(0)] & "
    "key); }\n";
// Sees its groups: the number must be what the driver below chooses, whichever that is, in all launches.
static const char* const seeing =
    "kernel void groups(global uint* to) {\n"
    "  if (get_global_id(0) == 0) to[0] = get_local_size(0), to[1] = get_num_groups(0);\n"
    "}\n";

struct Kind {
  cl_uint dimensions;
  size_t global[3], offset[3];
};
static const struct Kind kinds[] = {
    {1, {4096, 1, 1}, {0, 0, 0}}, {1, {4099, 1, 1}, {0, 0, 0}}, {2, {64, 48, 1}, {0, 0, 0}},
    {2, {97, 60, 1}, {5, 0, 0}},  {2, {1, 1024, 1}, {0, 0, 0}}, {2, {31, 37, 1}, {0, 0, 0}},
    {3, {16, 8, 8}, {1, 2, 3}},   {3, {5, 7, 9}, {0, 0, 0}},    {3, {1, 1, 1}, {0, 0, 0}}};
enum { kind_count = sizeof kinds / sizeof kinds[0], most = 6000 };

static struct Machine m;
static cl_program program;
static int launches = 60;

static size_t items_of(const struct Kind* kind) {
  size_t items = 1;
  for (cl_uint d = 0; d < kind->dimensions; ++d) items *= kind->global[d];
  return items;
}

static cl_uint expected(const struct Kind* kind, const cl_uint* from, cl_uint key, size_t i) {
  const size_t h = kind->dimensions > 1 ? kind->global[1] : 1, d = kind->dimensions > 2 ? kind->global[2] : 1;
  const size_t x = i / (h * d) + kind->offset[0], y = i / d % h + kind->offset[1], z = i % d + kind->offset[2];
  return from[items_of(kind) - 1 - i] * key + (cl_uint)(x + 3 * y + 7 * z) + kind->dimensions;
}

struct Worker {
  pthread_t thread;
  uint64_t random;
};

// One after the other, in all kinds, as programs do that compute step by step; each step with an argument of its own.
static void* work(void* data) {
  struct Worker* worker = data;
  cl_int error = CL_SUCCESS;
  const cl_command_queue_properties properties =
      next_of(&worker->random) % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
  cl_command_queue queue = clCreateCommandQueue(m.context, m.device, properties, &error);
  need(error, "clCreateCommandQueue");
  const cl_mem from = buffer_of(m, CL_MEM_READ_ONLY, most * 4, NULL),
               to = buffer_of(m, CL_MEM_READ_WRITE, most * 4, NULL);
  cl_uint values[most], got[most];
  cl_kernel kernel = kernel_of(program, "turn");
  for (int launch = 0; launch < launches; ++launch) {
    for (int k = 0; k < kind_count; ++k) {
      const struct Kind* kind = &kinds[k];
      const size_t items = items_of(kind);
      const cl_uint key = (cl_uint)next_of(&worker->random);
      for (size_t i = 0; i < items; ++i) values[i] = (cl_uint)next_of(&worker->random);
      poison(got, sizeof got);
      if (launch % 16 == 7) {  // whoever makes a new one every time
        OK(clReleaseKernel(kernel));
        kernel = kernel_of(program, "turn");
      }
      OK(clSetKernelArg(kernel, 0, sizeof to, &to));
      OK(clSetKernelArg(kernel, 1, sizeof from, &from));
      OK(clSetKernelArg(kernel, 2, sizeof key, &key));
      cl_event written = NULL, ran = NULL;
      OK(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, items * 4, values, 0, NULL, &written));
      OK(clEnqueueNDRangeKernel(queue, kernel, kind->dimensions, kind->offset, kind->global, NULL, 1, &written, &ran));
      OK(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, items * 4, got, 1, &ran, NULL));
      size_t wrong = 0;
      for (size_t i = 0; i < items; ++i) wrong += got[i] != expected(kind, values, key, i);
      CHECK(wrong == 0);
      OK(clReleaseEvent(written));
      OK(clReleaseEvent(ran));
    }
  }
  OK(clReleaseKernel(kernel));
  OK(clReleaseMemObject(from));
  OK(clReleaseMemObject(to));
  OK(clReleaseCommandQueue(queue));
  return NULL;
}

// Many in flight, without a look in between.
static void in_flight(void) {
  enum { items = 2048 };
  cl_uint values[items], got = 0xA5A5A5A5, sum = 0;
  fill_random(values, sizeof values);
  const cl_mem from = buffer_of(m, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof values, values);
  const cl_mem to = buffer_of(m, CL_MEM_READ_WRITE, 4, NULL);
  const cl_uint zero = 0, key = 0xFFFFFF;
  OK(clEnqueueWriteBuffer(m.queue, to, CL_TRUE, 0, 4, &zero, 0, NULL, NULL));
  const cl_kernel kernel = kernel_of(program, "count");
  OK(clSetKernelArg(kernel, 0, sizeof to, &to));
  OK(clSetKernelArg(kernel, 1, sizeof from, &from));
  OK(clSetKernelArg(kernel, 2, sizeof key, &key));
  const size_t global = items;
  for (int i = 0; i < 10 * launches; ++i) {
    OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    for (int k = 0; k < items; ++k) sum += values[k] & key;
  }
  OK(clReleaseKernel(kernel));
  OK(clEnqueueReadBuffer(m.queue, to, CL_TRUE, 0, 4, &got, 0, NULL, NULL));
  CHECK(got == sum);
  OK(clReleaseMemObject(from));
  OK(clReleaseMemObject(to));
}

// Each needs what the one before it has left, and nothing but their order in the queue says so.
static void step_by_step(void) {
  enum { items = 4096, half = items / 2 };
  cl_uint values[items], got[items];
  fill_random(values, sizeof values);
  poison(got, sizeof got);
  const cl_mem to = buffer_of(m, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values);
  const cl_kernel kernel = kernel_of(program, "advance");
  OK(clSetKernelArg(kernel, 0, sizeof to, &to));
  const size_t global = items;
  for (int i = 0; i < 20 * launches; ++i) {
    const cl_uint key = next_random();
    OK(clSetKernelArg(kernel, 1, sizeof key, &key));
    cl_event ran = NULL;
    OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, i % 5 == 3 ? &ran : NULL));
    for (int k = 0; k < items; ++k) values[k] = values[k] * 3 + key;
    if (ran) {
      cl_command_queue queue = NULL;
      cl_ulong time = 0;
      OK(clGetEventInfo(ran, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL));
      CHECK(queue == m.queue);
      if (i % 2) OK(clWaitForEvents(1, &ran));
      GIVES(CL_PROFILING_INFO_NOT_AVAILABLE,
            clGetEventProfilingInfo(ran, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
      OK(clReleaseEvent(ran));
    }
    if (i % 7 == 6) {
      OK(clEnqueueCopyBuffer(m.queue, to, to, 0, half * 4, half * 4, 0, NULL, NULL));
      memcpy(values + half, values, half * 4);
    }
  }
  OK(clEnqueueReadBuffer(m.queue, to, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
  CHECK(memcmp(got, values, sizeof got) == 0);
  OK(clReleaseKernel(kernel));
  OK(clReleaseMemObject(to));
}

struct Adder {
  pthread_t thread;
  cl_command_queue queue;
  cl_mem to, from;
};

static void* add(void* data) {
  const struct Adder* adder = data;
  const cl_kernel kernel = kernel_of(program, "increase");
  OK(clSetKernelArg(kernel, 0, sizeof adder->to, &adder->to));
  OK(clSetKernelArg(kernel, 1, sizeof adder->from, &adder->from));
  const size_t global = 2048;
  for (int i = 0; i < 10 * launches; ++i)
    OK(clEnqueueNDRangeKernel(adder->queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  OK(clReleaseKernel(kernel));
  return NULL;
}

// Two threads, one queue, in order: one launch at a time, whatever they add is there.
static void from_two_threads(void) {
  enum { items = 2048 };
  cl_uint values[2 * items], got[items];
  for (int round = 0; round < 10; ++round) {
    fill_random(values, sizeof values);
    poison(got, sizeof got);
    cl_int error = CL_SUCCESS;
    struct Adder all[2] = {{.queue = clCreateCommandQueue(m.context, m.device, 0, &error)}};
    need(error, "clCreateCommandQueue");
    all[0].from = buffer_of(m, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof values, values);
    all[0].to = buffer_of(m, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values);
    all[1] = all[0];
    for (int t = 0; t < 2; ++t) {
      if (pthread_create(&all[t].thread, NULL, add, &all[t]) != 0) need(CL_OUT_OF_HOST_MEMORY, "pthread_create");
    }
    for (int t = 0; t < 2; ++t) pthread_join(all[t].thread, NULL);
    OK(clEnqueueReadBuffer(all[0].queue, all[0].to, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    size_t wrong = 0;
    for (int k = 0; k < items; ++k) wrong += got[k] != values[k] * (cl_uint)(20 * launches + 1);
    CHECK(wrong == 0);
    OK(clReleaseMemObject(all[0].to));
    OK(clReleaseMemObject(all[0].from));
    OK(clReleaseCommandQueue(all[0].queue));
  }
}

// Whoever waits for the program cannot be waited for.
static void behind_a_user_event(void) {
  enum { items = 1024 };
  cl_uint values[items], got[items];
  fill_random(values, sizeof values);
  poison(got, sizeof got);
  const cl_mem from = buffer_of(m, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof values, values);
  const cl_mem to = buffer_of(m, CL_MEM_READ_WRITE, sizeof got, NULL);
  const struct Kind kind = {1, {items, 1, 1}, {0, 0, 0}};
  const cl_uint key = next_random();
  const cl_kernel kernel = kernel_of(program, "turn");
  OK(clSetKernelArg(kernel, 0, sizeof to, &to));
  OK(clSetKernelArg(kernel, 1, sizeof from, &from));
  OK(clSetKernelArg(kernel, 2, sizeof key, &key));
  cl_event go = NULL;
  MAKE(go, clCreateUserEvent(m.context, &error));
  for (int i = 0; i < launches; ++i)
    OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, kind.global, NULL, i == 0, i == 0 ? &go : NULL, NULL));
  OK(clFlush(m.queue));
  OK(clSetUserEventStatus(go, CL_COMPLETE));
  OK(clEnqueueReadBuffer(m.queue, to, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
  size_t wrong = 0;
  for (size_t i = 0; i < items; ++i) wrong += got[i] != expected(&kind, values, key, i);
  CHECK(wrong == 0);
  OK(clReleaseEvent(go));
  OK(clReleaseKernel(kernel));
  OK(clReleaseMemObject(from));
  OK(clReleaseMemObject(to));
}

static void that_are_seen(void) {
  const cl_program sees = build(m, seeing, "");
  const cl_kernel kernel = kernel_of(sees, "groups");
  const cl_mem to = buffer_of(m, CL_MEM_READ_WRITE, 8, NULL);
  OK(clSetKernelArg(kernel, 0, sizeof to, &to));
  cl_uint first[2] = {0, 0};
  for (int i = 0; i < launches; ++i) {
    const size_t global = 4096;
    cl_uint got[2] = {0xA5A5A5A5, 0xA5A5A5A5};
    OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(m.queue, to, CL_TRUE, 0, 8, got, 0, NULL, NULL));
    if (i == 0) memcpy(first, got, sizeof got);
    CHECK(got[0] == first[0] && got[1] == first[1] && got[0] * got[1] == 4096);
  }
  OK(clReleaseMemObject(to));
  OK(clReleaseKernel(kernel));
  OK(clReleaseProgram(sees));
}

// The same program, built again: what was true of its first build need not be of the second.
static void built_again(void) {
  const char* const text = "kernel void see(global uint* to) { if (get_global_id(0) == 0) to[0] = SEEN; }\n";
  const cl_program program_of_two = build(m, text, "-DSEEN=7");
  const cl_mem to = buffer_of(m, CL_MEM_READ_WRITE, 4, NULL);
  const char* const options[] = {"-DSEEN=7", "-DSEEN=get_local_size(0)"};
  for (int b = 0; b < 2; ++b) {
    if (b > 0) OK(clBuildProgram(program_of_two, 1, &m.device, options[b], NULL, NULL));
    const cl_kernel kernel = kernel_of(program_of_two, "see");
    OK(clSetKernelArg(kernel, 0, sizeof to, &to));
    cl_uint first = 0;
    for (int i = 0; i < launches; ++i) {
      const size_t global = 4096;
      cl_uint got = 0xA5A5A5A5;
      OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
      OK(clEnqueueReadBuffer(m.queue, to, CL_TRUE, 0, 4, &got, 0, NULL, NULL));
      if (i == 0) first = got;
      CHECK(got == first && (b == 1 || got == 7));
    }
    OK(clReleaseKernel(kernel));
  }
  OK(clReleaseMemObject(to));
  OK(clReleaseProgram(program_of_two));
}

// Work-items with much memory of their own, which drivers may hold for a whole group at once.
static void with_private_arrays(void) {
  enum { items = 512 };
  const cl_program large = build(m,
                                 "kernel void fill(global float* to, int n) {\n"
                                 "  float own[3000];\n  const int g = get_global_id(0);\n  float sum = 0;\n"
                                 "  for (int i = 0; i < n; ++i) own[(7 * i + g) % 3000] = i + g;\n"
                                 "  for (int i = 0; i < n; ++i) sum += own[(7 * i + g) % 3000];\n"
                                 "  to[g] = sum;\n}\n",
                                 "");
  const cl_mem to = buffer_of(m, CL_MEM_READ_WRITE, items * 4, NULL);
  const cl_kernel kernel = kernel_of(large, "fill");
  const cl_int n = 9;
  OK(clSetKernelArg(kernel, 0, sizeof to, &to));
  OK(clSetKernelArg(kernel, 1, sizeof n, &n));
  for (int i = 0; i < launches; ++i) {
    const size_t global = items;
    float got[items];
    poison(got, sizeof got);
    OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(m.queue, to, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    int wrong = 0;
    for (int g = 0; g < items; ++g) wrong += got[g] != (float)(n * g + n * (n - 1) / 2);
    CHECK(wrong == 0);
  }
  OK(clReleaseKernel(kernel));
  OK(clReleaseMemObject(to));
  OK(clReleaseProgram(large));
}

// What the program may not do stays refused, however often.
static void refused(void) {
  const cl_kernel kernel = kernel_of(program, "turn");
  const size_t some = 1024;
  for (int i = 0; i < launches; ++i)
    GIVES(CL_INVALID_KERNEL_ARGS, clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &some, NULL, 0, NULL, NULL));
  const cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE, most * 4, NULL);
  const cl_uint key = 3;
  OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(kernel, 1, sizeof buffer, &buffer));
  OK(clSetKernelArg(kernel, 2, sizeof key, &key));
  for (int i = 0; m.heddle && i < launches; ++i)  // PoCL 3.1 does not survive it
    GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &some, NULL, 1, NULL, NULL));
  OK(clReleaseMemObject(buffer));
  OK(clReleaseKernel(kernel));
}

int main(int argc, char** argv) {
  if (argc > 1) launches = atoi(argv[1]);
  seed_from(argc > 2 ? argv[2] : NULL);
  m = open_machine(0);
  program = build(m, blind, "");
  struct Worker all[workers];
  for (int w = 0; w < workers; ++w) {
    all[w].random = next_random() * 2u + 1;
    if (pthread_create(&all[w].thread, NULL, work, &all[w]) != 0) need(CL_OUT_OF_HOST_MEMORY, "pthread_create");
  }
  for (int w = 0; w < workers; ++w) pthread_join(all[w].thread, NULL);
  group("groups of all kinds of launches, from three threads");
  step_by_step();
  group("groups of launches of which each needs the one before");
  from_two_threads();
  group("groups of launches from two threads in one queue");
  in_flight();
  group("groups of launches in flight");
  that_are_seen();
  group("groups that a kernel sees");
  built_again();
  group("a program that is built again");
  with_private_arrays();
  group("kernels with arrays of their own");
  refused();
  group("launches that are refused");
  behind_a_user_event();
  group("groups of launches behind a user event");
  OK(clReleaseProgram(program));
  close_machine(m);
  return result();
}

// Many threads at once: on queues of their own and on one that they share. Argument: rounds per thread.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "program.h"

enum { threads = 8, count = 512 };

static struct Machine m;
static cl_program program;
static cl_command_queue shared_queue;
static int rounds = 30;

static const char* const source =
    "kernel void twist(global uint* to, global const uint* from, uint key) {\n"
    "  size_t i = get_global_id(0); to[i] = from[i] * key + (uint)i; }\n";

struct Worker {
  pthread_t thread;
  uint64_t random;
  bool shares;
  _Atomic int called;
};

static void CL_CALLBACK done(cl_event event, cl_int status, void* data) {
  struct Worker* worker = data;
  CHECK(status == CL_COMPLETE);
  CHECK(status_of(event) == CL_COMPLETE);
  OK(clReleaseEvent(event));  // retained for this
  ++worker->called;
}

static void one_round(struct Worker* worker, int round) {
  cl_uint from[count], got[count];
  for (int i = 0; i < count; ++i) from[i] = (cl_uint)next_of(&worker->random);
  poison(got, sizeof got);
  const cl_uint key = (cl_uint)next_of(&worker->random);
  cl_command_queue queue = shared_queue;
  if (!worker->shares) {
    const cl_command_queue_properties kind = round % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
    MAKE(queue, clCreateCommandQueue(m.context, m.device, kind, &error));
  }
  cl_kernel kernel = kernel_of(program, "twist");
  cl_mem input = buffer_of(m, CL_MEM_READ_ONLY, sizeof from, NULL);
  cl_mem output = buffer_of(m, CL_MEM_WRITE_ONLY, sizeof got, NULL);
  cl_event events[3] = {NULL, NULL, NULL};
  const size_t global = count;
  OK(clEnqueueWriteBuffer(queue, input, CL_FALSE, 0, sizeof from, from, 0, NULL, &events[0]));
  OK(clSetKernelArg(kernel, 0, sizeof output, &output));
  OK(clSetKernelArg(kernel, 1, sizeof input, &input));
  OK(clSetKernelArg(kernel, 2, sizeof key, &key));
  OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 1, &events[0], &events[1]));
  OK(clRetainEvent(events[1]));
  OK(clSetEventCallback(events[1], CL_COMPLETE, done, worker));
  OK(clEnqueueReadBuffer(queue, output, CL_FALSE, 0, sizeof got, got, 1, &events[1], &events[2]));
  if (round % 3 == 0) {
    OK(clFinish(queue));
  } else {
    OK(clFlush(queue));
  }
  OK(clWaitForEvents(1, &events[2]));
  bool same = true;
  for (int i = 0; i < count; ++i) same &= got[i] == from[i] * key + (cl_uint)i;
  CHECK(same);
  for (int i = 0; i < 3; ++i) OK(clReleaseEvent(events[i]));
  OK(clReleaseMemObject(input));
  OK(clReleaseMemObject(output));
  OK(clReleaseKernel(kernel));
  if (!worker->shares) OK(clReleaseCommandQueue(queue));
}

static void* work(void* data) {
  struct Worker* worker = data;
  for (int round = 0; round < rounds; ++round) one_round(worker, round);
  return NULL;
}

static void run_all(bool shares) {
  static struct Worker workers[threads];
  for (int t = 0; t < threads; ++t) {
    workers[t].random = next_of(&random_state) | 1;
    workers[t].shares = shares;
    workers[t].called = 0;
    CHECK(pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0);
  }
  for (int t = 0; t < threads; ++t) pthread_join(workers[t].thread, NULL);
  for (int t = 0; t < threads; ++t) {
    CHECK(soon(&workers[t].called, rounds));
    CHECK(workers[t].called == rounds);
  }
}

int main(int argc, char** argv) {
  if (argc > 1) rounds = atoi(argv[1]);
  if (rounds < 1) {
    fprintf(stderr, "usage: threads [ROUNDS [SEED]], with at least one round\n");
    return 2;
  }
  seed_from(argc > 2 ? argv[2] : NULL);
  m = open_machine(0);
  program = build(m, source, NULL);
  run_all(false);
  group("queues of their own");
  shared_queue = m.queue;
  run_all(true);
  group("one shared queue");
  MAKE(shared_queue, clCreateCommandQueue(m.context, m.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error));
  run_all(true);
  OK(clReleaseCommandQueue(shared_queue));
  group("one shared out-of-order queue");
  OK(clReleaseProgram(program));
  close_machine(m);
  return result();
}

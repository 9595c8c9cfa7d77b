// A program that ends while its work runs. It must end quickly, with exit code 0, and in silence.
// Argument "thread": a second thread calls exit. "worker": only a second thread uses OpenCL, and main returns.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "program.h"

static struct Machine m;
static cl_command_queue loose;
static cl_program program;
static cl_kernel kernel;
static cl_mem buffer;
static cl_event never, waiting;
static bool started;

static const char* const source =
    "kernel void spin(global uint* data, uint rounds) {\n"
    "  size_t i = get_global_id(0); uint x = data[i];\n"
    "  for (uint r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u; data[i] = x; }\n";

static void CL_CALLBACK nothing(cl_event event, cl_int status, void* data) {
  (void)event;
  (void)status;
  (void)data;
}

// What destructors of static objects do in C++. Whether a driver still finishes then is its own choice: these need an
// answer, not success.
static void clean_up(void) {
  if (!started) return;
  cl_context context = NULL;
  clGetCommandQueueInfo(m.queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  clFinish(m.queue);
}

static void release_everything(void) {
  if (!started) return;
  started = false;
  clReleaseEvent(waiting);
  clReleaseEvent(never);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(loose);
  clReleaseCommandQueue(m.queue);
  clReleaseContext(m.context);
}

__attribute__((destructor)) static void last(void) { release_everything(); }

static void* leave(void* data) {
  (void)data;
  pause_ms((long)random_below(20));
  exit(0);
}

static void work(void);

static void* use_opencl(void* data) {
  work();
  *(atomic_bool*)data = true;
  for (;;) pause_ms(1000);
  return NULL;
}

int main(int argc, char** argv) {
  atexit(clean_up);  // before the first OpenCL call, so it runs after everything that drivers registered
  seed_from(argc > 2 ? argv[2] : NULL);
  if (argc > 1 && strcmp(argv[1], "worker") == 0) {
    static atomic_bool under_way;
    pthread_t thread;
    pthread_create(&thread, NULL, use_opencl, &under_way);
    while (!under_way) pause_ms(1);
    pause_ms((long)random_below(20));
    return 0;
  }
  work();
  if (!started) return 0;
  if (argc > 1 && strcmp(argv[1], "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, leave, NULL);
    for (;;) clEnqueueMarkerWithWaitList(m.queue, 0, NULL, NULL), pause_ms(1);
  }
  pause_ms((long)random_below(20));
  return 0;
}

static void work(void) {
  m = open_machine(0);
  if (!m.heddle) return;  // other drivers hang or crash when they are called so late
  cl_int error = CL_SUCCESS;
  loose = clCreateCommandQueue(m.context, m.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
  need(error, "clCreateCommandQueue");
  program = build(m, source, NULL);
  kernel = kernel_of(program, "spin");
  buffer = buffer_of(m, CL_MEM_READ_WRITE, 1024, NULL);
  never = clCreateUserEvent(m.context, &error);
  need(error, "clCreateUserEvent");
  // About 10 ms each on any device.
  const cl_uint rounds = 3000000;
  const size_t global = 8;
  need(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
  need(clSetKernelArg(kernel, 1, sizeof rounds, &rounds), "clSetKernelArg");
  for (int i = 0; i < 6; ++i) {
    cl_event event = NULL;
    need(clEnqueueNDRangeKernel(i % 2 ? loose : m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, &event), "launch");
    need(clSetEventCallback(event, CL_RUNNING, nothing, NULL), "clSetEventCallback");
    need(clSetEventCallback(event, CL_COMPLETE, nothing, NULL), "clSetEventCallback");
    need(clReleaseEvent(event), "clReleaseEvent");
  }
  // These can never run.
  need(clEnqueueNDRangeKernel(loose, kernel, 1, NULL, &global, NULL, 1, &never, &waiting), "launch");
  need(clSetEventCallback(waiting, CL_COMPLETE, nothing, NULL), "clSetEventCallback");
  need(clSetEventCallback(never, CL_COMPLETE, nothing, NULL), "clSetEventCallback");
  need(clFlush(m.queue), "clFlush");
  need(clFlush(loose), "clFlush");
  started = true;
}

// Command queues: order, dependencies, queries, lifetimes.
#include "program.h"

static struct Machine m;
static cl_program program;

static const char* const source =
    "kernel void blend(global uint* to, global const uint* a, global const uint* b, uint n) {\n"
    "  size_t i = get_global_id(0); to[i] = a[i] * 5u + (b[(i + 1) % n] ^ (uint)i); }\n"
    "kernel void advance(global uint* data, uint factor, uint add) {\n"
    "  size_t i = get_global_id(0); data[i] = data[i] * factor + add; }\n"
    "kernel void slow(global uint* data, uint rounds) {\n"
    "  size_t i = get_global_id(0); uint x = data[i];\n"
    "  for (uint r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u; data[i] = x; }\n";

static cl_uint slow_reference(cl_uint x, cl_uint rounds) {
  for (cl_uint r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u;
  return x;
}

static cl_command_queue queue_of(cl_command_queue_properties properties) {
  cl_command_queue queue = NULL;
  MAKE(queue, clCreateCommandQueue(m.context, m.device, properties, &error));
  return queue;
}

// Kernels, writes, copies and fills on one in-order queue, with no event between them.
static void in_order(void) {
  enum { n = 1000, commands = 200 };
  cl_uint *a = random_bytes(n * 4), *b = random_bytes(n * 4), *got = malloc(n * 4), *kept[commands];
  cl_mem on[2] = {buffer_of(m, CL_MEM_COPY_HOST_PTR, n * 4, a), buffer_of(m, CL_MEM_COPY_HOST_PTR, n * 4, b)};
  cl_uint* model[2] = {a, b};
  cl_kernel advance = kernel_of(program, "advance");
  const size_t global = n;
  for (int c = 0; c < commands; ++c) {
    const int which = (int)random_below(2);
    kept[c] = NULL;
    switch (random_below(4)) {
      case 0: {
        const cl_uint factor = next_random(), add = next_random();
        OK(clSetKernelArg(advance, 0, sizeof(cl_mem), &on[which]));
        OK(clSetKernelArg(advance, 1, sizeof factor, &factor));
        OK(clSetKernelArg(advance, 2, sizeof add, &add));
        OK(clEnqueueNDRangeKernel(m.queue, advance, 1, NULL, &global, NULL, 0, NULL, NULL));
        for (int i = 0; i < n; ++i) model[which][i] = model[which][i] * factor + add;
        break;
      }
      case 1: {
        const size_t from = random_below(n / 2), length = 1 + random_below(n / 2);
        kept[c] = random_bytes(length * 4);
        OK(clEnqueueWriteBuffer(m.queue, on[which], CL_FALSE, from * 4, length * 4, kept[c], 0, NULL, NULL));
        memcpy(model[which] + from, kept[c], length * 4);
        break;
      }
      case 2: {
        const size_t from = random_below(n / 2), to = random_below(n / 2), length = 1 + random_below(n / 2);
        OK(clEnqueueCopyBuffer(m.queue, on[which], on[1 - which], from * 4, to * 4, length * 4, 0, NULL, NULL));
        memcpy(model[1 - which] + to, model[which] + from, length * 4);
        break;
      }
      default: {
        const cl_uint word = next_random();
        const size_t from = random_below(n / 2);
        OK(clEnqueueFillBuffer(m.queue, on[which], &word, 4, from * 4, 100 * 4, 0, NULL, NULL));
        for (int i = 0; i < 100; ++i) model[which][from + (size_t)i] = word;
      }
    }
  }
  for (int w = 0; w < 2; ++w) {
    poison(got, n * 4);
    OK(clEnqueueReadBuffer(m.queue, on[w], CL_TRUE, 0, n * 4, got, 0, NULL, NULL));
    CHECK(memcmp(got, model[w], n * 4) == 0);
    OK(clReleaseMemObject(on[w]));
  }
  for (int c = 0; c < commands; ++c) free(kept[c]);
  free(a);
  free(b);
  free(got);
  OK(clReleaseKernel(advance));
  group("in-order queue");
}

// A random graph over a few buffers: a node reads two and writes a third, and waits for exactly those nodes before it
// that touch the same. Only events order the nodes.
static void graph(cl_uint queue_count, cl_command_queue* queues, const char* name) {
  enum { buffers = 6, nodes = 120, n = 256 };
  cl_uint* model[buffers];
  cl_mem on[buffers];
  for (int i = 0; i < buffers; ++i) {
    model[i] = random_bytes(n * 4);
    on[i] = buffer_of(m, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n * 4, model[i]);
  }
  cl_kernel mix = kernel_of(program, "blend");
  cl_event done[nodes];
  int writes[nodes], reads[nodes][2];
  const size_t global = n;
  const cl_uint length = n;
  for (int k = 0; k < nodes; ++k) {
    writes[k] = (int)random_below(buffers);
    for (int r = 0; r < 2; ++r) {
      do reads[k][r] = (int)random_below(buffers);
      while (reads[k][r] == writes[k]);
    }
    cl_event waits[nodes];
    cl_uint count = 0;
    for (int before = 0; before < k; ++before) {
      const bool related = writes[before] == writes[k] || writes[before] == reads[k][0] ||
                           writes[before] == reads[k][1] || reads[before][0] == writes[k] ||
                           reads[before][1] == writes[k];
      if (related) waits[count++] = done[before];
    }
    OK(clSetKernelArg(mix, 0, sizeof(cl_mem), &on[writes[k]]));
    OK(clSetKernelArg(mix, 1, sizeof(cl_mem), &on[reads[k][0]]));
    OK(clSetKernelArg(mix, 2, sizeof(cl_mem), &on[reads[k][1]]));
    OK(clSetKernelArg(mix, 3, sizeof length, &length));
    OK(clEnqueueNDRangeKernel(queues[random_below(queue_count)], mix, 1, NULL, &global, NULL, count,
                              count ? waits : NULL, &done[k]));
    const cl_uint *a = model[reads[k][0]], *b = model[reads[k][1]];
    for (int i = 0; i < n; ++i) model[writes[k]][i] = a[i] * 5u + (b[(i + 1) % n] ^ (cl_uint)i);
  }
  for (cl_uint q = 0; q < queue_count; ++q) OK(clFlush(queues[q]));
  OK(clWaitForEvents(nodes, done));
  cl_uint got[n];
  for (int i = 0; i < buffers; ++i) {
    poison(got, sizeof got);
    OK(clEnqueueReadBuffer(queues[0], on[i], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    CHECK(memcmp(got, model[i], sizeof got) == 0);
    OK(clReleaseMemObject(on[i]));
    free(model[i]);
  }
  for (int k = 0; k < nodes; ++k) OK(clReleaseEvent(done[k]));
  OK(clReleaseKernel(mix));
  if (name) group(name);
}

static void check_queries(cl_command_queue queue, cl_command_queue_properties expected) {
  cl_context context = NULL;
  cl_device_id device = NULL;
  cl_command_queue_properties properties = ~(cl_command_queue_properties)0;
  cl_uint references = 0;
  size_t size = 0;
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, &size));
  CHECK(context == m.context && size == sizeof context);
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, &size));
  CHECK(device == m.device && size == sizeof device);
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, &size));
  CHECK(properties == expected && size == sizeof properties);
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, &size));
  CHECK(references == 1 && size == sizeof references);
  OK(clRetainCommandQueue(queue));
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL));
  CHECK(references == 2);
  OK(clReleaseCommandQueue(queue));
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL));
  CHECK(references == 1);
  GIVES(CL_INVALID_VALUE, clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, 2, &context, NULL));
  GIVES(CL_INVALID_VALUE, clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, 2, &properties, NULL));
  GIVES(CL_INVALID_VALUE, clGetCommandQueueInfo(queue, CL_CONTEXT_DEVICES, sizeof context, &context, NULL));
  // Its size is only known for queues of the device, and these are of the host.
  cl_uint of_device = 0;
  GIVES(CL_INVALID_COMMAND_QUEUE, clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, sizeof of_device, &of_device, NULL));
}

static void creation(void) {
  const cl_command_queue_properties kinds[] = {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE,
                                               CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE};
  cl_command_queue_properties offered = 0;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, sizeof offered, &offered, NULL));
  CHECK(offered & CL_QUEUE_PROFILING_ENABLE);
  for (int k = 0; k < 4; ++k) {
    if ((kinds[k] & offered) != kinds[k]) continue;
    cl_command_queue queue = queue_of(kinds[k]);
    check_queries(queue, kinds[k]);
    size_t size = 99;
    OK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 0, NULL, &size));
    CHECK(size == 0);  // was not given one
    OK(clReleaseCommandQueue(queue));

    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, kinds[k], 0};
    MAKE(queue, clCreateCommandQueueWithProperties(m.context, m.device, list, &error));
    check_queries(queue, kinds[k]);
    cl_queue_properties back[3] = {9, 9, 9};
    OK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof back, back, &size));
    CHECK(size == sizeof list && memcmp(back, list, sizeof list) == 0);
    OK(clReleaseCommandQueue(queue));
  }
  cl_command_queue queue = NULL;
  MAKE(queue, clCreateCommandQueueWithProperties(m.context, m.device, NULL, &error));
  check_queries(queue, 0);
  size_t size = 99;
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 0, NULL, &size));
  CHECK(size == 0);
  OK(clReleaseCommandQueue(queue));

  const cl_queue_properties unknown[] = {0x7777, 1, 0}, bad_bits[] = {CL_QUEUE_PROPERTIES, 1u << 20, 0};
  REFUSES(CL_INVALID_CONTEXT, clCreateCommandQueue(NULL, m.device, 0, &error));
  REFUSES(CL_INVALID_DEVICE, clCreateCommandQueue(m.context, NULL, 0, &error));
  REFUSES(CL_INVALID_VALUE, clCreateCommandQueue(m.context, m.device, 1u << 20, &error));
  REFUSES(CL_INVALID_CONTEXT, clCreateCommandQueueWithProperties(NULL, m.device, NULL, &error));
  REFUSES(CL_INVALID_DEVICE, clCreateCommandQueueWithProperties(m.context, NULL, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateCommandQueueWithProperties(m.context, m.device, unknown, &error));
  REFUSES(CL_INVALID_VALUE, clCreateCommandQueueWithProperties(m.context, m.device, bad_bits, &error));
  group("creation and queries");
}

// Deprecated since OpenCL 1.1, and many drivers have nothing in its place; ours must at least answer.
static void set_property(void) {
  if (m.heddle) {
    cl_command_queue queue = queue_of(0);
    cl_command_queue_properties old = 0, now = 0;
    const cl_int code = clSetCommandQueueProperty(queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, &old);
    CHECK(code == CL_INVALID_OPERATION || code == CL_SUCCESS);
    OK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof now, &now, NULL));
    CHECK(now == (code == CL_SUCCESS ? CL_QUEUE_PROFILING_ENABLE : 0));
    OK(clReleaseCommandQueue(queue));
  }
  group("property of OpenCL 1.0");
}

static void finish_and_flush(void) {
  enum { n = 4, rounds = 300000 };
  cl_uint data[n], got[n];
  cl_kernel slow = kernel_of(program, "slow");
  const cl_uint many = rounds;
  const size_t global = n;
  for (int kind = 0; kind < 2; ++kind) {
    cl_command_queue queue = queue_of(kind ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    OK(clFlush(queue));
    OK(clFinish(queue));  // nothing to do
    fill_random(data, sizeof data);
    cl_mem buffer = buffer_of(m, CL_MEM_COPY_HOST_PTR, sizeof data, data);
    cl_event event = NULL;
    OK(clSetKernelArg(slow, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(slow, 1, sizeof many, &many));
    OK(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &global, NULL, 0, NULL, &event));
    OK(clFlush(queue));
    for (int i = 0; i < 5000 && status_of(event) != CL_COMPLETE; ++i) pause_ms(1);  // a flush is enough
    CHECK(status_of(event) == CL_COMPLETE);
    OK(clReleaseEvent(event));
    OK(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &global, NULL, 0, NULL, &event));
    OK(clFinish(queue));
    CHECK(status_of(event) == CL_COMPLETE);
    poison(got, sizeof got);
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    for (int i = 0; i < n; ++i) CHECK(got[i] == slow_reference(data[i], 2 * rounds));
    OK(clReleaseEvent(event));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseCommandQueue(queue));
  }
  OK(clReleaseKernel(slow));
  GIVES(CL_INVALID_COMMAND_QUEUE, clFlush(NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clFinish(NULL));
  group("flush and finish");
}

static void released_in_flight(void) {
  enum { n = 4, rounds = 500000 };
  cl_uint data[n], got[n];
  const cl_uint many = rounds;
  const size_t global = n;
  for (int round = 0; round < 10; ++round) {
    cl_command_queue queue = queue_of(round % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    fill_random(data, sizeof data);
    poison(got, sizeof got);
    cl_kernel slow = kernel_of(program, "slow");
    cl_mem buffer = buffer_of(m, CL_MEM_COPY_HOST_PTR, sizeof data, data);
    cl_event events[2] = {NULL, NULL};
    OK(clSetKernelArg(slow, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(slow, 1, sizeof many, &many));
    OK(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &global, NULL, 0, NULL, &events[0]));
    OK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof got, got, 1, &events[0], &events[1]));
    OK(clReleaseKernel(slow));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseCommandQueue(queue));
    OK(clWaitForEvents(2, events));
    for (int i = 0; i < n; ++i) CHECK(got[i] == slow_reference(data[i], rounds));
    cl_command_queue of_event = NULL;
    OK(clGetEventInfo(events[0], CL_EVENT_COMMAND_QUEUE, sizeof of_event, &of_event, NULL));
    CHECK(of_event == queue);
    OK(clReleaseEvent(events[0]));
    OK(clReleaseEvent(events[1]));
  }
  group("queue released with work in flight");
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  m = open_machine(0);
  program = build(m, source, NULL);
  creation();
  set_property();
  in_order();
  cl_command_queue loose = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  graph(1, &loose, NULL);
  graph(1, &loose, "out-of-order queue");
  cl_command_queue three[3] = {queue_of(0), queue_of(0), queue_of(CL_QUEUE_PROFILING_ENABLE)};
  graph(3, three, "three queues");
  cl_command_queue mixed[3] = {m.queue, loose, three[2]};
  graph(3, mixed, "three queues of different kinds");
  for (int i = 0; i < 3; ++i) OK(clReleaseCommandQueue(three[i]));
  OK(clReleaseCommandQueue(loose));
  finish_and_flush();
  released_in_flight();
  OK(clReleaseProgram(program));
  close_machine(m);
  return result();
}

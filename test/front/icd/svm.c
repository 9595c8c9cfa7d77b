// Shared virtual memory, where the device has the coarse-grained kind.
#include "program.h"

enum { count = 2048 };

static struct Machine m;

static const char* const source =
    "kernel void scale(global uint* data, global const uint* by) {\n"
    "  size_t i = get_global_id(0); data[i] = data[i] * by[i % 16] + 1; }\n"
    "kernel void stir(global uint* data) {\n"
    "  uint v = data[get_global_id(0)];\n"
    "  for (int k = 0; k < 200; ++k) v = v * 1664525u + 1013904223u;\n"
    "  data[get_global_id(0)] = v; }\n"
    "struct Node { ulong next; uint value; uint sum; };\n"
    "kernel void follow(global struct Node* node) {\n"
    "  uint sum = 0;\n"
    "  for (global struct Node* n = node; n; n = (global struct Node*)n->next) sum += n->value;\n"
    "  node->sum = sum; }\n";

struct Node {
  cl_ulong next;
  cl_uint value, sum;
};

static void* allocate(size_t bytes) {
  void* made = clSVMAlloc(m.context, CL_MEM_READ_WRITE, bytes, 0);
  if (!made) need(CL_OUT_OF_RESOURCES, "clSVMAlloc");
  return made;
}

static void map(void* pointer, size_t bytes, cl_map_flags flags) {
  OK(clEnqueueSVMMap(m.queue, CL_TRUE, flags, pointer, bytes, 0, NULL, NULL));
}

static void unmap(void* pointer) { OK(clEnqueueSVMUnmap(m.queue, pointer, 0, NULL, NULL)); }

static void kernels(cl_program program) {
  cl_kernel scale = kernel_of(program, "scale");
  cl_uint* data = allocate(count * 4);
  cl_uint* by = allocate(16 * 4);
  cl_uint* model = malloc(count * 4);
  map(data, count * 4, CL_MAP_WRITE_INVALIDATE_REGION);
  map(by, 64, CL_MAP_WRITE);
  fill_random(data, count * 4);
  fill_random(by, 64);
  for (int i = 0; i < count; ++i) model[i] = data[i] * by[i % 16] + 1;
  unmap(data);
  unmap(by);
  const size_t global = count;
  OK(clSetKernelArgSVMPointer(scale, 0, data));
  OK(clSetKernelArgSVMPointer(scale, 1, by));
  OK(clEnqueueNDRangeKernel(m.queue, scale, 1, NULL, &global, NULL, 0, NULL, NULL));
  map(data, count * 4, CL_MAP_READ);
  CHECK(memcmp(data, model, count * 4) == 0);
  unmap(data);
  // A pointer into the middle, and a buffer as the other argument.
  cl_uint factors[16];
  fill_random(factors, sizeof factors);
  cl_mem buffer = buffer_of(m, CL_MEM_COPY_HOST_PTR, sizeof factors, factors);
  const size_t half = count / 2;
  OK(clSetKernelArgSVMPointer(scale, 0, data + half));
  OK(clSetKernelArg(scale, 1, sizeof buffer, &buffer));
  OK(clEnqueueNDRangeKernel(m.queue, scale, 1, NULL, &half, NULL, 0, NULL, NULL));
  for (size_t i = 0; i < half; ++i) model[half + i] = model[half + i] * factors[i % 16] + 1;
  map(data, count * 4, CL_MAP_READ);
  CHECK(memcmp(data, model, count * 4) == 0);
  unmap(data);
  // In the place of a buffer, which is gone then; of others that come to its address the launch knows nothing.
  cl_mem before = buffer_of(m, CL_MEM_READ_WRITE, count * 4, NULL);
  OK(clSetKernelArg(scale, 0, sizeof before, &before));
  OK(clSetKernelArgSVMPointer(scale, 0, data));
  OK(clReleaseMemObject(before));
  cl_mem others[8];
  for (int i = 0; i < 8; ++i) others[i] = buffer_of(m, CL_MEM_READ_WRITE, count * 4, NULL);
  for (int launch = 0; launch < 4; ++launch) {
    OK(clEnqueueNDRangeKernel(m.queue, scale, 1, NULL, &global, NULL, 0, NULL, NULL));
    for (int i = 0; i < count; ++i) model[i] = model[i] * factors[i % 16] + 1;
    if (launch == 1) {
      for (int i = 0; i < 8; ++i) OK(clReleaseMemObject(others[i]));
    }
  }
  map(data, count * 4, CL_MAP_READ);
  CHECK(memcmp(data, model, count * 4) == 0);
  unmap(data);
  GIVES(CL_INVALID_ARG_INDEX, clSetKernelArgSVMPointer(scale, 2, data));
  GIVES(CL_INVALID_KERNEL, clSetKernelArgSVMPointer(NULL, 0, data));
  OK(clFinish(m.queue));
  OK(clReleaseMemObject(buffer));
  clSVMFree(m.context, data);
  clSVMFree(m.context, by);
  clSVMFree(m.context, NULL);  // as free()
  free(model);
  OK(clReleaseKernel(scale));
  group("kernels on shared memory");

  enum { nodes = 50 };
  cl_kernel follow = kernel_of(program, "follow");
  struct Node* list[nodes];
  cl_uint sum = 0;
  for (int i = 0; i < nodes; ++i) list[i] = allocate(sizeof **list);
  for (int i = 0; i < nodes; ++i) {
    map(list[i], sizeof **list, CL_MAP_WRITE);
    list[i]->value = next_random();
    list[i]->sum = 0xA5A5A5A5u;
    list[i]->next = i + 1 < nodes ? (cl_ulong)(uintptr_t)list[i + 1] : 0;
    sum += list[i]->value;
    unmap(list[i]);
  }
  const size_t one = 1;
  OK(clSetKernelArgSVMPointer(follow, 0, list[0]));
  OK(clSetKernelExecInfo(follow, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof list, list));
  OK(clEnqueueNDRangeKernel(m.queue, follow, 1, NULL, &one, NULL, 0, NULL, NULL));
  map(list[0], sizeof **list, CL_MAP_READ);
  CHECK(list[0]->sum == sum);
  unmap(list[0]);
  OK(clFinish(m.queue));
  GIVES(CL_INVALID_KERNEL, clSetKernelExecInfo(NULL, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof list, list));
  for (int i = 0; i < nodes; ++i) clSVMFree(m.context, list[i]);
  OK(clReleaseKernel(follow));
  group("pointers in shared memory");
}

static void transfers(void) {
  unsigned char* a = allocate(count);
  unsigned char* b = allocate(count);
  unsigned char* model = random_bytes(count);
  unsigned char* got = malloc(count);
  poison(got, count);
  cl_event event = NULL;
  OK(clEnqueueSVMMemcpy(m.queue, CL_TRUE, a, model, count, 0, NULL, NULL));
  OK(clEnqueueSVMMemcpy(m.queue, CL_FALSE, b, a, count, 0, NULL, &event));
  OK(clEnqueueSVMMemcpy(m.queue, CL_TRUE, got, b, count, 1, &event, NULL));
  CHECK(memcmp(got, model, count) == 0);
  cl_command_type type = 0;
  cl_command_queue queue = NULL;
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(type == CL_COMMAND_SVM_MEMCPY);
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL));
  CHECK(queue == m.queue);
  OK(clReleaseEvent(event));
  for (size_t size = 1; size <= 128; size *= 2) {
    unsigned char pattern[128];
    fill_random(pattern, sizeof pattern);
    OK(clEnqueueSVMMemFill(m.queue, a + 256, pattern, size, 1024, 0, NULL, &event));
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
    for (size_t i = 0; i < 1024; ++i) model[256 + i] = pattern[i % size];
    poison(got, count);
    OK(clEnqueueSVMMemcpy(m.queue, CL_TRUE, got, a, count, 0, NULL, NULL));
    CHECK(memcmp(got, model, count) == 0);
  }
  const void* list[2] = {a, b};
  OK(clEnqueueSVMMigrateMem(m.queue, 2, list, NULL, 0, 0, NULL, &event));
  OK(clWaitForEvents(1, &event));
  OK(clReleaseEvent(event));
  GIVES(CL_INVALID_VALUE, clEnqueueSVMMemcpy(m.queue, CL_TRUE, NULL, a, 16, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueSVMMemcpy(m.queue, CL_TRUE, a, NULL, 16, 0, NULL, NULL));
  GIVES(CL_MEM_COPY_OVERLAP, clEnqueueSVMMemcpy(m.queue, CL_TRUE, a, a + 8, 16, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueSVMMemFill(m.queue, a, model, 3, 12, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueSVMMap(m.queue, CL_TRUE, CL_MAP_READ, NULL, 16, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueSVMUnmap(m.queue, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMUnmap(NULL, a, 0, NULL, NULL));
  GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueSVMMemcpy(m.queue, CL_TRUE, a, b, 16, 1, NULL, NULL));
  CHECK(clSVMAlloc(m.context, CL_MEM_READ_WRITE, 0, 0) == NULL);
  CHECK(clSVMAlloc(NULL, CL_MEM_READ_WRITE, 64, 0) == NULL);
  CHECK(clSVMAlloc(m.context, CL_MEM_READ_WRITE, 64, 3) == NULL);  // an alignment is a power of two
  void* aligned = clSVMAlloc(m.context, CL_MEM_READ_WRITE, 64, 64);
  CHECK(aligned && (uintptr_t)aligned % 64 == 0);
  clSVMFree(m.context, aligned);
  // A buffer over shared memory knows that it is one.
  cl_mem over = buffer_of(m, CL_MEM_USE_HOST_PTR, count, a);
  cl_bool shared = CL_FALSE;
  OK(clGetMemObjectInfo(over, CL_MEM_USES_SVM_POINTER, sizeof shared, &shared, NULL));
  CHECK(shared == CL_TRUE);
  poison(got, count);
  OK(clEnqueueReadBuffer(m.queue, over, CL_TRUE, 0, count, got, 0, NULL, NULL));
  CHECK(memcmp(got, model, count) == 0);
  OK(clReleaseMemObject(over));
  OK(clFinish(m.queue));
  clSVMFree(m.context, a);
  clSVMFree(m.context, b);
  free(model);
  free(got);
  group("shared memory transfers");
}

// A buffer over shared memory is that memory: what is written by way of the one is read by way of the other, also where
// launches on the buffer are shared by devices.
static void over_buffers(cl_program program) {
  enum { many = 1 << 17, launches = 40 };
  cl_uint* data = allocate(many * 4);
  cl_uint* model = malloc(many * 4);
  cl_uint* got = malloc(many * 4);
  fill_random(model, many * 4);
  map(data, many * 4, CL_MAP_WRITE_INVALIDATE_REGION);
  memcpy(data, model, many * 4);
  unmap(data);
  cl_mem over = buffer_of(m, CL_MEM_USE_HOST_PTR, many * 4, data);
  cl_kernel by_buffer = kernel_of(program, "stir"), by_pointer = kernel_of(program, "stir");
  OK(clSetKernelArg(by_buffer, 0, sizeof over, &over));
  OK(clSetKernelArgSVMPointer(by_pointer, 0, data));
  cl_uint factor = 1, added = 0;  // of 200 steps
  for (int k = 0; k < 200; ++k) factor *= 1664525u, added = added * 1664525u + 1013904223u;
  const size_t global = many;
  for (int launch = 0; launch < launches; ++launch) {
    cl_kernel stir = launch % 8 < 6 ? by_buffer : by_pointer;
    OK(clEnqueueNDRangeKernel(m.queue, stir, 1, NULL, &global, NULL, 0, NULL, NULL));
    OK(clFinish(m.queue));
    for (int i = 0; i < many; ++i) model[i] = model[i] * factor + added;
    if (launch % 16 == 5) {
      const cl_uint word = next_random();
      OK(clEnqueueSVMMemFill(m.queue, data + many / 4, &word, 4, many * 2, 0, NULL, NULL));
      for (int i = 0; i < many / 2; ++i) model[many / 4 + i] = word;
    }
    if (launch % 8 == 7 || launch % 8 == 2) {
      map(data, many * 4, CL_MAP_READ | CL_MAP_WRITE);
      CHECK(memcmp(data, model, many * 4) == 0);
      model[launch] = data[launch] = next_random();
      model[many - 1] = data[many - 1] = next_random();
      unmap(data);
    }
  }
  poison(got, many * 4);
  OK(clEnqueueReadBuffer(m.queue, over, CL_TRUE, 0, many * 4, got, 0, NULL, NULL));
  CHECK(memcmp(got, model, many * 4) == 0);
  map(data, many * 4, CL_MAP_READ);
  CHECK(memcmp(data, model, many * 4) == 0);
  unmap(data);
  OK(clFinish(m.queue));
  OK(clReleaseKernel(by_buffer));
  OK(clReleaseKernel(by_pointer));
  OK(clReleaseMemObject(over));
  clSVMFree(m.context, data);
  free(model);
  free(got);
  group("buffers over shared memory");
}

static _Atomic int freed;
static int mark;

static void CL_CALLBACK free_them(cl_command_queue queue, cl_uint number, void* pointers[], void* user) {
  cl_context context = NULL;
  CHECK(queue == m.queue);
  CHECK(user == &mark);
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
  CHECK(context == m.context);
  for (cl_uint i = 0; i < number; ++i) clSVMFree(context, pointers[i]);
  freed += (int)number;
}

static void enqueued_frees(void) {
  for (int round = 0; round < 10; ++round) {
    freed = 0;
    void* three[3] = {allocate(100), allocate(4096), allocate(8)};
    const cl_uint word = next_random();
    OK(clEnqueueSVMMemFill(m.queue, three[1], &word, 4, 4096, 0, NULL, NULL));
    cl_event event = NULL;
    OK(clEnqueueSVMFree(m.queue, 3, three, round % 2 ? free_them : NULL, &mark, 0, NULL, &event));
    OK(clWaitForEvents(1, &event));
    CHECK(round % 2 == 0 || soon(&freed, 3));
    cl_command_type type = 0;
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    CHECK(type == CL_COMMAND_SVM_FREE);
    OK(clReleaseEvent(event));
  }
  void* none[1] = {NULL};
  GIVES(CL_INVALID_VALUE, clEnqueueSVMFree(m.queue, 1, NULL, NULL, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueSVMFree(m.queue, 0, none, NULL, NULL, 0, NULL, NULL));
  OK(clFinish(m.queue));
  group("enqueued frees");
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  m = open_machine(0);
  cl_device_svm_capabilities can = 0;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL));
  if (can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) {
    cl_program program = build(m, source, NULL);
    kernels(program);
    transfers();
    over_buffers(program);
    enqueued_frees();
    OK(clReleaseProgram(program));
  } else {
    printf("no shared virtual memory: skipped\n");
  }
  close_machine(m);
  return result();
}

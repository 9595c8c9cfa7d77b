// Buffers: how they are made, filled, copied, cut, mapped and mourned.
#include "program.h"

enum { count = 4096 };

static struct Machine m;

static const char* const source =
    "kernel void add_one(global uint* data, uint n) { size_t i = get_global_id(0); if (i < n) data[i] += 1; }\n"
    "kernel void sum(global const uint* a, global const uint* b, global uint* c) {\n"
    "  size_t i = get_global_id(0); c[i] = a[i] + 3 * b[i]; }\n";

static void read_all(cl_mem buffer, void* to, size_t bytes) {
  poison(to, bytes);
  OK(clEnqueueReadBuffer(m.queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL));
}

static void creation(cl_program program) {
  const cl_mem_flags kinds[] = {CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE};
  const size_t bytes = count * sizeof(cl_uint);
  cl_kernel add_one = kernel_of(program, "add_one");
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    cl_uint* given = random_bytes(bytes);
    cl_uint* expected = malloc(bytes);
    cl_uint* got = malloc(bytes);
    memcpy(expected, given, bytes);
    const bool takes_host = (kinds[k] & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR)) != 0;
    cl_mem buffer = buffer_of(m, kinds[k], bytes, takes_host ? given : NULL);
    if (!takes_host) OK(clEnqueueWriteBuffer(m.queue, buffer, CL_TRUE, 0, bytes, given, 0, NULL, NULL));
    if (kinds[k] & CL_MEM_COPY_HOST_PTR) poison(given, bytes);  // it was copied, so nobody looks any more
    const cl_uint n = count;
    const size_t global = count;
    OK(clSetKernelArg(add_one, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(add_one, 1, sizeof n, &n));
    OK(clEnqueueNDRangeKernel(m.queue, add_one, 1, NULL, &global, NULL, 0, NULL, NULL));
    read_all(buffer, got, bytes);
    bool same = true;
    for (int i = 0; i < count; ++i) same &= got[i] == expected[i] + 1;
    CHECK(same);

    cl_mem_flags flags = 0;
    size_t size = 0;
    cl_mem_object_type type = 0;
    cl_context context = NULL;
    cl_uint references = 0;
    void* host = &size;
    OK(clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    CHECK(flags == kinds[k]);
    OK(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL));
    CHECK(size == bytes);
    OK(clGetMemObjectInfo(buffer, CL_MEM_TYPE, sizeof type, &type, NULL));
    CHECK(type == CL_MEM_OBJECT_BUFFER);
    OK(clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, &context, NULL));
    CHECK(context == m.context);
    OK(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof host, &host, NULL));
    CHECK(host == (kinds[k] & CL_MEM_USE_HOST_PTR ? given : NULL));
    OK(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL));
    CHECK(references == 1);
    OK(clRetainMemObject(buffer));
    OK(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL));
    CHECK(references == 2);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseMemObject(buffer));
    free(given);
    free(expected);
    free(got);
  }
  OK(clReleaseKernel(add_one));

  unsigned char text[16] = "as it was given";
  unsigned char back[16];
  cl_mem made = NULL;
  MAKE(made, clCreateBufferWithProperties(m.context, NULL, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof text, text,
                                          &error));
  read_all(made, back, sizeof back);
  CHECK(memcmp(text, back, sizeof text) == 0);
  OK(clReleaseMemObject(made));
  const cl_mem_properties none[] = {0};
  MAKE(made, clCreateBufferWithProperties(m.context, none, CL_MEM_READ_ONLY, 64, NULL, &error));
  OK(clReleaseMemObject(made));

  REFUSES(CL_INVALID_CONTEXT, clCreateBuffer(NULL, 0, 16, NULL, &error));
  REFUSES(CL_INVALID_BUFFER_SIZE, clCreateBuffer(m.context, CL_MEM_READ_WRITE, 0, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateBuffer(m.context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 16, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateBuffer(m.context, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 16, text, &error));
  REFUSES(CL_INVALID_VALUE, clCreateBuffer(m.context, CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, 16, text, &error));
  REFUSES(CL_INVALID_HOST_PTR, clCreateBuffer(m.context, CL_MEM_USE_HOST_PTR, 16, NULL, &error));
  REFUSES(CL_INVALID_HOST_PTR, clCreateBuffer(m.context, CL_MEM_COPY_HOST_PTR, 16, NULL, &error));
  REFUSES(CL_INVALID_HOST_PTR, clCreateBuffer(m.context, CL_MEM_READ_WRITE, 16, text, &error));
  group("creation");
}

static void transfers(void) {
  unsigned char* model = random_bytes(count);
  unsigned char* got = malloc(count);
  cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count, model);
  cl_mem other = buffer_of(m, CL_MEM_READ_WRITE, count, NULL);
  for (int round = 0; round < 50; ++round) {
    const size_t offset = random_below(count - 1);
    const size_t size = 1 + random_below((uint32_t)(count - offset));
    unsigned char* bytes = random_bytes(size);
    cl_event event = NULL;
    OK(clEnqueueWriteBuffer(m.queue, buffer, round % 2 ? CL_TRUE : CL_FALSE, offset, size, bytes, 0, NULL, &event));
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
    memcpy(model + offset, bytes, size);
    const size_t from = random_below(count - 1);
    const size_t length = 1 + random_below((uint32_t)(count - from));
    poison(got, count);
    OK(clEnqueueReadBuffer(m.queue, buffer, round % 3 ? CL_FALSE : CL_TRUE, from, length, got + from, 0, NULL, &event));
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
    CHECK(memcmp(got + from, model + from, length) == 0);
    CHECK(from == 0 || got[from - 1] == 0xA5);
    CHECK(from + length == count || got[from + length] == 0xA5);
    free(bytes);
  }
  group("reads and writes");

  unsigned char* second = random_bytes(count);
  OK(clEnqueueWriteBuffer(m.queue, other, CL_TRUE, 0, count, second, 0, NULL, NULL));
  for (int round = 0; round < 50; ++round) {
    const size_t size = 1 + random_below(count / 2);
    const size_t from = random_below((uint32_t)(count - size));
    const size_t to = random_below((uint32_t)(count - size));
    OK(clEnqueueCopyBuffer(m.queue, buffer, other, from, to, size, 0, NULL, NULL));
    memcpy(second + to, model + from, size);
  }
  read_all(other, got, count);
  CHECK(memcmp(got, second, count) == 0);
  // Within one buffer, without overlap.
  OK(clEnqueueCopyBuffer(m.queue, other, other, 0, count / 2, count / 2, 0, NULL, NULL));
  memcpy(second + count / 2, second, count / 2);
  read_all(other, got, count);
  CHECK(memcmp(got, second, count) == 0);
  GIVES(CL_MEM_COPY_OVERLAP, clEnqueueCopyBuffer(m.queue, other, other, 0, 8, 64, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueCopyBuffer(m.queue, buffer, other, count - 8, 0, 16, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueCopyBuffer(m.queue, buffer, other, 0, count - 8, 16, 0, NULL, NULL));
  GIVES(CL_INVALID_MEM_OBJECT, clEnqueueCopyBuffer(m.queue, NULL, other, 0, 0, 16, 0, NULL, NULL));
  GIVES(CL_INVALID_MEM_OBJECT, clEnqueueCopyBuffer(m.queue, other, NULL, 0, 0, 16, 0, NULL, NULL));
  group("copies");

  for (size_t size = 1; size <= 128; size *= 2) {
    unsigned char pattern[128];
    fill_random(pattern, sizeof pattern);
    const size_t offset = size * random_below(8);
    const size_t length = size * (1 + random_below((uint32_t)(count / size - 8)));
    OK(clEnqueueFillBuffer(m.queue, other, pattern, size, offset, length, 0, NULL, NULL));
    for (size_t i = 0; i < length; ++i) second[offset + i] = pattern[i % size];
    read_all(other, got, count);
    CHECK(memcmp(got, second, count) == 0);
  }
  const cl_uint word = 7;
  GIVES(CL_INVALID_VALUE, clEnqueueFillBuffer(m.queue, other, &word, 3, 0, 12, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueFillBuffer(m.queue, other, &word, 0, 0, 12, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueFillBuffer(m.queue, other, NULL, 4, 0, 12, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueFillBuffer(m.queue, other, &word, 4, 2, 12, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueFillBuffer(m.queue, other, &word, 4, 0, 13, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueFillBuffer(m.queue, other, &word, 4, count - 4, 8, 0, NULL, NULL));
  group("fills");

  GIVES(CL_INVALID_VALUE, clEnqueueReadBuffer(m.queue, other, CL_TRUE, count - 4, 8, got, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueReadBuffer(m.queue, other, CL_TRUE, 0, 8, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueWriteBuffer(m.queue, other, CL_TRUE, count + 4, 8, got, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueWriteBuffer(m.queue, other, CL_TRUE, 0, 8, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_MEM_OBJECT, clEnqueueReadBuffer(m.queue, NULL, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueReadBuffer(m.queue, other, CL_TRUE, 0, 8, got, 1, NULL, NULL));
  cl_event no_event = NULL;
  GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueReadBuffer(m.queue, other, CL_TRUE, 0, 8, got, 0, &no_event, NULL));
  GIVES(CL_INVALID_EVENT_WAIT_LIST, clEnqueueReadBuffer(m.queue, other, CL_TRUE, 0, 8, got, 1, &no_event, NULL));
  cl_mem host_writes = buffer_of(m, CL_MEM_HOST_WRITE_ONLY, 64, NULL);
  cl_mem host_reads = buffer_of(m, CL_MEM_HOST_READ_ONLY, 64, NULL);
  cl_mem host_none = buffer_of(m, CL_MEM_HOST_NO_ACCESS, 64, NULL);
  GIVES(CL_INVALID_OPERATION, clEnqueueReadBuffer(m.queue, host_writes, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  GIVES(CL_INVALID_OPERATION, clEnqueueReadBuffer(m.queue, host_none, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  GIVES(CL_INVALID_OPERATION, clEnqueueWriteBuffer(m.queue, host_reads, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  GIVES(CL_INVALID_OPERATION, clEnqueueWriteBuffer(m.queue, host_none, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  OK(clEnqueueWriteBuffer(m.queue, host_writes, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  OK(clEnqueueReadBuffer(m.queue, host_reads, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  OK(clReleaseMemObject(host_writes));
  OK(clReleaseMemObject(host_reads));
  OK(clReleaseMemObject(host_none));
  // An object of another context cannot be used here.
  cl_context stranger = NULL;
  MAKE(stranger, clCreateContext(NULL, 1, &m.device, NULL, NULL, &error));
  cl_mem far = NULL;
  MAKE(far, clCreateBuffer(stranger, CL_MEM_READ_WRITE, count, NULL, &error));
  GIVES(CL_INVALID_CONTEXT, clEnqueueReadBuffer(m.queue, far, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  GIVES(CL_INVALID_CONTEXT, clEnqueueWriteBuffer(m.queue, far, CL_TRUE, 0, 8, got, 0, NULL, NULL));
  GIVES(CL_INVALID_CONTEXT, clEnqueueCopyBuffer(m.queue, far, other, 0, 0, 8, 0, NULL, NULL));
  OK(clReleaseMemObject(far));
  OK(clReleaseContext(stranger));
  group("refused transfers");
  OK(clReleaseMemObject(buffer));
  OK(clReleaseMemObject(other));
  free(model);
  free(second);
  free(got);
}

struct Rect {
  size_t origin[3], row, slice;
};

// Where a point of the region lies, as the specification computes it.
static size_t place(const struct Rect* r, size_t x, size_t y, size_t z) {
  return (r->origin[2] + z) * r->slice + (r->origin[1] + y) * r->row + r->origin[0] + x;
}

static struct Rect random_rect(void) {
  struct Rect r;
  r.row = 24 + random_below(9);
  r.slice = r.row * (10 + random_below(5));  // a multiple of the row, as the specification demands
  for (int d = 0; d < 3; ++d) r.origin[d] = random_below(4);
  return r;
}

static void copy_rect(unsigned char* to, const struct Rect* t, const unsigned char* from, const struct Rect* f,
                      const size_t* region) {
  for (size_t z = 0; z < region[2]; ++z)
    for (size_t y = 0; y < region[1]; ++y)
      for (size_t x = 0; x < region[0]; ++x) to[place(t, x, y, z)] = from[place(f, x, y, z)];
}

static void rectangles(void) {
  enum { room = 8192 };
  unsigned char* host = random_bytes(room);
  unsigned char* model = random_bytes(room);
  unsigned char* second = random_bytes(room);
  unsigned char* got = malloc(room);
  unsigned char* expected = malloc(room);
  cl_mem buffer = buffer_of(m, CL_MEM_COPY_HOST_PTR, room, model);
  cl_mem other = buffer_of(m, CL_MEM_COPY_HOST_PTR, room, second);
  for (int round = 0; round < 30; ++round) {
    const struct Rect in = random_rect(), out = random_rect();
    const size_t region[3] = {1 + random_below(20), 1 + random_below(6), 1 + random_below(5)};
    OK(clEnqueueWriteBufferRect(m.queue, buffer, round % 2 ? CL_TRUE : CL_FALSE, in.origin, out.origin, region, in.row,
                                in.slice, out.row, out.slice, host, 0, NULL, NULL));
    copy_rect(model, &in, host, &out, region);
    OK(clFinish(m.queue));
    read_all(buffer, got, room);
    CHECK(memcmp(got, model, room) == 0);

    poison(got, room);
    memcpy(expected, got, room);
    cl_event event = NULL;
    OK(clEnqueueReadBufferRect(m.queue, buffer, round % 2 ? CL_FALSE : CL_TRUE, out.origin, in.origin, region, out.row,
                               out.slice, in.row, in.slice, got, 0, NULL, &event));
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
    copy_rect(expected, &in, model, &out, region);
    CHECK(memcmp(got, expected, room) == 0);

    OK(clEnqueueCopyBufferRect(m.queue, buffer, other, in.origin, out.origin, region, in.row, in.slice, out.row,
                               out.slice, 0, NULL, NULL));
    copy_rect(second, &out, model, &in, region);
    read_all(other, got, room);
    CHECK(memcmp(got, second, room) == 0);
  }
  // A pitch of 0 means a tight one.
  const size_t zero[3] = {0, 0, 0}, region[3] = {16, 4, 3};
  const struct Rect tight = {{0, 0, 0}, 16, 64};
  OK(clEnqueueWriteBufferRect(m.queue, buffer, CL_TRUE, zero, zero, region, 0, 0, 0, 0, host, 0, NULL, NULL));
  copy_rect(model, &tight, host, &tight, region);
  read_all(buffer, got, room);
  CHECK(memcmp(got, model, room) == 0);
  group("rect copies");

  const size_t too_far[3] = {0, 0, 200}, empty[3] = {16, 0, 3};
  GIVES(CL_INVALID_VALUE,
        clEnqueueReadBufferRect(m.queue, buffer, CL_TRUE, too_far, zero, region, 16, 64, 16, 64, got, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE,
        clEnqueueReadBufferRect(m.queue, buffer, CL_TRUE, zero, zero, empty, 16, 64, 16, 64, got, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE,
        clEnqueueReadBufferRect(m.queue, buffer, CL_TRUE, zero, zero, region, 8, 64, 16, 64, got, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE,
        clEnqueueWriteBufferRect(m.queue, buffer, CL_TRUE, zero, zero, region, 16, 32, 16, 64, got, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE,
        clEnqueueWriteBufferRect(m.queue, buffer, CL_TRUE, zero, zero, region, 16, 64, 16, 64, NULL, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE,
        clEnqueueCopyBufferRect(m.queue, buffer, other, zero, too_far, region, 16, 64, 16, 64, 0, NULL, NULL));
  GIVES(CL_MEM_COPY_OVERLAP,
        clEnqueueCopyBufferRect(m.queue, other, other, zero, zero, region, 16, 64, 16, 64, 0, NULL, NULL));
  group("refused rect copies");
  OK(clReleaseMemObject(buffer));
  OK(clReleaseMemObject(other));
  free(host);
  free(model);
  free(second);
  free(got);
  free(expected);
}

static void parts(cl_program program) {
  cl_uint bits = 0;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL));
  const size_t align = bits / 8;
  const size_t bytes = 8 * align, words = bytes / 4, part = align / 4;
  cl_uint* model = random_bytes(bytes);
  cl_uint* got = malloc(bytes);
  cl_mem whole = buffer_of(m, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, model);
  const cl_buffer_region regions[3] = {{align, align}, {3 * align, align}, {6 * align, 2 * align}};
  cl_mem cut[3];
  for (int i = 0; i < 3; ++i) {
    MAKE(cut[i],
         clCreateSubBuffer(whole, i == 2 ? 0 : CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &regions[i], &error));
    cl_mem parent = NULL;
    size_t offset = 0, size = 0;
    cl_mem_flags flags = 0;
    OK(clGetMemObjectInfo(cut[i], CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
    CHECK(parent == whole);
    OK(clGetMemObjectInfo(cut[i], CL_MEM_OFFSET, sizeof offset, &offset, NULL));
    CHECK(offset == regions[i].origin);
    OK(clGetMemObjectInfo(cut[i], CL_MEM_SIZE, sizeof size, &size, NULL));
    CHECK(size == regions[i].size);
    OK(clGetMemObjectInfo(cut[i], CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    CHECK(flags & CL_MEM_READ_WRITE);
  }
  cl_mem parent = whole;
  OK(clGetMemObjectInfo(whole, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
  CHECK(parent == NULL);

  // All three parts as arguments of one kernel; then one word of one part by the host; then the whole again.
  cl_kernel sum = kernel_of(program, "sum");
  cl_kernel add_one = kernel_of(program, "add_one");
  for (cl_uint i = 0; i < 3; ++i) OK(clSetKernelArg(sum, i, sizeof(cl_mem), &cut[i]));
  OK(clEnqueueNDRangeKernel(m.queue, sum, 1, NULL, &part, NULL, 0, NULL, NULL));
  for (size_t i = 0; i < part; ++i) model[6 * part + i] = model[part + i] + 3 * model[3 * part + i];
  const cl_uint word = next_random(), n = (cl_uint)words;
  OK(clEnqueueWriteBuffer(m.queue, cut[1], CL_TRUE, 4, 4, &word, 0, NULL, NULL));
  model[3 * part + 1] = word;
  OK(clSetKernelArg(add_one, 0, sizeof whole, &whole));
  OK(clSetKernelArg(add_one, 1, sizeof n, &n));
  OK(clEnqueueNDRangeKernel(m.queue, add_one, 1, NULL, &words, NULL, 0, NULL, NULL));
  for (size_t i = 0; i < words; ++i) model[i] += 1;
  poison(got, bytes);
  OK(clEnqueueReadBuffer(m.queue, cut[2], CL_TRUE, 0, 2 * align, got, 0, NULL, NULL));
  CHECK(memcmp(got, model + 6 * part, 2 * align) == 0);
  read_all(whole, got, bytes);
  CHECK(memcmp(got, model, bytes) == 0);
  OK(clEnqueueCopyBuffer(m.queue, cut[0], cut[1], 0, 0, align, 0, NULL, NULL));
  memcpy(model + 3 * part, model + part, align);
  read_all(whole, got, bytes);
  CHECK(memcmp(got, model, bytes) == 0);

  const cl_buffer_region crooked = {align + 1, align}, too_long = {7 * align, 2 * align}, empty = {align, 0};
  const cl_buffer_region good = {0, align};
  REFUSES(CL_MISALIGNED_SUB_BUFFER_OFFSET, clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &crooked, &error));
  REFUSES(CL_INVALID_VALUE, clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &too_long, &error));
  REFUSES(CL_INVALID_BUFFER_SIZE, clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &empty, &error));
  REFUSES(CL_INVALID_VALUE, clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, NULL, &error));
  REFUSES(CL_INVALID_VALUE, clCreateSubBuffer(whole, 0, 0, &good, &error));
  REFUSES(CL_INVALID_MEM_OBJECT, clCreateSubBuffer(cut[0], 0, CL_BUFFER_CREATE_TYPE_REGION, &good, &error));
  cl_mem read_only = buffer_of(m, CL_MEM_READ_ONLY, bytes, NULL);
  REFUSES(CL_INVALID_VALUE,
          clCreateSubBuffer(read_only, CL_MEM_WRITE_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &good, &error));
  OK(clReleaseMemObject(read_only));
  // A part keeps the whole alive.
  OK(clReleaseMemObject(whole));
  read_all(cut[0], got, align);
  CHECK(memcmp(got, model + part, align) == 0);
  for (int i = 0; i < 3; ++i) OK(clReleaseMemObject(cut[i]));
  OK(clReleaseKernel(sum));
  OK(clReleaseKernel(add_one));
  free(model);
  free(got);
  group("sub-buffers");
}

static cl_uint map_count(cl_mem buffer) {
  cl_uint maps = 99;
  OK(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof maps, &maps, NULL));
  return maps;
}

// PoCL (3.1 seen) counts a map as gone a moment after it has said so.
static bool is_unmapped(cl_mem buffer) {
  for (int i = 0; i < 1000 && map_count(buffer) > 0; ++i) pause_ms(1);
  return map_count(buffer) == 0;
}

static void maps(void) {
  const cl_mem_flags kinds[] = {CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR};
  for (int k = 0; k < 3; ++k) {
    unsigned char* given = random_bytes(count);
    unsigned char* model = malloc(count);
    unsigned char* got = malloc(count);
    memcpy(model, given, count);
    cl_mem buffer = buffer_of(m, kinds[k], count, given);
    unsigned char* mapped = NULL;
    MAKE(mapped, clEnqueueMapBuffer(m.queue, buffer, CL_TRUE, CL_MAP_READ, 256, 512, 0, NULL, NULL, &error));
    CHECK(memcmp(mapped, model + 256, 512) == 0);
    if (kinds[k] & CL_MEM_USE_HOST_PTR) CHECK(mapped == given + 256);
    CHECK(map_count(buffer) == 1);
    unsigned char* again = NULL;
    MAKE(again, clEnqueueMapBuffer(m.queue, buffer, CL_TRUE, CL_MAP_READ, 0, 300, 0, NULL, NULL, &error));
    CHECK(memcmp(again, model, 300) == 0);
    CHECK(map_count(buffer) == 2);
    OK(clEnqueueUnmapMemObject(m.queue, buffer, mapped, 0, NULL, NULL));
    OK(clEnqueueUnmapMemObject(m.queue, buffer, again, 0, NULL, NULL));
    OK(clFinish(m.queue));
    CHECK(is_unmapped(buffer));

    cl_event done = NULL;
    MAKE(mapped,
         clEnqueueMapBuffer(m.queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 100, 1000, 0, NULL, &done, &error));
    OK(clWaitForEvents(1, &done));
    OK(clReleaseEvent(done));
    CHECK(memcmp(mapped, model + 100, 1000) == 0);
    for (int i = 0; i < 1000; ++i) mapped[i] ^= 0x5A;
    for (int i = 0; i < 1000; ++i) model[100 + i] ^= 0x5A;
    OK(clEnqueueUnmapMemObject(m.queue, buffer, mapped, 0, NULL, &done));
    OK(clWaitForEvents(1, &done));
    cl_command_type type = 0;
    OK(clGetEventInfo(done, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    CHECK(type == CL_COMMAND_UNMAP_MEM_OBJECT);
    OK(clReleaseEvent(done));
    read_all(buffer, got, count);
    CHECK(memcmp(got, model, count) == 0);

    MAKE(mapped,
         clEnqueueMapBuffer(m.queue, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 2000, 77, 0, NULL, NULL, &error));
    fill_random(mapped, 77);
    memcpy(model + 2000, mapped, 77);
    OK(clEnqueueUnmapMemObject(m.queue, buffer, mapped, 0, NULL, NULL));
    read_all(buffer, got, count);
    CHECK(memcmp(got, model, count) == 0);

    GIVES(CL_INVALID_VALUE, clEnqueueUnmapMemObject(m.queue, buffer, got, 0, NULL, NULL));
    REFUSES(CL_INVALID_VALUE,
            clEnqueueMapBuffer(m.queue, buffer, CL_TRUE, CL_MAP_READ, count - 8, 16, 0, NULL, NULL, &error));
    REFUSES(CL_INVALID_VALUE, clEnqueueMapBuffer(m.queue, buffer, CL_TRUE, CL_MAP_READ, 0, 0, 0, NULL, NULL, &error));
    REFUSES(CL_INVALID_MEM_OBJECT,
            clEnqueueMapBuffer(m.queue, NULL, CL_TRUE, CL_MAP_READ, 0, 16, 0, NULL, NULL, &error));
    REFUSES(CL_INVALID_EVENT_WAIT_LIST,
            clEnqueueMapBuffer(m.queue, buffer, CL_TRUE, CL_MAP_READ, 0, 16, 1, NULL, NULL, &error));
    CHECK(is_unmapped(buffer));
    OK(clReleaseMemObject(buffer));
    free(given);
    free(model);
    free(got);
  }
  cl_mem hidden = buffer_of(m, CL_MEM_HOST_NO_ACCESS, count, NULL);
  REFUSES(CL_INVALID_OPERATION,
          clEnqueueMapBuffer(m.queue, hidden, CL_TRUE, CL_MAP_READ, 0, 16, 0, NULL, NULL, &error));
  OK(clReleaseMemObject(hidden));
  group("maps");
}

static void migration(void) {
  unsigned char* model = random_bytes(count);
  unsigned char* got = malloc(count);
  cl_mem both[2] = {buffer_of(m, CL_MEM_COPY_HOST_PTR, count, model), buffer_of(m, CL_MEM_COPY_HOST_PTR, count, model)};
  const cl_mem_migration_flags flags[] = {0, CL_MIGRATE_MEM_OBJECT_HOST};
  for (int i = 0; i < 2; ++i) {
    cl_event event = NULL;
    OK(clEnqueueMigrateMemObjects(m.queue, 2, both, flags[i], 0, NULL, &event));
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
    for (int b = 0; b < 2; ++b) {
      read_all(both[b], got, count);
      CHECK(memcmp(got, model, count) == 0);
    }
  }
  GIVES(CL_INVALID_VALUE, clEnqueueMigrateMemObjects(m.queue, 0, both, 0, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueMigrateMemObjects(m.queue, 1, NULL, 0, 0, NULL, NULL));
  GIVES(CL_INVALID_VALUE, clEnqueueMigrateMemObjects(m.queue, 1, both, 1 << 20, 0, NULL, NULL));
  cl_mem broken[2] = {both[0], NULL};
  GIVES(CL_INVALID_MEM_OBJECT, clEnqueueMigrateMemObjects(m.queue, 2, broken, 0, 0, NULL, NULL));
  OK(clReleaseMemObject(both[0]));
  OK(clReleaseMemObject(both[1]));
  free(model);
  free(got);
  group("migration");
}

static _Atomic int called;
static _Atomic int order[8];
static cl_mem mourned;

static void CL_CALLBACK destroyed(cl_mem memory, void* which) {
  CHECK(memory == mourned);
  order[called] = *(int*)which;
  ++called;
}

static void mourning(void) {
  static int numbers[3] = {1, 2, 3};
  unsigned char* host = random_bytes(count);
  for (int round = 0; round < 20; ++round) {
    called = 0;
    mourned = buffer_of(m, round % 2 ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR, count, host);
    for (int i = 0; i < 3; ++i) OK(clSetMemObjectDestructorCallback(mourned, destroyed, &numbers[i]));
    GIVES(CL_INVALID_VALUE, clSetMemObjectDestructorCallback(mourned, NULL, NULL));
    OK(clRetainMemObject(mourned));
    const cl_uchar zero = 0;
    OK(clEnqueueFillBuffer(m.queue, mourned, &zero, 1, 0, count, 0, NULL, NULL));
    OK(clFinish(m.queue));
    OK(clReleaseMemObject(mourned));
    CHECK(called == 0);
    OK(clReleaseMemObject(mourned));
    CHECK(soon(&called, 3));
    CHECK(order[0] == 3 && order[1] == 2 && order[2] == 1);
  }
  pause_ms(20);
  CHECK(called == 3);  // once each
  GIVES(CL_INVALID_MEM_OBJECT, clSetMemObjectDestructorCallback(NULL, destroyed, &numbers[0]));
  free(host);
  group("destructor callbacks");
}

static void queries(void) {
  cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE, 64, NULL);
  size_t size = 0;
  cl_uchar small = 0;
  OK(clGetMemObjectInfo(buffer, CL_MEM_SIZE, 0, NULL, &size));
  CHECK(size == sizeof(size_t));
  GIVES(CL_INVALID_VALUE, clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof small, &small, NULL));
  GIVES(CL_INVALID_VALUE, clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof small, &small, NULL));
  GIVES(CL_INVALID_VALUE, clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof small, &small, NULL));
  GIVES(CL_INVALID_VALUE, clGetMemObjectInfo(buffer, CL_CONTEXT_DEVICES, 0, NULL, &size));
  GIVES(CL_INVALID_MEM_OBJECT, clGetMemObjectInfo(NULL, CL_MEM_SIZE, 0, NULL, &size));
  cl_bool shared = CL_TRUE;
  OK(clGetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, sizeof shared, &shared, NULL));
  CHECK(shared == CL_FALSE);
  OK(clReleaseMemObject(buffer));
  group("queries");
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  m = open_machine(0);
  cl_program program = build(m, source, NULL);
  creation(program);
  transfers();
  rectangles();
  parts(program);
  maps();
  migration();
  mourning();
  queries();
  OK(clReleaseProgram(program));
  close_machine(m);
  return result();
}

// Random programs: buffers and sub-buffers, written, read, mapped, filled, copied and computed on by several threads,
// on queues in order and out of order, ordered by events. What the device should hold is computed here at the same
// time.
//   soak [SEED [ROUNDS [THREADS [WITHOUT]]]]
// prints a sum of what it saw, which depends on these alone. WITHOUT is letters of what a driver cannot do: c
// callbacks, d dropping buffers in use, f fill and copy, m map, o out of order, q markers, v views. With SOAK_TELL set
// it says what it does, too.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "program.h"

enum { most_threads = 8, most_queues = 3, most_buffers = 6, most_views = 3, most_events = 64, group_items = 64 };

static struct Machine m;
static cl_program program;
static size_t alignment;
static bool tells;
static const char* without = "";

#define TELL(...) \
  if (tells) fprintf(stderr, __VA_ARGS__)

static const char* const source =
    "kernel void blend(global const uint* a, global const uint* b, global uint* to, uint k) {\n"
    "  size_t i = get_global_id(0); to[i] = a[i] * k + (b[i] ^ (uint)i); }\n"
    "kernel void twist(global uint* x, uint k) { size_t i = get_global_id(0); x[i] = x[i] * 5 + k + (uint)i; }\n"
    "kernel void blur(global const uint* a, global uint* to, uint n) {\n"
    "  uint i = (uint)get_global_id(0); if (i >= n) return;\n"
    "  to[i] = a[i] + (i > 0 ? a[i - 1] : 7u) * 3 + (i + 1 < n ? a[i + 1] : 9u); }\n"
    "kernel void permute(global const uint* a, global uint* to, uint odd, uint n) {\n"
    "  uint i = (uint)get_global_id(0); if (i < n) to[(i * odd) & (n - 1)] = a[i]; }\n"
    "kernel void count(global const uint* a, global uint* to, uint n) {\n"
    "  uint i = (uint)get_global_id(0); if (i < n) atomic_add(&to[a[i] & 63], 1u); }\n"
    "kernel void sums(global const uint* a, global uint* to, local uint* t) {\n"
    "  uint l = (uint)get_local_id(0); t[l] = a[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (uint s = get_local_size(0) / 2; s > 0; s /= 2) {\n"
    "    if (l < s) t[l] += t[l + s]; barrier(CLK_LOCAL_MEM_FENCE); }\n"
    "  if (l == 0) to[get_group_id(0)] = t[0]; }\n"
    "kernel void turn(global const uint* a, global uint* to, uint width, uint height) {\n"
    "  uint x = (uint)get_global_id(0), y = (uint)get_global_id(1);\n"
    "  if (x < width && y < height) to[x * height + y] = a[y * width + x]; }\n";
static const char* const kernel_names[] = {"blend", "twist", "blur", "permute", "count", "sums", "turn"};
enum { blend, twist, blur, permute, count_up, sums, turn, kernels };

// A buffer, what it should hold, and what a command on it must come after.
struct Memory {
  cl_mem buffer;
  cl_uint* model;
  size_t words;
  struct {
    cl_mem buffer;
    size_t first, words;
  } views[most_views];
  int view_count;
  cl_event last_write;
  int written_by;  // queue
  cl_event reads[most_events];
  int read_by[most_events], read_count;
};

// A read that was not waited for.
struct Pending {
  cl_uint *got, *expected;
  size_t words;
  struct Pending* next;
  int queue;
  char what[64];
};

struct Worker {
  pthread_t thread;
  uint64_t random, sum;
  int rounds;
  cl_command_queue queues[most_queues];
  bool in_order[most_queues];
  int queue_count;
  cl_kernel kernels[kernels];
  struct Memory memories[most_buffers];
  int memory_count;
  struct Pending* pending;
  void* sources[4 * most_events];  // of writes that were not waited for
  int source_count;
  _Atomic int called;
  int expected_calls;
};

static uint32_t below(struct Worker* w, uint32_t bound) { return (uint32_t)(next_of(&w->random) >> 16) % bound; }
static bool chance(struct Worker* w, uint32_t of) { return below(w, of) == 0; }

static bool may(char what) { return strchr(without, what) == NULL; }

static void* room(size_t bytes) {
  void* made = malloc(bytes);
  if (!made) need(CL_OUT_OF_HOST_MEMORY, "malloc");
  return made;
}

// The same words, or which of them are not.
static bool same(const char* what, const cl_uint* got, const cl_uint* expected, size_t words) {
  if (memcmp(got, expected, words * sizeof(cl_uint)) == 0) return true;
  size_t first = words, last = 0, wrong = 0;
  for (size_t i = 0; i < words; ++i) {
    if (got[i] == expected[i]) continue;
    first = i < first ? i : first, last = i, ++wrong;
  }
  fprintf(stderr, "%s: %zu of %zu words are wrong, from %zu (%08x, expected %08x) to %zu\n", what, wrong, words, first,
          got[first], expected[first], last);
  return false;
}

static void take_in(struct Worker* w, const cl_uint* words, size_t n) {
  for (size_t i = 0; i < n; ++i) w->sum = (w->sum ^ words[i]) * 0x100000001B3u;
}

// ---- Order ----------------------------------------------------------------------------------------------------------

struct Waits {
  cl_event events[4 * most_events];
  cl_uint count;
  int queue;
};

static void add_wait(struct Worker* w, struct Waits* waits, cl_event event, int from_queue) {
  if (!event) return;
  // The order of a queue does it, too.
  if (from_queue == waits->queue && w->in_order[from_queue] && chance(w, 2)) return;
  if (from_queue != waits->queue) OK(clFlush(w->queues[from_queue]));
  waits->events[waits->count++] = event;
}

static void before(struct Worker* w, struct Waits* waits, struct Memory* memory, bool writes) {
  add_wait(w, waits, memory->last_write, memory->written_by);
  for (int i = 0; writes && i < memory->read_count; ++i) add_wait(w, waits, memory->reads[i], memory->read_by[i]);
}

static const cl_event* list(const struct Waits* waits) { return waits->count ? waits->events : NULL; }

static void forget_reads(struct Memory* memory) {
  for (int i = 0; i < memory->read_count; ++i) OK(clReleaseEvent(memory->reads[i]));
  memory->read_count = 0;
}

static void after(struct Memory* memory, bool writes, int queue, cl_event event) {
  OK(clRetainEvent(event));
  if (writes) {
    forget_reads(memory);
    if (memory->last_write) OK(clReleaseEvent(memory->last_write));
    memory->last_write = event, memory->written_by = queue;
    return;
  }
  if (memory->read_count == most_events) {
    OK(clWaitForEvents(most_events, memory->reads));
    forget_reads(memory);
  }
  memory->reads[memory->read_count] = event, memory->read_by[memory->read_count++] = queue;
}

static void CL_CALLBACK called_back(cl_event event, cl_int status, void* data) {
  struct Worker* worker = data;
  CHECK(status == CL_COMPLETE);
  OK(clReleaseEvent(event));
  ++worker->called;
}

// Reads that are over: those of one queue, or all.
static void look(struct Worker* w, int queue) {
  for (struct Pending** at = &w->pending; *at;) {
    struct Pending* one = *at;
    if (queue >= 0 && one->queue != queue) {
      at = &one->next;
      continue;
    }
    CHECK(same(one->what, one->got, one->expected, one->words));
    *at = one->next;
    free(one->got), free(one->expected), free(one);
  }
}

// What programs do with an event besides waiting for it on the device.
static void end_with(struct Worker* w, cl_event event, int queue) {
  if (chance(w, 12)) {
    OK(clFlush(w->queues[queue]));
    OK(clWaitForEvents(1, &event));
    CHECK(status_of(event) == CL_COMPLETE);
    if (w->in_order[queue]) look(w, queue);  // what came before it is over, too
  } else if (chance(w, 12) && may('c')) {
    OK(clRetainEvent(event));
    ++w->expected_calls;
    OK(clSetEventCallback(event, CL_COMPLETE, called_back, w));
  } else if (chance(w, 12)) {
    CHECK(status_of(event) >= CL_COMPLETE);
  }
  OK(clReleaseEvent(event));
}

// ---- Ends -----------------------------------------------------------------------------------------------------------

static void finish(struct Worker* w) {
  TELL("finish\n");
  for (int q = 0; q < w->queue_count; ++q) OK(clFlush(w->queues[q]));
  for (int q = 0; q < w->queue_count; ++q) OK(clFinish(w->queues[q]));
  look(w, -1);
  for (int i = 0; i < w->source_count; ++i) free(w->sources[i]);
  w->source_count = 0;
}

static void drop(struct Memory* memory) {
  forget_reads(memory);
  if (memory->last_write) OK(clReleaseEvent(memory->last_write));
  for (int v = 0; v < memory->view_count; ++v) OK(clReleaseMemObject(memory->views[v].buffer));
  OK(clReleaseMemObject(memory->buffer));
  free(memory->model);
  memset(memory, 0, sizeof *memory);
}

// ---- Commands -------------------------------------------------------------------------------------------------------

static void make(struct Worker* w, struct Memory* memory) {
  static const uint32_t logs[] = {8, 10, 12, 14, 16, 18, 19, 20, 21, 22};  // words: 1 KiB to 16 MiB
  memory->words = (size_t)1 << logs[below(w, sizeof logs / sizeof logs[0])];
  const size_t bytes = memory->words * sizeof(cl_uint);
  memory->model = room(bytes);
  for (size_t i = 0; i < memory->words; ++i) memory->model[i] = (cl_uint)(next_of(&w->random) >> 20);
  cl_mem_flags flags = 0;
  void* host = NULL;
  switch (below(w, 4)) {
    case 0:
      flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, host = memory->model;
      break;
    case 1:
      flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
      break;
    default:
      break;
  }
  memory->buffer = buffer_of(m, flags, bytes, host);
  TELL("memory %d: %zu words%s\n", (int)(memory - w->memories), memory->words, host ? ", copied" : "");
  if (!host) {
    cl_event event = NULL;
    const int q = (int)below(w, (uint32_t)w->queue_count);
    void* copy = room(bytes);
    memcpy(copy, memory->model, bytes);
    OK(clEnqueueWriteBuffer(w->queues[q], memory->buffer, CL_FALSE, 0, bytes, copy, 0, NULL, &event));
    w->sources[w->source_count++] = copy;
    after(memory, true, q, event);
    OK(clReleaseEvent(event));
  }
  while (memory->view_count < most_views && chance(w, 2) && may('v')) {
    const size_t unit = alignment / sizeof(cl_uint), units = memory->words / unit;
    if (units < 4) break;
    const size_t first = below(w, (uint32_t)(units - 1)) * unit;
    const cl_buffer_region region = {first * sizeof(cl_uint),
                                     (unit + below(w, (uint32_t)(memory->words - first - unit + 1))) * sizeof(cl_uint)};
    MAKE(memory->views[memory->view_count].buffer,
         clCreateSubBuffer(memory->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
    memory->views[memory->view_count].first = first;
    memory->views[memory->view_count++].words = region.size / sizeof(cl_uint);
  }
}

static int name(struct Worker* w, const struct Memory* memory) { return (int)(memory - w->memories); }

// Some part of a memory as a program names it: by itself or by a view.
struct Part {
  struct Memory* memory;
  cl_mem buffer;
  cl_uint* model;
  size_t words;
};

static struct Part any(struct Worker* w, const struct Memory* but_not) {
  struct Memory* memory = &w->memories[below(w, (uint32_t)w->memory_count)];
  while (memory == but_not) memory = &w->memories[below(w, (uint32_t)w->memory_count)];
  if (memory->view_count > 0 && chance(w, 3)) {
    const int v = (int)below(w, (uint32_t)memory->view_count);
    return (struct Part){memory, memory->views[v].buffer, memory->model + memory->views[v].first,
                         memory->views[v].words};
  }
  return (struct Part){memory, memory->buffer, memory->model, memory->words};
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t power_below(size_t n) {
  size_t out = 1;
  while (2 * out <= n) out *= 2;
  return out;
}

// Begin and length of a random range, mostly all of it.
static size_t range(struct Worker* w, size_t words, size_t* first) {
  *first = 0;
  if (chance(w, 2)) return words;
  *first = below(w, (uint32_t)words);
  return 1 + below(w, (uint32_t)(words - *first));
}

static void compute(struct Worker* w) {
  const int which = (int)below(w, kernels);
  cl_kernel kernel = w->kernels[which];
  const int q = (int)below(w, (uint32_t)w->queue_count);
  struct Waits waits = {.count = 0, .queue = q};
  const struct Part to = any(w, NULL);
  const struct Part a = any(w, to.memory), b = any(w, to.memory);
  const cl_uint k = below(w, 1u << 20);
  size_t global[2] = {0, 1}, offset[2] = {0, 0}, local[2] = {group_items, 1};
  cl_uint dimensions = 1, n = 0;
  bool given = chance(w, 2);  // the size of groups
  int at = 0;
  const bool reads_b = which == blend, reads_a = which != twist;
#define ARGUMENT(x) OK(clSetKernelArg(kernel, (cl_uint)at++, sizeof(x), &(x)))
  if (reads_a) ARGUMENT(a.buffer);
  if (reads_b) ARGUMENT(b.buffer);
  ARGUMENT(to.buffer);
  switch (which) {
    case blend:
    case twist: {
      size_t words = to.words;
      if (which == blend) words = least(words, least(a.words, b.words));
      global[0] = words - words % group_items;
      if (global[0] == 0) global[0] = words, given = false;
      if (chance(w, 3)) {
        offset[0] = below(w, (uint32_t)(global[0] / 2 + 1));
        global[0] = (global[0] - offset[0]) / group_items * group_items;
        if (global[0] == 0) global[0] = 1, given = false;
      }
      ARGUMENT(k);
      for (size_t i = offset[0]; i < offset[0] + global[0]; ++i)
        to.model[i] = which == blend ? a.model[i] * k + (b.model[i] ^ (cl_uint)i) : to.model[i] * 5 + k + (cl_uint)i;
      break;
    }
    case blur:
      n = (cl_uint)least(a.words, to.words);
      global[0] = (n + group_items - 1) / group_items * group_items;
      ARGUMENT(n);
      for (cl_uint i = 0; i < n; ++i)
        to.model[i] = a.model[i] + (i > 0 ? a.model[i - 1] : 7u) * 3 + (i + 1 < n ? a.model[i + 1] : 9u);
      break;
    case permute: {
      const cl_uint odd = 2 * below(w, 1u << 16) + 1;
      n = (cl_uint)power_below(least(a.words, to.words));
      global[0] = (n + group_items - 1) / group_items * group_items;
      ARGUMENT(odd);
      ARGUMENT(n);
      for (cl_uint i = 0; i < n; ++i) to.model[(i * odd) & (n - 1)] = a.model[i];
      break;
    }
    case count_up:
      n = to.words < 64 ? 0 : (cl_uint)a.words;
      global[0] = ((size_t)n + group_items) / group_items * group_items;
      ARGUMENT(n);
      for (cl_uint i = 0; i < n; ++i) ++to.model[a.model[i] & 63];
      break;
    case sums: {
      const size_t groups = least(a.words / group_items, to.words);
      if (groups == 0) return;
      global[0] = groups * group_items, given = true;
      OK(clSetKernelArg(kernel, (cl_uint)at++, group_items * sizeof(cl_uint), NULL));
      for (size_t g = 0; g < groups; ++g) {
        cl_uint sum = 0;
        for (size_t i = 0; i < group_items; ++i) sum += a.model[g * group_items + i];
        to.model[g] = sum;
      }
      break;
    }
    default: {  // turn
      const size_t all = power_below(least(a.words, to.words));
      cl_uint width = 1;
      while ((size_t)width * width * 4 <= all) width *= 2;
      const cl_uint height = (cl_uint)(all / width);
      dimensions = 2;
      global[0] = (width + 7) / 8 * 8, global[1] = (height + 7) / 8 * 8;
      local[0] = 8, local[1] = 8;
      ARGUMENT(width);
      ARGUMENT(height);
      for (cl_uint y = 0; y < height; ++y) {
        for (cl_uint x = 0; x < width; ++x) to.model[(size_t)x * height + y] = a.model[(size_t)y * width + x];
      }
    }
  }
#undef ARGUMENT
  before(w, &waits, to.memory, true);
  if (reads_a) before(w, &waits, a.memory, false);
  if (reads_b) before(w, &waits, b.memory, false);
  cl_event event = NULL;
  TELL("%s to %d (%zu words)", kernel_names[which], name(w, to.memory), to.words);
  if (reads_a) TELL(" from %d (%zu)", name(w, a.memory), a.words);
  if (reads_b) TELL(" and %d (%zu)", name(w, b.memory), b.words);
  TELL(", %zu x %zu items at %zu%s, queue %d, %u waits\n", global[0], global[1], offset[0], given ? " in groups" : "",
       q, waits.count);
  OK(clEnqueueNDRangeKernel(w->queues[q], kernel, dimensions, offset[0] ? offset : NULL, global, given ? local : NULL,
                            waits.count, list(&waits), &event));
  after(to.memory, true, q, event);
  if (reads_a) after(a.memory, false, q, event);
  if (reads_b) after(b.memory, false, q, event);
  end_with(w, event, q);
}

static void transfer(struct Worker* w, bool in) {
  const int q = (int)below(w, (uint32_t)w->queue_count);
  const struct Part part = any(w, NULL);
  const cl_bool blocking = chance(w, 2);
  size_t first;
  const size_t words = range(w, part.words, &first), bytes = words * sizeof(cl_uint);
  struct Waits waits = {.count = 0, .queue = q};
  before(w, &waits, part.memory, in);
  cl_uint* host = room(bytes);
  cl_event event = NULL;
  TELL("%s %d%s: %zu words at %zu, queue %d, %u waits, %s\n", in ? "write" : "read", name(w, part.memory),
       part.buffer == part.memory->buffer ? "" : " (view)", words, first, q, waits.count, blocking ? "blocking" : "");
  if (in) {
    for (size_t i = 0; i < words; ++i) host[i] = (cl_uint)(next_of(&w->random) >> 20);
    memcpy(part.model + first, host, bytes);
    OK(clEnqueueWriteBuffer(w->queues[q], part.buffer, blocking, first * sizeof(cl_uint), bytes, host, waits.count,
                            list(&waits), &event));
    if (blocking)
      free(host);
    else
      w->sources[w->source_count++] = host;
  } else {
    poison(host, bytes);
    take_in(w, part.model + first, least(words, 256));
    OK(clEnqueueReadBuffer(w->queues[q], part.buffer, blocking, first * sizeof(cl_uint), bytes, host, waits.count,
                           list(&waits), &event));
    if (blocking) {
      CHECK(same("blocking read", host, part.model + first, words));
      free(host);
    } else {
      struct Pending* one = room(sizeof *one);
      *one = (struct Pending){host, room(bytes), words, w->pending, q, ""};
      snprintf(one->what, sizeof one->what, "read of memory %d", name(w, part.memory));
      memcpy(one->expected, part.model + first, bytes);
      w->pending = one;
    }
  }
  if (blocking) {
    CHECK(status_of(event) == CL_COMPLETE);
    if (w->in_order[q]) look(w, q);
  }
  after(part.memory, in, q, event);
  end_with(w, event, q);
}

static void copy_or_fill(struct Worker* w) {
  const int q = (int)below(w, (uint32_t)w->queue_count);
  const struct Part to = any(w, NULL), from = any(w, to.memory);
  struct Waits waits = {.count = 0, .queue = q};
  cl_event event = NULL;
  size_t first;
  if (chance(w, 2)) {
    const size_t words = range(w, least(from.words, to.words), &first);
    before(w, &waits, to.memory, true);
    before(w, &waits, from.memory, false);
    TELL("copy %d to %d: %zu words at %zu, queue %d, %u waits\n", name(w, from.memory), name(w, to.memory), words,
         first, q, waits.count);
    OK(clEnqueueCopyBuffer(w->queues[q], from.buffer, to.buffer, first * sizeof(cl_uint), first * sizeof(cl_uint),
                           words * sizeof(cl_uint), waits.count, list(&waits), &event));
    memcpy(to.model + first, from.model + first, words * sizeof(cl_uint));
    after(from.memory, false, q, event);
  } else {
    const size_t words = range(w, to.words, &first);
    const cl_uint pattern = below(w, 1u << 30);
    before(w, &waits, to.memory, true);
    TELL("fill %d: %zu words at %zu, queue %d, %u waits\n", name(w, to.memory), words, first, q, waits.count);
    OK(clEnqueueFillBuffer(w->queues[q], to.buffer, &pattern, sizeof pattern, first * sizeof(cl_uint),
                           words * sizeof(cl_uint), waits.count, list(&waits), &event));
    for (size_t i = 0; i < words; ++i) to.model[first + i] = pattern;
  }
  after(to.memory, true, q, event);
  end_with(w, event, q);
}

static void map(struct Worker* w) {
  const int q = (int)below(w, (uint32_t)w->queue_count);
  const struct Part part = any(w, NULL);
  const bool writes = chance(w, 2);
  size_t first;
  const size_t words = range(w, part.words, &first), bytes = words * sizeof(cl_uint);
  struct Waits waits = {.count = 0, .queue = q};
  before(w, &waits, part.memory, writes);
  cl_event event = NULL;
  cl_uint* at = NULL;
  TELL("map %d%s: %zu words at %zu, queue %d, %u waits\n", name(w, part.memory), writes ? " to write" : "", words,
       first, q, waits.count);
  MAKE(at, clEnqueueMapBuffer(w->queues[q], part.buffer, CL_TRUE, writes ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ,
                              first * sizeof(cl_uint), bytes, waits.count, list(&waits), NULL, &error));
  if (!at) return;
  CHECK(same("mapped", at, part.model + first, words));
  if (writes) {
    for (size_t i = 0; i < words; ++i) at[i] = part.model[first + i] = part.model[first + i] * 3 + 1;
  }
  OK(clEnqueueUnmapMemObject(w->queues[q], part.buffer, at, 0, NULL, &event));
  after(part.memory, writes, q, event);
  end_with(w, event, q);
}

static void markers(struct Worker* w) {
  const int q = (int)below(w, (uint32_t)w->queue_count);
  const struct Part part = any(w, NULL);
  struct Waits waits = {.count = 0, .queue = q};
  before(w, &waits, part.memory, true);
  cl_event event = NULL;
  if (chance(w, 2))
    OK(clEnqueueMarkerWithWaitList(w->queues[q], waits.count, list(&waits), &event));
  else
    OK(clEnqueueBarrierWithWaitList(w->queues[q], waits.count, list(&waits), &event));
  end_with(w, event, q);
}

// ---- Programs -------------------------------------------------------------------------------------------------------

static void one_round(struct Worker* w) {
  TELL("-- round\n");
  w->queue_count = 1 + (int)below(w, most_queues);
  for (int q = 0; q < w->queue_count; ++q) {
    w->in_order[q] = !chance(w, 3) || !may('o');
    TELL("queue %d%s\n", q, w->in_order[q] ? "" : " out of order");
    MAKE(w->queues[q], clCreateCommandQueue(m.context, m.device,
                                            w->in_order[q] ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error));
  }
  w->memory_count = 2 + (int)below(w, most_buffers - 1);
  for (int i = 0; i < w->memory_count; ++i) make(w, &w->memories[i]);
  const int commands = 10 + (int)below(w, 90);
  for (int c = 0; c < commands; ++c) {
    const uint32_t what = below(w, 100);
    if (what < 55)
      compute(w);
    else if (what < 67)
      transfer(w, true);
    else if (what < 79)
      transfer(w, false);
    else if (what < 87 && may('f'))
      copy_or_fill(w);
    else if (what < 92 && may('m'))
      map(w);
    else if (what < 95 && may('q'))
      markers(w);
    else if (what < 97)
      finish(w);
    else {
      struct Memory* memory = &w->memories[below(w, (uint32_t)w->memory_count)];
      if (chance(w, 2) || !may('d')) finish(w);  // else it goes with commands still to come
      drop(memory);
      make(w, memory);
    }
  }
  finish(w);
  for (int i = 0; i < w->memory_count; ++i) {
    struct Memory* memory = &w->memories[i];
    const size_t bytes = memory->words * sizeof(cl_uint);
    cl_uint* got = room(bytes);
    poison(got, bytes);
    OK(clEnqueueReadBuffer(w->queues[0], memory->buffer, CL_TRUE, 0, bytes, got, 0, NULL, NULL));
    CHECK(same("at the end", got, memory->model, memory->words));
    take_in(w, got, memory->words);
    free(got);
    drop(memory);
  }
  for (int q = 0; q < w->queue_count; ++q) OK(clReleaseCommandQueue(w->queues[q]));
}

static void* work(void* data) {
  struct Worker* w = data;
  for (int k = 0; k < kernels; ++k) w->kernels[k] = kernel_of(program, kernel_names[k]);
  for (int r = 0; r < w->rounds && failures == 0; ++r) one_round(w);
  CHECK(soon(&w->called, w->expected_calls));
  for (int k = 0; k < kernels; ++k) OK(clReleaseKernel(w->kernels[k]));
  return NULL;
}

// Of this process, in MiB.
static long resident(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  if (file) fclose(file);
  return pages * 4 / 1024;
}

int main(int argc, char** argv) {
  tells = getenv("SOAK_TELL") != NULL;
  if (tells) setvbuf(stderr, NULL, _IOFBF, 1 << 20);
  seed_from(argc > 1 ? argv[1] : NULL);
  const int rounds = argc > 2 ? atoi(argv[2]) : 10;
  const int threads = argc > 3 ? atoi(argv[3]) : 2;
  if (argc > 4) without = argv[4];
  if (rounds < 1 || threads < 1 || threads > most_threads) {
    fprintf(stderr, "soak [SEED [ROUNDS [THREADS [WITHOUT]]]]: at most %d threads\n", most_threads);
    return 2;
  }
  m = open_machine(0);
  program = build(m, source, NULL);
  cl_uint bits = 0;
  OK(clGetDeviceInfo(m.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL));
  alignment = bits / 8 < sizeof(cl_uint) ? sizeof(cl_uint) : bits / 8;
  static struct Worker workers[most_threads];
  // Two halves: what is kept from command to command is all there by the end of the first.
  long after_half = 0;
  for (int half = 0; half < 2; ++half) {
    for (int t = 0; t < threads; ++t) {
      if (half == 0) workers[t].random = (uint64_t)next_random() << 32 | next_random() | 1;
      workers[t].rounds = half == 0 ? rounds - rounds / 2 : rounds / 2;
      if (pthread_create(&workers[t].thread, NULL, work, &workers[t])) need(CL_OUT_OF_HOST_MEMORY, "pthread_create");
    }
    for (int t = 0; t < threads; ++t) pthread_join(workers[t].thread, NULL);
    if (half == 0) after_half = resident();
  }
  uint64_t sum = 0;
  for (int t = 0; t < threads; ++t) sum = sum * 31 + workers[t].sum;
  printf("sum %016llx\n", (unsigned long long)sum);
  fprintf(stderr, "resident: %ld MiB after half of it, %ld MiB at its end\n", after_half, resident());
  if (rounds >= 200) CHECK(resident() < after_half + after_half / 2 + 256);
  OK(clReleaseProgram(program));
  close_machine(m);
  return result();
}

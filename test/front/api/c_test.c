/* The C interface: compiled by a C compiler, linked with the shared library alone. */
#include <heddle/heddle.h>
#include <stdio.h>
#include <string.h>

#define CHECK(what)                                                        \
  if (!(what)) {                                                           \
    fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, heddle_error()); \
    return 1;                                                              \
  }

/* The elements backwards, and how many. */
static int backwards(void* user, const int64_t points[3], size_t count, const heddle_input* inputs,
                     heddle_prepared* out) {
  static float turned[4096];
  if (count != 3 || inputs[1].bytes || inputs[0].size != sizeof turned || points[0] != 4096) return 7;
  const float* x = inputs[0].bytes;
  for (int i = 0; i < 4096; ++i) turned[i] = x[4095 - i];
  const int n = 4096;
  ++*(int*)user;
  return heddle_prepared_array(out, turned, sizeof turned) || heddle_prepared_given(out, 1) ||
         heddle_prepared_given(out, 2) || heddle_prepared_value(out, &n, sizeof n) ||
         heddle_prepared_value(out, NULL, 256);
}

int main(void) {
  enum { n = 4096 };
  static float xs[n], ys[n];
  for (int i = 0; i < n; ++i) xs[i] = (float)i, ys[i] = 1;
  const char* source =
      "kernel void saxpy(global const float* x, global float* y, float a) {\n"
      "  size_t i = get_global_id(0);\n  y[i] = a * x[i] + y[i];\n}\n"
      "kernel void turn(global int* out, local int* scratch) {\n"
      "  scratch[get_local_id(0)] = get_global_id(0);\n  barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  out[get_global_id(0)] = scratch[get_local_size(0) - 1 - get_local_id(0)];\n}\n";

  heddle_runtime* rt = heddle_open(NULL);
  CHECK(rt);
  heddle_buffer *x = heddle_buffer_make(rt, sizeof xs), *y = heddle_buffer_on(rt, ys, sizeof ys);
  CHECK(x && y && heddle_buffer_size(x) == sizeof xs);
  CHECK(heddle_buffer_write(x, xs, sizeof xs) == 0);
  heddle_kernel *saxpy = heddle_kernel_make(rt, "saxpy", source, ""),
                *turn = heddle_kernel_make(rt, "turn", source, NULL);
  CHECK(saxpy && turn);
  const float a = 2;
  const heddle_argument arguments[] = {{.buffer = x}, {.buffer = y}, {.value = &a, .size = sizeof a}};
  const heddle_grid grid = {.dimensions = 1, .items = {n}, .group = {64}, .tasks = 4};
  heddle_launch* launch = heddle_launch_begin(rt, saxpy, &grid, 3, arguments);
  CHECK(launch);
  CHECK(heddle_launch_wait(launch) == 0 && heddle_launch_done(launch) == 1);
  heddle_launch_free(launch);
  float* result = heddle_buffer_host(y);
  CHECK(result);
  for (int i = 0; i < n; ++i) CHECK(result[i] == 2 * xs[i] + 1);

  heddle_buffer* out = heddle_buffer_make(rt, n * sizeof(int));
  const heddle_argument of_turn[] = {{.buffer = out}, {.size = 64 * sizeof(int)}};
  launch = heddle_launch_begin(rt, turn, &grid, 2, of_turn);
  CHECK(launch && heddle_launch_wait(launch) == 0);
  heddle_launch_free(launch);
  static int places[n];
  CHECK(heddle_buffer_read(out, places, sizeof places) == 0);
  for (int i = 0; i < n; ++i) CHECK(places[i] == i / 64 * 64 + 63 - i % 64);

  {
    /* Variants of a kernel that works in place, compared in every way. */
    const char* often =
        "kernel void add(global float* y, int n) {\n  for (int k = 0; k < EACH; ++k) {\n"
        "    const int i = EACH * get_global_id(0) + k;\n    if (i < n) y[i] += i;\n  }\n}\n";
    heddle_kernel* add = heddle_kernel_open(rt, "add");
    const heddle_covers one = {{64}, {64}, 1, "-DEACH=1", NULL}, two = {{128}, {64}, 1, "-DEACH=2", NULL};
    CHECK(add && heddle_kernel_add(add, "one", often, &one) == 0 && heddle_kernel_add(add, "two", often, &two) == 0);
    const int count = n;
    const heddle_argument of_add[] = {{.buffer = x}, {.value = &count, .size = sizeof count}};
    heddle_grid points = {.dimensions = 1, .items = {n}};
    for (points.how = 0; points.how < 4; ++points.how) {
      launch = heddle_launch_begin(rt, add, &points, 2, of_add);
      CHECK(launch && heddle_launch_wait(launch) == 0);
      heddle_launch_free(launch);
    }
    CHECK(heddle_buffer_read(x, xs, sizeof xs) == 0);
    for (int i = 0; i < n; ++i) CHECK(xs[i] == 5 * (float)i);
    CHECK(!heddle_launch_begin(rt, add, &points, 2, of_add) && strstr(heddle_error(), "0 to 3 expected"));
    points.how = 3, points.meanwhile = 1;
    CHECK(!heddle_launch_begin(rt, add, &points, 2, of_add) && strstr(heddle_error(), "private outputs"));
    heddle_kernel_free(add);
  }
  {
    /* A variant that makes its own inputs. */
    heddle_kernel* scale = heddle_kernel_open(rt, "scale");
    const char* backward =
        "kernel void backward(global const float* x, global float* y, float a, int n, local float* scratch) {\n"
        "  scratch[get_local_id(0)] = a * x[get_global_id(0)];\n"
        "  y[n - 1 - get_global_id(0)] = scratch[get_local_id(0)];\n}\n";
    int prepared = 0;
    const heddle_covers plain = {.points = {64}, .group = {64}}, own = {.points = {64},
                                                                        .group = {64},
                                                                        .entry = "backward",
                                                                        .prepare = backwards,
                                                                        .user = &prepared};
    CHECK(heddle_kernel_add(scale, "plain",
                            "kernel void scale(global const float* x, global float* y, float a) {\n"
                            "  y[get_global_id(0)] = a * x[get_global_id(0)];\n}\n",
                            &plain) == 0);
    CHECK(heddle_kernel_add(scale, "own", backward, &own) == 0);
    const heddle_grid points = {.dimensions = 1, .items = {n}, .profile = -1, .initial = "own"};
    for (int i = 0; i < 2; ++i) {
      launch = heddle_launch_begin(rt, scale, &points, 3, arguments);
      CHECK(launch && heddle_launch_wait(launch) == 0);
      heddle_launch_free(launch);
    }
    CHECK(prepared == 1);
    result = heddle_buffer_host(y);
    for (int i = 0; i < n; ++i) CHECK(result[i] == 2 * xs[i]);
    heddle_kernel_free(scale);
  }

  /* Mistakes are told, not died of. */
  CHECK(!heddle_launch_begin(rt, saxpy, &grid, 2, arguments) &&
        strstr(heddle_error(), "2 arguments given, 3 expected"));
  CHECK(!heddle_kernel_make(rt, "broken", "kernel void broken() { nonsense; }", "") &&
        strstr(heddle_error(), "nonsense"));
  CHECK(!heddle_buffer_make(NULL, 4) && strstr(heddle_error(), "NULL"));
  CHECK(heddle_buffer_read(out, places, 3) != 0);
  CHECK(!heddle_open("no such device"));
  heddle_buffer_free(x), heddle_buffer_free(y), heddle_buffer_free(out);
  heddle_kernel_free(saxpy), heddle_kernel_free(turn);
  heddle_close(rt);
  heddle_close(NULL);
  printf("right\n");
  return 0;
}

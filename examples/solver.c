// Conjugate gradients for the Poisson equation on a square: an ordinary OpenCL 1.2 program.
#define PROGRAM "solver"
#include "opencl.h"

enum { group = 256, most_groups = 256 };

static const char* const source =
    "kernel void apply(global const float* p, global float* q, int size) {\n"
    "  int x = get_global_id(0), y = get_global_id(1), at = y * size + x;\n"
    "  float sum = 4.0f * p[at];\n"
    "  if (x > 0) sum -= p[at - 1];\n"
    "  if (x < size - 1) sum -= p[at + 1];\n"
    "  if (y > 0) sum -= p[at - size];\n"
    "  if (y < size - 1) sum -= p[at + size];\n"
    "  q[at] = sum;\n"
    "}\n"
    "kernel void dot_parts(global const float* a, global const float* b, global float* parts, int points) {\n"
    "  local float sums[256];\n"
    "  int me = get_local_id(0);\n"
    "  float sum = 0.0f;\n"
    "  for (int i = get_global_id(0); i < points; i += get_global_size(0)) sum += a[i] * b[i];\n"
    "  sums[me] = sum;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int width = 128; width > 0; width /= 2) {\n"
    "    if (me < width) sums[me] += sums[me + width];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  if (me == 0) parts[get_group_id(0)] = sums[0];\n"
    "}\n"
    "kernel void axpy(float a, global const float* x, global float* y) {\n"
    "  int i = get_global_id(0);\n"
    "  y[i] += a * x[i];\n"
    "}\n"
    "kernel void xpay(global const float* x, float a, global float* y) {\n"
    "  int i = get_global_id(0);\n"
    "  y[i] = x[i] + a * y[i];\n"
    "}\n";

// The device sums up groups of products, the host the groups' sums.
static double dot(cl_command_queue queue, cl_kernel kernel, cl_mem a, cl_mem b, cl_mem parts, int groups) {
  const size_t global = (size_t)groups * group, local = group;
  set(kernel, 0, sizeof(cl_mem), &a);
  set(kernel, 1, sizeof(cl_mem), &b);
  launch(queue, kernel, 1, &global, &local);
  float sums[most_groups];
  read_from(queue, parts, CL_TRUE, sizeof(float) * (size_t)groups, sums);
  double sum = 0.0;
  for (int i = 0; i < groups; ++i) sum += sums[i];
  return sum;
}

static void axpy(cl_command_queue queue, cl_kernel kernel, float a, cl_mem x, cl_mem y, size_t points) {
  set(kernel, 0, sizeof a, &a);
  set(kernel, 1, sizeof(cl_mem), &x);
  set(kernel, 2, sizeof(cl_mem), &y);
  launch(queue, kernel, 1, &points, NULL);
}

// The norm of b - A x, computed on the host.
static double residual(const float* b, const float* x, int size) {
  double sum = 0.0;
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      const int at = row * size + column;
      double left = b[at] - 4.0 * x[at];
      if (column > 0) left += x[at - 1];
      if (column < size - 1) left += x[at + 1];
      if (row > 0) left += x[at - size];
      if (row < size - 1) left += x[at + size];
      sum += left * left;
    }
  }
  return sqrt(sum);
}

int main(int argc, char** argv) {
  if (argc > 3 || asks_for_help(argc, argv)) {
    printf(
        "Usage: solver [SIZE [STEPS]]\n"
        "Solves the Poisson equation on SIZE x SIZE points (default 512) by conjugate gradients on the first OpenCL\n"
        "device, in up to STEPS steps (default 200) or until the residual fell by 1e-5, and compares the residual\n"
        "with the one that the host finds.\n");
    return argc > 3 ? 2 : 0;
  }
  const int size = argc > 1 ? number(argv[1], "size", 1, 4096) : 512;
  const int steps = argc > 2 ? number(argv[2], "steps", 1, 100000) : 200;
  const int count = size * size, groups = count < group * most_groups ? (count + group - 1) / group : most_groups;
  const size_t points = (size_t)count, bytes = points * sizeof(float);

  float* right_side = calloc(points, sizeof(float));
  float* solution = calloc(points, sizeof(float));
  if (!right_side || !solution) {
    fprintf(stderr, "solver: not enough memory for %d x %d points\n", size, size);
    return 1;
  }
  uint32_t state = 2463534242u;
  for (size_t i = 0; i < points; ++i) right_side[i] = random_between(&state, -1.0f, 1.0f);

  cl_int code = CL_SUCCESS;
  cl_device_id device = find_device();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  cl_program program = build(context, device, source);
  cl_kernel apply = kernel_of(program, "apply"), dot_parts = kernel_of(program, "dot_parts");
  cl_kernel add = kernel_of(program, "axpy"), turn = kernel_of(program, "xpay");
  cl_mem x = buffer_of(context, CL_MEM_READ_WRITE, bytes, solution);    // 0 at first
  cl_mem r = buffer_of(context, CL_MEM_READ_WRITE, bytes, right_side);  // what is left of it: b - A x
  cl_mem p = buffer_of(context, CL_MEM_READ_WRITE, bytes, solution);    // the direction of the step
  cl_mem q = buffer_of(context, CL_MEM_READ_WRITE, bytes, NULL);        // A p
  cl_mem parts = buffer_of(context, CL_MEM_WRITE_ONLY, sizeof(float) * (size_t)groups, NULL);

  const size_t grid[2] = {(size_t)size, (size_t)size};
  set(apply, 0, sizeof(cl_mem), &p);
  set(apply, 1, sizeof(cl_mem), &q);
  set(apply, 2, sizeof size, &size);
  set(dot_parts, 2, sizeof(cl_mem), &parts);
  set(dot_parts, 3, sizeof count, &count);
  set(turn, 0, sizeof(cl_mem), &r);
  set(turn, 2, sizeof(cl_mem), &p);

  double ms[2] = {0.0, 0.0};  // the first step, the others
  double rr = dot(queue, dot_parts, r, r, parts, groups), before = 0.0;
  const double enough = 1e-10 * rr;  // squares of the norms
  int done = 0;
  while (done < steps && !(rr <= enough)) {
    const double start = now_ms();
    const float beta = done == 0 ? 0.0f : (float)(rr / before);
    set(turn, 1, sizeof beta, &beta);
    launch(queue, turn, 1, &points, NULL);
    launch(queue, apply, 2, grid, NULL);
    const double alpha = rr / dot(queue, dot_parts, p, q, parts, groups);
    axpy(queue, add, (float)alpha, p, x, points);
    axpy(queue, add, (float)-alpha, q, r, points);
    before = rr;
    rr = dot(queue, dot_parts, r, r, parts, groups);
    ms[done > 0] += now_ms() - start;
    ++done;
  }
  read_from(queue, x, CL_TRUE, bytes, solution);

  double norm = 0.0;
  for (size_t i = 0; i < points; ++i) norm += (double)right_side[i] * right_side[i];
  const double believed = sqrt(rr / norm), found = residual(right_side, solution, size) / sqrt(norm);
  // Rounding parts the two, on a large grid the more. The residual of noise falls about twice as low as asked for here.
  const int right = fabs(found - believed) < 1e-3 + 1e-9 * count && found < 1.0 / sqrt(1.0 + done);
  printf("%d x %d points, up to %d steps of conjugate gradients\n", size, size, steps);
  print_times("step", ms, done);
  if (right) printf("the device agrees with the host\n");
  if (!right) printf("WRONG: the residual fell to %.3g of the first one, the host finds %.3g\n", believed, found);

  clReleaseMemObject(parts);
  clReleaseMemObject(q);
  clReleaseMemObject(p);
  clReleaseMemObject(r);
  clReleaseMemObject(x);
  clReleaseKernel(turn);
  clReleaseKernel(add);
  clReleaseKernel(dot_parts);
  clReleaseKernel(apply);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  free(right_side);
  free(solution);
  return right ? 0 : 1;
}

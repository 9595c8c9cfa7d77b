// Heat spreads over a square plate whose edges are held at fixed temperatures: an ordinary OpenCL 1.2 program.
#define PROGRAM "heat"
#include "opencl.h"

static const char* const source =
    "kernel void spread(global const float* now, global float* next, int size, float rate) {\n"
    "  int x = get_global_id(0), y = get_global_id(1), at = y * size + x;\n"
    "  float here = now[at];\n"
    "  if (x > 0 && y > 0 && x < size - 1 && y < size - 1) {\n"
    "    float around = now[at - 1] + now[at + 1] + now[at - size] + now[at + size];\n"
    "    here += rate * (around - 4.0f * here);\n"
    "  }\n"
    "  next[at] = here;\n"
    "}\n"
    "kernel void sum_rows(global const float* plate, global float* sums, int size) {\n"
    "  int y = get_global_id(0);\n"
    "  float sum = 0.0f;\n"
    "  for (int x = 0; x < size; ++x) sum += plate[y * size + x];\n"
    "  sums[y] = sum;\n"
    "}\n";

// One step on the host, for comparison.
static void spread(const float* now, float* next, int size, float rate) {
  memcpy(next, now, sizeof(float) * (size_t)size * (size_t)size);
  for (int y = 1; y < size - 1; ++y) {
    for (int x = 1; x < size - 1; ++x) {
      const int at = y * size + x;
      next[at] += rate * (now[at - 1] + now[at + 1] + now[at - size] + now[at + size] - 4.0f * now[at]);
    }
  }
}

int main(int argc, char** argv) {
  if (argc > 3 || asks_for_help(argc, argv)) {
    printf(
        "Usage: heat [SIZE [STEPS]]\n"
        "Lets heat spread over a plate of SIZE x SIZE points (default 256) for STEPS steps (default 200),\n"
        "on the first OpenCL device, and compares the result with the host's own.\n");
    return argc > 3 ? 2 : 0;
  }
  const int size = argc > 1 ? number(argv[1], "size", 3, 8192) : 256;
  const int steps = argc > 2 ? number(argv[2], "steps", 0, 100000) : 200;
  const float rate = 0.2f;  // stable below 0.25
  const size_t points = (size_t)size * (size_t)size, bytes = points * sizeof(float);

  float* plate = calloc(points, sizeof(float));
  float* next = calloc(points, sizeof(float));
  float* result = calloc(points, sizeof(float));
  float* sums = calloc((size_t)size, sizeof(float));
  if (!plate || !next || !result || !sums) {
    fprintf(stderr, "heat: not enough memory for %d x %d points\n", size, size);
    return 1;
  }
  for (int i = 0; i < size; ++i) {
    plate[i] = 100.0f;                                  // the upper edge is hot
    plate[i * size] = 25.0f + 50.0f * i / (float)size;  // the left one gets warmer downwards
  }

  cl_int code = CL_SUCCESS;
  cl_device_id device = find_device();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  cl_program program = build(context, device, source);
  cl_kernel step = kernel_of(program, "spread"), sum = kernel_of(program, "sum_rows");
  cl_mem plates[2] = {buffer_of(context, CL_MEM_READ_WRITE, bytes, plate),
                      buffer_of(context, CL_MEM_READ_WRITE, bytes, NULL)};
  cl_mem row_sums = buffer_of(context, CL_MEM_WRITE_ONLY, sizeof(float) * (size_t)size, NULL);

  const size_t grid[2] = {(size_t)size, (size_t)size};
  set(step, 2, sizeof size, &size);
  set(step, 3, sizeof rate, &rate);
  for (int i = 0; i < steps; ++i) {
    set(step, 0, sizeof(cl_mem), &plates[i % 2]);
    set(step, 1, sizeof(cl_mem), &plates[1 - i % 2]);
    launch(queue, step, 2, grid, NULL);
  }
  set(sum, 0, sizeof(cl_mem), &plates[steps % 2]);
  set(sum, 1, sizeof(cl_mem), &row_sums);
  set(sum, 2, sizeof size, &size);
  launch(queue, sum, 1, grid, NULL);
  read_from(queue, plates[steps % 2], CL_FALSE, bytes, result);
  read_from(queue, row_sums, CL_TRUE, sizeof(float) * (size_t)size, sums);

  for (int i = 0; i < steps; ++i) {
    spread(plate, next, size, rate);
    float* swap = plate;
    plate = next;
    next = swap;
  }
  double checksum = 0.0, expected = 0.0;
  float difference = 0.0f;
  for (int i = 0; i < size; ++i) checksum += sums[i];
  for (size_t i = 0; i < points; ++i) {
    expected += plate[i];
    const float d = fabsf(plate[i] - result[i]);
    if (!(d <= difference)) difference = d;  // also when it is not a number
  }
  // Rounding differs between devices, and adds up over the steps and over a row.
  const int right = difference < 0.01f && fabs(checksum - expected) <= 1e-4 * fabs(expected) + 0.01;
  printf("%d x %d points, %d steps\n", size, size, steps);
  printf("mean temperature %.3f\n", checksum / (double)points);
  printf("checksum %.6g, largest difference from the host %s: %s\n", checksum,
         difference < 0.01f ? "below 0.01" : "too big", right ? "right" : "WRONG");

  clReleaseMemObject(row_sums);
  clReleaseMemObject(plates[0]);
  clReleaseMemObject(plates[1]);
  clReleaseKernel(sum);
  clReleaseKernel(step);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  free(plate);
  free(next);
  free(result);
  free(sums);
  return right ? 0 : 1;
}

// Heat spreads over a square plate whose edges are held at fixed temperatures: an ordinary OpenCL 1.2 program.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "heat: %s failed with code %d\n", call, code);
  exit(1);
}

static int number(const char* text, const char* what, long least, long most) {
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  if (*text == 0 || *end != 0 || value < least || value > most) {
    fprintf(stderr, "heat: %s '%s': a number from %ld to %ld expected\n", what, text, least, most);
    exit(2);
  }
  return (int)value;
}

// The first device of the first platform that has one.
static cl_device_id find_device(void) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < count && i < 16; ++i) {
    cl_device_id device = NULL;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS) return device;
  }
  fprintf(stderr, "heat: there is no OpenCL device\n");
  exit(1);
}

static cl_program build(cl_context context, cl_device_id device) {
  cl_int code = CL_SUCCESS;
  const char* text = source;
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
  check(code, "clCreateProgramWithSource");
  code = clBuildProgram(program, 1, &device, "", NULL, NULL);
  if (code != CL_SUCCESS) {
    char log[8192] = "";
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "%s\n", log);
  }
  check(code, "clBuildProgram");
  return program;
}

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
  if (argc > 3 || (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))) {
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
  cl_program program = build(context, device);
  cl_kernel step = clCreateKernel(program, "spread", &code);
  check(code, "clCreateKernel(spread)");
  cl_kernel sum = clCreateKernel(program, "sum_rows", &code);
  check(code, "clCreateKernel(sum_rows)");
  cl_mem plates[2], row_sums;
  plates[0] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, plate, &code);
  check(code, "clCreateBuffer");
  plates[1] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  check(code, "clCreateBuffer");
  row_sums = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof(float) * (size_t)size, NULL, &code);
  check(code, "clCreateBuffer");

  const size_t grid[2] = {(size_t)size, (size_t)size};
  check(clSetKernelArg(step, 2, sizeof size, &size), "clSetKernelArg");
  check(clSetKernelArg(step, 3, sizeof rate, &rate), "clSetKernelArg");
  for (int i = 0; i < steps; ++i) {
    check(clSetKernelArg(step, 0, sizeof(cl_mem), &plates[i % 2]), "clSetKernelArg");
    check(clSetKernelArg(step, 1, sizeof(cl_mem), &plates[1 - i % 2]), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, step, 2, NULL, grid, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  }
  check(clSetKernelArg(sum, 0, sizeof(cl_mem), &plates[steps % 2]), "clSetKernelArg");
  check(clSetKernelArg(sum, 1, sizeof(cl_mem), &row_sums), "clSetKernelArg");
  check(clSetKernelArg(sum, 2, sizeof size, &size), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, sum, 1, NULL, grid, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(queue, plates[steps % 2], CL_FALSE, 0, bytes, result, 0, NULL, NULL), "read");
  check(clEnqueueReadBuffer(queue, row_sums, CL_TRUE, 0, sizeof(float) * (size_t)size, sums, 0, NULL, NULL), "read");

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

// What the examples in C share. Each of them defines PROGRAM, its name in messages, before this is included.
#pragma once
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline void check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, PROGRAM ": %s failed with code %d\n", call, code);
  exit(1);
}

static inline int number(const char* text, const char* what, long least, long most) {
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  if (*text == 0 || *end != 0 || value < least || value > most) {
    fprintf(stderr, PROGRAM ": %s '%s': a number from %ld to %ld expected\n", what, text, least, most);
    exit(2);
  }
  return (int)value;
}

static inline int asks_for_help(int argc, char** argv) {
  return argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

// The first device of the first platform that has one.
static inline cl_device_id find_device(void) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < count && i < 16; ++i) {
    cl_device_id device = NULL;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS) return device;
  }
  fprintf(stderr, PROGRAM ": there is no OpenCL device\n");
  exit(1);
}

static inline cl_program build(cl_context context, cl_device_id device, const char* source) {
  cl_int code = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
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

static inline cl_kernel kernel_of(cl_program program, const char* name) {
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program, name, &code);
  char call[128];
  snprintf(call, sizeof call, "clCreateKernel(%s)", name);
  check(code, call);
  return kernel;
}

static inline cl_mem buffer_of(cl_context context, cl_mem_flags flags, size_t bytes, void* copied) {
  cl_int code = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(context, flags | (copied ? CL_MEM_COPY_HOST_PTR : 0), bytes, copied, &code);
  check(code, "clCreateBuffer");
  return buffer;
}

static inline void set(cl_kernel kernel, cl_uint at, size_t size, const void* value) {
  check(clSetKernelArg(kernel, at, size, value), "clSetKernelArg");
}

// With work groups of the driver's choice where there is no local size.
static inline void launch(cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t* global,
                          const size_t* local) {
  check(clEnqueueNDRangeKernel(queue, kernel, axes, NULL, global, local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

static inline void write_to(cl_command_queue queue, cl_mem buffer, cl_bool waits, size_t bytes, const void* from) {
  check(clEnqueueWriteBuffer(queue, buffer, waits, 0, bytes, from, 0, NULL, NULL), "write");
}

static inline void read_from(cl_command_queue queue, cl_mem buffer, cl_bool waits, size_t bytes, void* to) {
  check(clEnqueueReadBuffer(queue, buffer, waits, 0, bytes, to, 0, NULL, NULL), "read");
}

static inline double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static inline void print_ms(double ms) {
  printf("%.*f ms", ms < 0.1 ? 4 : ms < 1.0 ? 3 : ms < 10.0 ? 2 : ms < 100.0 ? 1 : 0, ms);
}

// The time of the first of so many, and the mean of the others, whose times are given as one sum.
static inline void print_times(const char* what, const double ms[2], int count) {
  printf("first %s ", what);
  print_ms(ms[0]);
  if (count > 1) {
    printf(", then ");
    print_ms(ms[1] / (count - 1));
    printf(" each (mean of %d)", count - 1);
  }
  printf("\n");
}

// The same numbers in every run: xorshift, with a state that is not 0.
static inline uint32_t next_random(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static inline float random_between(uint32_t* state, float least, float most) {
  return least + (most - least) * (float)(next_random(state) >> 8) / 16777216.0f;
}

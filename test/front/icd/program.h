// What the programs in this folder share. They are plain OpenCL, ask any driver to do what the specification says, and
// print the same on every driver that does.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

static _Atomic int failures;
static int failures_before_group;
static uint64_t first_seed, random_state;

// Failures go to standard error, as standard output is compared between drivers.
#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: %s: does not hold\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                                    \
    }                                                                                \
  } while (0)

// The call must answer this code.
#define GIVES(expected, call)                                                                       \
  do {                                                                                              \
    const cl_int code_ = (call);                                                                    \
    if (code_ != (expected)) {                                                                      \
      fprintf(stderr, "%s:%d: %s: %d, expected %s\n", __FILE__, __LINE__, #call, code_, #expected); \
      ++failures;                                                                                   \
    }                                                                                               \
  } while (0)

#define OK(call) GIVES(CL_SUCCESS, call)

// A call that returns an object, and its code through `error`, must refuse.
#define REFUSES(expected, call) \
  do {                          \
    cl_int error = CL_SUCCESS;  \
    CHECK((call) == NULL);      \
    GIVES(expected, error);     \
  } while (0)

// The same that must succeed: `to = call`, where the call ends with `&error`.
#define MAKE(to, call)     \
  do {                     \
    cl_int error = -12345; \
    (to) = (call);         \
    OK(error);             \
    CHECK((to) != NULL);   \
  } while (0)

// Ends a group of checks with the line that standard output shows of it.
static inline void group(const char* name) {
  const bool right = failures == failures_before_group;
  failures_before_group = failures;
  printf("%s: %s\n", name, right ? "right" : "WRONG");
  fflush(stdout);
}

// The program's exit code.
static inline int result(void) {
  if (failures == 0) return 0;
  fprintf(stderr, "%d failures; random seed %llu\n", failures, (unsigned long long)first_seed);
  return 1;
}

// Without what follows cannot make sense.
static inline void need(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s failed: %d\n", what, code);
  exit(1);
}

static inline void seed_from(const char* text) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  first_seed = text ? strtoull(text, NULL, 10) : (uint64_t)t.tv_sec * 1000003u + (uint64_t)t.tv_nsec;
  random_state = first_seed * 0x9E3779B97F4A7C15u | 1;
}

// Marsaglia's xorshift with a generator per thread.
static inline uint64_t next_of(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}
static inline uint32_t next_random(void) { return (uint32_t)(next_of(&random_state) >> 16); }
static inline uint32_t random_below(uint32_t bound) { return next_random() % bound; }

static inline void fill_random(void* to, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) ((unsigned char*)to)[i] = (unsigned char)next_random();
}

// Junk that no test expects, so that an output nobody wrote is found.
static inline void poison(void* to, size_t bytes) { memset(to, 0xA5, bytes); }

static inline void* random_bytes(size_t bytes) {
  void* made = malloc(bytes);
  if (!made) need(CL_OUT_OF_HOST_MEMORY, "malloc");
  fill_random(made, bytes);
  return made;
}

struct Machine {
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  bool heddle;  // a few things cannot be asked of every driver
};

static inline struct Machine open_platform(void) {
  struct Machine m = {0};
  char name[256] = "";
  need(clGetPlatformIDs(1, &m.platform, NULL), "clGetPlatformIDs");
  need(clGetPlatformInfo(m.platform, CL_PLATFORM_NAME, sizeof name, name, NULL), "clGetPlatformInfo");
  m.heddle = strcmp(name, "Heddle") == 0;
  return m;
}

static inline struct Machine open_machine(cl_command_queue_properties properties) {
  struct Machine m = open_platform();
  cl_int error = CL_SUCCESS;
  need(clGetDeviceIDs(m.platform, CL_DEVICE_TYPE_ALL, 1, &m.device, NULL), "clGetDeviceIDs");
  m.context = clCreateContext(NULL, 1, &m.device, NULL, NULL, &error);
  need(error, "clCreateContext");
  m.queue = clCreateCommandQueue(m.context, m.device, properties, &error);
  need(error, "clCreateCommandQueue");
  return m;
}

static inline void close_machine(struct Machine m) {
  OK(clReleaseCommandQueue(m.queue));
  OK(clReleaseContext(m.context));
}

static inline void print_log(cl_program program, cl_device_id device) {
  char log[4096] = "";
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
  fprintf(stderr, "%s\n", log);
}

static inline cl_program build(struct Machine m, const char* source, const char* options) {
  cl_int error = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(m.context, 1, &source, NULL, &error);
  need(error, "clCreateProgramWithSource");
  error = clBuildProgram(program, 1, &m.device, options, NULL, NULL);
  if (error != CL_SUCCESS) print_log(program, m.device);
  need(error, "clBuildProgram");
  return program;
}

static inline cl_kernel kernel_of(cl_program program, const char* name) {
  cl_int error = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  need(error, name);
  return kernel;
}

static inline cl_mem buffer_of(struct Machine m, cl_mem_flags flags, size_t bytes, void* host) {
  cl_int error = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(m.context, flags, bytes, host, &error);
  need(error, "clCreateBuffer");
  return buffer;
}

static inline cl_int status_of(cl_event event) {
  cl_int status = -12345;
  OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
  return status;
}

static inline void pause_ms(long ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  thrd_sleep(&t, NULL);
}

// Callbacks come from other threads, some time after what they are about.
static inline bool soon(_Atomic int* counter, int at_least) {
  for (int i = 0; i < 5000 && *counter < at_least; ++i) pause_ms(1);
  return *counter >= at_least;
}

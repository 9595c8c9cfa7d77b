// Processes that fork: before the driver was used, and after.
#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

static const char* const source = "kernel void add(global uint* data, uint by) { data[get_global_id(0)] += by; }\n";

enum { count = 256 };

// An ordinary use of everything, checked.
static void use(struct Machine m, cl_kernel kernel, cl_mem buffer) {
  cl_uint data[count], got[count];
  fill_random(data, sizeof data);
  const cl_uint by = next_random();
  const size_t global = count;
  OK(clEnqueueWriteBuffer(m.queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
  OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(kernel, 1, sizeof by, &by));
  OK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  poison(got, sizeof got);
  OK(clEnqueueReadBuffer(m.queue, buffer, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
  bool same = true;
  for (int i = 0; i < count; ++i) same &= got[i] == data[i] + by;
  CHECK(same);
}

static void use_all(void) {
  struct Machine m = open_machine(0);
  cl_program program = build(m, source, NULL);
  cl_kernel kernel = kernel_of(program, "add");
  cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE, count * 4, NULL);
  use(m, kernel, buffer);
  OK(clReleaseMemObject(buffer));
  OK(clReleaseKernel(kernel));
  OK(clReleaseProgram(program));
  close_machine(m);
}

// The child ended by itself, with 0, within a minute: under a sanitizer it looks for leaks at its end, which takes
// seconds.
static bool ended_well(pid_t child) {
  int status = -1;
  for (int i = 0; i < 60000; ++i) {
    const pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child) {
      if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0)) fprintf(stderr, "the child ended with %#x\n", status);
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    pause_ms(1);
  }
  fprintf(stderr, "the child hangs\n");
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return false;
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    use_all();
    _exit(result());
  }
  CHECK(child > 0 && ended_well(child));
  group("fork before the first use");

  // Looking for platforms is what loaders do at once, so it does not count as use.
  (void)open_platform();
  child = fork();
  if (child == 0) {
    use_all();
    _exit(result());
  }
  CHECK(child > 0 && ended_well(child));
  group("fork after looking for platforms");

  struct Machine m = open_machine(0);
  cl_program program = build(m, source, NULL);
  cl_kernel kernel = kernel_of(program, "add");
  cl_mem buffer = buffer_of(m, CL_MEM_READ_WRITE, count * 4, NULL);
  cl_sampler sampler = NULL;
  cl_event user = NULL, event = NULL;
  use(m, kernel, buffer);
  MAKE(user, clCreateUserEvent(m.context, &error));
  MAKE(sampler, clCreateSampler(m.context, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &error));
  OK(clEnqueueMarkerWithWaitList(m.queue, 1, &user, &event));
  OK(clFlush(m.queue));
  for (int exits = 0; exits < 2 && m.heddle; ++exits) {  // other drivers hang or crash here
    fflush(NULL);
    child = fork();
    if (child == 0) {
      cl_device_id device = NULL;
      cl_int error = CL_SUCCESS;
      cl_uint word = 0;
      const size_t global = count;
      CHECK(clGetDeviceIDs(m.platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS);
      CHECK(clCreateContext(NULL, 1, &m.device, NULL, NULL, &error) == NULL && error != CL_SUCCESS);
      CHECK(clCreateBuffer(m.context, 0, 64, NULL, &error) == NULL && error != CL_SUCCESS);
      CHECK(clFinish(m.queue) != CL_SUCCESS);
      CHECK(clFlush(m.queue) != CL_SUCCESS);
      CHECK(clWaitForEvents(1, &event) != CL_SUCCESS);
      CHECK(clSetUserEventStatus(user, CL_COMPLETE) != CL_SUCCESS);
      CHECK(clEnqueueNDRangeKernel(m.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL) != CL_SUCCESS);
      CHECK(clEnqueueReadBuffer(m.queue, buffer, CL_TRUE, 0, 4, &word, 0, NULL, NULL) != CL_SUCCESS);
      OK(clRetainMemObject(buffer));
      OK(clReleaseMemObject(buffer));
      OK(clReleaseEvent(event));
      OK(clReleaseEvent(user));
      OK(clReleaseSampler(sampler));
      OK(clReleaseMemObject(buffer));
      OK(clReleaseKernel(kernel));
      OK(clReleaseProgram(program));
      OK(clReleaseCommandQueue(m.queue));
      OK(clReleaseContext(m.context));
      OK(clReleaseDevice(m.device));
      if (exits) exit(result());  // with the handlers that drivers left, too
      _exit(result());
    }
    CHECK(child > 0 && ended_well(child));
  }
  group("fork after use");

  OK(clSetUserEventStatus(user, CL_COMPLETE));
  OK(clWaitForEvents(1, &event));
  use(m, kernel, buffer);
  OK(clReleaseEvent(event));
  OK(clReleaseEvent(user));
  OK(clReleaseSampler(sampler));
  OK(clReleaseMemObject(buffer));
  OK(clReleaseKernel(kernel));
  OK(clReleaseProgram(program));
  close_machine(m);
  group("parent afterwards");
  return result();
}

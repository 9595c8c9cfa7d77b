// Every device of the first platform, one after the other and in one context: what is asked of one is answered for that
// one.
#include "program.h"

static const char* const source = "kernel void scale(global uint* data, uint by) { data[get_global_id(0)] *= by; }\n";

// Runs a kernel on this device of the context and looks at everything that names a device.
static void use(cl_context context, cl_device_id device, cl_program program, const char* options) {
  enum { count = 1000 };
  cl_uint data[count], model[count], by = 1 + random_below(1000);
  fill_random(data, sizeof data);
  for (int i = 0; i < count; ++i) model[i] = data[i] * by;
  cl_command_queue queue = NULL;
  cl_mem buffer = NULL;
  MAKE(queue, clCreateCommandQueue(context, device, 0, &error));
  MAKE(buffer, clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof data, data, &error));
  cl_kernel kernel = NULL;
  MAKE(kernel, clCreateKernel(program, "scale", &error));
  OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  OK(clSetKernelArg(kernel, 1, sizeof by, &by));
  const size_t global = count;
  OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
  poison(data, sizeof data);
  OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
  CHECK(memcmp(data, model, sizeof data) == 0);

  cl_device_id told = NULL;
  OK(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof told, &told, NULL));
  CHECK(told == device);
  char text[256] = "";
  OK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof text, text, NULL));
  CHECK(strcmp(text, options) == 0);
  cl_build_status status = CL_BUILD_NONE;
  OK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
  CHECK(status == CL_BUILD_SUCCESS);
  size_t most = 0;
  OK(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL));
  CHECK(most > 0);
  OK(clReleaseKernel(kernel));
  OK(clReleaseMemObject(buffer));
  OK(clReleaseCommandQueue(queue));
}

// A context over these devices; a driver may be unable to have several in one, if it says so.
static void together(cl_uint count, const cl_device_id* devices, const char* options) {
  cl_int code = CL_SUCCESS;
  cl_context context = clCreateContext(NULL, count, devices, NULL, NULL, &code);
  if (count > 1 && code == CL_DEVICE_NOT_AVAILABLE) return;
  OK(code);
  if (!context) return;
  cl_program program = NULL;
  MAKE(program, clCreateProgramWithSource(context, 1, (const char**)&source, NULL, &error));
  OK(clBuildProgram(program, 0, NULL, options, NULL, NULL));
  cl_uint told = 0;
  OK(clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof told, &told, NULL));
  CHECK(told == count);
  for (cl_uint i = 0; i < count; ++i) use(context, devices[i], program, options ? options : "");

  // Its binaries, one for each device, make the same program again.
  size_t sizes[16];
  unsigned char* binaries[16];
  cl_int status[16];
  OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL));
  for (cl_uint i = 0; i < count; ++i) binaries[i] = malloc(sizes[i]);
  OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binaries, binaries, NULL));
  cl_program again = NULL;
  MAKE(again,
       clCreateProgramWithBinary(context, count, devices, sizes, (const unsigned char**)binaries, status, &error));
  OK(clBuildProgram(again, count, devices, NULL, NULL, NULL));
  for (cl_uint i = 0; i < count; ++i) {
    OK(status[i]);
    use(context, devices[i], again, "");
    free(binaries[i]);
  }
  const cl_device_id none = NULL;
  REFUSES(CL_INVALID_DEVICE,
          clCreateProgramWithBinary(context, 1, &none, sizes, (const unsigned char**)binaries, NULL, &error));
  OK(clReleaseProgram(again));
  OK(clReleaseProgram(program));
  OK(clReleaseContext(context));
}

int main(int argc, char** argv) {
  seed_from(argc > 1 ? argv[1] : NULL);
  cl_platform_id platform = NULL;
  cl_device_id devices[16];
  cl_uint count = 0;
  need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &count), "clGetDeviceIDs");
  if (count > 16) count = 16;
  for (cl_uint i = 0; i < count; ++i) {
    together(1, &devices[i], NULL);
    together(1, &devices[i], "-DUNUSED=1");
  }
  group("one by one");
  together(count, devices, NULL);
  together(count, devices, "-w");
  group("together");
  return result();
}

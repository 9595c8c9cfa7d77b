// On Heddle above hollow_driver.c: every call that can be made without a context answers with the code of an empty slot
// or of the specification, and none crashes.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>

static int wrong;

static void expect(const char* call, cl_int got, cl_int wanted) {
  if (got == wanted) return;
  printf("%s: %d, expected %d\n", call, got, wanted);
  ++wrong;
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int code = CL_SUCCESS;
  cl_ulong time;
  char text[64];
  expect("clGetPlatformIDs", clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
  expect("clGetDeviceIDs", clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &device, NULL), CL_SUCCESS);
  if (wrong) return 1;
  expect("clGetDeviceInfo name", clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, NULL), CL_SUCCESS);
  expect("clGetDeviceInfo profile", clGetDeviceInfo(device, CL_DEVICE_PROFILE, sizeof text, text, NULL),
         CL_INVALID_VALUE);
  expect("clGetDeviceAndHostTimer", clGetDeviceAndHostTimer(device, &time, &time), CL_INVALID_OPERATION);
  expect("clGetHostTimer", clGetHostTimer(device, &time), CL_INVALID_OPERATION);
  expect("clUnloadPlatformCompiler", clUnloadPlatformCompiler(platform), CL_INVALID_OPERATION);
  expect("clRetainDevice", clRetainDevice(device), CL_SUCCESS);
  expect("clReleaseDevice", clReleaseDevice(device), CL_SUCCESS);
  if (clCreateContext(NULL, 1, &device, NULL, NULL, &code)) expect("clCreateContext", 1, 0);
  expect("clCreateContext", code, CL_INVALID_OPERATION);
  if (clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &code)) expect("clCreateContextFromType", 1, 0);
  expect("clCreateContextFromType", code, CL_INVALID_OPERATION);
  if (!wrong) puts("all calls answered");
  return wrong != 0;
}

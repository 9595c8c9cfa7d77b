// A driver of the poorest kind, to be put below Heddle: it can be asked for platforms and devices, and most slots of
// its table are empty. HOLLOW=no_platform or no_device makes it poorer still.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <stdlib.h>
#include <string.h>

struct _cl_platform_id {
  cl_icd_dispatch* dispatch;
};
struct _cl_device_id {
  cl_icd_dispatch* dispatch;
};

static cl_icd_dispatch table;
static struct _cl_platform_id platform = {&table};
static struct _cl_device_id device = {&table};

static int hollow(const char* how) {
  const char* wanted = getenv("HOLLOW");
  return wanted && strcmp(wanted, how) == 0;
}

static cl_int put(const void* from, size_t bytes, size_t size, void* value, size_t* size_ret) {
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value) memcpy(value, from, bytes);
  if (size_ret) *size_ret = bytes;
  return CL_SUCCESS;
}

static cl_int get_platform_info(cl_platform_id p, cl_platform_info what, size_t size, void* value, size_t* size_ret) {
  (void)p, (void)what;
  return put("Hollow", 7, size, value, size_ret);
}

static cl_int get_device_ids(cl_platform_id p, cl_device_type type, cl_uint entries, cl_device_id* out,
                             cl_uint* count) {
  (void)p, (void)type;
  if (hollow("no_device")) return CL_DEVICE_NOT_FOUND;
  if (out && entries) out[0] = &device;
  if (count) *count = 1;
  return CL_SUCCESS;
}

static cl_int get_device_info(cl_device_id d, cl_device_info what, size_t size, void* value, size_t* size_ret) {
  (void)d;
  const cl_device_type cpu = CL_DEVICE_TYPE_CPU;
  switch (what) {
    case CL_DEVICE_TYPE:
      return put(&cpu, sizeof cpu, size, value, size_ret);
    case CL_DEVICE_NAME:
    case CL_DEVICE_VENDOR:
    case CL_DRIVER_VERSION:
    case CL_DEVICE_VERSION:
    case CL_DEVICE_EXTENSIONS:
      return put("Hollow", 7, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* out, cl_uint* count) {
  table.clGetPlatformInfo = get_platform_info;
  table.clGetDeviceIDs = get_device_ids;
  table.clGetDeviceInfo = get_device_info;
  if (hollow("no_platform")) return -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  if (out && entries) out[0] = &platform;
  if (count) *count = 1;
  return CL_SUCCESS;
}

void* clGetExtensionFunctionAddress(const char* name) {
  return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void*)clIcdGetPlatformIDsKHR : NULL;
}

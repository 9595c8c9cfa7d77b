// Platform: answers without looking at the drivers below, as loaders ask while they are still starting.
#include "front/icd/entries.hpp"
#include "front/icd/runtime.hpp"

namespace heddle::front::icd {

namespace {

constexpr cl_name_version extensions[] = {{CL_MAKE_VERSION(1, 0, 0), "cl_khr_icd"},
                                          {CL_MAKE_VERSION(1, 0, 0), "cl_khr_extended_versioning"}};

std::string extension_names() {
  std::string out;
  for (const cl_name_version& e : extensions) out += (out.empty() ? "" : " ") + std::string(e.name);
  return out;
}

}  // namespace

cl_int CL_API_CALL clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  return answer(__func__, [&]() -> cl_int {
    if ((platforms && entries == 0) || (!platforms && !count)) return CL_INVALID_VALUE;
    if (platforms) platforms[0] = handle_of(the_platform());
    if (count) *count = 1;
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void* value,
                                     size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    if (platform) valid(platform);  // null means the only one
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_PLATFORM_PROFILE:
        return place.put(std::string("FULL_PROFILE"));
      case CL_PLATFORM_VERSION:
        return place.put(std::string("OpenCL 3.0 Heddle " HEDDLE_VERSION));
      case CL_PLATFORM_NUMERIC_VERSION:
        return place.put<cl_version>(CL_MAKE_VERSION(3, 0, 0));
      case CL_PLATFORM_NAME:
      case CL_PLATFORM_VENDOR:
        return place.put(std::string("Heddle"));
      case CL_PLATFORM_EXTENSIONS:
        return place.put(extension_names());
      case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
        return place.put(extensions, sizeof extensions);
      case CL_PLATFORM_ICD_SUFFIX_KHR:
        return place.put(std::string("HEDDLE"));
      case CL_PLATFORM_HOST_TIMER_RESOLUTION: {
        cl_ulong resolution = 0;
        if (!runtime().devices.empty()) {
          pass<&Slots::clGetPlatformInfo>(runtime().devices[0]->inner_platform, what, sizeof resolution, &resolution,
                                          nullptr);
        }
        return place.put(resolution);
      }
      default:
        return CL_INVALID_VALUE;
    }
  });
}

cl_int CL_API_CALL clUnloadCompiler() { return CL_SUCCESS; }

cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id platform) {
  return answer(__func__, [&]() -> cl_int {
    valid(platform);
    if (runtime().devices.empty()) return CL_SUCCESS;
    return pass<&Slots::clUnloadPlatformCompiler>(runtime().devices[0]->inner_platform);
  });
}

}  // namespace heddle::front::icd

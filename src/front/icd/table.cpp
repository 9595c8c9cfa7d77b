// The dispatch table, and the three functions that loaders look up by name.
#include <string_view>

#include "front/icd/entries.hpp"

namespace heddle::front::icd {

namespace {

// A slot without a function of ours. Slots of other systems' extensions have no type here, only an address.
template <class Function>
struct Absent {
  static Function slot(std::string_view name) {
    static const auto no_object = +[]() -> void* { return nullptr; };
    static const auto no = +[]() -> cl_int { return CL_INVALID_OPERATION; };
    return name.starts_with("clCreate") ? reinterpret_cast<Function>(no_object) : reinterpret_cast<Function>(no);
  }
};
template <class R, class... P>
struct Absent<R(CL_API_CALL*)(P...)> {
  static R CL_API_CALL call(P... arguments) { return device::unsupported<R>(arguments...); }
  static auto slot(std::string_view) { return &call; }
};

cl_icd_dispatch fill() {
  cl_icd_dispatch table{};
#define ENTRY(name) table.name = name;
#define ABSENT(name) table.name = Absent<decltype(table.name)>::slot(#name);
#include "front/icd/entries.def"
#undef ENTRY
#undef ABSENT
  return table;
}

template <class F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

const cl_icd_dispatch function_table = fill();

// Functions of extensions that we offer; the core's own are reached through the loader.
void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  if (!name) return nullptr;
  const std::string_view wanted = name;
  if (wanted == "clIcdGetPlatformIDsKHR") return address(icd::clGetPlatformIDs);
  if (wanted == "clCreateCommandQueueWithPropertiesKHR") return address(icd::clCreateCommandQueueWithProperties);
  if (wanted == "clCreateProgramWithILKHR") return address(icd::clCreateProgramWithIL);
  if (wanted == "clGetKernelSubGroupInfoKHR") return address(icd::clGetKernelSubGroupInfoKHR);
  return nullptr;
}

void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id, const char* name) {
  return icd::clGetExtensionFunctionAddress(name);
}

}  // namespace heddle::front::icd

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  return heddle::front::icd::clGetExtensionFunctionAddress(name);
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  return heddle::front::icd::clGetPlatformIDs(entries, platforms, count);
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void* value,
                                            size_t* size_ret) {
  return heddle::front::icd::clGetPlatformInfo(platform, what, size, value, size_ret);
}

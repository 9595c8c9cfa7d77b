// Finds and opens the machine's OpenCL drivers.
#include "device/vendor.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <dlfcn.h>

namespace heddle::device {

namespace fs = std::filesystem;

namespace {

constexpr const char* standard_folder = "/etc/OpenCL/vendors";

// Heddle's own driver, which is never loaded below itself.
bool is_heddle(const std::string& library) {
  return fs::path(library).filename().string().rfind("libheddle-icd", 0) == 0;
}

// The first word of an .icd file is the library; blanks and line ends around it do not count.
std::string library_in(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  const auto first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

std::vector<std::string> libraries_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".icd") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());  // the order of a folder is no order
  std::vector<std::string> out;
  for (const auto& file : files) out.push_back(library_in(file));
  return out;
}

std::vector<std::string> libraries_of(const std::string& vendors) {
  std::error_code ignored;
  if (fs::is_directory(vendors, ignored)) return libraries_in(vendors);
  if (fs::path(vendors).extension() != ".icd") return {vendors};
  const fs::path below = fs::path(standard_folder) / vendors;
  const bool bare = vendors.find('/') == std::string::npos;
  return {library_in(bare && fs::exists(below, ignored) ? below : fs::path(vendors))};
}

}  // namespace

std::vector<std::string> driver_libraries(const core::Lookup& environment) {
  // `heddle run` points loaders at Heddle alone, and keeps what the user had under another name.
  const auto variable = [&](const std::string& name) {
    const auto inner = environment(core::inner_prefix + name);
    return (inner ? inner : environment(name)).value_or("");
  };
  const std::string vendors = variable("OCL_ICD_VENDORS");
  const std::string older = variable("OPENCL_VENDOR_PATH");  // ocl-icd's former name of it
  std::vector<std::string> all =
      !vendors.empty() ? libraries_of(vendors) : libraries_in(older.empty() ? standard_folder : older);
  std::istringstream more(variable("OCL_ICD_FILENAMES"));
  for (std::string library; std::getline(more, library, ':');) all.push_back(library);
  // Whoever names Heddle and nothing else wants it on top of the machine's drivers.
  if (!all.empty() && std::all_of(all.begin(), all.end(), is_heddle)) all = libraries_in(standard_folder);

  std::vector<std::string> out;
  for (const std::string& library : all) {
    if (library.empty() || is_heddle(library)) continue;
    if (std::find(out.begin(), out.end(), library) == out.end()) out.push_back(library);
  }
  return out;
}

std::vector<Platform> load_platforms(const std::vector<std::string>& libraries, std::vector<std::string>& problems) {
  std::vector<Platform> out;
  for (const std::string& library : libraries) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* reason = dlerror();
      problems.push_back("OpenCL driver " + library + " cannot be loaded: " + (reason ? reason : "no reason given"));
      continue;
    }
    using Address = void*(CL_API_CALL*)(const char*);
    using PlatformsOf = decltype(cl_icd_dispatch::clGetPlatformIDs);  // older headers have no name for it
    auto platforms_of = reinterpret_cast<PlatformsOf>(dlsym(handle, "clIcdGetPlatformIDsKHR"));
    if (auto address = reinterpret_cast<Address>(dlsym(handle, "clGetExtensionFunctionAddress"))) {
      if (void* found = address("clIcdGetPlatformIDsKHR")) platforms_of = reinterpret_cast<PlatformsOf>(found);
    }
    if (!platforms_of) {
      problems.push_back("OpenCL driver " + library + " has no clIcdGetPlatformIDsKHR, so no loader can use it");
      continue;
    }
    cl_uint count = 0;
    cl_int code = platforms_of(0, nullptr, &count);
    std::vector<cl_platform_id> handles(code == CL_SUCCESS ? count : 0);
    if (!handles.empty()) code = platforms_of(count, handles.data(), nullptr);
    if (code != CL_SUCCESS || handles.empty()) {
      problems.push_back("OpenCL driver " + library + " has no platform: " + error_name(code));
      continue;
    }
    for (cl_platform_id platform : handles) {
      // Two .icd files may name one driver by different paths.
      const bool known = std::any_of(out.begin(), out.end(), [&](const Platform& p) { return p.handle == platform; });
      if (!known) out.push_back({platform, Dispatch(platform), library});
    }
  }
  return out;
}

std::string name_of(const Platform& platform) {
  constexpr auto slot = &cl_icd_dispatch::clGetPlatformInfo;
  size_t size = 0;
  platform.cl(slot, platform.handle, CL_PLATFORM_NAME, 0, nullptr, &size);
  std::string out(size, '\0');
  platform.cl(slot, platform.handle, CL_PLATFORM_NAME, size, out.data(), nullptr);
  while (!out.empty() && out.back() == '\0') out.pop_back();
  return out;
}

core::Result<std::vector<cl_device_id>> devices_of(const Platform& platform) {
  constexpr auto slot = &cl_icd_dispatch::clGetDeviceIDs;
  cl_uint count = 0;
  cl_int code = platform.cl(slot, platform.handle, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  std::vector<cl_device_id> out(code == CL_SUCCESS ? count : 0);
  if (!out.empty()) code = platform.cl(slot, platform.handle, CL_DEVICE_TYPE_ALL, count, out.data(), nullptr);
  if (code != CL_SUCCESS || out.empty()) return failed(core::FailureKind::unsupported, "clGetDeviceIDs", code);
  return out;
}

std::string error_name(cl_int code) {
  static constexpr struct {
    cl_int code;
    const char* name;
  } names[] = {
#define NAME(code) {code, #code}
      NAME(CL_SUCCESS),
      NAME(CL_DEVICE_NOT_FOUND),
      NAME(CL_DEVICE_NOT_AVAILABLE),
      NAME(CL_COMPILER_NOT_AVAILABLE),
      NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
      NAME(CL_OUT_OF_RESOURCES),
      NAME(CL_OUT_OF_HOST_MEMORY),
      NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
      NAME(CL_MEM_COPY_OVERLAP),
      NAME(CL_BUILD_PROGRAM_FAILURE),
      NAME(CL_MAP_FAILURE),
      NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
      NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
      NAME(CL_COMPILE_PROGRAM_FAILURE),
      NAME(CL_LINKER_NOT_AVAILABLE),
      NAME(CL_LINK_PROGRAM_FAILURE),
      NAME(CL_DEVICE_PARTITION_FAILED),
      NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
      NAME(CL_INVALID_VALUE),
      NAME(CL_INVALID_PLATFORM),
      NAME(CL_INVALID_DEVICE),
      NAME(CL_INVALID_CONTEXT),
      NAME(CL_INVALID_QUEUE_PROPERTIES),
      NAME(CL_INVALID_COMMAND_QUEUE),
      NAME(CL_INVALID_HOST_PTR),
      NAME(CL_INVALID_MEM_OBJECT),
      NAME(CL_INVALID_BINARY),
      NAME(CL_INVALID_BUILD_OPTIONS),
      NAME(CL_INVALID_PROGRAM),
      NAME(CL_INVALID_PROGRAM_EXECUTABLE),
      NAME(CL_INVALID_KERNEL_NAME),
      NAME(CL_INVALID_KERNEL_DEFINITION),
      NAME(CL_INVALID_KERNEL),
      NAME(CL_INVALID_ARG_INDEX),
      NAME(CL_INVALID_ARG_VALUE),
      NAME(CL_INVALID_ARG_SIZE),
      NAME(CL_INVALID_KERNEL_ARGS),
      NAME(CL_INVALID_WORK_DIMENSION),
      NAME(CL_INVALID_WORK_GROUP_SIZE),
      NAME(CL_INVALID_WORK_ITEM_SIZE),
      NAME(CL_INVALID_GLOBAL_OFFSET),
      NAME(CL_INVALID_EVENT_WAIT_LIST),
      NAME(CL_INVALID_EVENT),
      NAME(CL_INVALID_OPERATION),
      NAME(CL_INVALID_BUFFER_SIZE),
      NAME(CL_INVALID_GLOBAL_WORK_SIZE),
      NAME(CL_INVALID_PROPERTY),
      NAME(CL_INVALID_DEVICE_PARTITION_COUNT),
#undef NAME
  };
  for (const auto& n : names) {
    if (n.code == code) return std::string(n.name) + " (" + std::to_string(code) + ")";
  }
  return "error " + std::to_string(code);
}

core::Failure failed(core::FailureKind kind, const char* call, cl_int code) {
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      kind = core::FailureKind::allocation;
      break;
    case CL_DEVICE_NOT_AVAILABLE:
      kind = core::FailureKind::lost;
      break;
    case CL_INVALID_WORK_GROUP_SIZE:  // such a launch is not for this device, which is well
    case CL_INVALID_WORK_ITEM_SIZE:
      kind = core::FailureKind::unsupported;
      break;
    default:
      break;
  }
  return {kind, std::string(call) + ": " + error_name(code), ""};
}

}  // namespace heddle::device

// Our own loader of OpenCL drivers, for library and driver alike: libOpenCL cannot be called from inside a driver.
// With chosen.hpp the only header that shows OpenCL types outside this folder: to front/icd and to the suite "dropin".
#pragma once

#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include "core/errors.hpp"
#include "core/settings.hpp"

namespace heddle::device {

// What a function that is not there answers. Makers of objects take the place for the error code last.
template <class R, class... P>
R unsupported(P... arguments) {
  if constexpr (std::is_same_v<R, cl_int>) {
    return CL_INVALID_OPERATION;
  } else if constexpr (!std::is_void_v<R>) {
    const auto last = std::get<sizeof...(P) - 1>(std::tie(arguments...));
    if constexpr (std::is_same_v<decltype(last), cl_int* const>) {
      if (last) *last = CL_INVALID_OPERATION;
    }
    return nullptr;
  }
}

// A driver's function table. Drivers leave slots empty (PoCL 3.1: 24 of them); calling one answers
// CL_INVALID_OPERATION.
class Dispatch {
 public:
  Dispatch() = default;
  // From any object of the driver's: the table's address is its first word, by the rules of cl_khr_icd.
  template <class Handle>
  explicit Dispatch(Handle handle) : table_(*reinterpret_cast<cl_icd_dispatch* const*>(handle)) {}

  template <class R, class... P>
  R operator()(R (CL_API_CALL* cl_icd_dispatch::*slot)(P...), std::type_identity_t<P>... arguments) const {
    if (auto function = table_->*slot) return function(arguments...);
    return unsupported<R>(arguments...);
  }
  template <class F>
  bool has(F cl_icd_dispatch::*slot) const {
    return table_->*slot != nullptr;
  }

 private:
  const cl_icd_dispatch* table_ = nullptr;
};

struct Platform {
  cl_platform_id handle;
  Dispatch cl;
  std::string library;  // as the .icd file spells it
};

// Where drivers are looked for, by the rules that ocl-icd and the Khronos loader share: OCL_ICD_VENDORS is a folder of
// .icd files, one .icd file, or a library; OCL_ICD_FILENAMES adds libraries. Where the same variable is there with
// core::inner_prefix before its name, that one counts: `heddle run` keeps the user's own under it. Returns the names of
// libraries, without Heddle's own driver; where nothing else was listed, those of the machine's drivers.
std::vector<std::string> driver_libraries(const core::Lookup& environment);

// Loads every driver and asks it for its platforms. One that cannot be loaded, or has none, is named in `problems`;
// libraries stay loaded for the life of the process, as drivers expect.
std::vector<Platform> load_platforms(const std::vector<std::string>& libraries, std::vector<std::string>& problems);

std::string name_of(const Platform& platform);

// All of them. The failure says what the driver said; one without devices fails, too.
core::Result<std::vector<cl_device_id>> devices_of(const Platform& platform);

// "CL_OUT_OF_RESOURCES (-5)".
std::string error_name(cl_int code);

// The one place where a failed OpenCL call becomes a failure: it names the call and the code, and codes that say more
// than the call does (no memory, device gone) decide the kind.
core::Failure failed(core::FailureKind kind, const char* call, cl_int code);

// An OpenCL handle with its release. `Release` is the slot that releases it.
template <class Handle, auto Release>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (!handle_) return;
    const Dispatch cl(handle_);
    cl(Release, handle_);
  }
  Handle get() const { return handle_; }
  Handle release() { return std::exchange(handle_, nullptr); }  // to somebody else who owns it from now on
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

using OwnedContext = Owned<cl_context, &cl_icd_dispatch::clReleaseContext>;
using OwnedQueue = Owned<cl_command_queue, &cl_icd_dispatch::clReleaseCommandQueue>;
using OwnedMemory = Owned<cl_mem, &cl_icd_dispatch::clReleaseMemObject>;
using OwnedProgram = Owned<cl_program, &cl_icd_dispatch::clReleaseProgram>;
using OwnedKernel = Owned<cl_kernel, &cl_icd_dispatch::clReleaseKernel>;
using OwnedSampler = Owned<cl_sampler, &cl_icd_dispatch::clReleaseSampler>;
using OwnedEvent = Owned<cl_event, &cl_icd_dispatch::clReleaseEvent>;
using OwnedSubDevice = Owned<cl_device_id, &cl_icd_dispatch::clReleaseDevice>;

}  // namespace heddle::device

// Builds kernels in another process first, so that a compiler that crashes, hangs or eats memory does not take this one
// with it. What was built there is in the disk caches of Heddle and of the driver, so that the same build here is
// quick, and known to come to an end.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "core/settings.hpp"
#include "core/variant.hpp"
#include "device/device.hpp"
#include "process/child.hpp"

namespace heddle::device {

// The program that belongs to the program or library in which this code is; empty where there is none.
std::string installed_builder();

// What a kernel is given when it is tried.
struct ZeroBuffer {
  Bytes size;
};
using TrialArgument = std::variant<ZeroBuffer, Scalar, LocalMemory>;

struct BuilderProgram {
  std::string path = installed_builder();  // empty: there is none
  Bytes memory = Bytes{8} << 30;           // that the compiler may use beyond what the opened driver does
};

// Safe to use from several threads, one of which is served at a time; two of these work beside each other. Nothing is
// started before the first build, and what was started ends with this object, with this process, or after a minute
// without a build.
class BuildWorker {
 public:
  // For a device of this process that was opened with these settings: they say where builds are kept.
  BuildWorker(const Info& device, const core::Settings& settings, const BuilderProgram& program = {});
  ~BuildWorker();
  BuildWorker(const BuildWorker&) = delete;
  BuildWorker& operator=(const BuildWorker&) = delete;

  struct Ask {
    Source source;  // as it will be given to Device::build
    std::string entry;
    // As it will be launched. The smallest part of it that has the same form is launched (prepare.hpp), as PoCL
    // compiles most at the first launch. Buffers are full of zeros and scalars as given, so a kernel must stand that,
    // or be given arguments with which it does nothing. Without arguments it is only built.
    core::NdRange range;
    std::optional<std::vector<TrialArgument>> arguments;
  };

  // `limit` is for build and launch, not for the start of the other process. Failures are those of Device::build and
  // prepare, and beside them:
  //   build        the compiler, or the first launch, crashed or ended its process
  //   hang         it took longer than `limit`
  //   lost         somebody else ended the process, perhaps for want of memory
  //   unsupported  nothing was tried: a fake device, no such program installed, the driver does not open there
  //   launch       nothing was tried for a reason that may pass: no more processes or descriptors
  Status build(const Ask& ask, Nanoseconds limit);

  pid_t id() const;  // of the process that watches the one that builds; -1: there is none

 private:
  Result<std::string> exchange(const std::string& request, Nanoseconds limit);
  Status start();

  const std::string program_, device_;
  const pid_t owner_;
  mutable std::mutex mutex_;  // guards all below
  std::optional<process::Child> watcher_;
};

}  // namespace heddle::device

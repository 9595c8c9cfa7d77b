// A kernel compiler at work, and the talk with it.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "process/child.hpp"

namespace heddle::kernel {

struct Limits {
  int seconds = 20;  // per request; 11,000 kernels in 1 MB of source take 5.4 on the development machine
  core::Bytes memory = core::Bytes{2} << 30;  // of address space; its libraries alone take 0.4 GB
};

class Process {
 public:
  // Starts `program` with an empty environment, no descriptor but its socket, and a session of its own. The failure is
  // `unsupported` where there is no such program, `launch` where the next try may succeed.
  static core::Result<Process> start(const std::string& program, const Limits& limits);

  // One request and its answer. After a failure it is of no use any more; the failure is `lost` where it ended, `hang`
  // where time was up.
  core::Result<std::string> exchange(const std::string& request, std::chrono::steady_clock::time_point until);
  bool fresh() const { return exchanges_ == 0; }
  pid_t id() const { return child_.id(); }

 private:
  explicit Process(process::Child child) : child_(std::move(child)) {}

  process::Child child_;  // its line is a socket
  int exchanges_ = 0;
};

}  // namespace heddle::kernel

// A kernel compiler at work: a process that this one started but that no wait() of the host program sees, unless the
// host inherits all orphans.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <sys/types.h>

#include "core/errors.hpp"
#include "core/units.hpp"

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
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  // One request and its answer. After a failure it is of no use any more; the failure is `lost` where it ended, `hang`
  // where time was up.
  core::Result<std::string> exchange(const std::string& request, std::chrono::steady_clock::time_point until);
  bool fresh() const { return exchanges_ == 0; }
  pid_t id() const { return id_; }

 private:
  Process(int socket, pid_t id, int handle, pid_t owner) : socket_(socket), id_(id), handle_(handle), owner_(owner) {}
  void kill() const;
  void end();

  int socket_ = -1;
  pid_t id_ = -1;
  int handle_ = -1;   // a pidfd: the number may be another's by now, this is not; -1: the system has none
  pid_t owner_ = -1;  // who started it: a child that the host forked has copies of all this
  int exchanges_ = 0;
};

}  // namespace heddle::kernel

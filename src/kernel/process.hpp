// A kernel compiler at work: a process that this one started but that no wait() of the host program ever sees.
#pragma once

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
  // Starts `program` with an empty environment, no descriptor but its socket, and a session of its own.
  static core::Result<Process> start(const std::string& program, const Limits& limits);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  // One request and its answer. After a failure it is of no use any more.
  core::Result<std::string> exchange(const std::string& request);
  bool fresh() const { return exchanges_ == 0; }
  pid_t id() const { return id_; }

 private:
  Process(int socket, pid_t id, Limits limits) : socket_(socket), id_(id), limits_(limits) {}
  void end();

  int socket_ = -1;
  pid_t id_ = -1;
  Limits limits_;
  int exchanges_ = 0;
};

}  // namespace heddle::kernel

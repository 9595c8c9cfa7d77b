// A program that this process started but that no wait() of the host program sees, unless the host inherits all
// orphans.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace heddle::process {

using Clock = std::chrono::steady_clock;

struct Program {
  std::string path;
  std::vector<std::string> arguments;    // behind its own name
  std::vector<std::string> environment;  // "NAME=value"; nothing else
  int given = -1;                        // a descriptor of ours that it gets
  int given_as = -1;  // the number of that there; of the first three those that are not it are /dev/null
};

// In a session of its own, with signals as they are by default. Copies in a child that the host forked do nothing.
class Child {
 public:
  // `line` is the other end of what it is given, and is the child's from now on: closed with it. The failure is
  // `unsupported` where there is no such program, `launch` where the next try may succeed.
  static core::Result<Child> start(const Program& program, int line);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child() { end(); }

  void kill() const;
  void end();  // closes the line, by which it should notice; one that the host would inherit is ended here
  int line() const { return line_; }
  pid_t id() const { return id_; }

 private:
  Child(int line, pid_t id, int handle, pid_t owner) : line_(line), id_(id), handle_(handle), owner_(owner) {}

  int line_ = -1;
  pid_t id_ = -1;
  int handle_ = -1;   // a pidfd: the number may be another's by now, this is not; -1: the system has none
  pid_t owner_ = -1;  // who started it: a child that the host forked has copies of all this
};

// Waits for `events` of a descriptor; false when time is up.
bool ready(int descriptor, short events, Clock::time_point until);

// All that a program writes to its standard output before it ends. `hang` where it takes too long, and then it is
// ended.
core::Result<std::string> output_of(Program program, Clock::time_point until, core::Bytes most);

}  // namespace heddle::process

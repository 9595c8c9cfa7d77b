// A process of ours that may die of what it runs: drivers crash, hang and eat memory.
#pragma once

#include <sys/types.h>

namespace heddle::process {

// For a child right after fork(), whose parent watches it. It ends with its parent, leads a group of its own, in which
// all that it starts ends with it, leaves no core file, and what is printed in it goes nowhere.
void become_mortal(pid_t parent);

// Whether a process's own doing ends it by this signal; else somebody else did.
bool is_crash(int signal);

}  // namespace heddle::process

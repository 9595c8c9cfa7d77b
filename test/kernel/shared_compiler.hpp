// One kernel compiler for all tests of a program.
#pragma once

#include "kernel/compiler.hpp"

namespace heddle::kernel {

inline Compiler& compiler() {
  static Compiler one(Options{.program = installed_compiler()});
  return one;
}

}  // namespace heddle::kernel

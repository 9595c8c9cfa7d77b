// Why a kernel must not be run in boxes, as far as its text tells.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/kernelc/syntax.hpp"

namespace heddle::kernelc {

// Of a kernel that prints: all others are about memory beside its arguments, or work that it starts itself.
inline constexpr const char* prints = "printf: boxes would print in another order";

// Per kernel, sorted, the same reason once. Kernels without reasons have an empty list.
std::map<std::string, std::vector<std::string>> obstacles(const Syntax& syntax);

}  // namespace heddle::kernelc

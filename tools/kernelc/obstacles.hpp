// Why a kernel must not be run in boxes, as far as its text tells.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/kernelc/syntax.hpp"

namespace heddle::kernelc {

// Per kernel, sorted, the same reason once. Kernels without reasons have an empty list.
std::map<std::string, std::vector<std::string>> obstacles(const Syntax& syntax);

}  // namespace heddle::kernelc

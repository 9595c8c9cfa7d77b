// Which macros a device's compiler predefines: asked of the compiler itself, by a kernel that writes their values. The
// kernel compiler needs them to take the same ways through #ifdef.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/compiler.hpp"

namespace heddle::kernel {

// OpenCL C whose kernel `heddle_macro_probe` has one argument, an array of macro_probe_size() longs, and is launched as
// one work-item.
std::string macro_probe_source();
std::size_t macro_probe_size();

// What it wrote, and CL_DEVICE_EXTENSIONS and CL_DEVICE_ADDRESS_BITS, as a target.
Target target_of(const std::vector<std::int64_t>& probed, const std::string& extensions, int address_bits);

}  // namespace heddle::kernel

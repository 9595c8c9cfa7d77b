// What a device's compiler predefines, asked of the compiler: the kernel compiler must take the same ways through #if.
#pragma once

#include "device/device.hpp"
#include "kernel/compiler.hpp"

namespace heddle::engine {

// Builds and runs a kernel that tells.
core::Result<kernel::Target> target_of(device::Device& device);

}  // namespace heddle::engine

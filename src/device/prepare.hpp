// Makes a driver finish all compiling before anything is timed.
#pragma once

#include "device/device.hpp"

namespace heddle::device {

// Launches the smallest part of `run` that has the same form, on private copies of every buffer that the kernel may
// write, and waits for it. Does nothing where that form of the kernel was prepared before. The buffers of `run` are
// left as they are; they must hold valid input, since kernels may index by what they read.
// Where memory is too small for the copies the failure is of kind `allocation`: the launch itself may still fit, and
// then compiles when it runs.
Status prepare(Device& device, Queue& queue, const Run& run);

}  // namespace heddle::device

// What has to be measured of a device before anything can be planned on it; measured once and kept beside the built
// kernels.
#pragma once

#include <string>

#include "device/device.hpp"
#include "device/timing.hpp"

namespace heddle::device {

struct Facts {
  Clock clock;
  Nanoseconds launch{0};        // launch of one group on an untimed queue, and waiting for it
  Nanoseconds back_to_back{0};  // each further launch of a queue
  double memory_rate = 0;       // bytes per second of a vector addition, data resident
  // Bytes per second between host and device memory; 0 where both are one.
  double in_pageable = 0, in_locked = 0, out_pageable = 0, out_locked = 0, both_locked = 0;
  int copy_engines = 0;    // 0: no copies needed; 1: one direction at a time; 2: both at once
  bool disturbed = false;  // another program was busy meanwhile, so the figures are too low
};

Result<Facts> measure(Device& device);  // under a second

// From `folder` (empty: none) if they were measured there for this fingerprint, else measured now, and kept unless
// disturbed. A file that cannot be read is measured again.
Result<Facts> facts_of(Device& device, const std::string& folder);

}  // namespace heddle::device

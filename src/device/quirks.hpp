// What single drivers need that the standard does not ask for; the only place that knows a driver by its name.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"

namespace heddle::device {

// To be added to the options of every build on this device; empty for most.
std::string quirk_options(const Info& info);

// The same for builds that run beside the engine's, on a queue of their own.
std::string direct_options(const Info& info);

// Whether the threads that compute begin when a platform is first asked for its devices.
bool computes_in_threads(const std::string& platform);

// Whether the thread that ends a command calls back itself. NVIDIA's driver (580 seen) calls from a thread that looks
// every 20 ms.
bool calls_back_at_once(const Info& info);

// Whether commands of several queues are at work at once, each on no more units than it has groups.
bool overlaps(const Info& info);

// How the driver holds a kernel while a launch of it is at work, where several queues are: two launches of one kernel
// in groups of one size may only be at work at once if they are held the same way.
struct Hold {
  bool shifted = false;                // it has an offset
  std::int64_t plane = 0, widest = 0;  // work-items of its widest dimension, of two and of three
  core::Index local{1, 1, 1};

  bool operator==(const Hold&) const = default;
};
Hold hold_of(const core::NdRange& range);
// Whether a launch that begins while another is at work is held the same way as that.
bool joins(const Hold& other, const Hold& at_work);

// Variables of the environment that decide which devices drivers show: what was proven under one value says nothing
// about another.
std::vector<const char*> device_variables();

// Whether images work, where the device says that they do.
bool has_images(const Info& info);

// Whether sub-devices must never be released.
bool keeps_sub_devices(const Info& info);

}  // namespace heddle::device

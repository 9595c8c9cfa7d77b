// A device of an OpenCL driver behind the interface of device.hpp.
#pragma once

#include <memory>

#include "cache/file_cache.hpp"
#include "core/settings.hpp"
#include "device/device.hpp"
#include "device/vendor.hpp"

namespace heddle::device {

// What a driver says of a device; `parent` is the fingerprint of the device it was cut from. Id and memory space are
// the caller's to fill in.
Info describe(const Platform& platform, cl_device_id device, const std::string& parent);

// Where builds are kept.
cache::FileCache build_cache(const core::Settings& settings);

// Opens a context on the device. `owned` holds the handle of a sub-device, empty for a whole one.
Result<std::unique_ptr<Device>> open_device(const Platform& platform, cl_device_id handle, OwnedSubDevice owned,
                                            Info info, cache::FileCache cache);

}  // namespace heddle::device

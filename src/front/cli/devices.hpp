// What several commands say about devices.
#pragma once

#include <string>

#include "core/settings.hpp"
#include "device/machine.hpp"

namespace heddle::front::cli {

std::string facts_folder(const core::Settings& settings);
std::string no_devices_text();
std::string device_table(device::Machine& machine, const core::Settings& settings);

}  // namespace heddle::front::cli

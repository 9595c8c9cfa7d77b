// What several commands say about devices.
#pragma once

#include <string>
#include <vector>

#include "core/settings.hpp"
#include "device/facts.hpp"
#include "device/machine.hpp"

namespace heddle::front::cli {

using MeasuredFacts = std::vector<core::Result<device::Facts>>;

// Of every device, in order; measured now where they are not known yet.
MeasuredFacts facts_of_all(device::Machine& machine, const core::Settings& settings);
std::string device_table(const device::Machine& machine, const MeasuredFacts& facts);
// Says on standard error why there is no device, for the exit code 1.
void complain_of_no_device(const device::Machine& machine);

}  // namespace heddle::front::cli

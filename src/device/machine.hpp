// All devices of this machine, as the user chose them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "device/device.hpp"

namespace heddle::device {

struct Machine {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::string> problems;  // drivers and devices that could not be used, a line each; also logged
};

// Loads all drivers and opens the devices that `settings.devices` names. UsageError where it names none or cannot be
// read. `environment` is asked for the variables that OpenCL loaders know.
Machine open_machine(const core::Settings& settings, const core::Lookup& environment);

// One entry of HEDDLE_DEVICES: "cpu/2" is {cpu, 2}.
struct Selector {
  std::string what;  // all, cpu, gpu, accelerator, an id or part of a name
  int parts = 1;
};
std::vector<Selector> parse_selectors(const std::string& text);  // UsageError in one line

}  // namespace heddle::device

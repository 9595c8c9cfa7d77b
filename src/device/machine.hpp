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
  int parts = 0;     // into which it is cut; 0: nothing is said of that
};
std::vector<Selector> parse_selectors(const std::string& text);  // UsageError in one line

// Cores of a CPU that compute where others are fed from this machine: what feeds them must not wait for a core.
// Measured on 16 cores beside an H200: with all of them at work, sharing gained nothing; with two left, 1.45 times on
// vector_add.
int units_beside_others(int units);

}  // namespace heddle::device

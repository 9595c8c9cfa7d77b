// The devices that the user chose, found but not opened: what the driver passes calls to, and what open_machine opens.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "device/device.hpp"
#include "device/vendor.hpp"

namespace heddle::device {

struct Chosen {
  Platform platform;
  cl_device_id handle;
  OwnedSubDevice owned;  // holds the handle of a sub-device, empty for a whole one
  Info info;
};

struct Choice {
  std::vector<Chosen> devices;
  std::vector<std::string> problems;  // drivers that could not be used, a line each; also logged
};

// Loads all drivers and finds the devices that `settings.devices` names. UsageError where it names none or cannot be
// read.
Choice choose_devices(const core::Settings& settings, const core::Lookup& environment);

// The one that an unsplit launch runs on: a GPU before an accelerator before a CPU, and of its kind the one
// with most units. There must be one.
const Chosen& primary_of(const std::vector<Chosen>& devices);

// What the driver and the engine use in turn.

// The chosen devices behind the engine's interface, in their order; those that cannot be opened are named in the log
// and null. The choice keeps what holds sub-devices, and must outlive them.
std::vector<std::unique_ptr<Device>> open_chosen(const core::Settings& settings, const Choice& choice);
cl_context context_of(const Device& device);              // of one that open_chosen opened
std::unique_ptr<Buffer> lend(cl_mem memory, Bytes size);  // a buffer of that context; retained

}  // namespace heddle::device

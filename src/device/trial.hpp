// A driver is tried: a tiny kernel on each of its devices. Only the program `prove` does this, in a process that may
// die of it; proof.hpp reads what it says.
#pragma once

#include <functional>
#include <string>

#include "device/device.hpp"

namespace heddle::device {

// How a device is named in what is said of it.
std::string described(const Info& info);

// Says a line before and after each device, a word and a tab before what follows:
//   trying DEVICE, right DEVICE, wrong DEVICE: what it computed, failed DEVICE: the call and its code
// and where there is none: none WHY. An error code is no danger to a program, so only `wrong` speaks against a driver.
void try_driver(const std::string& library, const std::function<void(const std::string&)>& say);

}  // namespace heddle::device

// Opens the devices that were chosen.
#include "device/machine.hpp"

#include "core/log.hpp"
#include "device/chosen.hpp"
#include "device/opencl_device.hpp"

namespace heddle::device {

Machine open_machine(const core::Settings& settings, const core::Lookup& environment) {
  Choice choice = choose_devices(settings, environment);
  Machine machine;
  machine.problems = std::move(choice.problems);
  const cache::FileCache cache = build_cache(settings);
  for (Chosen& chosen : choice.devices) {
    auto device = open_device(chosen.platform, chosen.handle, std::move(chosen.owned), std::move(chosen.info), cache);
    if (device) {
      machine.devices.push_back(std::move(*device));
    } else {
      machine.problems.push_back("a device cannot be used: " + device.failure().what);
      core::log_once(core::LogLevel::warn, machine.problems.back());
    }
  }
  return machine;
}

}  // namespace heddle::device

// The driver's one state per process: the devices below, made at first use and leaked on purpose, as the program's own
// static destructors may still come.
#pragma once

#include <vector>

#include "core/settings.hpp"
#include "front/icd/objects.hpp"
#include "profile/store.hpp"

namespace heddle::front::icd {

struct Runtime {
  core::Settings settings;
  device::Choice choice;         // the real devices
  std::vector<Device*> hidden;   // each of them as a device of ours; shown with HEDDLE_SHOW=all only
  std::vector<Device*> devices;  // what programs see: the virtual one first; empty where nothing can be used
};

// Finds the drivers below when it is called for the first time. Loaders ask for platforms while they hold locks of
// their own, so that must not come here.
Runtime& runtime();

// What was measured, in this run and before; opened when it is first used.
profile::Store& measured();

// Called where work can begin: when the process ends, work in flight is let end first.
void expect_end();

Platform& the_platform();

}  // namespace heddle::front::icd

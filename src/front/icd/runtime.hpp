// The driver's one state per process: the devices below, made at first use and leaked on purpose, as the program's own
// static destructors may still come.
#pragma once

#include <vector>

#include "core/settings.hpp"
#include "front/icd/objects.hpp"

namespace heddle::front::icd {

struct Runtime {
  core::Settings settings;
  device::Choice choice;         // the real devices
  std::vector<Device*> devices;  // the virtual one first; empty where nothing can be used
};

// Finds the drivers below when it is called for the first time. Loaders ask for platforms while they hold locks of
// their own, so that must not come here.
Runtime& runtime();

// Called by whoever makes something that can be at work: lets work in flight end when the main thread does.
void expect_end_of_main();

Platform& the_platform();

}  // namespace heddle::front::icd

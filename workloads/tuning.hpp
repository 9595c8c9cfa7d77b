// The parameters of a workload's tunable kernel, tuned on a device.
#pragma once

#include "engine/tuning.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {

// What is tuned for: the launch, and what is right there. `instance` and `expected` must outlive the arguments.
struct ToTune {
  core::Tunable tunable;
  core::Box space;
  std::vector<engine::TuningArgument> arguments;
  core::Variant base;
};
ToTune to_tune(const Workload& workload, const Instance& instance, const Instance& expected);

// UsageError that names those that have parameters, for a workload without.
core::Tunable tunable_of(const Workload& workload);

}  // namespace heddle::workloads

// The schedules of a workload's base variant, as variants that compete with each other, and the one that a compiler
// would choose that does not measure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/compiler.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {

struct Schedules {
  std::vector<core::Variant> variants;  // named after their orders; a group is one work-item that computes a tile
  std::size_t least_strides = 0;        // the static choice among them, for this instance
  std::string refused;                  // why there are none
};

// `target` is what the device's compiler predefines. Tiles are as large as the base's groups where nothing else is
// said.
core::Result<Schedules> schedules_of(kernel::Compiler& compiler, const Workload& workload, const Instance& instance,
                                     const kernel::Target& target = {}, std::optional<core::Index> tile = {});

}  // namespace heddle::workloads

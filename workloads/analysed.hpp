// A workload's base variant as the kernel compiler sees it, for one instance: what choices start from that do not
// measure.
#pragma once

#include <optional>
#include <vector>

#include "core/byte_ranges.hpp"
#include "kernel/compiler.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {

struct Analysed {
  core::KernelFacts facts;
  core::Grid grid;                              // of the whole space
  std::vector<std::vector<std::byte>> scalars;  // as BoundKernel has them
};

// `target` is what the device's compiler predefines. Groups are the base's where nothing else is said.
core::Result<Analysed> analyse_base(kernel::Compiler& compiler, const Workload& workload, const Instance& instance,
                                    const kernel::Target& target = {}, std::optional<core::Index> group = {});

}  // namespace heddle::workloads

// Which variants of a workload put an array where, and which of them a compiler would choose that does not measure.
#pragma once

#include <string_view>
#include <vector>

#include "core/placement.hpp"
#include "kernel/compiler.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {

struct Placed {
  std::string_view workload, variant, argument;
  core::Placement where;
};

// All there are: variants that put an array elsewhere than another variant does, and otherwise work alike.
const std::vector<Placed>& placements();

struct PlacementChoice {
  std::vector<std::size_t> variants;  // that stand in the table; none: there is nothing to choose
  std::size_t chosen = 0;             // the static choice among them, for this instance
};

core::Result<PlacementChoice> choose_placement(kernel::Compiler& compiler, const Workload& workload,
                                               const Instance& instance, const kernel::Target& target = {});

}  // namespace heddle::workloads

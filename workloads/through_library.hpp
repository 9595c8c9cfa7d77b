// A workload as a program that uses the library would run it.
#pragma once

#include <optional>
#include <string>

#include "heddle/heddle.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {

// Runs one variant on the whole space, each device's share cut into `tasks` slices, on poisoned outputs; what is wrong
// with the result, in a line, or nothing. `report` is what became of the launch. The variant must fit the space.
std::optional<std::string> run_through_library(Runtime& runtime, const Workload& workload, std::size_t variant,
                                               Instance instance, const Instance& expected, int tasks, Report& report);

// Whether one launch of the variant covers the whole space.
bool covers_space(const core::Variant& variant, const core::Box& space);

}  // namespace heddle::workloads

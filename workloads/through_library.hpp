// A workload as a program that uses the library would run it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {

// An instance in buffers of a runtime.
class InLibrary {
 public:
  InLibrary(Runtime& runtime, Instance instance);

  Launch launch(const Kernel& kernel, const Grid& grid) const { return runtime_.launch_all(kernel, grid, arguments_); }
  Instance result();  // waits for it

 private:
  Runtime& runtime_;
  Instance instance_;  // its arrays are in the buffers alone
  std::vector<Buffer<std::byte>> buffers_;
  std::vector<detail::Argument> arguments_;
};

// The kernel of a workload with all its variants, and the points of an instance.
Kernel with_variants(Runtime& runtime, const Workload& workload);
Grid points_of(const Instance& instance);

// Runs one variant on the whole space, each device's share cut into `tasks` slices, on poisoned outputs; what is wrong
// with the result, in a line, or nothing. `report` is what became of the launch. The variant must fit the space.
std::optional<std::string> run_through_library(Runtime& runtime, const Workload& workload, std::size_t variant,
                                               Instance instance, const Instance& expected, int tasks, Report& report);

// Whether one launch of the variant covers the whole space.
bool covers_space(const core::Variant& variant, const core::Box& space);

}  // namespace heddle::workloads

// Schedules: the orders in which a CPU can go through a tile of work-items and through the kernel's loops, and the one
// that a look at the access strides prefers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/byte_ranges.hpp"
#include "core/facts.hpp"

namespace heddle::core {

// From the outermost to the innermost: x, y, z are dimensions of work-items, digits the kernel's loops. In "y0x" each
// row of the tile goes through the loop once, and all its columns take part in each iteration.
struct Schedule {
  std::string kernel;
  std::string order;
  Index tile{1, 1, 1};  // points that one work-item computes

  bool operator==(const Schedule&) const = default;
};

// All orders of a nest, in which loops stay inside of each other as they are written: (d + l)! / l! of them for d
// dimensions and l loops, sorted. None where the kernel has no schedules.
std::vector<std::string> orders_of(const Nest& nest);

// The name of the rewritten source, "schedule:sgemm:y0x:16x16x1", and back. Nothing for a text that is none.
std::string form_name(const Schedule& schedule);
std::optional<Schedule> schedule_of(const std::string& form_name);

// Bytes that the addresses of all accesses move, one after the other, while one group's points are gone through in
// this order. A step to nobody knows where counts as a page, a loop whose length is data as 32 iterations.
double sum_of_strides(const KernelFacts& facts, const Grid& grid, const std::vector<std::vector<std::byte>>& scalars,
                      const std::string& order);

// The order with the smallest such sum, as a compiler chooses that does not measure; the first of equals. Empty where
// there are no schedules. `scalars` as BoundKernel has them.
std::string order_of_least_strides(const KernelFacts& facts, const Grid& grid,
                                   const std::vector<std::vector<std::byte>>& scalars);

}  // namespace heddle::core

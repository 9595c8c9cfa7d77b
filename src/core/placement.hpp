// Data placement: in which memory a look at a kernel's accesses would put its arrays.
#pragma once

#include <cstddef>
#include <vector>

#include "core/byte_ranges.hpp"
#include "core/facts.hpp"

namespace heddle::core {

enum class Placement { global, constant, local };

const char* to_string(Placement);

// What every device has of it, at least.
constexpr Bytes constant_memory = 65'536;

// Where a compiler that does not measure would put the array behind an argument, the best first: what is only read and
// small is constant, what several work-items of a group read is local, and anything may stay global. Several work-items
// read an element where its place does not depend on one of their dimensions, or where two reads are as far apart as
// two work-items are. `size` is the array's, `scalars` are as BoundKernel has them.
std::vector<Placement> placements_of(const KernelFacts& facts, int argument, Bytes size, const Grid& grid,
                                     const std::vector<std::vector<std::byte>>& scalars);

}  // namespace heddle::core

// One implementation of a kernel: its text, what one of its groups covers, and how it can be cut.
#pragma once

#include <string>

#include "core/box.hpp"
#include "core/parameters.hpp"

namespace heddle::core {

// How a variant can run on a part of the launch.
enum class Cut {
  none,       // only the whole launch
  by_offset,  // knows its place from get_global_id (and get_local_id) alone, so the original with a global offset does
              // it: offsets are whole groups, so local ids stay the same; group ids and all sizes would not
};

struct Variant {
  std::string name;
  std::string source;    // OpenCL C
  std::string entry;     // the kernel function in it
  std::string options;   // for its compiler, without the parameters
  Index group{1, 1, 1};  // work-items per group
  Footprint footprint;   // points per group
  Cut cut = Cut::none;
  ParameterSpace parameters;  // passed to the compiler as -D options
};

// The kernel's fingerprint: of its source, its options and the function in it.
std::string fingerprint_of(const Variant& variant);

// Work-items to launch: what a device is told.
struct NdRange {
  Index offset{0, 0, 0};
  Index global{1, 1, 1};
  Index local{1, 1, 1};
  int dimensions = 0;  // what get_work_dim answers; 0: as many as the range needs

  bool operator==(const NdRange&) const = default;
};

// The work-items with which `variant` computes `box` of a launch over `space`. All slices of a launch have its
// dimensions. A space that does not begin at zero is one whose points are work-items: a program's launch with a global
// offset. The box must be made of whole footprints (align), and be the whole space unless the variant can be cut.
NdRange nd_range(const Variant& variant, const Box& box, const Box& space);

}  // namespace heddle::core

// How a kernel's box form is launched: the hidden arguments that it has behind its own (tools/kernelc/box_form.cpp
// writes kernels that read them).
#pragma once

#include <array>
#include <cstdint>

#include "core/box.hpp"
#include "core/byte_ranges.hpp"
#include "core/variant.hpp"

namespace heddle::core {

using HiddenArgument = std::array<std::uint32_t, 4>;  // a uint4 of OpenCL C; the fourth is not used

// In the order in which they stand behind the kernel's own arguments.
struct BoxArguments {
  HiddenArgument base;    // first group of the box
  HiddenArgument count;   // groups of the box; all zero: a counted form does nothing
  HiddenArgument groups;  // of the whole launch
  HiddenArgument offset;  // global offset of the whole launch
};

struct BoxLaunch {
  NdRange range;  // always without an offset
  BoxArguments arguments;
};

// Whether a launch can be told by them: no more than 32 bits per dimension of groups and offset.
bool fits_box_form(const Grid& whole);

// InternalError where the launch does not fit, or the box is empty or not inside it.
BoxLaunch box_launch(const Grid& whole, const Box& groups);

// Whether the window form has a hidden argument for this one, behind those of the box form: the byte that the buffer
// given for it begins with, as 64 bits.
inline bool has_window(const ArgumentFacts& argument) { return argument.space == AddressSpace::global; }

// Build option with which a form tests the count, so that a count of zero prepares it. The test costs up to 12 % on
// PoCL; without it, count is not looked at.
inline constexpr const char* counted_option = "-DHEDDLE_COUNTED";

// One group that does nothing, in the given launch's group size: prepares a form that was built with counted_option.
BoxLaunch preparing_launch(const Grid& whole);

}  // namespace heddle::core

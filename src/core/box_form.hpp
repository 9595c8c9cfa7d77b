// How a kernel's box, window and merge form are launched: the hidden arguments that they have behind the kernel's own
// (tools/kernelc/box_form.cpp writes kernels that read them).
#pragma once

#include <array>
#include <cstdint>

#include "core/box.hpp"
#include "core/byte_ranges.hpp"
#include "core/facts.hpp"
#include "core/spans.hpp"
#include "core/units.hpp"
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

// Build option with which a form tests the count, so that a count of zero prepares it. The test costs up to 12 % on
// PoCL; without it, count is not looked at.
inline constexpr const char* counted_option = "-DHEDDLE_COUNTED";

// One group that does nothing, in the given launch's group size: prepares a form that was built with counted_option.
BoxLaunch preparing_launch(const Grid& whole);

// The window form has the arguments of the box form and behind them, for each argument that is windowed, in their
// order, one of 64 bits: the byte of the argument with which the buffer that is given for it begins.
bool windowed(const ArgumentFacts& argument);

// The merge form has the arguments of the box form and behind them, for each such argument, two: a buffer with what
// another memory holds of it, and 64 bits that say how many bytes of it to look at. Of those, the kernel's stores take
// what is there; others it does not do. Zero bytes: none of this argument, whatever the buffer.

// Windows begin and end at multiples of this, which is the largest alignment of OpenCL C's types: elements stay
// aligned, and what devices read or write beside the bytes that count, as the fourth lane of a vector of three, is
// inside.
inline constexpr std::int64_t window_alignment = 128;

// The least window of an argument of `size` bytes that holds these bytes of it; never empty, as no buffer is, unless
// the argument is. `touched` may be empty, or leave the argument.
Span window_around(const Span& touched, Bytes size);

}  // namespace heddle::core

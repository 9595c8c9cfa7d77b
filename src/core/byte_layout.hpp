// The bytes that an index reaches.
#pragma once

#include "core/byte_ranges.hpp"
#include "core/linear.hpp"

namespace heddle::core {

// Variables of one value become constants.
void fix(Linear& form, const Ranges& ranges);

// `bytes` bytes from `index` on, at the points of `ranges` where all of `open` are at most zero. All variables of the
// index have ranges. `exact`: these are exactly the points at which the access happens.
ByteRanges lay_out(Linear index, int bytes, const Ranges& ranges, const std::vector<Linear>& open, bool exact);

}  // namespace heddle::core

// The part of the suite "split" that joins memories.
#pragma once

#include "bench/frame.hpp"

namespace heddle::bench {

// What one device has changed, joined with what others have: all bytes that it may have written over the time, beside a
// copy of as many.
std::vector<Row> joining(Context& context);

}  // namespace heddle::bench

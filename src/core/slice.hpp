// The atom of everything: a box of one launch, in one variant with one configuration, on one device; and what came of
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/box.hpp"
#include "core/errors.hpp"
#include "core/parameters.hpp"
#include "core/units.hpp"

namespace heddle::core {

struct Slice {
  std::uint64_t launch = 0;  // which launch of this process
  Box box;
  std::size_t variant = 0;  // index into the launch's variants
  Configuration configuration;
  std::size_t device = 0;  // index into the devices in use
};

// What one timed piece of work teaches.
struct Sample {
  std::int64_t points = 0;
  Nanoseconds duration{0};  // of the computing alone
  Bytes bytes_in = 0;       // moved to the device for it
  Bytes bytes_out = 0;      // moved back
  double contention = 1.0;  // CPU time / (wall time x units) of a CPU device; 1 elsewhere
};

struct SliceResult {
  Slice slice;
  std::optional<Failure> failure;  // set: nothing of the sample counts
  Sample sample;
};

// Below this a CPU sample was disturbed by another program and teaches nothing: one busy neighbour on two cores gives a
// stable factor of two, at a ratio of about 0.5; undisturbed samples were seen at 0.95 and above.
constexpr double trusted_contention = 0.9;

}  // namespace heddle::core

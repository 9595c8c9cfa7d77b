// A kernel's arguments as words of a command line.
#pragma once

#include <string>
#include <vector>

#include "engine/tuning.hpp"

namespace heddle::front::cli {

// "float[1024*1024]", "int[256]=ramp", "int=7", "local[4096]": an array of so many elements, a value, or so many bytes
// of local memory. Types are those of OpenCL C. Arrays of real numbers hold random ones from 0 to 1, those of integers
// zeros, which are safe as indices; =zero, =random (of integers: 0 to 255) or =ramp (0, 1, 2, ...) say otherwise.
// UsageError for anything else.
struct ArgumentWord {
  enum class Kind { array, value, local } kind;
  std::vector<std::byte> bytes;  // of an array or a value
  std::size_t local = 0;
  bool real = false;  // of a value
};
ArgumentWord parse_argument(const std::string& word, std::uint64_t seed);

// As they are given to tuning; the words must outlive that.
std::vector<engine::TuningArgument> tuning_arguments(const std::vector<ArgumentWord>& words);

// "1024, 8*64": one to three extents, as expressions without names.
core::Index parse_extents(const std::string& what, const std::string& text);

}  // namespace heddle::front::cli

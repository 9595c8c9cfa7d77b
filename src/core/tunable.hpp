// A kernel with parameters: one text from which many variants can be made.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/parameters.hpp"
#include "core/variant.hpp"

namespace heddle::core {

// Its groups, and what they cover, depend on the parameters.
struct Tunable {
  std::string name;
  std::string source;                                // OpenCL C
  std::string entry;                                 // the kernel function in it
  std::string options;                               // for its compiler, without the parameters
  std::array<std::string, 3> group{"1", "1", "1"};   // expressions: work-items per group
  std::array<std::string, 3> points{"1", "1", "1"};  // points per group
  bool guarded = false;
  Cut cut = Cut::none;
  ParameterSpace space;
};

// The variant of one configuration; its name is to_string(configuration), its options define parameters and derived
// values. UsageError where an extent is not a positive whole number.
Variant variant_of(const Tunable& tunable, const Configuration& configuration);

// Reads what a kernel's text says of its parameters; nothing if it says nothing. Name, entry and options are left for
// the caller to fill in. One statement per line, and no comment after it (// is an operator):
//   #pragma heddle tune BX 8..64 times 2        values as parse_values reads them
//   #pragma heddle derive W BX*TILE
//   #pragma heddle constraint W <= 256
//   #pragma heddle group BX, 8                  one to three extents, separated by commas
//   #pragma heddle points W, 8                  without this line: as the group
//   #pragma heddle guarded                      the kernel itself stays inside of the launch
// UsageError "line 12: ..." for what cannot be read.
std::optional<Tunable> read_tunable(const std::string& source);

// Values separated by blanks or commas: numbers, names (also in quotes), true, false, and ranges of whole numbers,
// "1..16", "8..64 step 8", "8..64 times 2", which hold their end only if they meet it.
std::vector<Value> parse_values(const std::string& text);

}  // namespace heddle::core

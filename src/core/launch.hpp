// A launch as the program wrote it: an index space of points and arguments; and its shape, the part that timing depends
// on.
#pragma once

#include <string>
#include <vector>

#include "core/box.hpp"
#include "core/parameters.hpp"
#include "core/units.hpp"

namespace heddle::core {

enum class Access { read, write, read_write };

struct Argument {
  enum class Kind { buffer, scalar, local };
  Kind kind = Kind::scalar;
  Access access = Access::read_write;  // of a buffer; read_write where nothing better is known
  Bytes size = 0;                      // of the buffer, the scalar or the local memory
  Value value;                         // of a scalar; only integers and truth values enter the shape
};

struct Launch {
  std::string kernel;  // fingerprint of the kernel, or its name while it has none
  Box space;
  Index group{1, 1, 1};
  std::vector<Argument> arguments;
};

// Index space, group size, sizes of buffer arguments and values of integer arguments as one line:
// "1048576x1x1/64x1x1 b4194304 b4194304 i7". Launches of one shape are expected to take the same time.
std::string shape_of(const Launch&);

}  // namespace heddle::core

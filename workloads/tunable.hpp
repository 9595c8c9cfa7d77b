// What the descriptions of tunable kernels share.
#pragma once

#include <string>

#include "core/tunable.hpp"

namespace heddle::workloads {

// The begin of a source with a vector width as a parameter: `vec` is VW floats side by side, LOAD and STORE move them
// from and to any address space, aligned or not.
inline const std::string vectors = R"(
#define JOIN_NOW(a, b) a##b
#define JOIN(a, b) JOIN_NOW(a, b)
#if VW == 1
typedef float vec;
#define LOAD(from) (*(from))
#define STORE(value, to) (*(to) = (value))
#else
typedef JOIN(float, VW) vec;
#define LOAD(from) JOIN(vload, VW)(0, from)
#define STORE(value, to) JOIN(vstore, VW)(value, 0, to)
#endif
)";

}  // namespace heddle::workloads

// Polynomials of facts as a person writes them.
#pragma once

#include <string>

#include "core/facts.hpp"

namespace heddle::front::cli {

// x, y, z: global ids without their offset, or with it where it is added; gx, lx, sx, nx: group id, local id, group
// size, number of groups; i0, i1: iterations of loops; data: what nobody knows before the kernel runs.
std::string readable(const core::KernelFacts& facts, const core::Polynomial& polynomial);

// "x < n" for "x - n + 1 is at most zero".
std::string readable(const core::KernelFacts& facts, const core::Guard& guard);

// What an access touches: "c[x]" with `name` for the argument; in elements where the index is whole multiples of them.
std::string readable(const core::KernelFacts& facts, const core::AccessFacts& access);

}  // namespace heddle::front::cli

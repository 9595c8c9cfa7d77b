// Units that cross folder borders, so that no bare integer has to say in its name what it counts.
#pragma once

#include <chrono>
#include <cstdint>

namespace heddle::core {

using Nanoseconds = std::chrono::nanoseconds;
using Bytes = std::uint64_t;

constexpr Bytes operator""_KiB(unsigned long long n) { return n << 10; }
constexpr Bytes operator""_MiB(unsigned long long n) { return n << 20; }

inline double seconds(Nanoseconds t) { return std::chrono::duration<double>(t).count(); }

}  // namespace heddle::core

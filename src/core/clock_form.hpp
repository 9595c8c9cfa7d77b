// How a kernel's clock form is launched and read: behind the kernel's own arguments it has a buffer with two ulongs for
// each group of the launch, the dimension x first: when it began, and when it ended (tools/kernelc/clock_form.cpp
// writes kernels that fill it). They need not be set before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/variant.hpp"

namespace heddle::core {

// How many ulongs that is.
inline std::size_t clock_slots(const NdRange& range) {
  std::size_t groups = 1;
  for (std::size_t d = 0; d < 3; ++d)
    groups *= static_cast<std::size_t>((range.global[d] + range.local[d] - 1) / range.local[d]);
  return 2 * groups;
}

// From the begin of the first group to the end of the last, in ticks of the device's clock: how long a tick is only the
// device knows, but two times of one device can be compared.
inline std::uint64_t clock_ticks(std::span<const std::uint64_t> slots) {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (std::size_t i = 0; i + 1 < slots.size(); i += 2) {
    begin = std::min(begin, slots[i]);
    end = std::max(end, slots[i + 1]);
  }
  return end > begin ? end - begin : 0;
}

}  // namespace heddle::core

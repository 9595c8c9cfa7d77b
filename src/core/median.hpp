// The middle of some numbers.
#pragma once

#include <algorithm>
#include <vector>

namespace heddle::core {

// Of an even count, halfway between the two in the middle. Not of none.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace heddle::core

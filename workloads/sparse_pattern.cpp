// Draws what is there.
#include "workloads/sparse_pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace heddle::workloads {

namespace {

// Every element is there with a probability of 1 %. Draws how many are left out before the next one, by the
// distribution of that number, because drawing for every element would take seconds.
SparsePattern random_pattern(int rows, std::mt19937_64& random) {
  std::array<double, 512> at_most;  // probability that at most so many are left out
  double none = 1;
  for (double& p : at_most) {
    p = std::fma(-0.99, none, 1.0);  // fused by name: some compilers would do it by themselves, others would not
    none *= 0.99;
  }
  auto left_out = [&] {
    std::int64_t out = 0;
    while (true) {
      const double u = static_cast<double>(random() >> 11) * 0x1p-53;
      const auto found = std::upper_bound(at_most.begin(), at_most.end(), u) - at_most.begin();
      out += found;
      if (found < static_cast<std::ptrdiff_t>(at_most.size())) return out;  // else: all of them, and draw again
    }
  };
  SparsePattern out;
  for (int row = 0; row < rows; ++row) {
    for (std::int64_t c = left_out(); c < rows; c += 1 + left_out()) out.column.push_back(static_cast<std::int32_t>(c));
    out.row_start.push_back(static_cast<std::int32_t>(out.column.size()));
  }
  return out;
}

SparsePattern diagonal_pattern(int rows) {
  SparsePattern out;
  for (int row = 0; row < rows; ++row) {
    out.column.push_back(row);
    out.row_start.push_back(row + 1);
  }
  return out;
}

// Elements are spread over the row, one somewhere in each equal part of it.
void add_row(SparsePattern& to, int length, int rows, std::mt19937_64& random) {
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t begin = i * rows / length, end = (i + 1) * rows / length;
    const std::uint64_t place = random() % static_cast<std::uint64_t>(end - begin);
    to.column.push_back(static_cast<std::int32_t>(begin + static_cast<std::int64_t>(place)));
  }
  to.row_start.push_back(static_cast<std::int32_t>(to.column.size()));
}

// Rows of at least l elements are as frequent as 4 / l: most have 4 to 8, a few have thousands.
SparsePattern power_law_pattern(int rows, std::mt19937_64& random) {
  const int longest = std::min(rows / 16, longest_row);
  SparsePattern out;
  for (int row = 0; row < rows; ++row) {
    const double u = static_cast<double>((random() >> 11) + 1) * 0x1p-53;  // in (0, 1]
    add_row(out, static_cast<int>(std::min<double>(4 / u, longest)), rows, random);
  }
  return out;
}

// Short rows want few work-items, long ones many: no variant need be the best for both.
SparsePattern two_kinds_pattern(int rows, std::mt19937_64& random) {
  SparsePattern out;
  for (int row = 0; row < rows; ++row)
    add_row(out, row < short_rows(rows) ? 1 + static_cast<int>(random() % 3) : long_row, rows, random);
  return out;
}

}  // namespace

SparsePattern sparse_pattern(Size size, std::string_view input, std::mt19937_64& random) {
  const int rows = sparse_rows(size, input);
  if (input == "random") return random_pattern(rows, random);
  if (input == "two_kinds") return two_kinds_pattern(rows, random);
  return input == "diagonal" ? diagonal_pattern(rows) : power_law_pattern(rows, random);
}

}  // namespace heddle::workloads

// Where the elements of a sparse matrix are, by the name of an input: what the workloads on such matrices share.
#pragma once

#include "workloads/workload.hpp"

namespace heddle::workloads {

struct SparsePattern {
  std::vector<std::int32_t> row_start{0};
  std::vector<std::int32_t> column;  // ascending in each row
};

// Bounds the rounding errors that tolerances allow, so that no term of a row is small enough to hide.
constexpr int longest_row = 4096;

// "two_kinds": so many rows are short, and the others long, which takes about as much time.
constexpr std::int64_t short_rows(std::int64_t rows) { return rows / 8 * 7; }
constexpr int long_row = 32;

// Rows, as many as columns. The default sizes of the first two are the ones of the DySel paper; tiny ones are no
// multiple of a group; large ones hold 1.1 to 1.4 GB.
constexpr int sparse_rows(Size size, std::string_view input) {
  if (input == "random") return by_size(size, 1'003, 16'384, 1 << 16, 1 << 17);
  if (input == "diagonal") return by_size(size, 10'007, 1 << 21, 1 << 24, 1 << 26);
  if (input == "two_kinds") return by_size(size, 1'003, 1 << 16, 1 << 21, 1 << 24);
  return by_size(size, 1'003, 1 << 16, 1 << 19, 1 << 22);  // power_law
}

// As many elements as a large matrix can have. They are drawn: 1 % of a random one, and 4 (1 + ln(4096 / 4)) = 32 per
// row of a power law, each with a fifth to spare.
constexpr std::int64_t most_elements(std::string_view input) {
  const std::int64_t rows = sparse_rows(Size::large, input);
  if (input == "two_kinds") return 3 * short_rows(rows) + long_row * (rows - short_rows(rows));
  return input == "random" ? 12 * rows * rows / 1000 : input == "diagonal" ? rows : 38 * rows;
}

// "random": 1 % filled; "diagonal"; "power_law": most rows have 4 to 8 elements, a few have thousands;
// "two_kinds": the first seven eighths of the rows have 1 to 3, the others 32.
SparsePattern sparse_pattern(Size size, std::string_view input, std::mt19937_64& random);

}  // namespace heddle::workloads

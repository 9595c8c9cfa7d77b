// spmv_jds: sparse rows laid out so that neighbouring work-items read neighbouring elements, whatever the matrix: what
// is left to choose is where the short table of diagonals lies and how far ahead a work-item loads.
#include <algorithm>
#include <numeric>

#include "workloads/sparse_pattern.hpp"
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Rows are sorted, the longest first. Diagonal d holds the d-th element of every row that has one, row by row, so that
// it is as long as there are such rows. y stays in the order of the rows as they are sorted here: written back through
// a permutation, no slice would know which part of y is its own. TABLE is where the diagonals' beginnings lie: all
// work-items read the same element of them at the same time.
const char* sum_of_row = R"(
kernel void jds(global const int* length, TABLE int* diagonal, global const int* column, global const float* value,
                global const float* x, global float* y, int rows) {
  int row = get_global_id(0);
  if (row < rows) {
    float sum = 0;
    int count = length[row];
    for (int d = 0; d < count; ++d) {
      int at = diagonal[d] + row;
      sum += value[at] * x[column[at]];
    }
    y[row] = sum;
  }
}
)";

// The group's first row is its longest: the table is needed so far. 4,096 elements are the longest row there is.
const char* local_source = R"(
kernel void jds_local(global const int* length, global const int* diagonal, global const int* column,
                      global const float* value, global const float* x, global float* y, int rows) {
  local int start[4096];
  int row = get_global_id(0), lane = get_local_id(0);
  int longest = length[row - lane];
  for (int d = lane; d < longest; d += 128) start[d] = diagonal[d];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (row < rows) {
    float sum = 0;
    int count = length[row];
    for (int d = 0; d < count; ++d) {
      int at = start[d] + row;
      sum += value[at] * x[column[at]];
    }
    y[row] = sum;
  }
}
)";

// Four diagonals a turn, and the next four columns and values are on their way while these are multiplied: x waits for
// its column, nothing else waits for anything.
const char* prefetching = R"(
kernel void jds_prefetching(global const int* length, global const int* diagonal, global const int* column,
                            global const float* value, global const float* x, global float* y, int rows) {
  int row = get_global_id(0);
  if (row < rows) {
    float sum = 0;
    int count = length[row], whole = count / 4 * 4;
    int next_column[4];
    float next_value[4];
    if (whole > 0) {
      for (int k = 0; k < 4; ++k) {
        int at = diagonal[k] + row;
        next_column[k] = column[at];
        next_value[k] = value[at];
      }
    }
    for (int d = 0; d < whole; d += 4) {
      float factor[4], term[4];
      for (int k = 0; k < 4; ++k) {
        factor[k] = x[next_column[k]];
        term[k] = next_value[k];
      }
      if (d + 4 < whole) {
        for (int k = 0; k < 4; ++k) {
          int at = diagonal[d + 4 + k] + row;
          next_column[k] = column[at];
          next_value[k] = value[at];
        }
      }
      for (int k = 0; k < 4; ++k) sum += term[k] * factor[k];
    }
    for (int d = whole; d < count; ++d) {
      int at = diagonal[d] + row;
      sum += value[at] * x[column[at]];
    }
    y[row] = sum;
  }
}
)";

constexpr bool large_fits(std::string_view input) {
  return fits(most_elements(input), 2 * most_elements(input) + 3LL * sparse_rows(Size::large, input) + longest_row);
}
static_assert(large_fits("random") && large_fits("diagonal") && large_fits("power_law"));
static_assert(longest_row == 4096 && fits_constant(longest_row));

Instance make(Size size, const std::string& input, std::uint64_t seed) {
  const int rows = sparse_rows(size, input);
  std::mt19937_64 random(seed);
  const SparsePattern pattern = sparse_pattern(size, input, random);
  const std::size_t nonzeros = pattern.column.size();
  auto length_of = [&](int row) { return pattern.row_start[row + 1] - pattern.row_start[row]; };
  std::vector<int> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return length_of(a) > length_of(b); });
  const int longest = length_of(order.front());
  Instance out;
  out.space = core::box_of(rows);
  out.arguments = {array<std::int32_t>("length", core::Access::read, rows),
                   constant_array<std::int32_t>("diagonal", longest),
                   array<std::int32_t>("column", core::Access::read, nonzeros),
                   array<float>("value", core::Access::read, nonzeros),
                   array<float>("x", core::Access::read, rows),
                   array<float>("y", core::Access::write, rows),
                   scalar<std::int32_t>("rows", rows)};
  auto& a = out.arguments;
  const auto length = a[0].as<std::int32_t>(), diagonal = a[1].as<std::int32_t>(), column = a[2].as<std::int32_t>();
  for (int row = 0; row < rows; ++row) length[row] = length_of(order[row]);
  std::int32_t at = 0;
  for (int d = 0; d < longest; ++d) {
    diagonal[d] = at;
    for (int row = 0; row < rows && length[row] > d; ++row)
      column[at++] = pattern.column[pattern.row_start[order[row]] + d];
  }
  for (int k : {3, 4}) {
    for (float& v : a[k].as<float>()) v = uniform(random, 0.5f, 1.5f);
  }
  // As in spmv_csr: up to 4,096 positive terms, and the least is at least three times what rounding may add up to.
  out.tolerance = {.absolute = 0, .relative = 2e-5};
  out.bytes = 8.0 * static_cast<double>(nonzeros) + 12.0 * rows + 4.0 * longest;
  out.operations = 2.0 * static_cast<double>(nonzeros);
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto length = a[0].as<std::int32_t>(), diagonal = a[1].as<std::int32_t>(), column = a[2].as<std::int32_t>();
  const auto value = a[3].as<float>(), x = a[4].as<float>(), y = a[5].as<float>();
  std::vector<double> sums(y.size());
  for (std::size_t d = 0; d < diagonal.size(); ++d) {  // along the memory
    for (std::size_t row = 0; row < y.size() && length[row] > static_cast<std::int32_t>(d); ++row) {
      const std::size_t at = diagonal[d] + row;
      sums[row] += static_cast<double>(value[at]) * x[column[at]];
    }
  }
  for (std::size_t row = 0; row < y.size(); ++row) y[row] = static_cast<float>(sums[row]);
}

}  // namespace

const Workload spmv_jds{
    .name = "spmv_jds",
    .what = "y = a x for a sparse matrix a in jagged diagonals, y in the order of the sorted rows",
    .inputs = {"random", "diagonal", "power_law"},
    .variants = {{.name = "base",
                  .source = std::string("#define TABLE global const\n") + sum_of_row,
                  .entry = "jds",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "constant",
                  .source = std::string("#define TABLE constant\n") + sum_of_row,
                  .entry = "jds",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "local",
                  .source = local_source,
                  .entry = "jds_local",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "prefetching",
                  .source = prefetching,
                  .entry = "jds_prefetching",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

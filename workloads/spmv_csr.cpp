// spmv_csr: the workload whose best variant depends on the data: work-items per row should match the row's length.
#include <algorithm>

#include "workloads/sparse_pattern.hpp"
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

const char* scalar_source = R"(
kernel void spmv_scalar(global const int* row_start, global const int* column, global const float* value,
                        global const float* x, global float* y, int rows) {
  int row = get_global_id(0);
  if (row < rows) {
    float sum = 0;
    int end = row_start[row + 1];
    for (int i = row_start[row]; i < end; ++i) sum += value[i] * x[column[i]];
    y[row] = sum;
  }
}
)";

// 32 work-items per row. No barrier may be left out: 32 work-items run in step only on some devices.
const char* vector_source = R"(
kernel void spmv_vector(global const int* row_start, global const int* column, global const float* value,
                        global const float* x, global float* y, int rows) {
  local float sums[128];
  int me = get_local_id(0);
  int lane = me % 32;
  int row = get_global_id(0) / 32;
  float sum = 0;
  if (row < rows) {
    int end = row_start[row + 1];
    for (int i = row_start[row] + lane; i < end; i += 32) sum += value[i] * x[column[i]];
  }
  sums[me] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_width = 16; half_width > 0; half_width /= 2) {
    if (lane < half_width) sums[me] += sums[me + half_width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0 && row < rows) y[row] = sums[me];
}
)";

// 8 work-items per row: for rows that would leave most of 32 idle.
const char* vector_8_source = R"(
kernel void spmv_vector_8(global const int* row_start, global const int* column, global const float* value,
                          global const float* x, global float* y, int rows) {
  local float sums[128];
  int me = get_local_id(0);
  int lane = me % 8;
  int row = get_global_id(0) / 8;
  float sum = 0;
  if (row < rows) {
    int end = row_start[row + 1];
    for (int i = row_start[row] + lane; i < end; i += 8) sum += value[i] * x[column[i]];
  }
  sums[me] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_width = 4; half_width > 0; half_width /= 2) {
    if (lane < half_width) sums[me] += sums[me + half_width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0 && row < rows) y[row] = sums[me];
}
)";

// Data placement: where the group's rows begin, in local memory; each number is the end of one row and the start of the
// next, and is read once.
const char* scalar_local_source = R"(
kernel void spmv_scalar_local(global const int* row_start, global const int* column, global const float* value,
                              global const float* x, global float* y, int rows) {
  local int start[129];
  int row = get_global_id(0), lane = get_local_id(0);
  start[lane] = row_start[min(row, rows)];
  if (lane == 127) start[128] = row_start[min(row + 1, rows)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (row < rows) {
    float sum = 0;
    for (int i = start[lane]; i < start[lane + 1]; ++i) sum += value[i] * x[column[i]];
    y[row] = sum;
  }
}
)";

// 16 rows per work-item, one after the other: one walk through a part of the matrix, as a CPU likes it.
const char* coarse_source = R"(
kernel void spmv_coarse(global const int* row_start, global const int* column, global const float* value,
                        global const float* x, global float* y, int rows) {
  int first = get_global_id(0) * 16;
  int i = row_start[min(first, rows)];
  for (int row = first; row < first + 16; ++row) {
    if (row < rows) {
      float sum = 0;
      for (int end = row_start[row + 1]; i < end; ++i) sum += value[i] * x[column[i]];
      y[row] = sum;
    }
  }
}
)";

constexpr bool large_fits(std::string_view input) {
  return fits(most_elements(input), 2 * most_elements(input) + 3LL * sparse_rows(Size::large, input));
}
static_assert(large_fits("random") && large_fits("diagonal") && large_fits("power_law") && large_fits("two_kinds"));

Instance make(Size size, const std::string& input, std::uint64_t seed) {
  const int rows = sparse_rows(size, input);
  std::mt19937_64 random(seed);
  const SparsePattern pattern = sparse_pattern(size, input, random);
  const std::size_t nonzeros = pattern.column.size();
  Instance out;
  out.space = core::box_of(rows);
  out.arguments = {array<std::int32_t>("row_start", core::Access::read, rows + 1),
                   array<std::int32_t>("column", core::Access::read, nonzeros),
                   array<float>("value", core::Access::read, nonzeros),
                   array<float>("x", core::Access::read, rows),
                   array<float>("y", core::Access::write, rows),
                   scalar<std::int32_t>("rows", rows)};
  std::copy(pattern.row_start.begin(), pattern.row_start.end(), out.arguments[0].as<std::int32_t>().begin());
  std::copy(pattern.column.begin(), pattern.column.end(), out.arguments[1].as<std::int32_t>().begin());
  for (int k : {2, 3}) {
    for (float& v : out.arguments[k].as<float>()) v = uniform(random, 0.5f, 1.5f);
  }
  // Up to 4,096 positive terms, each rounded at 6e-8; errors add up as their square root, 4e-6. A missing term is at
  // least 0.25 of about 4,096, 6e-5.
  out.tolerance = {.absolute = 0, .relative = 2e-5};
  out.bytes = 8.0 * static_cast<double>(nonzeros) + 12.0 * rows;
  out.operations = 2.0 * static_cast<double>(nonzeros);
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto row_start = a[0].as<std::int32_t>(), column = a[1].as<std::int32_t>();
  const auto value = a[2].as<float>(), x = a[3].as<float>(), y = a[4].as<float>();
  for (std::size_t row = 0; row < y.size(); ++row) {
    double sum = 0;
    for (std::int32_t i = row_start[row]; i < row_start[row + 1]; ++i)
      sum += static_cast<double>(value[i]) * x[column[i]];
    y[row] = static_cast<float>(sum);
  }
}

}  // namespace

const Workload spmv_csr{
    .name = "spmv_csr",
    .what = "y = a x for a sparse matrix a in compressed rows",
    .inputs = {"random", "diagonal", "power_law", "two_kinds"},
    .variants = {{.name = "scalar",
                  .source = scalar_source,
                  .entry = "spmv_scalar",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "vector",
                  .source = vector_source,
                  .entry = "spmv_vector",
                  .group = {128, 1, 1},
                  .footprint = {{4, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "vector_8",
                  .source = vector_8_source,
                  .entry = "spmv_vector_8",
                  .group = {128, 1, 1},
                  .footprint = {{16, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "scalar_local",
                  .source = scalar_local_source,
                  .entry = "spmv_scalar_local",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "coarse",
                  .source = coarse_source,
                  .entry = "spmv_coarse",
                  .group = {16, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

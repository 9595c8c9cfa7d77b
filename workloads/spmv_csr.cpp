// spmv_csr: the workload whose best variant depends on the data: work-items per row should match the row's length.
#include <algorithm>
#include <array>
#include <cmath>

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

struct Pattern {
  std::vector<std::int32_t> row_start{0};
  std::vector<std::int32_t> column;
};

// Every element is there with a probability of 1 %. Draws how many are left out before the next one, by the
// distribution of that number, because drawing for every element would take seconds.
Pattern random_pattern(int rows, std::mt19937_64& random) {
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
  Pattern out;
  for (int row = 0; row < rows; ++row) {
    for (std::int64_t c = left_out(); c < rows; c += 1 + left_out()) out.column.push_back(static_cast<std::int32_t>(c));
    out.row_start.push_back(static_cast<std::int32_t>(out.column.size()));
  }
  return out;
}

Pattern diagonal_pattern(int rows) {
  Pattern out;
  for (int row = 0; row < rows; ++row) {
    out.column.push_back(row);
    out.row_start.push_back(row + 1);
  }
  return out;
}

// Bounds the rounding errors that the tolerance allows, so that no term is small enough to hide.
constexpr int longest_row = 4096;

// Rows of at least l elements are as frequent as 4 / l: most have 4 to 8, a few have thousands. Elements are spread
// over the row, one somewhere in each equal part of it.
Pattern power_law_pattern(int rows, std::mt19937_64& random) {
  const int longest = std::min(rows / 16, longest_row);
  Pattern out;
  for (int row = 0; row < rows; ++row) {
    const double u = static_cast<double>((random() >> 11) + 1) * 0x1p-53;  // in (0, 1]
    const int length = static_cast<int>(std::min<double>(4 / u, longest));
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t begin = i * rows / length, end = (i + 1) * rows / length;
      const std::uint64_t place = random() % static_cast<std::uint64_t>(end - begin);
      out.column.push_back(static_cast<std::int32_t>(begin + static_cast<std::int64_t>(place)));
    }
    out.row_start.push_back(static_cast<std::int32_t>(out.column.size()));
  }
  return out;
}

// Rows, as many as columns. The default sizes of the first two are the ones of the DySel paper; tiny ones are no
// multiple of a group; large ones hold 1.1 to 1.4 GB.
constexpr int rows_of(Size size, std::string_view input) {
  if (input == "random") return size == Size::tiny ? 1'003 : size == Size::normal ? 16'384 : 1 << 17;
  if (input == "diagonal") return size == Size::tiny ? 10'007 : size == Size::normal ? 1 << 21 : 1 << 26;
  return size == Size::tiny ? 1'003 : size == Size::normal ? 1 << 16 : 1 << 22;  // power_law
}

// Elements are drawn: 1 % of a random matrix, and 4 (1 + ln(4096 / 4)) = 32 per row of a power law, each with a fifth
// to spare.
constexpr bool large_fits(std::string_view input, std::int64_t elements) {
  return fits(elements, 2 * elements + 3LL * rows_of(Size::large, input));
}
static_assert(large_fits("random", 12LL * rows_of(Size::large, "random") * rows_of(Size::large, "random") / 1000));
static_assert(large_fits("diagonal", rows_of(Size::large, "diagonal")));
static_assert(large_fits("power_law", 38LL * rows_of(Size::large, "power_law")));

Instance make(Size size, const std::string& input, std::uint64_t seed) {
  const int rows = rows_of(size, input);
  std::mt19937_64 random(seed);
  const Pattern pattern = input == "random"     ? random_pattern(rows, random)
                          : input == "diagonal" ? diagonal_pattern(rows)
                                                : power_law_pattern(rows, random);
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
    .inputs = {"random", "diagonal", "power_law"},
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
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

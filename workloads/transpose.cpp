// transpose: reads and writes cannot both be contiguous, so it shows what local memory is good for; its tiled variant
// asks for its group id, as kernels found in the wild do, and can only run whole.
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

const char* naive = R"(
kernel void transpose_naive(global const float* in, global float* out, int rows, int columns) {
  int x = get_global_id(0);
  int y = get_global_id(1);
  if (x < rows && y < columns) out[y * rows + x] = in[x * columns + y];
}
)";

// 32 x 32 points per group of 32 x 8; the odd pitch keeps the columns of the tile in different banks.
const char* tiled = R"(
kernel void transpose_tiled(global const float* in, global float* out, int rows, int columns) {
  local float tile[32][33];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x0 = get_group_id(0) * 32, y0 = get_group_id(1) * 32;
  for (int k = 0; k < 32; k += 8) {
    int row = x0 + ly + k, column = y0 + lx;
    if (row < rows && column < columns) tile[ly + k][lx] = in[row * columns + column];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 32; k += 8) {
    int x = x0 + lx, y = y0 + ly + k;
    if (x < rows && y < columns) out[y * rows + x] = tile[lx][ly + k];
  }
}
)";

// Of the input. Tiny: no multiple of a tile, and not square; large: 1 GB each way.
constexpr int rows_of(Size size) { return by_size(size, 131, 4096, 8192, 16384); }
constexpr int columns_of(Size size) { return by_size(size, 77, 2048, 8192, 16384); }
static_assert(fits(1LL * rows_of(Size::large) * columns_of(Size::large),
                   2LL * rows_of(Size::large) * columns_of(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int rows = rows_of(size), columns = columns_of(size);
  const std::size_t count = static_cast<std::size_t>(rows) * columns;
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(rows, columns);  // the points are the elements of the output, whose rows are `rows` long
  out.arguments = {array<float>("in", core::Access::read, count), array<float>("out", core::Access::write, count),
                   scalar<std::int32_t>("rows", rows), scalar<std::int32_t>("columns", columns)};
  for (float& v : out.arguments[0].as<float>()) v = uniform(random, -1, 1);
  out.tolerance = {};  // nothing is computed
  out.bytes = 8.0 * static_cast<double>(count);
  out.operations = 0;
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto in = a[0].as<float>(), out = a[1].as<float>();
  const std::size_t rows = a[2].as<std::int32_t>()[0], columns = a[3].as<std::int32_t>()[0];
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) out[column * rows + row] = in[row * columns + column];
  }
}

}  // namespace

const Workload transpose{
    .name = "transpose",
    .what = "the transpose of a matrix, out of place",
    .inputs = {"random"},
    .variants = {{.name = "naive",
                  .source = naive,
                  .entry = "transpose_naive",
                  .group = {16, 16, 1},
                  .footprint = {{16, 16, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "tiled",
                  .source = tiled,
                  .entry = "transpose_tiled",
                  .group = {32, 8, 1},
                  .footprint = {{32, 32, 1}, true},
                  .cut = core::Cut::none}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

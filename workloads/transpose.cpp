// transpose: reads and writes cannot both be contiguous, so it shows what local memory is good for; its tiled variant
// asks for its group id, as kernels found in the wild do, and can only run whole.
#include "workloads/table.hpp"
#include "workloads/tunable.hpp"

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

// TX x TY points per group of GX x GY. In LOCAL memory, the tile is read along the input's rows and written along the
// output's, VW at a time, with PAD numbers between its rows. Without, every work-item turns blocks of VW x VW in
// registers; ALONG_IN, neighbours take blocks that are neighbours in the input's rows, else in the output's.
// All loops have as many turns for every work-item, and a width of one has no path for edges: with neither, it took 2.5
// times as long as `naive` on PoCL where it does the same.
const char* tunable_source = R"(
kernel void transpose_tunable(global const float* in, global float* out, int rows, int columns) {
  int lx = get_local_id(0), ly = get_local_id(1);
  int x0 = (get_global_id(0) - lx) / GX * TX, y0 = (get_global_id(1) - ly) / GY * TY;
#if LOCAL
  local float tile[TX][TY + PAD];
  for (int p = 0; p < TX / GY; ++p) {
    for (int q = 0; q < TY / (GX * VW); ++q) {
      int i = p * GY + ly, j = (q * GX + lx) * VW;
      int x = x0 + i, y = y0 + j;
      if (x < rows && y + VW <= columns) STORE(LOAD(in + x * columns + y), &tile[i][j]);
#if VW > 1
      else if (x < rows) {
        for (int e = 0; y + e < columns; ++e) tile[i][j + e] = in[x * columns + y + e];
      }
#endif
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int q = 0; q < TY / GY; ++q) {
    for (int p = 0; p < TX / (GX * VW); ++p) {
      int i = (p * GX + lx) * VW, j = q * GY + ly;
      int x = x0 + i, y = y0 + j;
      if (y < columns && x + VW <= rows) {
        float part[VW];
        for (int e = 0; e < VW; ++e) part[e] = tile[i + e][j];
        STORE(LOAD(part), out + y * rows + x);
      }
#if VW > 1
      else if (y < columns) {
        for (int e = 0; x + e < rows; ++e) out[y * rows + x + e] = tile[i + e][j];
      }
#endif
    }
  }
#else
#if ALONG_IN
  for (int p = 0; p < TX / (GY * VW); ++p) {
    for (int q = 0; q < TY / (GX * VW); ++q) {
      int x = x0 + (p * GY + ly) * VW, y = y0 + (q * GX + lx) * VW;
#else
  for (int q = 0; q < TY / (GY * VW); ++q) {
    for (int p = 0; p < TX / (GX * VW); ++p) {
      int x = x0 + (p * GX + lx) * VW, y = y0 + (q * GY + ly) * VW;
#endif
#if VW == 1
      if (x < rows && y < columns) out[y * rows + x] = in[x * columns + y];
#else
      if (x + VW <= rows && y + VW <= columns) {
        float block[VW][VW];
        for (int e = 0; e < VW; ++e) STORE(LOAD(in + (x + e) * columns + y), block[e]);
        for (int f = 0; f < VW; ++f) {
          float part[VW];
          for (int e = 0; e < VW; ++e) part[e] = block[e][f];
          STORE(LOAD(part), out + (y + f) * rows + x);
        }
      } else {
        for (int f = y; f < min(y + VW, columns); ++f) {
          for (int e = x; e < min(x + VW, rows); ++e) out[f * rows + e] = in[e * columns + f];
        }
      }
#endif
    }
  }
#endif
}
)";

core::Tunable tunable() {
  return {.name = "tunable",
          .source = vectors + tunable_source,
          .entry = "transpose_tunable",
          .options = "",
          .group = {"GX", "GY", "1"},
          .points = {"TX", "TY", "1"},
          .guarded = true,
          .cut = core::Cut::by_offset,
          .space = core::ParameterSpace(
              {{"TX", core::parse_values("8, 16, 32, 64")},
               {"TY", core::parse_values("8, 16, 32, 64")},
               {"GX", core::parse_values("4, 8, 16, 32")},
               {"GY", core::parse_values("2, 4, 8, 16")},
               {"VW", core::parse_values("1, 2, 4")},
               {"LOCAL", {false, true}},
               {"PAD", core::parse_values("0, 1")},
               {"ALONG_IN", {false, true}}},
              {},
              {"GX * GY >= 16 && GX * GY <= 256",
               // Every work-item has equally much to do.
               "!LOCAL || TX % GY == 0 && TY % GY == 0 && TX % (GX * VW) == 0 && TY % (GX * VW) == 0",
               "LOCAL || ALONG_IN || TX % (GX * VW) == 0 && TY % (GY * VW) == 0",
               "LOCAL || !ALONG_IN || TY % (GX * VW) == 0 && TX % (GY * VW) == 0", "LOCAL || PAD == 0",
               "!LOCAL || !ALONG_IN"})};
}

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
    .tunable = tunable,
};

}  // namespace heddle::workloads

// sgemm: the workload with the most reuse, where variants differ by more than an order of magnitude and in opposite
// directions on CPUs and GPUs.
#include <algorithm>
#include <vector>

#include "workloads/table.hpp"
#include "workloads/tunable.hpp"

namespace heddle::workloads {

namespace {

const char* naive = R"(
kernel void sgemm_naive(global const float* a, global const float* b, global float* c, int m, int n, int k) {
  int column = get_global_id(0);
  int row = get_global_id(1);
  if (row < m && column < n) {
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}
)";

const char* tiled = R"(
kernel void sgemm_tiled(global const float* a, global const float* b, global float* c, int m, int n, int k) {
  local float a_tile[16][16];
  local float b_tile[16][16];
  int lx = get_local_id(0), ly = get_local_id(1);
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += 16) {
    a_tile[ly][lx] = row < m && k0 + lx < k ? a[row * k + k0 + lx] : 0.0f;
    b_tile[ly][lx] = column < n && k0 + ly < k ? b[(k0 + ly) * n + column] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 16; ++i) sum += a_tile[ly][i] * b_tile[i][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
)";

// 4 x 4 results per work-item, 16 apart, so that neighbours still touch neighbouring columns. Rows and columns are not
// checked: whole tiles of 64 x 64 only. k may be anything.
const char* tiled_coarse = R"(
kernel void sgemm_tiled_coarse(global const float* a, global const float* b, global float* c, int m, int n, int k) {
  local float a_tile[64][16];
  local float b_tile[16][64];
  int lx = get_local_id(0), ly = get_local_id(1);
  int column0 = (get_global_id(0) - lx) * 4 + lx, row0 = (get_global_id(1) - ly) * 4 + ly;
  float sum[4][4];
  for (int r = 0; r < 4; ++r) {
    for (int s = 0; s < 4; ++s) sum[r][s] = 0;
  }
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int r = 0; r < 4; ++r) {
      a_tile[ly + 16 * r][lx] = k0 + lx < k ? a[(row0 + 16 * r) * k + k0 + lx] : 0.0f;
      b_tile[ly][lx + 16 * r] = k0 + ly < k ? b[(k0 + ly) * n + column0 + 16 * r] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 16; ++i) {
      for (int r = 0; r < 4; ++r) {
        float x = a_tile[ly + 16 * r][i];
        for (int s = 0; s < 4; ++s) sum[r][s] += x * b_tile[i][lx + 16 * s];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int r = 0; r < 4; ++r) {
    for (int s = 0; s < 4; ++s) c[(row0 + 16 * r) * n + column0 + 16 * s] = sum[r][s];
  }
}
)";

// 16 results per work-item, side by side: a row of b is read as vectors, which suits a CPU. Rows and columns are not
// checked: whole boxes of 64 x 16 only.
const char* wide = R"(
kernel void sgemm_wide(global const float* a, global const float* b, global float* c, int m, int n, int k) {
  int column = get_global_id(0) * 16, row = get_global_id(1);
  float16 sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * vload16(0, b + i * n + column);
  vstore16(sum, 0, c + row * n + column);
}
)";

// 16 results per work-item, one below the other: an element of b is read once for all, and neighbours still touch
// neighbouring columns. Rows and columns are not checked: whole boxes of 64 x 64 only.
const char* tall = R"(
kernel void sgemm_tall(global const float* a, global const float* b, global float* c, int m, int n, int k) {
  int column = get_global_id(0), row = get_global_id(1) * 16;
  float sum[16];
  for (int r = 0; r < 16; ++r) sum[r] = 0;
  for (int i = 0; i < k; ++i) {
    float x = b[i * n + column];
    for (int r = 0; r < 16; ++r) sum[r] += a[(row + r) * k + i] * x;
  }
  for (int r = 0; r < 16; ++r) c[(row + r) * n + column] = sum[r];
}
)";

// Four to 64 results per work-item. A group of GX x GY work-items computes WN columns and WM rows for each:
// vectors of VW columns, GX of them apart, so that neighbours touch neighbouring ones. Tiles of KT terms of a (LA) and
// of b (LB) go through local memory. Rows and columns are not checked: whole footprints only.
const char* tunable_source = R"(
#if LA
#define A(i, r) a_tile[i][ly * WM + (r)]
#else
#define A(i, r) a[(row0 + ly * WM + (r)) * k + k0 + (i)]
#endif
#if LB
#define B(i, s) LOAD(&b_tile[i][((s) * GX + lx) * VW])
#else
#define B(i, s) LOAD(b + (k0 + (i)) * n + column0 + ((s) * GX + lx) * VW)
#endif
#define ADD_TERM(i)                                             \
  {                                                             \
    vec x[WN / VW];                                             \
    for (int s = 0; s < WN / VW; ++s) x[s] = B(i, s);           \
    for (int r = 0; r < WM; ++r) {                              \
      float y = A(i, r);                                        \
      for (int s = 0; s < WN / VW; ++s) sum[r][s] += y * x[s];  \
    }                                                           \
  }

kernel void sgemm_tunable(global const float* a, global const float* b, global float* c, int m, int n, int k) {
  int lx = get_local_id(0), ly = get_local_id(1);
  int column0 = (get_global_id(0) - lx) * WN, row0 = (get_global_id(1) - ly) * WM;
  vec sum[WM][WN / VW];
  for (int r = 0; r < WM; ++r) {
    for (int s = 0; s < WN / VW; ++s) sum[r][s] = 0;
  }
#if LA
  local float a_tile[KT][GY * WM];
#endif
#if LB
  local float b_tile[KT][GX * WN];
#endif
#if LA || LB
  for (int k0 = 0; k0 < k; k0 += KT) {
    int end = min(KT, k - k0);
    int first = ly * GX + lx;
#if LA
    for (int i = first; i < GY * WM * KT; i += GX * GY) {
      if (i % KT < end) a_tile[i % KT][i / KT] = a[(row0 + i / KT) * k + k0 + i % KT];
    }
#endif
#if LB
    for (int i = first * VW; i < KT * GX * WN; i += GX * GY * VW) {
      int term = i / (GX * WN), column = i % (GX * WN);
      if (term < end) STORE(LOAD(b + (k0 + term) * n + column0 + column), &b_tile[term][column]);
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
#else
  {
    int k0 = 0, end = k;
#endif
    int i = 0;
    for (; i + KU <= end; i += KU) {
      for (int u = 0; u < KU; ++u) ADD_TERM(i + u)
    }
    for (; i < end; ++i) ADD_TERM(i)
#if LA || LB
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
  for (int r = 0; r < WM; ++r) {
    for (int s = 0; s < WN / VW; ++s) STORE(sum[r][s], c + (row0 + ly * WM + r) * n + column0 + (s * GX + lx) * VW);
  }
}
)";

core::Tunable tunable() {
  return {.name = "tunable",
          .source = vectors + tunable_source,
          .entry = "sgemm_tunable",
          .options = "",
          .group = {"GX", "GY", "1"},
          .points = {"GX * WN", "GY * WM", "1"},
          .guarded = false,
          .cut = core::Cut::by_offset,
          .space = core::ParameterSpace(
              {{"GX", core::parse_values("4, 8, 16, 32")},
               {"GY", core::parse_values("2, 4, 8, 16")},
               {"WN", core::parse_values("1, 2, 4, 8, 16")},
               {"WM", core::parse_values("1, 2, 4, 8")},
               {"VW", core::parse_values("1, 4, 8")},
               {"KU", core::parse_values("1, 4")},
               {"KT", core::parse_values("16, 64")},
               {"LA", {false, true}},
               {"LB", {false, true}}},
              {},
              {"GX * GY >= 16 && GX * GY <= 256", "WN % VW == 0 && WN / VW <= 4",
               "WN * WM >= 4 && WN * WM <= 64",           // at most 64 sums in registers
               "GX * WN % 16 == 0 && GY * WM % 16 == 0",  // what is left over is whole groups of the base
               "GX * WN <= 128 && GY * WM <= 64",         // fits into the tiny size
               "LA || LB || KT == 16",                    // else there is no tile
               "4 * KT * (LA * GY * WM + LB * GX * WN) <= 32768"})};
}

// Tiny: one tile of the coarsened variant down and two across fit, and all edges are left over.
constexpr int rows_of(Size size) { return by_size(size, 77, 512, 1024, 4096); }
constexpr int columns_of(Size size) { return by_size(size, 131, 768, 1536, 4096); }
constexpr int terms_of(Size size) { return by_size(size, 45, 640, 1280, 4096); }
static_assert(fits(1LL * terms_of(Size::large) * columns_of(Size::large),
                   3LL * terms_of(Size::large) * columns_of(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int m = rows_of(size), n = columns_of(size), k = terms_of(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n, m);
  out.arguments = {array<float>("a", core::Access::read, static_cast<std::size_t>(m) * k),
                   array<float>("b", core::Access::read, static_cast<std::size_t>(k) * n),
                   array<float>("c", core::Access::write, static_cast<std::size_t>(m) * n),
                   scalar<std::int32_t>("m", m),
                   scalar<std::int32_t>("n", n),
                   scalar<std::int32_t>("k", k)};
  for (int i : {0, 1}) {
    for (float& v : out.arguments[i].as<float>()) v = uniform(random, 0.5f, 1.5f);
  }
  // Up to 4,096 positive terms, each rounded at 6e-8; errors add up as their square root, 4e-6. A missing term is at
  // least 0.25 of about 4,096, 6e-5: no term is small enough to hide.
  out.tolerance = {.absolute = 0, .relative = 2e-5};
  out.bytes = 4.0 * (1.0 * m * k + 1.0 * k * n + 1.0 * m * n);
  out.operations = 2.0 * m * n * k;
  return out;
}

void reference(Instance& instance) {
  auto& arguments = instance.arguments;
  const auto a = arguments[0].as<float>(), b = arguments[1].as<float>(), c = arguments[2].as<float>();
  const std::size_t m = arguments[3].as<std::int32_t>()[0], n = arguments[4].as<std::int32_t>()[0],
                    k = arguments[5].as<std::int32_t>()[0];
  std::vector<double> sums(n);
  for (std::size_t row = 0; row < m; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t i = 0; i < k; ++i) {
      const double x = a[row * k + i];
      for (std::size_t column = 0; column < n; ++column) sums[column] += x * b[i * n + column];
    }
    for (std::size_t column = 0; column < n; ++column) c[row * n + column] = static_cast<float>(sums[column]);
  }
}

}  // namespace

const Workload sgemm{
    .name = "sgemm",
    .what = "c = a b, matrices of single-precision numbers in row order",
    .inputs = {"random"},
    .variants = {{.name = "naive",
                  .source = naive,
                  .entry = "sgemm_naive",
                  .group = {16, 16, 1},
                  .footprint = {{16, 16, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "tiled",
                  .source = tiled,
                  .entry = "sgemm_tiled",
                  .group = {16, 16, 1},
                  .footprint = {{16, 16, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "tiled_coarse",
                  .source = tiled_coarse,
                  .entry = "sgemm_tiled_coarse",
                  .group = {16, 16, 1},
                  .footprint = {{64, 64, 1}, false},  // 16 times the base's, as in the DySel paper
                  .cut = core::Cut::by_offset},
                 {.name = "wide",
                  .source = wide,
                  .entry = "sgemm_wide",
                  .group = {4, 16, 1},
                  .footprint = {{64, 16, 1}, false},
                  .cut = core::Cut::by_offset},
                 {.name = "tall",
                  .source = tall,
                  .entry = "sgemm_tall",
                  .group = {64, 4, 1},
                  .footprint = {{64, 64, 1}, false},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
    .tunable = tunable,
};

}  // namespace heddle::workloads

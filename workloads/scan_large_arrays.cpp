// scan_large_arrays: the first round of running sums over a large array; as reduce it works on blocks, but leaves as
// much as it reads, and what it leaves lies in two arrays.
#include <algorithm>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Elements per block: part of the problem, since all variants must leave the same sums.
constexpr int block = 1024;

// A group per block, four elements per work-item: their sums go up a tree, and come down it as the sums of all that
// lies before. Local memory keeps the block, so that neighbours read and write neighbours.
const char* tree = R"(
kernel void scan_tree(global const float* in, global float* out, global float* totals, int n) {
  local float tile[1024];
  local float sums[256];
  int lane = get_local_id(0);
  int block = get_global_id(0) / 256;
  for (int k = 0; k < 4; ++k) {
    int i = block * 1024 + k * 256 + lane;
    tile[k * 256 + lane] = i < n ? in[i] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += tile[lane * 4 + k];
  sums[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 1; step < 256; step *= 2) {
    int to = (lane + 1) * step * 2 - 1;
    if (to < 256) sums[to] += sums[to - step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
    totals[block] = sums[255];
    sums[255] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 128; step > 0; step /= 2) {
    int to = (lane + 1) * step * 2 - 1;
    if (to < 256) {
      float before = sums[to];
      sums[to] += sums[to - step];
      sums[to - step] = before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float before = sums[lane];
  for (int k = 0; k < 4; ++k) {
    float mine = tile[lane * 4 + k];
    tile[lane * 4 + k] = before;
    before += mine;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 4; ++k) {
    int i = block * 1024 + k * 256 + lane;
    if (i < n) out[i] = tile[k * 256 + lane];
  }
}
)";

// A work-item per block: no barrier and no local memory, as a CPU likes it.
const char* serial = R"(
kernel void scan_serial(global const float* in, global float* out, global float* totals, int n) {
  int block = get_global_id(0);
  int begin = block * 1024;
  if (begin < n) {
    int end = min(begin + 1024, n);
    float sum = 0;
    for (int i = begin; i < end; ++i) {
      out[i] = sum;
      sum += in[i];
    }
    totals[block] = sum;
  }
}
)";

// Tiny: no multiple of a block. Default: 2 to 15 ms on two idle Arm cores. Large: as in the SKMD paper, 32 MB each way.
constexpr int elements(Size size) { return by_size(size, 10'007, 1 << 21, 1 << 22, 1 << 23); }
static_assert(fits(elements(Size::large), 2LL * elements(Size::large) + elements(Size::large) / block));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = elements(size), blocks = (n + block - 1) / block;
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<float>("in", core::Access::read, n), array<float>("out", core::Access::write, n),
                   array<float>("totals", core::Access::write, blocks), scalar<std::int32_t>("n", n)};
  for (float& v : out.arguments[0].as<float>()) v = uniform(random, 0.5f, 1.5f);
  // As in reduce: up to 1,024 positive terms, whose roundings of 6e-8 add up to 2e-6 in practice; a term that is
  // missing or counted twice is at least 0.5 of about 1,024, 5e-4. The first sum of a block is of nothing, so it is
  // zero.
  out.tolerance = {.absolute = 0, .relative = 1e-5};
  out.bytes = 8.0 * n + 4.0 * blocks;
  out.operations = n;
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto in = a[0].as<float>(), out = a[1].as<float>(), totals = a[2].as<float>();
  for (std::size_t b = 0; b < totals.size(); ++b) {
    double sum = 0;
    for (std::size_t i = b * block; i < std::min(in.size(), (b + 1) * block); ++i) {
      out[i] = static_cast<float>(sum);
      sum += in[i];
    }
    totals[b] = static_cast<float>(sum);
  }
}

}  // namespace

const Workload scan_large_arrays{
    .name = "scan_large_arrays",
    .what = "sums of all elements before each one, within blocks of 1,024, and the totals of the blocks",
    .inputs = {"random"},
    .variants = {{.name = "tree",
                  .source = tree,
                  .entry = "scan_tree",
                  .group = {256, 1, 1},
                  .footprint = {{block, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "serial",
                  .source = serial,
                  .entry = "scan_serial",
                  .group = {64, 1, 1},
                  .footprint = {{64 * block, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

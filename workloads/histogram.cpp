// histogram: the first round of a histogram, without atomics on global memory; much input and hardly any output, so
// that copying the input decides. Its points are inputs, as in reduce.
#include <algorithm>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Numbers per row of counts: part of the problem, since all variants must leave the same rows. As many as in the SKMD
// paper, whose 67 million numbers become 2,048 rows.
constexpr int chunk = 32'768;
constexpr int bins = 256;  // by the upper eight bits

// A group per chunk, with one set of bins that all its work-items count in: atomics, but on local memory only.
const char* shared_bins = R"(
kernel void histogram_shared_bins(global const uint* in, global uint* counts, int n) {
  local uint bins[256];
  int lane = get_local_id(0);
  int first = (get_global_id(0) - lane) * 128;
  bins[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 128; ++k) {
    int i = first + k * 256 + lane;
    if (i < n) atomic_inc(&bins[in[i] >> 24]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  counts[get_global_id(0)] = bins[lane];
}
)";

// No atomics at all: every work-item has its own bins, one byte each, which are added up before they can overflow.
const char* own_bins = R"(
kernel void histogram_own_bins(global const uint* in, global uint* counts, int n) {
  local uchar bins[64 * 256];
  int lane = get_local_id(0);
  int chunk = get_global_id(0) / 64;
  uint sums[4] = {0, 0, 0, 0};
  for (int round = 0; round < 4; ++round) {
    for (int k = 0; k < 256; ++k) bins[k * 64 + lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 128; ++k) {
      int i = chunk * 32768 + round * 8192 + k * 64 + lane;
      if (i < n) ++bins[lane * 256 + (in[i] >> 24)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = 0; b < 4; ++b) {
      for (int k = 0; k < 64; ++k) sums[b] += bins[k * 256 + b * 64 + lane];
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // all have been read
  }
  for (int b = 0; b < 4; ++b) counts[chunk * 256 + b * 64 + lane] = sums[b];
}
)";

// A work-item per chunk: no barrier and no local memory, as a CPU likes it.
const char* serial = R"(
kernel void histogram_serial(global const uint* in, global uint* counts, int n) {
  int chunk = get_global_id(0);
  int begin = chunk * 32768;
  if (begin < n) {
    uint bins[256];
    for (int b = 0; b < 256; ++b) bins[b] = 0;
    int end = min(begin + 32768, n);
    for (int i = begin; i < end; ++i) ++bins[in[i] >> 24];
    for (int b = 0; b < 256; ++b) counts[chunk * 256 + b] = bins[b];
  }
}
)";

// Tiny: three chunks and a part of one. Default: 3 to 18 ms on two idle Arm cores. Large: as in the SKMD paper, 256 MB.
constexpr int elements(Size size) { return by_size(size, 100'003, 1 << 22, 1 << 25, 1 << 26); }
constexpr int rows_of(int n) { return (n + chunk - 1) / chunk; }
static_assert(fits(elements(Size::large), elements(Size::large) + 1LL * bins * rows_of(elements(Size::large))));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = elements(size), counts = bins * rows_of(n);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<std::uint32_t>("in", core::Access::read, n),
                   array<std::uint32_t>("counts", core::Access::write, counts), scalar<std::int32_t>("n", n)};
  for (std::uint32_t& v : out.arguments[0].as<std::uint32_t>()) v = static_cast<std::uint32_t>(random() >> 32);
  out.tolerance = {};  // whole numbers
  out.bytes = 4.0 * n + 4.0 * counts;
  out.operations = n;
  return out;
}

void reference(Instance& instance) {
  const auto in = instance.arguments[0].as<std::uint32_t>(), counts = instance.arguments[1].as<std::uint32_t>();
  std::fill(counts.begin(), counts.end(), 0);
  for (std::size_t i = 0; i < in.size(); ++i) ++counts[i / chunk * bins + (in[i] >> 24)];
}

}  // namespace

const Workload histogram{
    .name = "histogram",
    .what = "counts of the upper eight bits, for each 32,768 numbers: the first round of a histogram",
    .inputs = {"random"},
    .variants = {{.name = "shared_bins",
                  .source = shared_bins,
                  .entry = "histogram_shared_bins",
                  .group = {256, 1, 1},
                  .footprint = {{chunk, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "own_bins",
                  .source = own_bins,
                  .entry = "histogram_own_bins",
                  .group = {64, 1, 1},
                  .footprint = {{chunk, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "serial",
                  .source = serial,
                  .entry = "histogram_serial",
                  .group = {4, 1, 1},
                  .footprint = {{4 * chunk, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

// histogram_atomic: the workload with atomics on global memory: their order does not matter and nobody uses what they
// return, so that devices can count apart, and the counts be added up.
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

constexpr int bins = 256;  // by the upper eight bits

const char* base = R"(
kernel void histogram_atomic(global const uint* in, global uint* counts, int n) {
  int i = get_global_id(0);
  if (i < n) atomic_inc(&counts[in[i] >> 24]);
}
)";

// Each group counts 16,384 numbers in local memory first, and then adds each count once.
const char* local_source = R"(
kernel void histogram_atomic_local(global const uint* in, global uint* counts, int n) {
  local uint bins[256];
  int lane = get_local_id(0);
  int first = (get_global_id(0) - lane) * 64;
  bins[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 64; ++k) {
    int i = first + k * 256 + lane;
    if (i < n) atomic_inc(&bins[in[i] >> 24]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&counts[lane], bins[lane]);
}
)";

// Each work-item counts 32,768 numbers by itself first: as a CPU likes it.
const char* serial = R"(
kernel void histogram_atomic_serial(global const uint* in, global uint* counts, int n) {
  int begin = get_global_id(0) * 32768;
  if (begin < n) {
    uint bins[256];
    for (int b = 0; b < 256; ++b) bins[b] = 0;
    int end = min(begin + 32768, n);
    for (int i = begin; i < end; ++i) ++bins[in[i] >> 24];
    for (int b = 0; b < 256; ++b) atomic_add(&counts[b], bins[b]);
  }
}
)";

// Tiny: no multiple of any footprint. Default: 2 to 33 ms on two idle Arm cores. Large: as histogram.
constexpr int elements(Size size) { return by_size(size, 100'003, 1 << 22, 1 << 25, 1 << 26); }
static_assert(fits(elements(Size::large), elements(Size::large) + bins));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = elements(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<std::uint32_t>("in", core::Access::read, n),
                   array<std::uint32_t>("counts", core::Access::read_write, bins), scalar<std::int32_t>("n", n)};
  for (std::uint32_t& v : out.arguments[0].as<std::uint32_t>()) v = static_cast<std::uint32_t>(random() >> 32);
  // Counted already, so that it shows where that is lost or added twice.
  for (std::uint32_t& v : out.arguments[1].as<std::uint32_t>()) v = 1 + static_cast<std::uint32_t>(random() >> 48);
  out.tolerance = {};  // whole numbers
  out.bytes = 4.0 * n + 8.0 * bins;
  out.operations = n;
  return out;
}

void reference(Instance& instance) {
  const auto in = instance.arguments[0].as<std::uint32_t>(), counts = instance.arguments[1].as<std::uint32_t>();
  for (std::uint32_t v : in) ++counts[v >> 24];
}

}  // namespace

const Workload histogram_atomic{
    .name = "histogram_atomic",
    .what = "counts of the upper eight bits of all numbers, added to counts that are there, by atomics",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = base,
                  .entry = "histogram_atomic",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "local",
                  .source = local_source,
                  .entry = "histogram_atomic_local",
                  .group = {256, 1, 1},
                  .footprint = {{16'384, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "serial",
                  .source = serial,
                  .entry = "histogram_atomic_serial",
                  .group = {4, 1, 1},
                  .footprint = {{4 * 32'768, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

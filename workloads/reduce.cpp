// reduce: the first round of a sum, one partial result per 1,024 elements; its points are inputs, not outputs.
#include <algorithm>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Elements per partial sum: part of the problem, since all variants must leave the same partial sums.
constexpr int block = 1024;

// A group per block: work-items first sum strided elements, so that neighbours read neighbours, then add up as a tree.
const char* tree = R"(
kernel void reduce_tree(global const float* in, global float* partial, int n) {
  local float sums[256];
  int lane = get_local_id(0);
  int block = get_global_id(0) / 256;
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    int i = block * 1024 + k * 256 + lane;
    if (i < n) sum += in[i];
  }
  sums[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_width = 128; half_width > 0; half_width /= 2) {
    if (lane < half_width) sums[lane] += sums[lane + half_width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) partial[block] = sums[0];
}
)";

// A work-item per block: no barrier and no local memory, as a CPU likes it.
const char* serial = R"(
kernel void reduce_serial(global const float* in, global float* partial, int n) {
  int block = get_global_id(0);
  int begin = block * 1024;
  if (begin < n) {
    int end = min(begin + 1024, n);
    float sum = 0;
    for (int i = begin; i < end; ++i) sum += in[i];
    partial[block] = sum;
  }
}
)";

// Tiny: no multiple of a block. Default: as vector_add. Large: 2 GB.
constexpr int elements(Size size) { return by_size(size, 10'007, 1 << 24, 1 << 27, 1 << 29); }
static_assert(fits(elements(Size::large), elements(Size::large) + elements(Size::large) / block));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = elements(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<float>("in", core::Access::read, n),
                   array<float>("partial", core::Access::write, (n + block - 1) / block), scalar<std::int32_t>("n", n)};
  for (float& v : out.arguments[0].as<float>()) v = uniform(random, 0.5f, 1.5f);
  // 1,024 positive terms: at worst 1,023 roundings of 6e-8, in practice their square root, 2e-6; a term that is missing
  // or counted twice is at least 0.5 of about 1,024, 5e-4.
  out.tolerance = {.absolute = 0, .relative = 1e-5};
  out.bytes = 4.0 * n + 4.0 * ((n + block - 1) / block);
  out.operations = n;
  return out;
}

void reference(Instance& instance) {
  const auto in = instance.arguments[0].as<float>(), partial = instance.arguments[1].as<float>();
  for (std::size_t b = 0; b < partial.size(); ++b) {
    double sum = 0;
    for (std::size_t i = b * block; i < std::min(in.size(), (b + 1) * block); ++i) sum += in[i];
    partial[b] = static_cast<float>(sum);
  }
}

}  // namespace

const Workload reduce{
    .name = "reduce",
    .what = "sums of consecutive blocks of 1,024 elements: the first round of a reduction, without atomics",
    .inputs = {"random"},
    .variants = {{.name = "tree",
                  .source = tree,
                  .entry = "reduce_tree",
                  .group = {256, 1, 1},
                  .footprint = {{block, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "serial",
                  .source = serial,
                  .entry = "reduce_serial",
                  .group = {64, 1, 1},
                  .footprint = {{64 * block, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

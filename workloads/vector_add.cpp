// vector_add: the workload with nothing but memory traffic; what splitting and streaming are measured on first.
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

const char* source = R"(
kernel void vector_add(global const float* a, global const float* b, global float* c, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
kernel void vector_add_full(global const float* a, global const float* b, global float* c, int n) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
)";

// Tiny: no multiple of any group. Default: 3 to 6 ms on two idle Arm cores. Large: 0.8 GB.
constexpr int elements(Size size) { return by_size(size, 10'007, 1 << 24, 1 << 25, 1 << 26); }
static_assert(fits(elements(Size::large), 3LL * elements(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = elements(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<float>("a", core::Access::read, n), array<float>("b", core::Access::read, n),
                   array<float>("c", core::Access::write, n), scalar<std::int32_t>("n", n)};
  for (int k : {0, 1}) {
    for (float& x : out.arguments[k].as<float>()) x = uniform(random, -1, 1);
  }
  out.tolerance = {};  // one addition, correctly rounded everywhere
  out.bytes = 12.0 * n;
  out.operations = n;
  return out;
}

void reference(Instance& instance) {
  const auto a = instance.arguments[0].as<float>(), b = instance.arguments[1].as<float>();
  const auto c = instance.arguments[2].as<float>();
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = a[i] + b[i];
}

}  // namespace

const Workload vector_add{
    .name = "vector_add",
    .what = "c = a + b",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = source,
                  .entry = "vector_add",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 // Without the guard a CPU's compiler makes vector instructions of it: half the time on two Arm cores.
                 {.name = "full",
                  .source = source,
                  .entry = "vector_add_full",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, false},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

// saxpy: the workload that updates an array in place, so that probes and retries must keep a copy of what it reads.
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

const char* source = R"(
kernel void saxpy(float a, global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

// Tiny: no multiple of any group. Default: as vector_add. Large: 2 GB.
constexpr int elements(Size size) { return by_size(size, 10'007, 1 << 24, 1 << 26, 1 << 28); }
static_assert(fits(elements(Size::large), 2LL * elements(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = elements(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {scalar<float>("a", uniform(random, 1, 3)), array<float>("x", core::Access::read, n),
                   array<float>("y", core::Access::read_write, n), scalar<std::int32_t>("n", n)};
  for (int k : {1, 2}) {
    for (float& v : out.arguments[k].as<float>()) v = uniform(random, -1, 1);
  }
  // The product, below 3, may or may not be rounded before the addition (half a unit of 2 to 4: 1.2e-7); then the sum
  // is rounded once on either side (6e-8 each).
  out.tolerance = {.absolute = 1.2e-7, .relative = 1.2e-7};
  out.bytes = 12.0 * n;
  out.operations = 2.0 * n;
  return out;
}

void reference(Instance& instance) {
  const double a = instance.arguments[0].as<float>()[0];
  const auto x = instance.arguments[1].as<float>(), y = instance.arguments[2].as<float>();
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(a * x[i] + y[i]);
}

}  // namespace

const Workload saxpy{
    .name = "saxpy",
    .what = "y = a x + y, in place",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = source,
                  .entry = "saxpy",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

// box_muller: as much memory traffic as vector_add, with a logarithm, a root and two angles in between.
#include <cmath>
#include <numbers>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Two uniform numbers that lie side by side become two normally distributed ones. cospi and sinpi, because 2 pi times
// the second number would have to be rounded.
const char* source = R"(
kernel void box_muller(global const float2* uniform, global float2* normal, int pairs) {
  int i = get_global_id(0);
  if (i < pairs) {
    float2 u = uniform[i];
    float radius = sqrt(-2.0f * log(u.x));
    normal[i] = (float2)(radius * cospi(2.0f * u.y), radius * sinpi(2.0f * u.y));
  }
}
)";

// Tiny: no multiple of a group. Large: 192 x 2^20 numbers, as in the SKMD paper: 0.8 GB each way.
constexpr int pairs(Size size) { return by_size(size, 10'007, 1 << 22, 10 << 22, 96 << 20); }
static_assert(fits(2LL * pairs(Size::large), 4LL * pairs(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = pairs(size);
  const std::size_t count = 2 * static_cast<std::size_t>(n);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<float>("uniform", core::Access::read, count),
                   array<float>("normal", core::Access::write, count), scalar<std::int32_t>("pairs", n)};
  for (float& v : out.arguments[0].as<float>())
    v = 1 - uniform(random, 0, 1);  // from 2^-24 to 1: zero has no logarithm
  // log and sqrt are allowed three units of 1.2e-7 in the last place, of which the root halves the former, cospi and
  // sinpi four, and the product is rounded: nine units. Of the exact zeros of the angles the reference gets 1e-15.
  out.tolerance = {.absolute = 1e-12, .relative = 1.1e-6};
  out.bytes = 16.0 * n;
  out.operations = 9.0 * n;  // counted in the kernel; functions as one each
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto in = a[0].as<float>(), out = a[1].as<float>();
  for (std::size_t i = 0; i < in.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(double{in[i]})), angle = 2 * std::numbers::pi * in[i + 1];
    out[i] = static_cast<float>(radius * std::cos(angle));
    out[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

const Workload box_muller{
    .name = "box_muller",
    .what = "normally distributed numbers from uniform ones, two at a time",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = source,
                  .entry = "box_muller",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

// black_scholes: much arithmetic per byte and no reuse; the usual middle ground between memory-bound and compute-bound.
#include <cmath>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

const char* source = R"(
// Cumulative normal distribution: Abramowitz and Stegun, 26.2.17.
float below(float d) {
  float t = 1.0f / (1.0f + 0.2316419f * fabs(d));
  float polynomial =
      t * (0.319381530f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
  float tail = 0.39894228040f * exp(-0.5f * d * d) * polynomial;
  return d > 0 ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float* price, global const float* strike, global const float* years,
                          global float* call, global float* put, float rate, float volatility, int n) {
  int i = get_global_id(0);
  if (i < n) {
    float s = price[i], k = strike[i], t = years[i];
    float spread = volatility * sqrt(t);
    float d1 = (log(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread;
    float d2 = d1 - spread;
    float discounted = k * exp(-rate * t);
    float c1 = below(d1), c2 = below(d2);
    call[i] = s * c1 - discounted * c2;
    put[i] = discounted * (1.0f - c2) - s * (1.0f - c1);
  }
}
)";

// Tiny: no multiple of any group. Default: 0.15 s on two idle Arm cores. Large: 2.7 GB.
constexpr int elements(Size size) { return by_size(size, 10'007, 1 << 22, 1 << 25, 1 << 27); }
static_assert(fits(elements(Size::large), 5LL * elements(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = elements(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<float>("price", core::Access::read, n), array<float>("strike", core::Access::read, n),
                   array<float>("years", core::Access::read, n), array<float>("call", core::Access::write, n),
                   array<float>("put", core::Access::write, n),  scalar<float>("rate", 0.02f),
                   scalar<float>("volatility", 0.30f),           scalar<std::int32_t>("n", n)};
  for (float& v : out.arguments[0].as<float>()) v = uniform(random, 5, 30);
  for (float& v : out.arguments[1].as<float>()) v = uniform(random, 1, 100);
  for (float& v : out.arguments[2].as<float>()) v = uniform(random, 0.25f, 10);
  // A price is the difference of two terms of at most 100, each a product of a few factors whose exp, log and sqrt
  // differ between drivers by a few units in the last place (6e-8): 100 x 10 x 6e-8.
  out.tolerance = {.absolute = 6e-5, .relative = 1e-6};
  out.bytes = 20.0 * n;
  out.operations = 60.0 * n;  // counted in the kernel; exp, log, sqrt and division as one each
  return out;
}

double below(double d) {
  const double t = 1 / (1 + 0.2316419 * std::abs(d));
  const double polynomial =
      t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const double tail = 0.39894228040 * std::exp(-0.5 * d * d) * polynomial;
  return d > 0 ? 1 - tail : tail;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto price = a[0].as<float>(), strike = a[1].as<float>(), years = a[2].as<float>();
  const auto call = a[3].as<float>(), put = a[4].as<float>();
  const double rate = a[5].as<float>()[0], volatility = a[6].as<float>()[0];
  for (std::size_t i = 0; i < call.size(); ++i) {
    const double s = price[i], k = strike[i], t = years[i];
    const double spread = volatility * std::sqrt(t);
    const double d1 = (std::log(s / k) + (rate + 0.5 * volatility * volatility) * t) / spread;
    const double discounted = k * std::exp(-rate * t);
    const double c1 = below(d1), c2 = below(d1 - spread);
    call[i] = static_cast<float>(s * c1 - discounted * c2);
    put[i] = static_cast<float>(discounted * (1 - c2) - s * (1 - c1));
  }
}

}  // namespace

const Workload black_scholes{
    .name = "black_scholes",
    .what = "European call and put prices by the Black-Scholes formula",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = source,
                  .entry = "black_scholes",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

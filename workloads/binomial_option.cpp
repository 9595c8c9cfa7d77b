// binomial_option: a group works on one point, with a barrier in every turn; a CPU does better with one work-item.
#include <algorithm>
#include <cmath>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// A European call by the tree of Cox, Ross and Rubinstein: prices go up by exp(spread) or down by as much, and what an
// option is worth at its end is averaged back, step by step. Values rise from leaf to leaf, so that all terms are
// positive. With expm1 the probability of a rise keeps its digits: it is the ratio of two small differences.
const char* functions = R"(
float spread_of(float volatility, float years, int steps) { return volatility * sqrt(years / steps); }
float rise_of(float spread, float rate, float years, int steps) {
  float fall = expm1(-spread);
  return (expm1(rate * (years / steps)) - fall) / (expm1(spread) - fall);
}
float leaf(float price, float strike, float spread, int steps, int rises) {
  return fmax(price * exp(spread * (2 * rises - steps)) - strike, 0.0f);
}
)";

// A group per option and a work-item per leaf; those beyond the last one compute leaves that nobody asks for.
const char* base = R"(
kernel void binomial_option(global const float* price, global const float* strike, global const float* years,
                            global float* call, float rate, float volatility, int steps, int n) {
  local float value[256];
  int lane = get_local_id(0);
  int option = get_global_id(0) / 256;
  float t = years[option];
  float spread = spread_of(volatility, t, steps), rise = rise_of(spread, rate, t, steps);
  value[lane] = leaf(price[option], strike[option], spread, steps, lane);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = steps; step > 0; --step) {
    float mean = 0;
    if (lane < step) mean = value[lane] + rise * (value[lane + 1] - value[lane]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < step) value[lane] = mean;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0 && option < n) call[option] = value[0] * exp(-rate * t);
}
)";

// A work-item per option.
const char* serial = R"(
kernel void binomial_option_serial(global const float* price, global const float* strike, global const float* years,
                                   global float* call, float rate, float volatility, int steps, int n) {
  int option = get_global_id(0);
  if (option < n) {
    float value[256];
    float s = price[option], k = strike[option], t = years[option];
    float spread = spread_of(volatility, t, steps), rise = rise_of(spread, rate, t, steps);
    for (int i = 0; i <= steps; ++i) value[i] = leaf(s, k, spread, steps, i);
    for (int step = steps; step > 0; --step) {
      for (int i = 0; i < step; ++i) value[i] += rise * (value[i + 1] - value[i]);
    }
    call[option] = value[0] * exp(-rate * t);
  }
}
)";

// Tiny: no multiple of the group of `serial`, and so few steps that every leaf counts. Default: 0.15 to 0.3 s in groups
// on two Arm cores, a tenth of that one by one. Large: as many options as in the SKMD paper; 255 leaves, as in AMD's
// program.
constexpr int options(Size size) { return by_size(size, 203, 2048, 20'480, 524'288); }
constexpr int steps_of(Size size) { return size == Size::tiny ? 15 : 254; }
static_assert(fits(options(Size::large), 4LL * options(Size::large)) && steps_of(Size::large) < 256);

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = options(size), steps = steps_of(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<float>("price", core::Access::read, n),
                   array<float>("strike", core::Access::read, n),
                   array<float>("years", core::Access::read, n),
                   array<float>("call", core::Access::write, n),
                   scalar<float>("rate", 0.02f),
                   scalar<float>("volatility", 0.30f),
                   scalar<std::int32_t>("steps", steps),
                   scalar<std::int32_t>("n", n)};
  for (float& v : out.arguments[0].as<float>()) v = uniform(random, 5, 30);
  for (float& v : out.arguments[1].as<float>()) v = uniform(random, 5, 40);
  for (float& v : out.arguments[2].as<float>()) v = uniform(random, 0.25f, 2);
  // The probability of a rise, about a half, may be off by eight units of 1.2e-7 in the last place: expm1 is allowed
  // three of them and division two and a half. Every step then moves the price by twice the spread times that: at most
  // 2 x 0.3 x sqrt(2 / steps) x 30 x 5e-7 each, 1.3e-5 sqrt(steps) in all (seen: 4e-6 at tiny, 1.6e-5 at default).
  // Leaves are off by four units, and a mean is rounded three times in each step: 254 x 1e-7 at worst, in practice the
  // root of that. A leaf left out nearly always shows at tiny; of 255, only those in the middle have any weight. A step
  // left out changes an option's value by about a 500th of itself.
  out.tolerance = {.absolute = 1.3e-5 * std::sqrt(steps), .relative = 3e-6};
  out.bytes = 16.0 * n;
  out.operations = 3.0 * n * (0.5 * steps * (steps + 1));  // of the means
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto price = a[0].as<float>(), strike = a[1].as<float>(), years = a[2].as<float>(), call = a[3].as<float>();
  const double rate = a[4].as<float>()[0], volatility = a[5].as<float>()[0];
  const int steps = a[6].as<std::int32_t>()[0];
  std::vector<double> value(steps + 1);
  for (std::size_t o = 0; o < call.size(); ++o) {
    const double step = double{years[o]} / steps;
    const double up = std::exp(volatility * std::sqrt(step)), down = 1 / up;
    const double rise = (std::exp(rate * step) - down) / (up - down);
    for (int i = 0; i <= steps; ++i) value[i] = std::max(price[o] * std::pow(up, 2 * i - steps) - strike[o], 0.0);
    for (int last = steps; last > 0; --last) {
      for (int i = 0; i < last; ++i) value[i] = (1 - rise) * value[i] + rise * value[i + 1];
    }
    call[o] = static_cast<float>(value[0] * std::exp(-rate * years[o]));
  }
}

}  // namespace

const Workload binomial_option{
    .name = "binomial_option",
    .what = "European call prices by binomial trees",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = std::string(functions) + base,
                  .entry = "binomial_option",
                  .group = {256, 1, 1},
                  .footprint = {{1, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "serial",
                  .source = std::string(functions) + serial,
                  .entry = "binomial_option_serial",
                  .group = {64, 1, 1},
                  .footprint = {{64, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

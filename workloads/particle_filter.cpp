// particle_filter: work that grows along the launch: the last particle searches the whole table, the first one none of
// it, so that what the first slices say about a variant does not hold for the last.
#include <algorithm>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Resampling: particle i of the next generation is the first one whose cumulative weight reaches draw[i], else the last
// one.
const char* base = R"(
kernel void resample_base(global const float* cumulative, global const float* draw, global const float* x,
                          global const float* y, global float* new_x, global float* new_y, int n) {
  int i = get_global_id(0);
  if (i < n) {
    float mine = draw[i];
    int found = 0;
    while (found < n - 1 && cumulative[found] < mine) ++found;
    new_x[i] = x[found];
    new_y[i] = y[found];
  }
}
)";

// Cumulative weights do not fall, so that those below the draw can be counted. No work-item stops early: twice as many
// steps, all of the same kind.
const char* counting = R"(
kernel void resample_counting(global const float* cumulative, global const float* draw, global const float* x,
                              global const float* y, global float* new_x, global float* new_y, int n) {
  int i = get_global_id(0);
  if (i < n) {
    float mine = draw[i];
    int found = 0;
    for (int j = 0; j < n - 1; ++j) found += cumulative[j] < mine ? 1 : 0;
    new_x[i] = x[found];
    new_y[i] = y[found];
  }
}
)";

// Data placement: the group reads the table once, 256 elements at a time, as far as its last draw needs it: draws do
// not fall either. Beyond the table's end comes what nothing is above.
const char* local_source = R"(
kernel void resample_local(global const float* cumulative, global const float* draw, global const float* x,
                           global const float* y, global float* new_x, global float* new_y, int n) {
  local float tile[256];
  int i = get_global_id(0), lane = get_local_id(0);
  float mine = draw[min(i, n - 1)], last = draw[min(i - lane + 255, n - 1)];
  int found = 0;
  for (int first = 0; first < n - 1; first += 256) {
    barrier(CLK_LOCAL_MEM_FENCE);  // the part before has been read
    tile[lane] = first + lane < n - 1 ? cumulative[first + lane] : INFINITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 256; ++j) found += tile[j] < mine ? 1 : 0;
    if (tile[255] >= last) break;  // for all of the group
  }
  if (i < n) {
    new_x[i] = x[found];
    new_y[i] = y[found];
  }
}
)";

// Four particles per work-item, 64 apart: the table is read once for all of them.
const char* coarse = R"(
kernel void resample_coarse(global const float* cumulative, global const float* draw, global const float* x,
                            global const float* y, global float* new_x, global float* new_y, int n) {
  int lane = get_local_id(0);
  int first = (get_global_id(0) - lane) * 4 + lane;
  float mine[4];
  int found[4] = {0, 0, 0, 0};
  for (int k = 0; k < 4; ++k) mine[k] = draw[min(first + 64 * k, n - 1)];
  float last = mine[3];
  for (int j = 0; j < n - 1 && cumulative[j] < last; ++j) {
    for (int k = 0; k < 4; ++k) found[k] += cumulative[j] < mine[k] ? 1 : 0;
  }
  for (int k = 0; k < 4; ++k) {
    if (first + 64 * k < n) {
      new_x[first + 64 * k] = x[found[k]];
      new_y[first + 64 * k] = y[found[k]];
    }
  }
}
)";

// Tiny: no multiple of any group. Default: as in the DySel paper: 512 million steps.
constexpr int particles(Size size) { return by_size(size, 2'003, 32'000, 96'000, 1 << 18); }
static_assert(fits(particles(Size::large), 6LL * particles(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = particles(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<float>("cumulative", core::Access::read, n),
                   array<float>("draw", core::Access::read, n),
                   array<float>("x", core::Access::read, n),
                   array<float>("y", core::Access::read, n),
                   array<float>("new_x", core::Access::write, n),
                   array<float>("new_y", core::Access::write, n),
                   scalar<std::int32_t>("n", n)};
  auto& a = out.arguments;
  const auto cumulative = a[0].as<float>(), draw = a[1].as<float>();
  for (int k : {2, 3}) {
    for (float& v : a[k].as<float>()) v = uniform(random, 0, 128);
  }
  std::vector<double> sums(n);
  double sum = 0;
  for (double& s : sums) s = sum += uniform(random, 0, 1);
  const double start = uniform(random, 0, 1);
  for (int i = 0; i < n; ++i) {
    cumulative[i] = static_cast<float>(sums[i] / sum);
    draw[i] = static_cast<float>((start + i) / n);  // one in each n-th part, all at the same place of it
  }
  // Numbers are compared and copied, nothing else: exact.
  out.tolerance = {};
  out.bytes = 24.0 * n;
  out.operations = 0.5 * n * n;
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto cumulative = a[0].as<float>(), draw = a[1].as<float>(), x = a[2].as<float>(), y = a[3].as<float>();
  const auto new_x = a[4].as<float>(), new_y = a[5].as<float>();
  for (std::size_t i = 0; i < draw.size(); ++i) {
    const auto reached = std::lower_bound(cumulative.begin(), cumulative.end(), draw[i]) - cumulative.begin();
    const std::size_t found = std::min(static_cast<std::size_t>(reached), draw.size() - 1);
    new_x[i] = x[found];
    new_y[i] = y[found];
  }
}

}  // namespace

const Workload particle_filter{
    .name = "particle_filter",
    .what = "resampling of a particle filter: each particle finds its place in the cumulative weights",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = base,
                  .entry = "resample_base",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "counting",
                  .source = counting,
                  .entry = "resample_counting",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "local",
                  .source = local_source,
                  .entry = "resample_local",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "coarse",
                  .source = coarse,
                  .entry = "resample_coarse",
                  .group = {64, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

// kmeans: the workload with a small table that every work-item reads in the same order: where the table lies, and how
// much of it is used for each feature that was read, decides.
#include <limits>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Features of all points lie side by side (feature-major), those of a centre one after another. Of centres that are
// equally near the first one counts. TABLE is where the centres lie: data placement.
const char* nearest_centre = R"(
kernel void kmeans(global const float* feature, TABLE float* centre, global int* nearest, int points, int features,
                   int centres) {
  int i = get_global_id(0);
  if (i < points) {
    float least = MAXFLOAT;
    int best = 0;
    for (int c = 0; c < centres; ++c) {
      float distance = 0;
      for (int f = 0; f < features; ++f) {
        float d = feature[f * points + i] - centre[c * features + f];
        distance += d * d;
      }
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    nearest[i] = best;
  }
}
)";

// Data placement: each group keeps the table in local memory. 4,352 elements are the longest there is.
const char* local_source = R"(
kernel void kmeans_local(global const float* feature, global const float* centre, global int* nearest, int points,
                         int features, int centres) {
  local float table[4352];
  int i = get_global_id(0);
  for (int k = get_local_id(0); k < centres * features; k += 128) table[k] = centre[k];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < points) {
    float least = MAXFLOAT;
    int best = 0;
    for (int c = 0; c < centres; ++c) {
      float distance = 0;
      for (int f = 0; f < features; ++f) {
        float d = feature[f * points + i] - table[c * features + f];
        distance += d * d;
      }
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    nearest[i] = best;
  }
}
)";

// The loops the other way round, for eight centres at a time: a feature is read once for all of them. Beyond the last
// centre comes the last one again, which is not nearer than itself.
const char* blocked = R"(
kernel void kmeans_blocked(global const float* feature, global const float* centre, global int* nearest, int points,
                           int features, int centres) {
  int i = get_global_id(0);
  if (i < points) {
    float least = MAXFLOAT;
    int best = 0;
    for (int c = 0; c < centres; c += 8) {
      float distance[8] = {0, 0, 0, 0, 0, 0, 0, 0};
      for (int f = 0; f < features; ++f) {
        float v = feature[f * points + i];
        for (int k = 0; k < 8; ++k) {
          float d = v - centre[min(c + k, centres - 1) * features + f];
          distance[k] += d * d;
        }
      }
      for (int k = 0; k < 8; ++k) {
        if (distance[k] < least) {
          least = distance[k];
          best = c + k;
        }
      }
    }
    nearest[i] = best;
  }
}
)";

// Four points per work-item, 64 apart: an element of the table is read once for all of them.
const char* coarse = R"(
kernel void kmeans_coarse(global const float* feature, global const float* centre, global int* nearest, int points,
                          int features, int centres) {
  int lane = get_local_id(0);
  int first = (get_global_id(0) - lane) * 4 + lane;
  float least[4] = {MAXFLOAT, MAXFLOAT, MAXFLOAT, MAXFLOAT};
  int best[4] = {0, 0, 0, 0};
  for (int c = 0; c < centres; ++c) {
    float distance[4] = {0, 0, 0, 0};
    for (int f = 0; f < features; ++f) {
      float v = centre[c * features + f];
      for (int k = 0; k < 4; ++k) {
        float d = feature[f * points + min(first + 64 * k, points - 1)] - v;
        distance[k] += d * d;
      }
    }
    for (int k = 0; k < 4; ++k) {
      if (distance[k] < least[k]) {
        least[k] = distance[k];
        best[k] = c;
      }
    }
  }
  for (int k = 0; k < 4; ++k) {
    if (first + 64 * k < points) nearest[first + 64 * k] = best[k];
  }
}
)";

// 34 features are those of Rodinia's input. Tiny: no multiple of a group, nor of the eight centres at a time.
// Large: 1.1 GB of features.
constexpr int points_of(Size size) { return by_size(size, 1'003, 1 << 17, 1 << 19, 1 << 23); }
constexpr int features_of(Size size) { return size == Size::tiny ? 5 : 34; }
constexpr int centres_of(Size size) { return by_size(size, 13, 20, 40, 128); }
static_assert(fits(1LL * points_of(Size::large) * features_of(Size::large),
                   1LL * points_of(Size::large) * (features_of(Size::large) + 1)));
static_assert(centres_of(Size::large) * features_of(Size::large) == 4352 && fits_constant(4352));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int points = points_of(size), features = features_of(size), centres = centres_of(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(points);
  out.arguments = {array<float>("feature", core::Access::read, static_cast<std::size_t>(points) * features),
                   constant_array<float>("centre", static_cast<std::size_t>(centres) * features),
                   array<std::int32_t>("nearest", core::Access::write, points),
                   scalar<std::int32_t>("points", points),
                   scalar<std::int32_t>("features", features),
                   scalar<std::int32_t>("centres", centres)};
  // Whole numbers up to 255: squares of distances are whole too and stay below 34 x 2^16 < 2^24, so that every order of
  // additions gives the same one, and nobody's nearest centre is a matter of rounding. The results are compared
  // exactly.
  for (int k : {0, 1}) {
    for (float& v : out.arguments[k].as<float>()) v = static_cast<float>(random() >> 56);
  }
  out.bytes = 4.0 * points * (features + 1) + 4.0 * centres * features;
  out.operations = 3.0 * points * features * centres;
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto feature = a[0].as<float>(), centre = a[1].as<float>();
  const auto nearest = a[2].as<std::int32_t>();
  const std::size_t points = a[3].as<std::int32_t>()[0], features = a[4].as<std::int32_t>()[0],
                    centres = a[5].as<std::int32_t>()[0];
  std::vector<std::int32_t> of_point(features);
  for (std::size_t i = 0; i < points; ++i) {
    for (std::size_t f = 0; f < features; ++f) of_point[f] = static_cast<std::int32_t>(feature[f * points + i]);
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    for (std::size_t c = 0; c < centres; ++c) {
      std::int32_t distance = 0;
      for (std::size_t f = 0; f < features; ++f) {
        const std::int32_t d = of_point[f] - static_cast<std::int32_t>(centre[c * features + f]);
        distance += d * d;
      }
      if (distance >= least) continue;
      least = distance;
      nearest[i] = static_cast<std::int32_t>(c);
    }
  }
}

}  // namespace

const Workload kmeans{
    .name = "kmeans",
    .what = "the nearest of a few centres for each point",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = std::string("#define TABLE global const\n") + nearest_centre,
                  .entry = "kmeans",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "constant",
                  .source = std::string("#define TABLE constant\n") + nearest_centre,
                  .entry = "kmeans",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "local",
                  .source = local_source,
                  .entry = "kmeans_local",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "blocked",
                  .source = blocked,
                  .entry = "kmeans_blocked",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "coarse",
                  .source = coarse,
                  .entry = "kmeans_coarse",
                  .group = {64, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

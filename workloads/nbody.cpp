// nbody: arithmetic only, quadratic in its input; what a compute-bound share between devices is measured on.
#include <cmath>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Bodies are (x, y, z, mass); velocities are (x, y, z, unused). The step is semi-implicit: velocity first.
const char* base = R"(
kernel void nbody_base(global const float4* body, global const float4* velocity, global float4* new_body,
                       global float4* new_velocity, float step, float softening, int n) {
  int i = get_global_id(0);
  if (i < n) {
    float4 me = body[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; ++j) {
      float4 other = body[j];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
      float pull = other.w * inverse * inverse * inverse;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
    }
    float4 v = velocity[i];
    v.x += step * ax;
    v.y += step * ay;
    v.z += step * az;
    new_velocity[i] = v;
    new_body[i] = (float4)(me.x + step * v.x, me.y + step * v.y, me.z + step * v.z, me.w);
  }
}
)";

// The group reads each body once. Beyond the last one come bodies without mass.
const char* tiled = R"(
kernel void nbody_tiled(global const float4* body, global const float4* velocity, global float4* new_body,
                        global float4* new_velocity, float step, float softening, int n) {
  local float4 tile[128];
  int i = get_global_id(0), lane = get_local_id(0);
  float4 me = body[min(i, n - 1)];
  float ax = 0, ay = 0, az = 0;
  for (int first = 0; first < n; first += 128) {
    int mine = first + lane;
    tile[lane] = mine < n ? body[mine] : (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 128; ++j) {
      float4 other = tile[j];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
      float pull = other.w * inverse * inverse * inverse;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) {
    float4 v = velocity[i];
    v.x += step * ax;
    v.y += step * ay;
    v.z += step * az;
    new_velocity[i] = v;
    new_body[i] = (float4)(me.x + step * v.x, me.y + step * v.y, me.z + step * v.z, me.w);
  }
}
)";

// Tiny: no multiple of any group. Default: 67 million pairs. Large: 4.3 billion.
constexpr int bodies(Size size) { return by_size(size, 301, 8192, 32'768, 65'536); }
static_assert(fits(4LL * bodies(Size::large), 16LL * bodies(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int n = bodies(size);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  const std::size_t count = 4 * static_cast<std::size_t>(n);
  out.arguments = {array<float>("body", core::Access::read, count),
                   array<float>("velocity", core::Access::read, count),
                   array<float>("new_body", core::Access::write, count),
                   array<float>("new_velocity", core::Access::write, count),
                   scalar<float>("step", 0.1f),
                   scalar<float>("softening", 0.01f),
                   scalar<std::int32_t>("n", n)};
  const auto body = out.arguments[0].as<float>(), velocity = out.arguments[1].as<float>();
  for (std::size_t i = 0; i < count; ++i) {
    const bool fourth = i % 4 == 3;
    body[i] = fourth ? uniform(random, 0.5f, 1.5f) / static_cast<float>(n) : uniform(random, -1, 1);
    velocity[i] = fourth ? 0 : uniform(random, -0.1f, 0.1f);
  }
  // Accelerations are up to 0.8, sums of n terms of both signs: errors of at most 3e-8 each add up as the square root
  // of n, times the step of 0.1 (seen: 6e-8, 2.8e-7 and 6.3e-7 at the three sizes); then a velocity and a place are
  // rounded, fused or not. A body left out of one sum changes a velocity by at least 1e-5 at tiny; at default by 4e-7
  // from the farthest corner, but by more than the tolerance for 999 of 1,000 pairs; at large only for the nearest
  // sixth of all pairs, so that a body must be left out of many sums to show.
  out.tolerance = {.absolute = 5e-8 + 7e-9 * std::sqrt(n), .relative = 2e-7};
  out.bytes = 64.0 * n;
  out.operations = 20.0 * n * n;  // counted in the inner loop, the root as one
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto body = a[0].as<float>(), velocity = a[1].as<float>();
  const auto new_body = a[2].as<float>(), new_velocity = a[3].as<float>();
  const double step = a[4].as<float>()[0], softening = a[5].as<float>()[0];
  for (std::size_t i = 0; i < body.size(); i += 4) {
    double acceleration[3] = {0, 0, 0};
    for (std::size_t j = 0; j < body.size(); j += 4) {
      const double d[3] = {double{body[j]} - body[i], double{body[j + 1]} - body[i + 1],
                           double{body[j + 2]} - body[i + 2]};
      const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening;
      const double pull = body[j + 3] / (square * std::sqrt(square));
      for (int k = 0; k < 3; ++k) acceleration[k] += pull * d[k];
    }
    for (int k = 0; k < 3; ++k) {
      const double v = velocity[i + k] + step * acceleration[k];
      new_velocity[i + k] = static_cast<float>(v);
      new_body[i + k] = static_cast<float>(body[i + k] + step * v);
    }
    new_velocity[i + 3] = velocity[i + 3];
    new_body[i + 3] = body[i + 3];
  }
}

}  // namespace

const Workload nbody{
    .name = "nbody",
    .what = "one step of gravity between all pairs of bodies",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = base,
                  .entry = "nbody_base",
                  .group = {64, 1, 1},
                  .footprint = {{64, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "tiled",
                  .source = tiled,
                  .entry = "nbody_tiled",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

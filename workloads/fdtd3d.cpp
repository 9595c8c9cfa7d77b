// fdtd3d: the stencil with a radius of two: slices need a halo of two planes, and each element is used thirteen times.
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// One weight for each distance along the axes. Points that are closer than two to the surface are copied.
const char* source = R"(
kernel void fdtd3d(global const float* in, global float* out, float weight0, float weight1, float weight2, int nx,
                   int ny, int nz) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x < nx && y < ny && z < nz) {
    int plane = nx * ny;
    int at = x + nx * y + plane * z;
    float result = in[at];
    if (x > 1 && x < nx - 2 && y > 1 && y < ny - 2 && z > 1 && z < nz - 2) {
      float one_off = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - plane] + in[at + plane];
      float two_off = in[at - 2] + in[at + 2] + in[at - 2 * nx] + in[at + 2 * nx] + in[at - 2 * plane] +
                      in[at + 2 * plane];
      result = weight0 * result + weight1 * one_off + weight2 * two_off;
    }
    out[at] = result;
  }
}
)";

// Tiny: no multiples of a group. Medium and large: as in the SKMD paper, 67 MB each way.
constexpr int width_of(Size size) { return by_size(size, 45, 128, 256, 256); }
constexpr int height_of(Size size) { return by_size(size, 14, 128, 256, 256); }
constexpr int depth_of(Size size) { return by_size(size, 11, 128, 256, 256); }
static_assert(fits(1LL * width_of(Size::large) * height_of(Size::large) * depth_of(Size::large),
                   2LL * width_of(Size::large) * height_of(Size::large) * depth_of(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int nx = width_of(size), ny = height_of(size), nz = depth_of(size);
  const std::size_t count = static_cast<std::size_t>(nx) * ny * nz;
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(nx, ny, nz);
  out.arguments = {array<float>("in", core::Access::read, count),
                   array<float>("out", core::Access::write, count),
                   scalar<float>("weight0", 0.4f),
                   scalar<float>("weight1", 0.07f),
                   scalar<float>("weight2", 0.03f),
                   scalar<std::int32_t>("nx", nx),
                   scalar<std::int32_t>("ny", ny),
                   scalar<std::int32_t>("nz", nz)};
  for (float& v : out.arguments[0].as<float>()) v = uniform(random, 0.5f, 1.5f);
  // Positive terms, each in eight roundings of 6e-8, and one of the reference; a missing one is at least 0.015 of 1.5.
  out.tolerance = {.absolute = 0, .relative = 6e-7};
  out.bytes = 8.0 * static_cast<double>(count);
  out.operations = 15.0 * (nx - 4) * (ny - 4) * (nz - 4);
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto in = a[0].as<float>(), out = a[1].as<float>();
  const double weight[3] = {a[2].as<float>()[0], a[3].as<float>()[0], a[4].as<float>()[0]};
  const std::size_t nx = a[5].as<std::int32_t>()[0], ny = a[6].as<std::int32_t>()[0], nz = a[7].as<std::int32_t>()[0];
  auto inside = [](std::size_t i, std::size_t n) { return i >= 2 && i + 2 < n; };
  for (std::size_t z = 0; z < nz; ++z) {
    for (std::size_t y = 0; y < ny; ++y) {
      for (std::size_t x = 0; x < nx; ++x) {
        const std::size_t at = x + nx * (y + ny * z);
        out[at] = in[at];
        if (!inside(x, nx) || !inside(y, ny) || !inside(z, nz)) continue;
        double sum = weight[0] * in[at];
        for (const std::size_t step : {std::size_t{1}, nx, nx * ny}) {
          for (const std::size_t distance : {1, 2}) {
            sum += weight[distance] * (double{in[at - distance * step]} + in[at + distance * step]);
          }
        }
        out[at] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace

const Workload fdtd3d{
    .name = "fdtd3d",
    .what = "one step of a 13-point stencil of radius two over a volume; points near its surface are copied",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = source,
                  .entry = "fdtd3d",
                  .group = {32, 4, 1},
                  .footprint = {{32, 4, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

// sobel: an image filter in two dimensions; slices need a halo of one pixel.
#include <cmath>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

const char* source = R"(
kernel void sobel(global const float* in, global float* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < width && y < height) {
    int at = x + width * y;
    float result = 0;
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
      global const float* above = in + at - width;
      global const float* here = in + at;
      global const float* below = in + at + width;
      float gx = (above[1] + 2 * here[1] + below[1]) - (above[-1] + 2 * here[-1] + below[-1]);
      float gy = (below[-1] + 2 * below[0] + below[1]) - (above[-1] + 2 * above[0] + above[1]);
      result = sqrt(gx * gx + gy * gy);
    }
    out[at] = result;
  }
}
)";

// Tiny: no multiples of a group; large: 1 GB each way.
constexpr int width_of(Size size) { return by_size(size, 157, 4096, 8192, 16384); }
constexpr int height_of(Size size) { return by_size(size, 93, 4096, 8192, 16384); }
static_assert(fits(1LL * width_of(Size::large) * height_of(Size::large),
                   2LL * width_of(Size::large) * height_of(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int width = width_of(size), height = height_of(size);
  const std::size_t count = static_cast<std::size_t>(width) * height;
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(width, height);
  out.arguments = {array<float>("in", core::Access::read, count), array<float>("out", core::Access::write, count),
                   scalar<std::int32_t>("width", width), scalar<std::int32_t>("height", height)};
  for (float& v : out.arguments[0].as<float>()) v = static_cast<float>(random() >> 56);  // 0 to 255, as a camera's
  // Grey levels are whole numbers up to 255, so all is exact up to the root, which OpenCL allows three units of 1.2e-7
  // in the last place; the reference's is off by half a unit. A wrong filter hides only where the sum of squares, up to
  // 2.1 million, is off by one or not at all.
  out.tolerance = {.absolute = 0, .relative = 4.2e-7};
  out.bytes = 8.0 * static_cast<double>(count);
  out.operations = 18.0 * (width - 2) * (height - 2);
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto in = a[0].as<float>(), out = a[1].as<float>();
  const std::size_t width = a[2].as<std::int32_t>()[0], height = a[3].as<std::int32_t>()[0];
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t at = x + width * y;
      out[at] = 0;
      if (x == 0 || x == width - 1 || y == 0 || y == height - 1) continue;
      const float *above = &in[at - width], *here = &in[at], *below = &in[at + width];
      const float gx = above[1] + 2 * here[1] + below[1] - above[-1] - 2 * here[-1] - below[-1];
      const float gy = below[-1] + 2 * below[0] + below[1] - above[-1] - 2 * above[0] - above[1];
      out[at] = std::sqrt(gx * gx + gy * gy);
    }
  }
}

}  // namespace

const Workload sobel{
    .name = "sobel",
    .what = "magnitude of an image's gradient by Sobel's two 3 x 3 filters; zero on the border",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = source,
                  .entry = "sobel",
                  .group = {16, 16, 1},
                  .footprint = {{16, 16, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

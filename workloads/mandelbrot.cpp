// mandelbrot: how much work a point is depends on where it lies: equal slices take unequal times, and there is no
// input.
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Turns of z = z^2 + c, from zero on, until |z| > 2, but at most `limit`. Whole numbers in units of 2^-28: devices that
// fuse a multiplication and an addition would count otherwise, as the map blows up any difference. |c| is below 3, so z
// is below 7 when it leaves, which still is an int.
const char* source = R"(
kernel void mandelbrot(global int* turns, int left, int top, int step, int limit, int width, int height) {
  int column = get_global_id(0), row = get_global_id(1);
  if (column < width && row < height) {
    int c_x = left + step * column, c_y = top + step * row;
    int x = 0, y = 0, count = 0;
    long xx = 0, yy = 0;
    while (count < limit && xx + yy <= (4L << 56)) {
      y = (int)(((long)x * y) >> 27) + c_y;
      x = (int)((xx - yy) >> 28) + c_x;
      xx = (long)x * x;
      yy = (long)y * y;
      ++count;
    }
    turns[column + width * row] = count;
  }
}
)";

constexpr std::int64_t one = 1 << 28;
constexpr int most_turns = 256;

// Tiny: no multiples of a group. Default: 43 million turns. Large: 0.2 GB.
constexpr int width_of(Size size) { return by_size(size, 157, 1024, 3072, 8192); }
constexpr int height_of(Size size) { return by_size(size, 93, 768, 2304, 6144); }
static_assert(fits(1LL * width_of(Size::large) * height_of(Size::large),
                   1LL * width_of(Size::large) * height_of(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int width = width_of(size), height = height_of(size);
  const std::size_t count = static_cast<std::size_t>(width) * height;
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(width, height);
  // From -2.4 - 1.2 i on, moved by up to 0.125 in both directions, and 3.2 wide: all of the set, and something around.
  const auto moved = [&](std::int64_t corner) {
    return static_cast<std::int32_t>(corner + static_cast<std::int64_t>(random() >> 39));
  };
  const std::int32_t left = moved(-12 * one / 5), top = moved(-6 * one / 5);
  out.arguments = {array<std::int32_t>("turns", core::Access::write, count),
                   scalar<std::int32_t>("left", left),
                   scalar<std::int32_t>("top", top),
                   scalar<std::int32_t>("step", static_cast<std::int32_t>(16 * one / 5 / width)),
                   scalar<std::int32_t>("limit", most_turns),
                   scalar<std::int32_t>("width", width),
                   scalar<std::int32_t>("height", height)};
  out.tolerance = {};  // whole numbers
  out.bytes = 4.0 * static_cast<double>(count);
  out.operations = 12.0 * 0.2 * most_turns * static_cast<double>(count);  // a fifth never leave, most others do at once
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto turns = a[0].as<std::int32_t>();
  const std::int64_t left = a[1].as<std::int32_t>()[0], top = a[2].as<std::int32_t>()[0],
                     step = a[3].as<std::int32_t>()[0];
  const int limit = a[4].as<std::int32_t>()[0];
  const std::size_t width = a[5].as<std::int32_t>()[0], height = a[6].as<std::int32_t>()[0];
  // Rounded downwards, as a shift to the right does.
  const auto in_units = [](std::int64_t product, std::int64_t unit) {
    return product / unit - (product % unit < 0 ? 1 : 0);
  };
  for (std::size_t i = 0; i < width * height; ++i) {
    const std::int64_t c_x = left + step * static_cast<std::int64_t>(i % width),
                       c_y = top + step * static_cast<std::int64_t>(i / width);
    std::int64_t x = 0, y = 0;
    turns[i] = 0;
    while (turns[i] < limit && x * x + y * y <= 4 * one * one) {
      const std::int64_t next = in_units(x * x - y * y, one) + c_x;
      y = in_units(x * y, one / 2) + c_y;
      x = next;
      ++turns[i];
    }
  }
}

}  // namespace

const Workload mandelbrot{
    .name = "mandelbrot",
    .what = "turns of z^2 + c until it leaves a circle, for a region of the plane, in fixed-point arithmetic",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = source,
                  .entry = "mandelbrot",
                  .group = {16, 16, 1},
                  .footprint = {{16, 16, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

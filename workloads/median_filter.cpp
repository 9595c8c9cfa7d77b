// median_filter: an image filter of comparisons only, four channels to a pixel; neighbours share most of their work, so
// that pixels below each other are cheaper together.
#include <algorithm>
#include <array>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// The median of nine: sort the rows of three; of the lowest ones only the highest can be it, of the highest ones only
// the lowest, of the middle ones only the middle one. A pixel is four bytes, each a channel; all four go through the
// same comparisons side by side.
const char* sorted_rows = R"(
typedef struct {
  uint low, middle, high;
} Sorted;

uint lower(uint a, uint b) { return as_uint(min(as_uchar4(a), as_uchar4(b))); }
uint higher(uint a, uint b) { return as_uint(max(as_uchar4(a), as_uchar4(b))); }
uint middle(uint a, uint b, uint c) { return higher(lower(a, b), lower(higher(a, b), c)); }

Sorted sorted(uint a, uint b, uint c) {
  Sorted out;
  out.low = lower(lower(a, b), c);
  out.middle = middle(a, b, c);
  out.high = higher(higher(a, b), c);
  return out;
}

uint median(Sorted a, Sorted b, Sorted c) {
  uint low = higher(higher(a.low, b.low), c.low);
  uint high = lower(lower(a.high, b.high), c.high);
  return middle(low, middle(a.middle, b.middle, c.middle), high);
}
)";

// The border is copied, so that every element of the output is written.
const char* base = R"(
kernel void median_base(global const uint* in, global uint* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < width && y < height) {
    int at = x + width * y;
    uint result = in[at];
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
      Sorted above = sorted(in[at - width - 1], in[at - width], in[at - width + 1]);
      Sorted here = sorted(in[at - 1], result, in[at + 1]);
      Sorted below = sorted(in[at + width - 1], in[at + width], in[at + width + 1]);
      result = median(above, here, below);
    }
    out[at] = result;
  }
}
)";

// Neighbours come from local memory: a tile with a border of one. Beyond the image comes its own border.
const char* tiled = R"(
kernel void median_tiled(global const uint* in, global uint* out, int width, int height) {
  local uint tile[18][18];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x = get_global_id(0), y = get_global_id(1);
  for (int k = lx + 16 * ly; k < 18 * 18; k += 256) {
    int from_x = clamp(x - lx - 1 + k % 18, 0, width - 1), from_y = clamp(y - ly - 1 + k / 18, 0, height - 1);
    tile[k / 18][k % 18] = in[from_x + width * from_y];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x < width && y < height) {
    uint result = tile[ly + 1][lx + 1];
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
      Sorted above = sorted(tile[ly][lx], tile[ly][lx + 1], tile[ly][lx + 2]);
      Sorted here = sorted(tile[ly + 1][lx], result, tile[ly + 1][lx + 2]);
      Sorted below = sorted(tile[ly + 2][lx], tile[ly + 2][lx + 1], tile[ly + 2][lx + 2]);
      result = median(above, here, below);
    }
    out[x + width * y] = result;
  }
}
)";

// Eight pixels per work-item, one below the other: a row that was sorted serves three of them. At the border rows are
// read that nobody uses.
const char* coarse = R"(
kernel void median_coarse(global const uint* in, global uint* out, int width, int height) {
  int x = get_global_id(0), y0 = get_global_id(1) * 8;
  if (x < width && y0 < height) {
    int end = min(y0 + 8, height);
    int left = max(x - 1, 0), right = min(x + 1, width - 1);
    int row = width * max(y0 - 1, 0);
    Sorted above = sorted(in[row + left], in[row + x], in[row + right]);
    row = width * y0;
    uint mine = in[row + x];
    Sorted here = sorted(in[row + left], mine, in[row + right]);
    for (int y = y0; y < end; ++y) {
      row = width * min(y + 1, height - 1);
      uint next = in[row + x];
      Sorted below = sorted(in[row + left], next, in[row + right]);
      bool inside = x > 0 && x < width - 1 && y > 0 && y < height - 1;
      out[x + width * y] = inside ? median(above, here, below) : mine;
      above = here;
      here = below;
      mine = next;
    }
  }
}
)";

// Tiny: no multiples of a group. Default: 45 to 70 ms on two idle Arm cores. Large: as in the SKMD paper, 128 MB each
// way.
constexpr int width_of(Size size) { return by_size(size, 157, 1920, 5760, 7680); }
constexpr int height_of(Size size) { return by_size(size, 93, 1080, 3240, 4320); }
static_assert(fits(1LL * width_of(Size::large) * height_of(Size::large),
                   2LL * width_of(Size::large) * height_of(Size::large)));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int width = width_of(size), height = height_of(size);
  const std::size_t count = static_cast<std::size_t>(width) * height;
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(width, height);
  out.arguments = {array<std::uint32_t>("in", core::Access::read, count),
                   array<std::uint32_t>("out", core::Access::write, count), scalar<std::int32_t>("width", width),
                   scalar<std::int32_t>("height", height)};
  for (std::uint32_t& v : out.arguments[0].as<std::uint32_t>()) v = static_cast<std::uint32_t>(random() >> 32);
  out.tolerance = {};  // bytes are compared and copied, nothing else
  out.bytes = 8.0 * static_cast<double>(count);
  out.operations = 120.0 * (width - 2) * (height - 2);  // 30 minima and maxima, for each of four channels
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto in = a[0].as<std::uint32_t>(), out = a[1].as<std::uint32_t>();
  const std::size_t width = a[2].as<std::int32_t>()[0], height = a[3].as<std::int32_t>()[0];
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t at = x + width * y;
      out[at] = in[at];
      if (x == 0 || x == width - 1 || y == 0 || y == height - 1) continue;
      std::uint32_t result = 0;
      for (int shift = 0; shift < 32; shift += 8) {
        std::array<std::uint8_t, 9> around;
        std::size_t next = 0;
        for (std::size_t row : {at - width, at, at + width}) {
          for (std::size_t from : {row - 1, row, row + 1})
            around[next++] = static_cast<std::uint8_t>(in[from] >> shift);
        }
        std::nth_element(around.begin(), around.begin() + 4, around.end());
        result |= static_cast<std::uint32_t>(around[4]) << shift;
      }
      out[at] = result;
    }
  }
}

}  // namespace

const Workload median_filter{
    .name = "median_filter",
    .what = "median of each pixel's 3 x 3 neighbourhood, for each of four channels; the border is copied",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = std::string(sorted_rows) + base,
                  .entry = "median_base",
                  .group = {16, 16, 1},
                  .footprint = {{16, 16, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "tiled",
                  .source = std::string(sorted_rows) + tiled,
                  .entry = "median_tiled",
                  .group = {16, 16, 1},
                  .footprint = {{16, 16, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "coarse",
                  .source = std::string(sorted_rows) + coarse,
                  .entry = "median_coarse",
                  .group = {32, 4, 1},
                  .footprint = {{32, 32, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

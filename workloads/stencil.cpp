// stencil: seven points in three dimensions; slices need a halo of their neighbours' input, and coarsening along z pays
// by keeping two of three planes in registers.
#include "workloads/table.hpp"
#include "workloads/tunable.hpp"

namespace heddle::workloads {

namespace {

// Points are all points of the volume, so that every element of the output is written: those on its surface are copied.
const char* base = R"(
kernel void stencil_base(global const float* in, global float* out, float centre, float around, int nx, int ny,
                         int nz) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x < nx && y < ny && z < nz) {
    int plane = nx * ny;
    int at = x + nx * y + plane * z;
    float result = in[at];
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
      result = centre * result + around * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - plane] +
                                           in[at + plane]);
    }
    out[at] = result;
  }
}
)";

// A work-item walks 64 planes.
const char* coarse_z = R"(
kernel void stencil_coarse_z(global const float* in, global float* out, float centre, float around, int nx, int ny,
                             int nz) {
  int x = get_global_id(0), y = get_global_id(1), z0 = get_global_id(2) * 64;
  if (x < nx && y < ny && z0 < nz) {
    int plane = nx * ny;
    int end = min(z0 + 64, nz);
    int at = x + nx * y + plane * z0;
    bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    float below = z0 > 0 ? in[at - plane] : 0.0f;
    float here = in[at];
    for (int z = z0; z < end; ++z, at += plane) {
      float above = z + 1 < nz ? in[at + plane] : 0.0f;
      float result = here;
      if (inside && z > 0 && z < nz - 1) {
        result = centre * here + around * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above);
      }
      out[at] = result;
      below = here;
      here = above;
    }
  }
}
)";

// A work-item walks 64 planes at x and at x + 32; neighbours along x come from local memory. x, y and z are not checked
// against the end of the volume: whole boxes of 64 x 4 x 64 only.
const char* tiled_coarse = R"(
kernel void stencil_tiled_coarse(global const float* in, global float* out, float centre, float around, int nx, int ny,
                                 int nz) {
  local float row[4][66];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x0 = (get_global_id(0) - lx) * 2, y = get_global_id(1), z0 = get_global_id(2) * 64;
  int plane = nx * ny;
  float below[2], here[2], above[2];
  bool inside[2];
  for (int k = 0; k < 2; ++k) {
    int x = x0 + lx + 32 * k;
    int at = x + nx * y + plane * z0;
    inside[k] = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    below[k] = z0 > 0 ? in[at - plane] : 0.0f;
    here[k] = in[at];
  }
  for (int z = z0; z < z0 + 64; ++z) {
    int first = x0 + nx * y + plane * z;
    barrier(CLK_LOCAL_MEM_FENCE);  // the plane before has been read
    for (int k = 0; k < 2; ++k) row[ly][1 + lx + 32 * k] = here[k];
    if (lx == 0) row[ly][0] = x0 > 0 ? in[first - 1] : 0.0f;
    if (lx == 31) row[ly][65] = x0 + 64 < nx ? in[first + 64] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 2; ++k) {
      int i = lx + 32 * k;
      int at = first + i;
      above[k] = z + 1 < nz ? in[at + plane] : 0.0f;
      float result = here[k];
      if (inside[k] && z > 0 && z < nz - 1) {
        result = centre * here[k] +
                 around * (row[ly][i] + row[ly][i + 2] + in[at - nx] + in[at + nx] + below[k] + above[k]);
      }
      out[at] = result;
      below[k] = here[k];
      here[k] = above[k];
    }
  }
}
)";

// Neighbours along x and y come from local memory: a tile with a border of one, whose corners nobody needs.
const char* tiled = R"(
kernel void stencil_tiled(global const float* in, global float* out, float centre, float around, int nx, int ny,
                          int nz) {
  local float tile[6][34];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  int plane = nx * ny;
  int at = x + nx * y + plane * z;
  bool there = x < nx && y < ny && z < nz;
  if (there) {
    tile[ly + 1][lx + 1] = in[at];
    if (lx == 0 && x > 0) tile[ly + 1][0] = in[at - 1];
    if (lx == 31 && x < nx - 1) tile[ly + 1][33] = in[at + 1];
    if (ly == 0 && y > 0) tile[0][lx + 1] = in[at - nx];
    if (ly == 3 && y < ny - 1) tile[5][lx + 1] = in[at + nx];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (there) {
    float result = tile[ly + 1][lx + 1];
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
      result = centre * result + around * (tile[ly + 1][lx] + tile[ly + 1][lx + 2] + tile[ly][lx + 1] +
                                           tile[ly + 2][lx + 1] + in[at - plane] + in[at + plane]);
    }
    out[at] = result;
  }
}
)";

// A work-item walks 32 points along x, whose neighbours it holds in registers: one walk along the memory, as a CPU
// likes it.
const char* coarse_x = R"(
kernel void stencil_coarse_x(global const float* in, global float* out, float centre, float around, int nx, int ny,
                             int nz) {
  int x0 = get_global_id(0) * 32, y = get_global_id(1), z = get_global_id(2);
  if (y < ny && z < nz) {
    int plane = nx * ny;
    int first = x0 + nx * y + plane * z;
    bool inside = y > 0 && y < ny - 1 && z > 0 && z < nz - 1;
    float left = x0 > 0 && x0 < nx ? in[first - 1] : 0.0f;
    float here = x0 < nx ? in[first] : 0.0f;
    for (int k = 0; k < 32; ++k) {
      int x = x0 + k, at = first + k;
      if (x < nx) {
        float right = x + 1 < nx ? in[at + 1] : 0.0f;
        float result = here;
        if (inside && x > 0 && x < nx - 1) {
          result =
              centre * here + around * (left + right + in[at - nx] + in[at + nx] + in[at - plane] + in[at + plane]);
        }
        out[at] = result;
        left = here;
        here = right;
      }
    }
  }
}
)";

// A work-item computes WX vectors of VW points along x, GX of them apart, in WY rows, GY apart, and in WZ planes, one
// after the other. Z_INNER, the planes are the inner loop, and two of three are kept in registers; else x is. UNROLL
// is for the inner loop.
const char* tunable_source = R"(
// Up to VW points from x on, wherever they lie.
void at_the_edge(global const float* in, global float* out, float centre, float around, int nx, int ny, int nz, int x,
                 int y, int z) {
  int plane = nx * ny;
#if VW == 1
  if (x < nx) {
#else
  for (int end = min(x + VW, nx); x < end; ++x) {
#endif
    int at = x + nx * y + plane * z;
    float result = in[at];
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
      result = centre * result + around * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - plane] +
                                           in[at + plane]);
    }
    out[at] = result;
  }
}

kernel void stencil_tunable(global const float* in, global float* out, float centre, float around, int nx, int ny,
                            int nz) {
  int lx = get_local_id(0), ly = get_local_id(1);
  int x0 = (get_global_id(0) - lx) * WX * VW + lx * VW, y0 = (get_global_id(1) - ly) * WY + ly;
  int z0 = get_global_id(2) * WZ;
  int plane = nx * ny;
#if Z_INNER
  int z_end = min(z0 + WZ, nz);
  if (z0 < nz) {
    for (int j = 0; j < WY; ++j) {
      for (int i = 0; i < WX; ++i) {
        int x = x0 + i * GX * VW, y = y0 + j * GY;
        if (x > 0 && x + VW < nx && y > 0 && y < ny - 1) {
          int at = x + nx * y + plane * z0;
          vec below = z0 > 0 ? LOAD(in + at - plane) : (vec)(0.0f);
          vec here = LOAD(in + at);
#pragma unroll UNROLL
          for (int z = z0; z < z_end; ++z) {
            vec above = z + 1 < nz ? LOAD(in + at + plane) : (vec)(0.0f);
            vec result = here;
            if (z > 0 && z < nz - 1) {
              result = centre * here + around * (LOAD(in + at - 1) + LOAD(in + at + 1) + LOAD(in + at - nx) +
                                                 LOAD(in + at + nx) + below + above);
            }
            STORE(result, out + at);
            below = here;
            here = above;
            at += plane;
          }
        } else if (y < ny) {
          for (int z = z0; z < z_end; ++z) at_the_edge(in, out, centre, around, nx, ny, nz, x, y, z);
        }
      }
    }
  }
#else
  for (int k = 0; k < WZ; ++k) {
    for (int j = 0; j < WY; ++j) {
#pragma unroll UNROLL
      for (int i = 0; i < WX; ++i) {
        int x = x0 + i * GX * VW, y = y0 + j * GY, z = z0 + k;
#if VW > 1
        if (x > 0 && x + VW < nx && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
          int at = x + nx * y + plane * z;
          STORE(centre * LOAD(in + at) + around * (LOAD(in + at - 1) + LOAD(in + at + 1) + LOAD(in + at - nx) +
                                                   LOAD(in + at + nx) + LOAD(in + at - plane) + LOAD(in + at + plane)),
                out + at);
        } else
#endif
          if (y < ny && z < nz) at_the_edge(in, out, centre, around, nx, ny, nz, x, y, z);
      }
    }
  }
#endif
}
)";

core::Tunable tunable() {
  return {.name = "tunable",
          .source = vectors + tunable_source,
          .entry = "stencil_tunable",
          .options = "",
          .group = {"GX", "GY", "GZ"},
          .points = {"GX * WX * VW", "GY * WY", "GZ * WZ"},
          .guarded = true,
          .cut = core::Cut::by_offset,
          .space = core::ParameterSpace(
              {{"GX", core::parse_values("8, 32, 64")},
               {"GY", core::parse_values("1, 2, 4, 8")},
               {"GZ", core::parse_values("1, 4")},
               {"WX", core::parse_values("1, 2, 4")},
               {"WY", core::parse_values("1, 2, 4")},
               {"WZ", core::parse_values("1, 4, 16")},
               {"VW", core::parse_values("1, 4, 8")},
               {"Z_INNER", {false, true}},
               {"UNROLL", core::parse_values("1, 4")}},
              {},
              {"GX * GY * GZ >= 32 && GX * GY * GZ <= 256", "GX * WX * VW <= 256", "WX * WY * WZ * VW <= 64",
               "!Z_INNER || WZ > 1", "Z_INNER && UNROLL <= WZ || !Z_INNER && UNROLL <= WX"})};
}

// Tiny: one box of the tiled_coarse variant fits along x and z, and all edges are left over. Large: 1 GB each way.
constexpr int width_of(Size size) { return by_size(size, 70, 256, 512, 1024); }
constexpr int height_of(Size size) { return by_size(size, 13, 256, 512, 1024); }
constexpr int depth_of(Size size) { return size == Size::tiny ? 67 : 256; }
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
                   scalar<float>("centre", 0.4f),
                   scalar<float>("around", 0.1f),
                   scalar<std::int32_t>("nx", nx),
                   scalar<std::int32_t>("ny", ny),
                   scalar<std::int32_t>("nz", nz)};
  for (float& v : out.arguments[0].as<float>()) v = uniform(random, 0.5f, 1.5f);
  // Positive terms, eight roundings of 6e-8; a missing one is at least 0.05 of 1.5.
  out.tolerance = {.absolute = 0, .relative = 5e-7};
  out.bytes = 8.0 * static_cast<double>(count);
  out.operations = 8.0 * (nx - 2) * (ny - 2) * (nz - 2);
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto in = a[0].as<float>(), out = a[1].as<float>();
  const double centre = a[2].as<float>()[0], around = a[3].as<float>()[0];
  const std::size_t nx = a[4].as<std::int32_t>()[0], ny = a[5].as<std::int32_t>()[0], nz = a[6].as<std::int32_t>()[0];
  const std::size_t plane = nx * ny;
  auto value = [&](std::size_t at) { return static_cast<double>(in[at]); };
  for (std::size_t z = 0; z < nz; ++z) {
    for (std::size_t y = 0; y < ny; ++y) {
      for (std::size_t x = 0; x < nx; ++x) {
        const std::size_t at = x + nx * y + plane * z;
        out[at] = in[at];
        if (x == 0 || x == nx - 1 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1) continue;
        out[at] =
            static_cast<float>(centre * value(at) + around * (value(at - 1) + value(at + 1) + value(at - nx) +
                                                              value(at + nx) + value(at - plane) + value(at + plane)));
      }
    }
  }
}

}  // namespace

const Workload stencil{
    .name = "stencil",
    .what = "one step of a 7-point stencil over a volume; points on its surface are copied",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = base,
                  .entry = "stencil_base",
                  .group = {32, 4, 1},
                  .footprint = {{32, 4, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "coarse_z",
                  .source = coarse_z,
                  .entry = "stencil_coarse_z",
                  .group = {32, 4, 1},
                  .footprint = {{32, 4, 64}, true},  // 64 times the base's, as in the DySel paper
                  .cut = core::Cut::by_offset},
                 {.name = "tiled_coarse",
                  .source = tiled_coarse,
                  .entry = "stencil_tiled_coarse",
                  .group = {32, 4, 1},
                  .footprint = {{64, 4, 64}, false},  // 128 times
                  .cut = core::Cut::by_offset},
                 {.name = "tiled",
                  .source = tiled,
                  .entry = "stencil_tiled",
                  .group = {32, 4, 1},
                  .footprint = {{32, 4, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "coarse_x",
                  .source = coarse_x,
                  .entry = "stencil_coarse_x",
                  .group = {2, 8, 4},
                  .footprint = {{64, 8, 4}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
    .tunable = tunable,
};

}  // namespace heddle::workloads

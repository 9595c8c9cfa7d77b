// cutcp: gathers what a sphere of neighbours contributes, from lists of unequal length: reading an atom for several
// grid points at once pays, and staging it in local memory reads more atoms than each point needs.
#include <algorithm>
#include <cmath>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Lengths are in steps of the grid. Space is divided into cubic bins, and atoms (x, y, z, charge) are sorted by bin, so
// that a row of bins is one range of them. Around the grid are as many empty bins as the cut-off reaches over, so that
// the bins in reach of a point begin at its own number and nobody checks for an end. An atom at a distance r
// contributes charge / r (1 - r^2 / cutoff^2)^2, which is zero from the cut-off on.
const char* base = R"(
kernel void cutcp_base(global const float4* atom, global const int* bin_start, global float* potential, int cutoff,
                       int bin, int bins_x, int bins_y, int nx, int ny, int nz) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x < nx && y < ny && z < nz) {
    int own = x / bin + bins_x * (y / bin + bins_y * (z / bin)), reach = 2 * (cutoff / bin);
    float scale = 1.0f / (cutoff * cutoff);
    float sum = 0;
    for (int n = 0; n < (reach + 1) * (reach + 1); ++n) {
      int row = own + bins_x * (n % (reach + 1) + bins_y * (n / (reach + 1)));
      int end = bin_start[row + reach + 1];
      for (int i = bin_start[row]; i < end; ++i) {
        float4 a = atom[i];
        float dx = a.x - x, dy = a.y - y, dz = a.z - z;
        float square = dx * dx + dy * dy + dz * dz;
        float s = fmax(1.0f - square * scale, 0.0f);
        sum += a.w * rsqrt(square) * s * s;
      }
    }
    potential[x + nx * (y + ny * z)] = sum;
  }
}
)";

// Four points along z per work-item share what an atom is read for and its distance across.
const char* coarse = R"(
kernel void cutcp_coarse(global const float4* atom, global const int* bin_start, global float* potential, int cutoff,
                         int bin, int bins_x, int bins_y, int nx, int ny, int nz) {
  int x = get_global_id(0), y = get_global_id(1), z0 = get_global_id(2) * 4;
  if (x < nx && y < ny) {
    int own = x / bin + bins_x * (y / bin + bins_y * (z0 / bin)), reach = 2 * (cutoff / bin);
    float scale = 1.0f / (cutoff * cutoff);
    float sum[4] = {0, 0, 0, 0};
    for (int above = 0; above <= reach; ++above) {
      for (int behind = 0; behind <= reach; ++behind) {
        int row = own + bins_x * (behind + bins_y * above);
        int end = bin_start[row + reach + 1];
        for (int i = bin_start[row]; i < end; ++i) {
          float4 a = atom[i];
          float dx = a.x - x, dy = a.y - y, dz = a.z - z0;
          float across = dx * dx + dy * dy;
          for (int k = 0; k < 4; ++k) {
            float square = across + (dz - k) * (dz - k);
            float s = fmax(1.0f - square * scale, 0.0f);
            sum[k] += a.w * rsqrt(square) * s * s;
          }
        }
      }
    }
    for (int k = 0; k < 4; ++k) {
      if (z0 + k < nz) potential[x + nx * (y + ny * (z0 + k))] = sum[k];
    }
  }
}
)";

// The group covers 8 x 8 x 8 points, four along z per work-item, and goes through all atoms that any of them needs, 128
// at a time.
const char* tiled_coarse = R"(
kernel void cutcp_tiled_coarse(global const float4* atom, global const int* bin_start, global float* potential,
                               int cutoff, int bin, int bins_x, int bins_y, int nx, int ny, int nz) {
  local float4 tile[128];
  int lx = get_local_id(0), ly = get_local_id(1), lz = get_local_id(2);
  int lane = lx + 8 * (ly + 8 * lz);
  int x = get_global_id(0), y = get_global_id(1), z0 = get_global_id(2) * 4;
  int first_x = x - lx, first_y = y - ly, first_z = z0 - 4 * lz;
  int own = first_x / bin + bins_x * (first_y / bin + bins_y * (first_z / bin)), reach = 2 * (cutoff / bin);
  float scale = 1.0f / (cutoff * cutoff);
  float sum[4] = {0, 0, 0, 0};
  for (int above = 0; above <= reach; ++above) {
    for (int behind = 0; behind <= reach; ++behind) {
      int row = own + bins_x * (behind + bins_y * above);
      int end = bin_start[row + reach + 1];
      for (int first = bin_start[row]; first < end; first += 128) {
        barrier(CLK_LOCAL_MEM_FENCE);  // the atoms before have been read
        if (first + lane < end) tile[lane] = atom[first + lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        int count = min(end - first, 128);
        for (int i = 0; i < count; ++i) {
          float4 a = tile[i];
          float dx = a.x - x, dy = a.y - y, dz = a.z - z0;
          float across = dx * dx + dy * dy;
          for (int k = 0; k < 4; ++k) {
            float square = across + (dz - k) * (dz - k);
            float s = fmax(1.0f - square * scale, 0.0f);
            sum[k] += a.w * rsqrt(square) * s * s;
          }
        }
      }
    }
  }
  for (int k = 0; k < 4; ++k) {
    if (x < nx && y < ny && z0 + k < nz) potential[x + nx * (y + ny * (z0 + k))] = sum[k];
  }
}
)";

// With steps of half an angstrom: a cut-off of 8, bins of 4, and half as many atoms as water has, so that about 107 are
// in reach. A bin is as wide as the groups of the coarsened variants, whose points then have the same bins in reach.
constexpr int cutoff = 16, bin = 8, border = cutoff / bin;
static_assert(border * bin == cutoff && bin == 8);
constexpr int points_per_atom = 160;

// Tiny: extents are no multiples of a group or of a bin, and longer than the cut-off reaches.
constexpr core::Index extents_of(Size size) {
  return by_size<core::Index>(size, {37, 21, 19}, {64, 64, 48}, {160, 160, 96}, {320, 320, 320});
}

constexpr std::int64_t points_of(Size size) {
  const core::Index n = extents_of(size);
  return n[0] * n[1] * n[2];
}
static_assert(fits(points_of(Size::large), 2 * points_of(Size::large)));

int bins_along(std::int64_t points) { return static_cast<int>((points + bin - 1) / bin) + 2 * border; }

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const auto [nx, ny, nz] = extents_of(size);
  std::mt19937_64 random(seed);
  struct Atom {
    float x, y, z, charge;
    int bin;
  };
  std::vector<Atom> atoms(static_cast<std::size_t>(points_of(size) / points_per_atom));
  for (Atom& a : atoms) {
    // Not within a fifth of a step of the grid's planes: no distance is nearly zero.
    auto coordinate = [&](std::int64_t points) {
      const auto cell = static_cast<float>(random() % static_cast<std::uint64_t>(points - 1));
      return cell + uniform(random, 0.2f, 0.8f);
    };
    a.x = coordinate(nx);
    a.y = coordinate(ny);
    a.z = coordinate(nz);
    a.charge = uniform(random, 0.5f, 1.5f);
    auto bin_at = [](float place) { return static_cast<int>(place) / bin + border; };
    a.bin = bin_at(a.x) + bins_along(nx) * (bin_at(a.y) + bins_along(ny) * bin_at(a.z));
  }
  std::stable_sort(atoms.begin(), atoms.end(), [](const Atom& a, const Atom& b) { return a.bin < b.bin; });
  const int bins = bins_along(nx) * bins_along(ny) * bins_along(nz);
  Instance out;
  out.space = core::box_of(nx, ny, nz);
  out.arguments = {array<float>("atom", core::Access::read, 4 * atoms.size()),
                   array<std::int32_t>("bin_start", core::Access::read, bins + 1),
                   array<float>("potential", core::Access::write, static_cast<std::size_t>(points_of(size))),
                   scalar<std::int32_t>("cutoff", cutoff),
                   scalar<std::int32_t>("bin", bin),
                   scalar<std::int32_t>("bins_x", bins_along(nx)),
                   scalar<std::int32_t>("bins_y", bins_along(ny)),
                   scalar<std::int32_t>("nx", static_cast<std::int32_t>(nx)),
                   scalar<std::int32_t>("ny", static_cast<std::int32_t>(ny)),
                   scalar<std::int32_t>("nz", static_cast<std::int32_t>(nz))};
  const auto atom = out.arguments[0].as<float>();
  const auto bin_start = out.arguments[1].as<std::int32_t>();
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const float values[] = {atoms[i].x, atoms[i].y, atoms[i].z, atoms[i].charge};
    std::copy(values, values + 4, &atom[4 * i]);
    ++bin_start[atoms[i].bin + 1];
  }
  for (int b = 0; b < bins; ++b) bin_start[b + 1] += bin_start[b];
  // Terms are positive. A square has three roundings of 6e-8, a root two, and s = 1 - r^2 / cutoff^2 loses what the
  // square has lost, which counts twice and, for atoms near the cut-off, more than s is worth: below s = 0.1 a term is
  // wrong by up to 4e-9, which the absolute part allows. Most errors cancel (seen at default: below 1e-6). An atom left
  // out of a sum shows unless it is within 2 % of the cut-off.
  out.tolerance = {.absolute = 1e-8, .relative = 3e-6};
  out.bytes = 16.0 * static_cast<double>(atoms.size()) + 4.0 * (bins + 1) + 4.0 * static_cast<double>(points_of(size));
  // 15 a pair, the root as one, and of the pairs those alone that are near enough.
  out.operations = 15.0 * 4.19 * cutoff * cutoff * cutoff * static_cast<double>(atoms.size());
  return out;
}

// From each atom to the points around it: the other way round than the kernels, and with no bins.
void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto atom = a[0].as<float>(), potential = a[2].as<float>();
  const int reach = a[3].as<std::int32_t>()[0];
  const int n[3] = {a[7].as<std::int32_t>()[0], a[8].as<std::int32_t>()[0], a[9].as<std::int32_t>()[0]};
  const double limit = static_cast<double>(reach) * reach;
  std::vector<double> sums(potential.size());
  for (std::size_t i = 0; i < atom.size(); i += 4) {
    int first[3], end[3];
    for (int d = 0; d < 3; ++d) {
      first[d] = std::max(static_cast<int>(atom[i + d]) - reach, 0);
      end[d] = std::min(static_cast<int>(atom[i + d]) + reach + 2, n[d]);
    }
    for (int z = first[2]; z < end[2]; ++z) {
      for (int y = first[1]; y < end[1]; ++y) {
        const double dy = atom[i + 1] - static_cast<double>(y), dz = atom[i + 2] - static_cast<double>(z);
        const double across = dy * dy + dz * dz;
        if (across >= limit) continue;
        double* row = &sums[static_cast<std::size_t>(n[0]) * (y + static_cast<std::size_t>(n[1]) * z)];
        for (int x = first[0]; x < end[0]; ++x) {
          const double dx = atom[i] - static_cast<double>(x), square = across + dx * dx;
          const double s = std::max(1 - square / limit, 0.0);
          row[x] += atom[i + 3] / std::sqrt(square) * s * s;
        }
      }
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) potential[i] = static_cast<float>(sums[i]);
}

}  // namespace

const Workload cutcp{
    .name = "cutcp",
    .what = "electric potential of atoms on a grid, each atom as far as a cut-off radius",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = base,
                  .entry = "cutcp_base",
                  .group = {8, 8, 2},
                  .footprint = {{8, 8, 2}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "coarse",
                  .source = coarse,
                  .entry = "cutcp_coarse",
                  .group = {8, 8, 2},
                  .footprint = {{8, 8, 8}, true},  // four times the base's, as in the DySel paper
                  .cut = core::Cut::by_offset},
                 {.name = "tiled_coarse",
                  .source = tiled_coarse,
                  .entry = "cutcp_tiled_coarse",
                  .group = {8, 8, 2},
                  .footprint = {{8, 8, 8}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

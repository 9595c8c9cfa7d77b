// mersenne_twister: hardly any input and much output, which each work-item spreads over all of the output array; and a
// private array of which nobody knows in advance where it is used.
#include <array>

#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// Each work-item is a generator: x[i + 19] = x[i + 9] ^ (upper 31 bits of x[i], lowest of x[i + 1]) A, then tempered.
// The row of the matrix A, two masks and the seed are its parameters. Numbers of all generators lie side by side.
const char* base = R"(
kernel void twister_base(global const uint4* parameter, global uint* out, int generators, int numbers) {
  int g = get_global_id(0);
  if (g < generators) {
    uint4 mine = parameter[g];
    uint state[19];
    state[0] = mine.w;
    for (int k = 1; k < 19; ++k) state[k] = 1812433253u * (state[k - 1] ^ (state[k - 1] >> 30)) + k;
    int here = 0;
    for (int i = 0; i < numbers; ++i) {
      int next = here < 18 ? here + 1 : 0;
      uint mixed = (state[here] & 0xfffffffeu) | (state[next] & 1u);
      uint x = state[here < 10 ? here + 9 : here - 10] ^ (mixed >> 1) ^ ((mixed & 1u) != 0 ? mine.x : 0u);
      state[here] = x;
      here = next;
      x ^= x >> 12;
      x ^= (x << 7) & mine.y;
      x ^= (x << 15) & mine.z;
      out[i * generators + g] = x ^ (x >> 18);
    }
  }
}
)";

// 19 numbers a turn, so that every place of the state is a constant, and the state can be registers. Written out, as
// not every compiler would.
const char* blocks = R"(
#define SEED(k) state[k] = 1812433253u * (state[k - 1] ^ (state[k - 1] >> 30)) + k;
#define NUMBER(k)                                                                    \
  {                                                                                  \
    uint mixed = (state[k] & 0xfffffffeu) | (state[(k + 1) % 19] & 1u);              \
    uint x = state[(k + 9) % 19] ^ (mixed >> 1) ^ ((mixed & 1u) != 0 ? mine.x : 0u); \
    state[k] = x;                                                                    \
    x ^= x >> 12;                                                                    \
    x ^= (x << 7) & mine.y;                                                          \
    x ^= (x << 15) & mine.z;                                                         \
    if (first + k < numbers) out[(first + k) * generators + g] = x ^ (x >> 18);      \
  }
kernel void twister_blocks(global const uint4* parameter, global uint* out, int generators, int numbers) {
  int g = get_global_id(0);
  if (g < generators) {
    uint4 mine = parameter[g];
    uint state[19];
    state[0] = mine.w;
    SEED(1) SEED(2) SEED(3) SEED(4) SEED(5) SEED(6) SEED(7) SEED(8) SEED(9)
    SEED(10) SEED(11) SEED(12) SEED(13) SEED(14) SEED(15) SEED(16) SEED(17) SEED(18)
    for (int first = 0; first < numbers; first += 19) {
      NUMBER(0) NUMBER(1) NUMBER(2) NUMBER(3) NUMBER(4) NUMBER(5) NUMBER(6) NUMBER(7) NUMBER(8) NUMBER(9)
      NUMBER(10) NUMBER(11) NUMBER(12) NUMBER(13) NUMBER(14) NUMBER(15) NUMBER(16) NUMBER(17) NUMBER(18)
    }
  }
}
)";

// The state in local memory, where any place of it can be asked for; work-items use a column each, so that none waits.
const char* local_source = R"(
kernel void twister_local(global const uint4* parameter, global uint* out, int generators, int numbers) {
  local uint state[19 * 128];
  int g = get_global_id(0), lane = get_local_id(0);
  if (g < generators) {
    uint4 mine = parameter[g];
    uint last = mine.w;
    state[lane] = last;
    for (int k = 1; k < 19; ++k) {
      last = 1812433253u * (last ^ (last >> 30)) + k;
      state[k * 128 + lane] = last;
    }
    int here = 0;
    for (int i = 0; i < numbers; ++i) {
      int next = here < 18 ? here + 1 : 0, ahead = here < 10 ? here + 9 : here - 10;
      uint mixed = (state[here * 128 + lane] & 0xfffffffeu) | (state[next * 128 + lane] & 1u);
      uint x = state[ahead * 128 + lane] ^ (mixed >> 1) ^ ((mixed & 1u) != 0 ? mine.x : 0u);
      state[here * 128 + lane] = x;
      here = next;
      x ^= x >> 12;
      x ^= (x << 7) & mine.y;
      x ^= (x << 15) & mine.z;
      out[i * generators + g] = x ^ (x >> 18);
    }
  }
}
)";

// Tiny: no multiple of a group, nor of the 19 numbers of a turn. Default: 11 ms on two idle Arm cores. Large: as in the
// SKMD paper, 512 KB in, 768 MB out.
constexpr int generators_of(Size size) { return by_size(size, 301, 8192, 16'384, 32'768); }
constexpr int numbers_of(Size size) { return by_size(size, 41, 512, 2048, 6144); }
static_assert(fits(1LL * generators_of(Size::large) * numbers_of(Size::large),
                   1LL * generators_of(Size::large) * (4 + numbers_of(Size::large))));

Instance make(Size size, const std::string&, std::uint64_t seed) {
  const int generators = generators_of(size), numbers = numbers_of(size);
  const std::size_t count = static_cast<std::size_t>(generators) * numbers;
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(generators);
  out.arguments = {array<std::uint32_t>("parameter", core::Access::read, 4 * static_cast<std::size_t>(generators)),
                   array<std::uint32_t>("out", core::Access::write, count),
                   scalar<std::int32_t>("generators", generators), scalar<std::int32_t>("numbers", numbers)};
  // Of good generators a long search finds row and masks, so that their periods are as long as can be. These are drawn:
  // as much work, but nobody knows how long their periods are.
  const auto parameter = out.arguments[0].as<std::uint32_t>();
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    parameter[i] = static_cast<std::uint32_t>(random() >> 32) | (i % 4 == 0 ? 0x80000000u : 0u);
  }
  out.tolerance = {};  // whole numbers
  out.bytes = 16.0 * generators + 4.0 * static_cast<double>(count);
  out.operations = 17.0 * static_cast<double>(count) + 4.0 * 18 * generators;
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto parameter = a[0].as<std::uint32_t>(), out = a[1].as<std::uint32_t>();
  const std::size_t generators = a[2].as<std::int32_t>()[0], numbers = a[3].as<std::int32_t>()[0];
  for (std::size_t g = 0; g < generators; ++g) {
    const std::uint32_t *mine = &parameter[4 * g], row = mine[0], mask_b = mine[1], mask_c = mine[2];
    std::array<std::uint32_t, 19> x;  // the last ones, x[i] at i % 19
    x[0] = mine[3];
    for (std::uint32_t i = 1; i < 19; ++i) x[i] = 1812433253u * (x[i - 1] ^ (x[i - 1] >> 30)) + i;
    for (std::size_t i = 0; i < numbers; ++i) {
      const std::uint32_t mixed = (x[i % 19] & 0xfffffffeu) | (x[(i + 1) % 19] & 1u);
      std::uint32_t y = x[(i + 9) % 19] ^ (mixed >> 1);
      if (mixed % 2 == 1) y ^= row;
      x[i % 19] = y;
      y ^= y >> 12;
      y ^= (y << 7) & mask_b;
      y ^= (y << 15) & mask_c;
      y ^= y >> 18;
      out[i * generators + g] = y;
    }
  }
}

}  // namespace

const Workload mersenne_twister{
    .name = "mersenne_twister",
    .what = "pseudo-random numbers by many small Mersenne twisters, each with parameters of its own",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = base,
                  .entry = "twister_base",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "blocks",
                  .source = blocks,
                  .entry = "twister_blocks",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "local",
                  .source = local_source,
                  .entry = "twister_local",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

// By the book: bytes and their products, no packed words.
#include "workloads/aes.hpp"

#include <algorithm>
#include <bit>

namespace heddle::workloads::aes {

namespace {

// The bytes of an image of 3 bytes a pixel, in blocks of 16.
constexpr int blocks_of(int width, int height) { return width * height / 16 * 3; }

// Tiny: no multiple of a group. Large: 4096 x 4096 pixels, 48 MB each way, as in the SKMD paper.
constexpr int blocks(Size size) {
  return by_size(size, 1'003, blocks_of(1024, 1024), blocks_of(3072, 3072), blocks_of(4096, 4096));
}
static_assert(fits(4LL * blocks(Size::large), 8LL * blocks(Size::large) + 300));

std::uint8_t inverse(std::uint8_t a) {
  for (int b = 1; b < 256; ++b) {
    if (product(a, static_cast<std::uint8_t>(b)) == 1) return static_cast<std::uint8_t>(b);
  }
  return 0;
}

std::uint8_t byte_of(std::uint32_t word, int row) { return static_cast<std::uint8_t>(word >> 8 * row); }

}  // namespace

std::uint8_t product(std::uint8_t a, std::uint8_t b) {
  unsigned sum = 0, shifted = a;
  for (int bit = 0; bit < 8; ++bit) {
    if (b >> bit & 1) sum ^= shifted;
    shifted <<= 1;
    if (shifted & 0x100) shifted ^= 0x11b;
  }
  return static_cast<std::uint8_t>(sum);
}

Table substitution() {
  Table out;
  for (int i = 0; i < 256; ++i) {
    const std::uint8_t b = inverse(static_cast<std::uint8_t>(i));
    out[i] = b ^ std::rotl(b, 1) ^ std::rotl(b, 2) ^ std::rotl(b, 3) ^ std::rotl(b, 4) ^ 0x63;
  }
  return out;
}

Table inverse_substitution() {
  const Table forward = substitution();
  Table out;
  for (int i = 0; i < 256; ++i) out[forward[i]] = static_cast<std::uint8_t>(i);
  return out;
}

RoundKeys round_keys(const Block& key) {
  const Table table = substitution();
  RoundKeys out{};
  for (int i = 0; i < 16; ++i) out[i / 4] |= std::uint32_t{key[i]} << 8 * (i % 4);
  std::uint8_t round_constant = 1;
  for (std::size_t i = 4; i < out.size(); ++i) {
    std::uint32_t word = out[i - 1];
    if (i % 4 == 0) {
      const std::uint32_t turned = std::rotr(word, 8);
      word = round_constant;
      for (int row = 0; row < 4; ++row) word ^= std::uint32_t{table[byte_of(turned, row)]} << 8 * row;
      round_constant = product(round_constant, 2);
    }
    out[i] = out[i - 4] ^ word;
  }
  return out;
}

void add_round_key(Block& state, std::span<const std::uint32_t> round_key, int round) {
  for (int i = 0; i < 16; ++i) state[i] ^= byte_of(round_key[4 * round + i / 4], i % 4);
}

void substitute(Block& state, std::span<const std::uint8_t> table) {
  for (std::uint8_t& b : state) b = table[b];
}

void shift_rows(Block& state, int columns) {
  const Block before = state;
  for (int i = 0; i < 16; ++i) {
    const int row = i % 4, column = i / 4;
    state[i] = before[row + 4 * ((column + columns * row) & 3)];
  }
}

void mix_columns(Block& state, const Row& matrix_row) {
  // All products, since computing one takes as long as the rest of a round.
  static const auto products = [] {
    std::array<Table, 16> out;
    for (int a = 0; a < 16; ++a) {
      for (int b = 0; b < 256; ++b) out[a][b] = product(static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b));
    }
    return out;
  }();
  const Block before = state;
  for (int i = 0; i < 16; ++i) {
    const int row = i % 4, column = i / 4;
    state[i] = 0;
    for (int k = 0; k < 4; ++k) state[i] ^= products[matrix_row[(k - row) & 3]][before[k + 4 * column]];
  }
}

Instance make_instance(Size size, std::uint64_t seed, const Table& table) {
  const int n = blocks(size);
  const std::size_t words = 4 * static_cast<std::size_t>(n);
  std::mt19937_64 random(seed);
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<std::uint32_t>("in", core::Access::read, words),
                   array<std::uint32_t>("out", core::Access::write, words),
                   array<std::uint8_t>("table", core::Access::read, table.size()),
                   array<std::uint32_t>("round_key", core::Access::read, std::tuple_size_v<RoundKeys>),
                   scalar<std::int32_t>("blocks", n)};
  auto& a = out.arguments;
  Block key;
  for (std::uint8_t& b : key) b = static_cast<std::uint8_t>(random() >> 56);
  for (std::uint32_t& word : a[0].as<std::uint32_t>()) word = static_cast<std::uint32_t>(random() >> 32);
  std::ranges::copy(table, a[2].as<std::uint8_t>().begin());
  std::ranges::copy(round_keys(key), a[3].as<std::uint32_t>().begin());
  out.tolerance = {};  // whole numbers
  out.bytes = 32.0 * n + sizeof(Table) + sizeof(RoundKeys);
  return out;
}

void for_each_block(Instance& instance, void (*change)(Block& state, std::span<const std::uint8_t> table,
                                                       std::span<const std::uint32_t> round_key)) {
  auto& a = instance.arguments;
  const auto in = a[0].as<std::uint32_t>(), out = a[1].as<std::uint32_t>();
  const auto table = a[2].as<std::uint8_t>();
  const auto round_key = a[3].as<std::uint32_t>();
  for (std::size_t first = 0; first < in.size(); first += 4) {
    Block state;
    for (int i = 0; i < 16; ++i) state[i] = byte_of(in[first + i / 4], i % 4);
    change(state, table, round_key);
    for (int c = 0; c < 4; ++c) {
      out[first + c] = 0;
      for (int row = 0; row < 4; ++row) out[first + c] |= std::uint32_t{state[row + 4 * c]} << 8 * row;
    }
  }
}

}  // namespace heddle::workloads::aes

// What encryption and decryption by AES-128 (FIPS 197) share: tables, round keys, instances, and the steps of a round
// twice: on bytes for the references, and on packed words for the kernels.
#pragma once

#include <array>
#include <span>

#include "workloads/workload.hpp"

namespace heddle::workloads::aes {

constexpr int rounds = 10;

using Table = std::array<std::uint8_t, 256>;
using Block = std::array<std::uint8_t, 16>;  // row r of column c is byte r + 4 c
using Row = std::array<std::uint8_t, 4>;

// A column is a word whose first row is the lowest byte, and a block is four of them.
using RoundKeys = std::array<std::uint32_t, 4 * (rounds + 1)>;

std::uint8_t product(std::uint8_t a, std::uint8_t b);  // in GF(2^8), modulo x^8 + x^4 + x^3 + x + 1
Table substitution();                                  // the S-box, from inverses and an affine map
Table inverse_substitution();
RoundKeys round_keys(const Block& key);

// Steps of a round.
void add_round_key(Block& state, std::span<const std::uint32_t> round_key, int round);
void substitute(Block& state, std::span<const std::uint8_t> table);
void shift_rows(Block& state, int columns);             // row r by r times so many columns to the left
void mix_columns(Block& state, const Row& matrix_row);  // times a matrix whose rows are turns of its first one

// Arguments in, out, table, round_key, blocks; key and text are random.
Instance make_instance(Size size, std::uint64_t seed, const Table& table);

// Applies it to each block of the input, for a reference.
void for_each_block(Instance& instance, void (*change)(Block& state, std::span<const std::uint8_t> table,
                                                       std::span<const std::uint32_t> round_key));

// Of both kernels. `column` does SubBytes for one column, whose rows come from four (ShiftRows); `mixed` is MixColumns
// on four bytes of each word at a time: 2, 3, 1, 1 times the rows from its own on.
inline const char* const functions = R"(
uint column(global const uchar* table, uint row0, uint row1, uint row2, uint row3) {
  return (uint)table[row0 & 255] | ((uint)table[(row1 >> 8) & 255] << 8) | ((uint)table[(row2 >> 16) & 255] << 16) |
         ((uint)table[row3 >> 24] << 24);
}
uint4 twice(uint4 s) {
  return ((s & 0x7f7f7f7fu) << 1) ^ (((s >> 7) & 0x01010101u) * 0x1bu);
}
uint4 mixed(uint4 s) {
  uint4 doubled = twice(s);
  return doubled ^ rotate(doubled ^ s, (uint4)(24)) ^ rotate(s, (uint4)(16)) ^ rotate(s, (uint4)(8));
}
)";

}  // namespace heddle::workloads::aes

// aes_decrypt: aes_encrypt backwards, with half as much arithmetic again: its columns are harder to mix.
#include "workloads/aes.hpp"
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// A work-item per block of 16 bytes. The inverse of MixColumns is MixColumns of the column plus 4 times its sum with
// itself turned by two rows.
const char* kernel_source = R"(
uint4 substituted(global const uchar* table, uint4 s) {
  return (uint4)(column(table, s.x, s.w, s.z, s.y), column(table, s.y, s.x, s.w, s.z),
                 column(table, s.z, s.y, s.x, s.w), column(table, s.w, s.z, s.y, s.x));
}
uint4 unmixed(uint4 s) { return mixed(s ^ twice(twice(s ^ rotate(s, (uint4)(16))))); }

kernel void aes_decrypt(global const uint4* in, global uint4* out, global const uchar* table,
                        global const uint4* round_key, int blocks) {
  int i = get_global_id(0);
  if (i < blocks) {
    uint4 state = in[i] ^ round_key[10];
    for (int round = 1; round < 10; ++round) state = unmixed(substituted(table, state) ^ round_key[10 - round]);
    out[i] = substituted(table, state) ^ round_key[0];
  }
}
)";

Instance make(Size size, const std::string&, std::uint64_t seed) {
  Instance out = aes::make_instance(size, seed, aes::inverse_substitution());
  // Counted in the kernel: 16 to look up a column, 28 to mix one, a key for each; the last round mixes nothing.
  out.operations = 4.0 * (10 * 17 + 9 * 28 + 1) * static_cast<double>(out.space.volume());
  return out;
}

void decrypt(aes::Block& state, std::span<const std::uint8_t> table, std::span<const std::uint32_t> round_key) {
  for (int round = aes::rounds; round > 0; --round) {
    aes::add_round_key(state, round_key, round);
    if (round < aes::rounds) aes::mix_columns(state, {14, 11, 13, 9});
    aes::shift_rows(state, -1);
    aes::substitute(state, table);
  }
  aes::add_round_key(state, round_key, 0);
}

void reference(Instance& instance) { aes::for_each_block(instance, decrypt); }

}  // namespace

const Workload aes_decrypt{
    .name = "aes_decrypt",
    .what = "AES-128 decryption of an image, each block by itself (ECB)",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = std::string(aes::functions) + kernel_source,
                  .entry = "aes_decrypt",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

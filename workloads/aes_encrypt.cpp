// aes_encrypt: whole numbers only, and a small table that every work-item reads at places that depend on the data.
#include "workloads/aes.hpp"
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// A work-item per block of 16 bytes.
const char* kernel_source = R"(
uint4 substituted(global const uchar* table, uint4 s) {
  return (uint4)(column(table, s.x, s.y, s.z, s.w), column(table, s.y, s.z, s.w, s.x),
                 column(table, s.z, s.w, s.x, s.y), column(table, s.w, s.x, s.y, s.z));
}

kernel void aes_encrypt(global const uint4* in, global uint4* out, global const uchar* table,
                        global const uint4* round_key, int blocks) {
  int i = get_global_id(0);
  if (i < blocks) {
    uint4 state = in[i] ^ round_key[0];
    for (int round = 1; round < 10; ++round) state = mixed(substituted(table, state)) ^ round_key[round];
    out[i] = substituted(table, state) ^ round_key[10];
  }
}
)";

Instance make(Size size, const std::string&, std::uint64_t seed) {
  Instance out = aes::make_instance(size, seed, aes::substitution());
  // Counted in the kernel: 16 to look up a column, 13 to mix one, a key for each; the last round mixes nothing.
  out.operations = 4.0 * (10 * 17 + 9 * 13 + 1) * static_cast<double>(out.space.volume());
  return out;
}

void encrypt(aes::Block& state, std::span<const std::uint8_t> table, std::span<const std::uint32_t> round_key) {
  aes::add_round_key(state, round_key, 0);
  for (int round = 1; round <= aes::rounds; ++round) {
    aes::substitute(state, table);
    aes::shift_rows(state, 1);
    if (round < aes::rounds) aes::mix_columns(state, {2, 3, 1, 1});
    aes::add_round_key(state, round_key, round);
  }
}

void reference(Instance& instance) { aes::for_each_block(instance, encrypt); }

}  // namespace

const Workload aes_encrypt{
    .name = "aes_encrypt",
    .what = "AES-128 encryption of an image, each block by itself (ECB)",
    .inputs = {"random"},
    .variants = {{.name = "base",
                  .source = std::string(aes::functions) + kernel_source,
                  .entry = "aes_encrypt",
                  .group = {256, 1, 1},
                  .footprint = {{256, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads

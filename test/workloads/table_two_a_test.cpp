// References of workloads from the SKMD paper's Table II, each against a property that does not come from its code,
// and against published values or ones computed by hand.
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "workloads/aes.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {
namespace {

Instance tiny(std::string_view name) { return make(find(name), Size::tiny, "random", 7); }

Argument& argument(Instance& instance, std::string_view name) {
  for (Argument& a : instance.arguments) {
    if (a.name == name) return a;
  }
  throw core::InternalError("no argument " + std::string(name));
}

template <class T>
std::span<T> values(Instance& instance, std::string_view name) {
  return argument(instance, name).as<T>();
}

// Replaces an array, whatever its size was.
template <class T>
void set(Instance& instance, std::string_view name, const std::vector<T>& to) {
  const auto bytes = std::as_bytes(std::span(to));
  argument(instance, name).bytes.assign(bytes.begin(), bytes.end());
}

// AES: blocks as FIPS 197 prints them.

aes::Block block(const std::string& hexadecimal) {
  aes::Block out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(std::stoi(hexadecimal.substr(2 * i, 2), nullptr, 16));
  }
  return out;
}

// What the workload makes of one block under a key.
std::string of_one_block(std::string_view name, const std::string& text, const std::string& key) {
  Instance instance = tiny(name);
  std::vector<std::uint32_t> words(4);
  const aes::Block bytes = block(text);
  for (std::size_t i = 0; i < bytes.size(); ++i) words[i / 4] |= std::uint32_t{bytes[i]} << 8 * (i % 4);
  set(instance, "in", words);
  set<std::uint32_t>(instance, "out", {0, 0, 0, 0});
  const aes::RoundKeys keys = aes::round_keys(block(key));
  set<std::uint32_t>(instance, "round_key", {keys.begin(), keys.end()});
  find(name).reference(instance);
  std::string out;
  for (const std::uint32_t word : values<std::uint32_t>(instance, "out")) {
    for (int row = 0; row < 4; ++row) {
      for (const int shift : {4, 0}) out += "0123456789abcdef"[word >> (8 * row + shift) & 15];
    }
  }
  return out;
}

struct Known {
  std::string key, plain, cipher;
};

const std::vector<Known> known = {  // FIPS 197, appendices B and C.1
    {"2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"},
    {"000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"}};

TEST(AesEncrypt, AgreesWithTheStandard) {
  for (const Known& k : known) EXPECT_EQ(of_one_block("aes_encrypt", k.plain, k.key), k.cipher);
}

TEST(AesDecrypt, AgreesWithTheStandard) {
  for (const Known& k : known) EXPECT_EQ(of_one_block("aes_decrypt", k.cipher, k.key), k.plain);
}

TEST(AesDecrypt, UndoesEncryption) {
  Instance there = tiny("aes_encrypt"), back = tiny("aes_decrypt");
  find("aes_encrypt").reference(there);
  EXPECT_EQ(argument(there, "round_key").bytes, argument(back, "round_key").bytes);
  argument(back, "in").bytes = argument(there, "out").bytes;
  find("aes_decrypt").reference(back);
  EXPECT_NE(argument(there, "in").bytes, argument(there, "out").bytes);
  EXPECT_EQ(argument(there, "in").bytes, argument(back, "out").bytes);
}

TEST(Aes, HasTheTablesAndKeysOfTheStandard) {
  EXPECT_EQ(aes::product(0x57, 0x83), 0xc1);  // FIPS 197, section 4.2
  EXPECT_EQ(aes::product(0x57, 0x13), 0xfe);
  const aes::Table table = aes::substitution(), inverse = aes::inverse_substitution();
  EXPECT_EQ(table[0x00], 0x63);
  EXPECT_EQ(table[0x53], 0xed);
  EXPECT_EQ(table[0xff], 0x16);
  EXPECT_EQ(inverse[0x00], 0x52);
  EXPECT_EQ(inverse[0xff], 0x7d);
  const aes::RoundKeys keys = aes::round_keys(block("2b7e151628aed2a6abf7158809cf4f3c"));
  EXPECT_EQ(keys[4], 0x17fefaa0u);  // w4 and w43 of appendix A.1, whose words begin with the highest byte
  EXPECT_EQ(keys[43], 0xa60c63b6u);
}

}  // namespace
}  // namespace heddle::workloads

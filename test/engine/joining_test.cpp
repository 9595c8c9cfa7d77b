// What devices have changed, joined on the host: without devices.
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "engine/launch.hpp"

namespace heddle::engine {
namespace {

struct Joining {
  Joining(std::int64_t width, const std::string& atomics, std::mt19937_64& random) {
    join.memory = std::make_shared<Memory>(allocate_host(size));
    for (std::byte& byte : join.memory->host().bytes) byte = std::byte(random());
    join.atomics = atomics, join.width = width, join.bytes = SpanSet(join.memory->all());
    join.keep();
    after = allocate_host(size);
    std::memcpy(after.bytes.data(), join.before.bytes.data(), size);
  }
  std::span<std::byte> host() const { return join.memory->host().bytes; }

  static constexpr std::size_t size = 3 * 4096 + 40;
  Join join;
  HostBlock after;
};

template <class Word>
Word& word(std::span<std::byte> bytes, std::size_t i) {
  return reinterpret_cast<Word*>(bytes.data())[i];
}

// Some words are the device's, some the host's, and some are left: each has what its own wrote.
template <class Word>
void join_differences(std::mt19937_64& random) {
  Joining j(sizeof(Word), "", random);
  std::vector<std::byte> expected(j.host().begin(), j.host().end());
  const std::size_t words = Joining::size / sizeof(Word), rare = 1 + random() % 2000;
  for (std::size_t i = 0; i < words; ++i) {
    const auto value = static_cast<Word>(random());
    const std::size_t who = random() % rare;
    if (who > 1) continue;
    word<Word>(expected, i) = value;
    word<Word>(who == 0 ? j.host() : j.after.bytes, i) = value;
  }
  j.join.take(j.after, j.join.bytes);
  j.join.take(j.after, j.join.bytes);  // once more changes nothing
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), j.host().begin())) << sizeof(Word) << " bytes";
}

TEST(Join, TakesWhatWasChanged) {
  std::mt19937_64 random(std::random_device{}());
  for (int round = 0; round < 200; ++round) {
    join_differences<std::uint8_t>(random);
    join_differences<std::uint16_t>(random);
    join_differences<std::uint32_t>(random);
    join_differences<std::uint64_t>(random);
  }
}

// All change the same words, wherever those begin, and sums wrap.
template <class Word>
void join_atomics(const std::string& atomics, std::mt19937_64& random) {
  const auto apply = [&](Word& to, Word value) {
    using Signed = std::make_signed_t<Word>;
    to = static_cast<Word>(atomics == "add"            ? to + value
                           : atomics == "and"          ? to & value
                           : atomics == "or"           ? to | value
                           : atomics == "xor"          ? to ^ value
                           : atomics == "unsigned_min" ? std::min(to, value)
                           : atomics == "unsigned_max" ? std::max(to, value)
                           : atomics == "signed_min"   ? Word(std::min(Signed(to), Signed(value)))
                                                       : Word(std::max(Signed(to), Signed(value))));
  };
  Joining j(sizeof(Word), atomics, random);
  std::vector<std::byte> expected(j.host().begin(), j.host().end());
  const std::size_t words = Joining::size / sizeof(Word);
  for (int times = 0; times < 500; ++times) {
    const std::size_t i = random() % words;
    const auto value = static_cast<Word>(random());
    apply(word<Word>(expected, i), value);
    apply(word<Word>(random() % 2 ? j.host() : j.after.bytes, i), value);
  }
  j.join.take(j.after, j.join.bytes);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), j.host().begin())) << atomics << sizeof(Word);
}

TEST(Join, DoesWhatAtomicsDo) {
  std::mt19937_64 random(std::random_device{}());
  for (int round = 0; round < 100; ++round) {
    for (const std::string atomics :
         {"add", "and", "or", "xor", "signed_min", "signed_max", "unsigned_min", "unsigned_max"})
      join_atomics<std::uint32_t>(atomics, random), join_atomics<std::uint64_t>(atomics, random);
  }
}

// Where nobody else is, both give what copying all of it does.
TEST(Join, AlwaysGivesWhatOneDeviceLeft) {
  std::mt19937_64 random(std::random_device{}());
  for (const std::string atomics : {"", "add", "xor"}) {
    Joining j(4, atomics, random);
    for (int writes = 0; writes < 300; ++writes)
      word<std::uint32_t>(j.after.bytes, random() % (Joining::size / 4)) = static_cast<std::uint32_t>(random());
    j.join.take(j.after, j.join.bytes);
    EXPECT_TRUE(std::equal(j.after.bytes.begin(), j.after.bytes.end(), j.host().begin())) << atomics;
  }
}

TEST(Join, TakesNothingFromElsewhere) {
  std::mt19937_64 random(std::random_device{}());
  Joining j(4, "", random);
  std::vector<std::byte> expected(j.host().begin(), j.host().end());
  for (std::byte& byte : j.after.bytes) byte = ~byte;
  SpanSet where(Span{4, 8});
  where.add(Span{4090, 4101});  // half of a word at each end
  for (const Span& span : where.spans())
    std::copy_n(j.after.bytes.begin() + span.begin, span.size(), expected.begin() + span.begin);
  j.join.take(j.after, where);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), j.host().begin()));
}

}  // namespace
}  // namespace heddle::engine

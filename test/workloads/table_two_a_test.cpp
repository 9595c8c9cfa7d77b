// References of workloads from the SKMD paper's Table II and of mandelbrot, each against a property that does not come
// from its code, and against published values or ones computed by hand.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "test/workloads/tiny.hpp"
#include "workloads/aes.hpp"

namespace heddle::workloads {
namespace {

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

// A rise to the double and a fall to the half, without interest: the probability of a rise is a third.
TEST(BinomialOption, AgreesWithTreesComputedByHand) {
  Instance instance = tiny("binomial_option");
  floats(instance, "rate")[0] = 0;
  floats(instance, "volatility")[0] = static_cast<float>(std::log(2));
  for (const int steps : {1, 2}) {
    integer(instance, "steps") = steps;
    floats(instance, "price")[0] = 12;
    floats(instance, "strike")[0] = 9;
    floats(instance, "years")[0] = static_cast<float>(steps);
    find("binomial_option").reference(instance);
    // 15 at the upper leaf; or 39 and 3 at the upper two, which are 15 and 1 a step before.
    EXPECT_NEAR(floats(instance, "call")[0], steps == 1 ? 5 : 17 / 3.0, 1e-5);
  }
}

// What each leaf adds to the value of an option.
std::vector<double> leaves_of(Instance& instance, std::size_t option) {
  const int steps = integer(instance, "steps");
  const double rate = floats(instance, "rate")[0], years = floats(instance, "years")[option];
  const double spread = floats(instance, "volatility")[0] * std::sqrt(years / steps);
  const double rise = (std::exp(rate * years / steps) - std::exp(-spread)) / (2 * std::sinh(spread));
  std::vector<double> out;
  for (int i = 0; i <= steps; ++i) {
    const double ways = std::lgamma(steps + 1) - std::lgamma(i + 1) - std::lgamma(steps - i + 1);
    const double end = floats(instance, "price")[option] * std::exp(spread * (2 * i - steps));
    out.push_back(std::exp(ways + i * std::log(rise) + (steps - i) * std::log1p(-rise) - rate * years) *
                  std::max(0.0, end - floats(instance, "strike")[option]));
  }
  return out;
}

TEST(BinomialOption, IsTheMeanOfTheBinomialDistribution) {
  for (const int steps : {15, 200}) {
    Instance instance = tiny("binomial_option");
    integer(instance, "steps") = steps;
    find("binomial_option").reference(instance);
    const auto call = floats(instance, "call");
    for (std::size_t o = 0; o < call.size(); ++o) {
      const std::vector<double> leaves = leaves_of(instance, o);
      ASSERT_NEAR(call[o], std::accumulate(leaves.begin(), leaves.end(), 0.0), 1e-5) << o;
    }
  }
}

TEST(BinomialOption, ShowsNearlyEveryLeafLeftOutOfATinyTree) {
  Instance instance = tiny("binomial_option");
  find("binomial_option").reference(instance);
  const auto call = floats(instance, "call");
  std::size_t paying = 0, shown = 0;
  for (std::size_t o = 0; o < call.size(); ++o) {
    for (const double leaf : leaves_of(instance, o)) {
      paying += leaf > 0;
      shown += leaf > 2 * (instance.tolerance.absolute + instance.tolerance.relative * call[o]);
    }
  }
  EXPECT_GE(shown, paying * 95 / 100) << shown << " of " << paying;
}

TEST(BinomialOption, ComesCloseToATextbook) {  // Hull, "Options, Futures, and Other Derivatives": 4.76 by formula
  Instance instance = tiny("binomial_option");
  integer(instance, "steps") = 254;
  floats(instance, "price")[0] = 42;
  floats(instance, "strike")[0] = 40;
  floats(instance, "years")[0] = 0.5f;
  floats(instance, "rate")[0] = 0.1f;
  floats(instance, "volatility")[0] = 0.2f;
  find("binomial_option").reference(instance);
  EXPECT_NEAR(floats(instance, "call")[0], 4.76, 0.015);
}

TEST(BoxMuller, AgreesWithValuesComputedByHand) {
  Instance instance = tiny("box_muller");
  const float unit = static_cast<float>(std::exp(-0.5)), two = static_cast<float>(std::exp(-2.0));
  set<float>(instance, "uniform", {unit, 0.125f, two, 0.25f, two, 0.5f, 1, 0.3f});
  set<float>(instance, "normal", std::vector<float>(8));
  find("box_muller").reference(instance);
  const double expected[] = {std::sqrt(0.5), std::sqrt(0.5), 0, 2, -2, 0, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(floats(instance, "normal")[i], expected[i], 1e-6) << i;
}

TEST(BoxMuller, MakesNormalNumbers) {
  Instance instance = tiny("box_muller");
  find("box_muller").reference(instance);
  const auto uniform_ones = floats(instance, "uniform"), normal = floats(instance, "normal");
  double moment[5] = {0, 0, 0, 0, 0}, together = 0;
  for (std::size_t i = 0; i < normal.size(); i += 2) {
    ASSERT_GT(uniform_ones[i], 0);
    ASSERT_LE(uniform_ones[i], 1);
    const double x = normal[i], y = normal[i + 1];
    ASSERT_NEAR(std::exp(-0.5 * (x * x + y * y)), uniform_ones[i], 1e-6);
    together += x * y;
    for (int k = 0; k < 5; ++k) moment[k] += std::pow(x, k) + std::pow(y, k);
  }
  // Five standard deviations: the variance of x^k is the moment of twice the order, less the square of its mean.
  const double n = moment[0], mean[] = {1, 0, 1, 0, 3}, variance[] = {0, 1, 2, 15, 96};
  for (int k = 1; k < 5; ++k) EXPECT_NEAR(moment[k] / n, mean[k], 5 * std::sqrt(variance[k] / n)) << k;
  EXPECT_NEAR(together / (n / 2), 0, 5 / std::sqrt(n / 2));
}

TEST(Fdtd3d, OfAConstantFieldIsConstantInside) {
  Instance instance = tiny("fdtd3d");
  std::ranges::fill(floats(instance, "in"), 2.0f);
  floats(instance, "weight0")[0] = 0.5f;
  floats(instance, "weight1")[0] = 0.25f;
  floats(instance, "weight2")[0] = 0.125f;
  find("fdtd3d").reference(instance);
  const int nx = integer(instance, "nx"), ny = integer(instance, "ny"), nz = integer(instance, "nz");
  const auto out = floats(instance, "out");
  const auto near_an_end = [](int i, int n) { return i < 2 || i >= n - 2; };
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        const bool surface = near_an_end(x, nx) || near_an_end(y, ny) || near_an_end(z, nz);
        // 2 (0.5 + 6 x 0.25 + 6 x 0.125)
        ASSERT_EQ(out[x + nx * (y + ny * z)], surface ? 2.0f : 5.5f) << x << " " << y << " " << z;
      }
    }
  }
}

TEST(Fdtd3d, SpreadsOnePointAlongTheAxes) {
  Instance instance = tiny("fdtd3d");
  const int nx = integer(instance, "nx"), ny = integer(instance, "ny");
  const auto in = floats(instance, "in"), out = floats(instance, "out");
  std::ranges::fill(in, 0.0f);
  const int at = 6 + nx * (5 + ny * 4);
  in[at] = 1;
  find("fdtd3d").reference(instance);
  EXPECT_EQ(out[at], floats(instance, "weight0")[0]);
  for (const int step : {1, nx, nx * ny}) {
    for (const int sign : {-1, 1}) {
      EXPECT_EQ(out[at + sign * step], floats(instance, "weight1")[0]) << step;
      EXPECT_EQ(out[at + sign * 2 * step], floats(instance, "weight2")[0]) << step;
    }
  }
  EXPECT_EQ(std::ranges::count_if(out, [](float v) { return v != 0; }), 13);
}

constexpr std::int32_t one = 1 << 28;  // of mandelbrot's plane

// Two rows of points 1 apart: from -2 to 1 on the real axis, and from -2 + i to 1 + i.
TEST(Mandelbrot, AgreesWithTurnsCountedByHand) {
  Instance instance = tiny("mandelbrot");
  integer(instance, "left") = -2 * one;
  integer(instance, "top") = 0;
  integer(instance, "step") = one;
  integer(instance, "limit") = 100;
  integer(instance, "width") = 4;
  integer(instance, "height") = 2;
  set<std::int32_t>(instance, "turns", std::vector<std::int32_t>(8));
  find("mandelbrot").reference(instance);
  const auto turns = values<std::int32_t>(instance, "turns");
  // -2, -1 and 0 stay; 1, 2, 5. Then -2 + i at once; -1 + i, -1 - i, -1 + 3 i; i, -1 + i, -i and so on; and 1 + i,
  // 1 + 3 i.
  EXPECT_EQ(std::vector<int>(turns.begin(), turns.end()), (std::vector<int>{100, 100, 100, 3, 1, 3, 100, 2}));
}

TEST(Mandelbrot, AgreesWithComplexNumbersWhereTheyLeaveSoonOrNever) {
  Instance instance = tiny("mandelbrot");
  find("mandelbrot").reference(instance);
  const int width = integer(instance, "width"), height = integer(instance, "height"),
            limit = integer(instance, "limit");
  const auto turns = values<std::int32_t>(instance, "turns");
  int soon = 0, never = 0;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const auto place = [&](const char* corner, int i) {
        return (integer(instance, corner) + double{1} * integer(instance, "step") * i) / one;
      };
      const std::complex<double> c(place("left", column), place("top", row));
      const int actual = turns[column + width * row];
      // What is drawn to a fixed point or to a cycle of two by a factor clearly below one.
      if (std::abs(1.0 - std::sqrt(1.0 - 4.0 * c)) < 0.95 || 4 * std::abs(c + 1.0) < 0.95) {
        ASSERT_EQ(actual, limit) << c;
        ++never;
        continue;
      }
      std::complex<double> z = 0;
      int expected = 0;
      double nearest = 4;  // to the circle
      while (expected < 12 && std::abs(z) <= 2) {
        z = z * z + c;
        nearest = std::min(nearest, std::abs(std::abs(z) - 2));
        ++expected;
      }
      if (nearest < 1e-4) continue;  // too close to tell
      if (std::abs(z) > 2) {
        ASSERT_EQ(actual, expected) << c;
        ++soon;
      } else {
        ASSERT_GT(actual, expected) << c;
      }
    }
  }
  EXPECT_GT(soon, width * height / 2);
  EXPECT_GT(never, width * height / 10);
  EXPECT_LT(soon + never, width * height);
}

}  // namespace
}  // namespace heddle::workloads

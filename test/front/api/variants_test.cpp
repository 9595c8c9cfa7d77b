// Kernels with several implementations, as a program uses them, and what it is told where they are wrong.
#include <algorithm>

#include <gtest/gtest.h>

#include "heddle/heddle.hpp"

namespace heddle {
namespace {

const char* const one = R"(
kernel void square(global const int* in, global int* out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = in[i] * in[i];
}
)";
const char* const four = R"(
kernel void square(global const int* in, global int* out, int n) {
  for (int k = 0; k < 4; ++k) {
    int i = 4 * get_global_id(0) + k;
    if (i < n) out[i] = in[i] * in[i];
  }
}
)";
const Covers by_one{.points = {64}, .group = {64}, .guarded = true};
const Covers by_four{.points = {256}, .group = {64}, .guarded = true};

class Variants : public testing::Test {
 protected:
  Runtime rt{Options{.devices = "cpu"}};

  Kernel square() { return rt.kernel("square").variant("one", one, by_one).variant("four", four, by_four); }

  Report run(const Kernel& kernel, const Selection& how, int n = 100'003) {
    auto in = rt.buffer<int>(static_cast<std::size_t>(n)), out = rt.buffer<int>(static_cast<std::size_t>(n));
    std::vector<int> numbers(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i % 1000) - 50;
    in.write(numbers);
    for (int& v : out.host()) v = -1;
    const Launch launch = rt.launch(kernel, grid(n).select(how), in, out, n);
    launch.wait();
    const auto result = out.read();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(result[i], numbers[i] * numbers[i]) << i;
      if (result[i] != numbers[i] * numbers[i]) break;
    }
    return launch.report();
  }

  // What the launch says that it refuses.
  std::string refusal(const Kernel& kernel, int n = 1000, const Selection& how = {}) {
    auto in = rt.buffer<int>(static_cast<std::size_t>(n)), out = rt.buffer<int>(static_cast<std::size_t>(n));
    try {
      rt.launch(kernel, grid(n).select(how), in, out, n).wait();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Variants, TheInitialOneDoesEverythingIfToldSo) {
  for (const char* initial : {"one", "four"}) {
    const Report report = run(square(), {.when = Selection::When::never, .initial = initial});
    ASSERT_EQ(report.slices.size(), 1u);
    EXPECT_EQ(report.slices[0].variant, initial);
  }
}

TEST_F(Variants, OneIsChosenAndKept) {
  const Kernel kernel = square();
  // Launches until it is known, here or in a few whole launches; then always the same, in one slice.
  for (int i = 0; i < 40; ++i) run(kernel, {});
  const Report report = run(kernel, {});
  ASSERT_EQ(report.slices.size(), 1u);
  EXPECT_EQ(run(kernel, {}).slices[0].variant, report.slices[0].variant);
}

TEST_F(Variants, ADecisionIsTold) {
  const Kernel kernel = square();
  std::string told;
  for (int i = 0; i < 40; ++i) {
    for (const std::string& decision : run(kernel, {}).decisions) told += decision + "\n";
  }
  EXPECT_NE(told.find("is best on cpu"), std::string::npos) << told;
}

TEST_F(Variants, OneThatDoesNotBuildIsLeftOut) {
  const Kernel kernel =
      rt.kernel("square").variant("one", one, by_one).variant("broken", "kernel void square(nonsense", by_one);
  EXPECT_EQ(run(kernel, {}).slices.at(0).variant, "one");
}

TEST_F(Variants, AllThatDoNotBuildAreAnErrorWithTheirLogs) {
  const Kernel kernel =
      rt.kernel("square").variant("a", "kernel void square(x", by_one).variant("b", "kernel y", by_one);
  auto in = rt.buffer<int>(64);
  try {
    rt.launch(kernel, grid(64), in, in, 64);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("square"), std::string::npos) << error.what();
    EXPECT_NE(error.log().find("'a'"), std::string::npos) << error.log();
    EXPECT_NE(error.log().find("'b'"), std::string::npos) << error.log();
  }
}

TEST_F(Variants, MistakesAreNamed) {
  EXPECT_EQ(refusal(rt.kernel("square")), "kernel 'square' has no variants yet");
  EXPECT_NE(refusal(square(), 1000, {.initial = "five"}).find("no variant 'five'"), std::string::npos);
  // A footprint that contradicts the source.
  const std::string wrong =
      refusal(rt.kernel("square").variant("one", one, by_one).variant("four", four, by_one), 4096);
  EXPECT_NE(wrong.find("variant 'four': its footprint contradicts its source"), std::string::npos) << wrong;
  // A size that no group fits.
  const Covers whole_groups{.points = {64}, .group = {64}};
  const std::string size = refusal(rt.kernel("square").variant("one", one, whole_groups));
  EXPECT_NE(size.find("no multiple of what a group of its first variant 'one' covers"), std::string::npos) << size;
  // Another signature.
  const char* const other = "kernel void square(global const int* in, global int* out) { out[get_global_id(0)] = 1; }";
  const std::string count = refusal(rt.kernel("square").variant("one", one, by_one).variant("other", other, by_one));
  EXPECT_NE(count.find("3 arguments given, 2 expected"), std::string::npos) << count;
  EXPECT_THROW(rt.launch(square(), grid(0)), std::invalid_argument);
  EXPECT_THROW(square().variant("one", one, by_one), std::invalid_argument);
  EXPECT_THROW(rt.kernel("square", one).variant("four", four, by_four), std::invalid_argument);
  EXPECT_THROW(Kernel().variant("one", one, by_one), std::invalid_argument);
  EXPECT_NE(refusal(rt.kernel("square").variant("one", one, {.points = {-1}, .group = {64}})).find("at least 1"),
            std::string::npos);
}

// Work that depends on data, and must not be done twice: what was there before is a part of the result.
const char* const steps = R"(
int steps_of(int x) { int s = 0; for (uint v = (uint)x; v > 1; ++s) v = v % 2 ? 3 * v + 1 : v / 2; return s; }
kernel void steps(global int* x, int n) {
  for (int i = EACH * get_global_id(0); i < EACH * (int)get_global_id(0) + EACH; ++i)
    if (i < n) x[i] += steps_of(x[i]);
}
kernel void histogram(global const int* in, global int* bins, int n) {
  for (int i = EACH * get_global_id(0); i < EACH * (int)get_global_id(0) + EACH; ++i)
    if (i < n) atomic_inc(&bins[steps_of(in[i]) % 64]);
}
)";

int steps_of(int x) {
  int s = 0;
  for (auto v = static_cast<unsigned>(x); v > 1; ++s) v = v % 2 ? 3 * v + 1 : v / 2;
  return s;
}

class PrivateOutputs : public testing::TestWithParam<const char*> {
 protected:
  static constexpr int n = 300'001;
  Runtime rt{Options{.devices = GetParam()}};

  Kernel kernel(const std::string& name) {
    return rt.kernel(name)
        .variant("one", steps, {.points = {64}, .group = {64}, .guarded = true, .options = "-DEACH=1"})
        .variant("two", steps, {.points = {128}, .group = {64}, .guarded = true, .options = "-DEACH=2"});
  }
  // The longer ones come last.
  static std::vector<int> numbers() {
    std::vector<int> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<int>(i * i % (i + 1) + i / 2 + 1);
    return out;
  }
  // Looks are noisy, and who is far off is not compared: several launches, all of which must be right. Where nobody
  // asks for it, a CPU computes nothing again.
  template <class Run>
  void until_repeated(Kernel& kernel, Selection::How how, const Run& run) {
    for (int i = 0; i < 20; ++i) {
      const Report report = run();
      if (HasFailure()) return;
      for (const Slice& slice : report.slices) {
        if (slice.repeat) return;
      }
      if (how == Selection::How::as_known && i >= 3) return;
      kernel.forget();
    }
    FAIL() << "nothing was ever computed again";
  }
};

using How = Selection::How;

TEST_P(PrivateOutputs, InPlace) {
  const std::vector<int> before = numbers();
  for (const How how : {How::as_known, How::same_part, How::private_outputs}) {
    Kernel in_place = kernel("steps");
    until_repeated(in_place, how, [&] {
      auto x = rt.buffer<int>(n);
      x.write(before);
      const Launch launch = rt.launch(in_place, grid(n).select({.how = how}), x, n);
      const auto after = x.read();
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(after[i], before[i] + steps_of(before[i])) << i;
        if (HasFailure()) break;
      }
      return launch.report();
    });
  }
}

TEST_P(PrivateOutputs, Histogram) {
  const std::vector<int> numbers = this->numbers();
  std::vector<int> expected(64, 7);
  for (int x : numbers) ++expected[static_cast<std::size_t>(steps_of(x) % 64)];
  auto in = rt.buffer<int>(n);
  in.write(numbers);
  for (const How how : {How::as_known, How::same_part, How::private_outputs}) {
    Kernel histogram = kernel("histogram");
    const auto run = [&] {
      auto bins = rt.buffer<int>(64);
      for (int& bin : bins.host()) bin = 7;
      const Launch launch = rt.launch(histogram, grid(n).select({.how = how}), in, bins, n);
      const auto result = bins.read();
      EXPECT_TRUE(std::equal(result.begin(), result.end(), expected.begin()));
      return launch.report();
    };
    if (rt.devices().size() == 1) {
      until_repeated(histogram, how, run);
    } else {  // other devices may write to the same bins
      for (const Slice& slice : run().slices) EXPECT_FALSE(slice.repeat);
    }
  }
}

TEST_P(PrivateOutputs, NotTogetherWithMeanwhile) {
  auto x = rt.buffer<int>(n);
  try {
    rt.launch(kernel("steps"), grid(n).select({.how = How::private_outputs, .meanwhile = true}), x, n);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("private outputs"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, PrivateOutputs, testing::Values("cpu", "cpu/2"),
                         [](const auto& set) { return set.param == std::string("cpu") ? "one" : "two"; });

}  // namespace
}  // namespace heddle

// Kernels with parameters, as a program uses them.
#include <numeric>

#include <gtest/gtest.h>

#include "heddle/heddle.hpp"

namespace heddle {
namespace {

// A group of BX x 2 work-items adds one to BX * TILE x 2 numbers.
const char* const source = R"(
kernel void bump(global const int* in, global int* out, int width) {
  int y = get_global_id(1);
  int x0 = (get_global_id(0) - get_local_id(0)) * TILE + get_local_id(0);
  for (int t = 0; t < TILE; ++t) {
    int x = x0 + t * BX;
    out[y * width + x] = in[y * width + x] + 1;
  }
#if BX == 32 && TILE == 4
  if (x0 == 0 && y == 0) out[0] = -1;  // wrong
#endif
#if BX == 64
  this does not compile
#endif
}
)";

constexpr int width = 512, height = 64;

struct Tunes : testing::Test {
  Tunes() {
    std::iota(in.host().begin(), in.host().end(), 0);
    std::fill(out.host().begin(), out.host().end(), -7);
  }
  Kernel described() {
    auto k = rt.kernel("bump").source(source);
    auto bx = k.tune("BX", {8, 16, 32, 64}), t = k.tune("TILE", {1, 2, 4, 16});
    k.constraint(bx * t <= 256).group(bx, 2).points(bx * t, 2);
    return k;
  }
  void expect_bumped() {
    for (int i = 0; i < width * height; ++i) ASSERT_EQ(out.read()[static_cast<std::size_t>(i)], i + 1) << i;
  }
  Runtime rt{Options{.devices = "cpu"}};
  Buffer<int> in = rt.buffer<int>(width * height), out = rt.buffer<int>(width * height);
};

TEST_F(Tunes, FindsOneAndUsesIt) {
  auto k = described();
  std::vector<Trial> heard;
  Tuning how{.until = tuned::evaluations() >= 100};
  how.heard = [&](const Trial& trial) {
    heard.push_back(trial);
    return true;
  };
  const Tuned result = rt.tune(k, grid(width, height), how, in, out, width);
  EXPECT_EQ(result.stopped, "all were tried");
  EXPECT_EQ(result.trials.size(), 14u);  // of 16, two break the constraint
  EXPECT_EQ(heard.size(), 14u);
  int compile = 0, wrong = 0;
  for (const Trial& trial : result.trials) {
    compile += trial.failure == "compile", wrong += trial.failure == "correctness";
    EXPECT_EQ(trial.ms > 0, trial.failure.empty()) << trial.configuration;
    const bool quoted = trial.why.find("this") != std::string::npos;  // by the compiler
    EXPECT_TRUE(!trial.configuration.starts_with("BX=64") || quoted) << trial.why;
    EXPECT_EQ(trial.failure == "correctness", trial.configuration == "BX=32 TILE=4") << trial.configuration;
  }
  EXPECT_EQ(compile, 3);
  EXPECT_EQ(wrong, 1);
  EXPECT_GT(result.ms, 0);
  EXPECT_EQ(out.read()[5], -7);  // tuning leaves the program's buffers alone
  const Report report = rt.launch(k, grid(width, height), in, out, width).report();
  expect_bumped();
  ASSERT_FALSE(report.slices.empty());
  EXPECT_EQ(report.slices.front().variant, result.configuration);
}

TEST_F(Tunes, RunsUntuned) {
  auto k = described();
  rt.launch(k, grid(width, height), in, out, width).wait();
  expect_bumped();
}

TEST_F(Tunes, WhatTheSourceSays) {
  const std::string text = std::string(
                               "#pragma heddle tune BX 8 16\n#pragma heddle tune TILE 1, 2\n"
                               "#pragma heddle group BX, 2\n#pragma heddle points BX * TILE, 2\n") +
                           source;
  auto k = rt.kernel("bump").source(text);
  EXPECT_EQ(rt.tune(k, grid(width, height), in, out, width).trials.size(), 4u);
  rt.launch(k, grid(width, height), in, out, width).wait();
  expect_bumped();
}

TEST_F(Tunes, AnotherProcessWouldBeginThere) {
  auto k = described();
  const Tuned first = rt.tune(k, grid(width, height), Tuning{.strategy = "exhaustive"}, in, out, width);
  auto same = described();  // another handle: it knows only what the store does
  const Tuned second = rt.tune(same, grid(width, height), Tuning{.until = tuned::evaluations() >= 2}, in, out, width);
  ASSERT_EQ(second.trials.size(), 2u);  // the first says what is right
  EXPECT_EQ(second.trials.back().configuration, first.configuration);
  auto third = described();
  const Report report = rt.launch(third, grid(width, height), in, out, width).report();
  EXPECT_EQ(report.slices.front().variant, first.configuration);
}

// 500 columns are no multiple of what any group computes but for the base's.
TEST_F(Tunes, ABaseComputesTheRest) {
  constexpr int columns = 500;
  auto k = described();
  EXPECT_THROW(rt.launch(k, grid(columns, height), in, out, columns), std::invalid_argument);
  const char* plain =
      "kernel void plain(global const int* in, global int* out, int width) {"
      "  size_t i = get_global_id(1) * width + get_global_id(0); out[i] = in[i] + 1; }";
  k.variant("plain", plain, {.points = {4, 1}, .group = {4, 1}, .entry = "plain"});
  const Tuned result = rt.tune(k, grid(columns, height), Tuning{.strategy = "exhaustive"}, in, out, columns);
  EXPECT_FALSE(result.configuration.empty());
  rt.launch(k, grid(columns, height), in, out, columns).wait();
  for (int i = 0; i < columns * height; ++i) ASSERT_EQ(out.read()[static_cast<std::size_t>(i)], i + 1) << i;
}

TEST_F(Tunes, MistakesAreTold) {
  auto none = rt.kernel("bump").source(source);
  EXPECT_THROW(rt.tune(none, grid(width, height), in, out, width), std::invalid_argument);
  auto plain = rt.kernel("f", "kernel void f(global int* x) { x[0] = 1; }");
  EXPECT_THROW(rt.tune(plain, grid(1), in), std::invalid_argument);
  EXPECT_THROW(plain.tune("X", {1}), std::invalid_argument);
  EXPECT_THROW(rt.kernel("g").tune("X", {1}), std::invalid_argument);  // no source yet
  const auto tunes = [&](const std::function<void(Kernel&)>& change, const std::string& says) {
    auto k = described();
    change(k);
    try {
      rt.tune(k, grid(width, height), in, out, width);
      ADD_FAILURE() << says;
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  tunes([](Kernel& k) { k.constraint(Expr::text("BX") > 1000); }, "1000");                // nothing is left
  tunes([](Kernel& k) { k.constraint(Expr::text("NOPE") > 1); }, "NOPE");                 // unknown name
  tunes([](Kernel& k) { k.constraint(Expr::text("BX") / 0 > 1); }, "zero");               // no value
  tunes([](Kernel& k) { k.tune("EMPTY", {}); }, "EMPTY");                                 // no values
  tunes([](Kernel& k) { k.group(Expr::text("BX") * 100000); }, "no configuration runs");  // larger than any device's
  auto k = described();
  EXPECT_THROW(rt.tune(k, grid(width, height), Tuning{.strategy = "luck"}, in, out, width), std::invalid_argument);
  EXPECT_THROW(rt.tune(k, grid(width, height), Tuning{.until = Expr::text("soon")}, in, out, width),
               std::invalid_argument);
  EXPECT_THROW(rt.tune(k, grid(width, height), in, out), std::invalid_argument);  // an argument is missing
}

}  // namespace
}  // namespace heddle

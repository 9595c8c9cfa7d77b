// The surrogate against what it must say, and against itself computed another way.
#include "predict/surrogate.hpp"

#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace heddle::predict {
namespace {

std::vector<std::vector<float>> random_points(std::size_t count, std::size_t features, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<float>> out(count, std::vector<float>(features));
  for (auto& point : out) {
    for (float& x : point) x = static_cast<float>(random() % 1000) / 999.0f;
  }
  return out;
}

TEST(Surrogate, KnowsNothingAtFirst) {
  Surrogate s(2);
  s.watch(std::vector<float>{0.3f, 0.7f});
  const auto guess = s.guesses({}).at(0);
  EXPECT_EQ(guess.mean, 0);
  EXPECT_EQ(guess.deviation, 1);
}

TEST(Surrogate, SaysWhatWasObservedWhereItWas) {
  Surrogate s(2);
  const auto points = random_points(30, 2, 1);
  for (const auto& point : points) s.watch(point);
  std::vector<double> values;
  for (const auto& point : points) {
    s.observe(point);
    values.push_back(std::sin(3 * point[0]) - point[1]);
  }
  const auto guesses = s.guesses(values);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(guesses[i].mean, values[i], 0.1) << i;
    EXPECT_LT(guesses[i].deviation, 0.15) << i;
  }
}

TEST(Surrogate, IsUnsureFarFromEverything) {
  Surrogate s(1);
  s.watch(std::vector<float>{0.0f}), s.watch(std::vector<float>{1.0f});
  s.observe(std::vector<float>{0.0f});
  const auto guesses = s.guesses(std::vector<double>{2.0});
  EXPECT_LT(guesses[0].deviation, 0.2);
  EXPECT_GT(guesses[1].deviation, 0.9);
  EXPECT_NEAR(guesses[0].mean, 2, 0.1);
  EXPECT_LT(guesses[1].mean, 0.7);
}

// A point that is watched before, in between or after what is observed gets the same guess.
TEST(Surrogate, OrderDoesNotMatter) {
  const auto points = random_points(40, 3, 2), asked = random_points(10, 3, 3);
  std::vector<double> values;
  for (const auto& point : points) values.push_back(point[0] * point[1] - point[2]);
  std::vector<std::vector<Guess>> all;
  for (const std::size_t when : {0u, 20u, 40u}) {
    Surrogate s(3);
    for (std::size_t i = 0; i <= points.size(); ++i) {
      if (i == when) {
        for (const auto& point : asked) s.watch(point);
      }
      if (i < points.size()) s.observe(points[i]);
    }
    all.push_back(s.guesses(values));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_NEAR(all[0][i].mean, all[1][i].mean, 1e-3);
    EXPECT_NEAR(all[0][i].mean, all[2][i].mean, 1e-3);
    EXPECT_NEAR(all[0][i].deviation, all[1][i].deviation, 1e-3);
    EXPECT_NEAR(all[0][i].deviation, all[2][i].deviation, 1e-3);
  }
}

TEST(Surrogate, WhatIsTakenBackNeverWas) {
  const auto points = random_points(20, 2, 4), asked = random_points(10, 2, 5);
  std::vector<double> values(15);
  std::iota(values.begin(), values.end(), -7.0);
  Surrogate s(2);
  for (const auto& point : asked) s.watch(point);
  for (std::size_t i = 0; i < 15; ++i) s.observe(points[i]);
  const auto before = s.guesses(values);
  for (std::size_t i = 15; i < 20; ++i) s.observe(points[i]);
  s.take_back(5);
  EXPECT_EQ(s.observed(), 15u);
  const auto after = s.guesses(values);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_NEAR(before[i].mean, after[i].mean, 1e-5);
    EXPECT_NEAR(before[i].deviation, after[i].deviation, 1e-4);
  }
}

// Only the first of three features matters: after some lessons, the others hardly do.
TEST(Surrogate, LearnsWhatMatters) {
  const auto points = random_points(60, 3, 6);
  std::vector<double> values;
  for (const auto& point : points) values.push_back(2 * std::sin(6 * point[0]));
  Surrogate s(3);
  std::vector<std::size_t> judged(points.size());
  std::iota(judged.begin(), judged.end(), std::size_t{0});
  const auto error = [&] {
    for (const auto& point : points) s.observe(point);
    const auto asked = random_points(50, 3, 7);
    for (const auto& point : asked) s.watch(point);
    const auto guesses = s.guesses(values);
    double out = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) out += std::abs(guesses[i].mean - 2 * std::sin(6 * asked[i][0]));
    return out / static_cast<double>(asked.size());
  };
  const double before = error();
  for (int lesson = 0; lesson < 6; ++lesson) {
    s.relearn(values, judged);
    EXPECT_EQ(s.observed(), 0u);
    EXPECT_EQ(s.watched(), 0u);
    for (const auto& point : points) s.observe(point);
  }
  s.relearn(values, judged);
  EXPECT_LT(error(), before / 2);
}

}  // namespace
}  // namespace heddle::predict

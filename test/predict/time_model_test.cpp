// The regression on times whose law is known.
#include "predict/time_model.hpp"

#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace heddle::predict {
namespace {

using Law = std::function<double(double points, double n)>;

// Two sizes with 16 amounts of points each, as the paper profiles; n is the edge of a square of points.
std::vector<Observation> profile(const Law& law, std::vector<double> sizes, double noise = 0, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(1, noise);
  std::vector<Observation> out;
  for (double n : sizes) {
    const double groups = n * n / 256;
    for (int i = 0; i < 16; ++i) {
      // Finer at the beginning: by fours up to 16 groups, then by a factor.
      const double part = i < 4 ? 4.0 * (i + 1) : 16 * std::pow(groups / 16, (i - 3) / 12.0);
      const double points = 256 * std::round(part);
      out.push_back({points, {n * n * 4, n * n * 4, n}, law(points, n) * (noise > 0 ? normal(random) : 1)});
    }
  }
  return out;
}

double worst(const TimeModel& model, const Law& law, double n, double from_part) {
  const Curve curve = model.at(std::vector{n * n * 4, n * n * 4, n});
  double out = 0;
  for (int i = 1; i <= 128; ++i) {
    const double points = n * n * (from_part + (1 - from_part) * i / 128);
    out = std::max(out, std::abs(curve(points) / law(points, n) - 1));
  }
  return out;
}

TEST(TimeModel, KnowsNothingOfNothing) {
  EXPECT_FALSE(TimeModel::fit({}));
  EXPECT_FALSE(TimeModel::fit(std::vector<Observation>{{0, {}, 1}, {1, {}, 0}}));
}

TEST(TimeModel, TakesOneMeasurementAsARate) {
  const auto model = TimeModel::fit(std::vector<Observation>{{1000, {8}, 0.002}});
  ASSERT_TRUE(model);
  const Curve curve = model->at(std::vector{8.0});
  EXPECT_NEAR(curve(1000), 0.002, 2e-6);
  EXPECT_NEAR(curve(500), 0.001, 5e-5);
  EXPECT_GE(curve.error, 0.2);  // but says how little that is
}

TEST(TimeModel, FindsALine) {
  const Law law = [](double points, double) { return 20e-6 + points * 1e-9; };
  const auto model = TimeModel::fit(profile(law, {1024, 2048}));
  EXPECT_LT(worst(*model, law, 8192, 0), 0.01);
  EXPECT_LT(worst(*model, law, 512, 0.1), 0.01);
}

TEST(TimeModel, FindsWhatAPointOfALargerProblemCosts) {
  // A matrix product: n terms a point. The sizes of its arguments grow with the square of n.
  const Law product = [](double points, double n) { return 30e-6 + points * n * 1e-12; };
  EXPECT_LT(worst(*TimeModel::fit(profile(product, {1024, 2048})), product, 8192, 0.01), 0.01);
  // All pairs of bodies: n * n terms a point.
  const Law pairs = [](double points, double n) { return 10e-6 + points * n * n * 1e-13; };
  EXPECT_LT(worst(*TimeModel::fit(profile(pairs, {512, 1024})), pairs, 2048, 0.01), 0.01);
  // Fewer terms a point where there are more points.
  const Law fewer = [](double points, double n) { return points / n * 1e-7; };
  EXPECT_LT(worst(*TimeModel::fit(profile(fewer, {512, 1024})), fewer, 2048, 0.01), 0.01);
}

TEST(TimeModel, FollowsADeviceThatIsNotFull) {
  // 200,000 points fill it: fewer take as long.
  const Law law = [](double points, double) { return 5e-6 + std::max(points, 200e3) * 1e-10; };
  const auto model = TimeModel::fit(profile(law, {1024, 2048}));
  EXPECT_LT(worst(*model, law, 2048, 0), 0.15);
  EXPECT_LT(worst(*model, law, 8192, 0.1), 0.05);
  // A line through the large ones would say a tenth for the small.
  EXPECT_GT(model->at(std::vector{1.0, 1.0, 1.0})(256), 0.5 * law(256, 0));
}

TEST(TimeModel, GrowsWithEveryPointWhateverWasMeasured) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Observation> observations;
    for (int i = 0; i < 1 + trial % 20; ++i)
      observations.push_back({1.0 + random() % 100'000, {1.0 + random() % 9, 0}, 1e-6 * (1 + random() % 5000)});
    const auto model = TimeModel::fit(observations);
    ASSERT_TRUE(model);
    const Curve curve = model->at(std::vector{3.0, 0.0});
    for (double points = 1; points < 1e6; points *= 1.5) {
      ASSERT_TRUE(std::isfinite(curve(points))) << trial;
      ASSERT_GE(curve(points), 0) << trial;
      ASSERT_GE(curve(points * 1.5), curve(points)) << trial;
    }
    ASSERT_GE(curve.error, 0);
  }
}

TEST(TimeModel, IsNotMisledByNoiseOrADisturbedRun) {
  const Law product = [](double points, double n) { return 30e-6 + points * n * 1e-12; };
  for (unsigned seed = 1; seed <= 20; ++seed) {
    auto observations = profile(product, {1024, 2048}, 0.03, seed);
    observations[seed].seconds *= 2;
    const auto model = TimeModel::fit(observations);
    EXPECT_LT(worst(*model, product, 8192, 0.05), 0.2) << seed;
    const double error = model->at(observations.front().variables).error;
    EXPECT_GT(error, 0.02) << seed;
    EXPECT_LT(error, 0.3) << seed;
  }
}

TEST(TimeModel, DoubtsMoreFarFromWhatWasSeen) {
  const Law product = [](double points, double n) { return points * n * 1e-12; };
  const auto model = TimeModel::fit(profile(product, {1024, 2048}, 0.03));
  const auto at = [&](double n) { return model->at(std::vector{n * n * 4, n * n * 4, n}).error; };
  EXPECT_GT(at(16384), 1.5 * at(2048));
  EXPECT_GT(at(64), 1.5 * at(2048));
}

TEST(Curve, OfARate) {
  const Curve curve = line(1e6, 0.1);
  EXPECT_DOUBLE_EQ(curve(1e6), 1);
  EXPECT_DOUBLE_EQ(curve(0), 0);
  EXPECT_EQ(curve.error, 0.1);
}

}  // namespace
}  // namespace heddle::predict

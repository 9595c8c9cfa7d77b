// Shares of devices whose times are laws that can be worked out by hand, and random ones against trying everything.
#include "decide/split.hpp"

#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace heddle::decide {
namespace {

using Points = std::vector<std::int64_t>;

Worker worker(double rate, int space = 0) { return {.compute = predict::line(rate, 0), .space = space}; }

// Every division in so many parts, by the same estimate.
double best_of_grid(const Job& job, int parts) {
  const std::size_t count = job.workers.size();
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> shares(count, 0);
  const auto visit = [&](const auto& self, std::size_t w, int left) -> void {
    if (w + 1 < count) {
      for (int n = 0; n <= left; ++n) shares[w] = n, self(self, w + 1, left - n);
      return;
    }
    shares[w] = left;
    Points points;
    for (int n : shares) points.push_back(job.points * n / parts);
    best = std::min(best, duration(job, points));
  };
  visit(visit, 0, parts);
  return best;
}

TEST(Split, IsInProportionToRatesWhereNothingElseCosts) {
  const Job job{1000, 1, {worker(100), worker(300)}};
  const Shares shares = split(job);
  EXPECT_EQ(shares.points, (Points{250, 750}));
  EXPECT_DOUBLE_EQ(shares.seconds, 2.5);
  EXPECT_EQ(in_proportion(job).points, shares.points);
  EXPECT_EQ(fastest_alone(job).points, (Points{0, 1000}));
  EXPECT_NEAR(skmd(job).seconds, 2.5, 0.01);
}

TEST(Split, KeepsToGranules) {
  const Job job{1003, 64, {worker(100), worker(110), worker(120)}};
  for (const Shares& shares : {split(job), skmd(job), in_proportion(job)}) {
    EXPECT_EQ(std::accumulate(shares.points.begin(), shares.points.end(), std::int64_t{0}), 1003);
    int odd = 0;
    for (std::int64_t n : shares.points) {
      EXPECT_GE(n, 0);
      odd += n % 64 != 0;
    }
    EXPECT_EQ(odd, 1);
  }
}

TEST(Split, LeavesASmallLaunchToOne) {
  Job job{1000, 1, {worker(1e6), worker(1e6, 1)}};
  job.workers[0].compute.fixed = job.workers[1].compute.fixed = 0.1;  // to begin at all: a hundred times the work
  EXPECT_EQ(split(job).points, (Points{1000, 0}));
  job.points = 10'000'000;
  EXPECT_NEAR(static_cast<double>(split(job).points[0]), 5e6, 1e4);
}

TEST(Split, CountsCopiesThatOverlapAndThoseThatDoNot) {
  // A device of infinite speed behind a link: each of its points costs 4 units in copies, each of the other's 4 units.
  Job job{1200, 1, {worker(1 / 4.0), worker(1e9, 1)}};
  job.workers[1].in = 3, job.workers[1].out = 1;
  EXPECT_NEAR(static_cast<double>(split(job).points[1]), 600, 3);
  job.workers[1].tasks = 1000;  // in and out at once: 3 units
  EXPECT_NEAR(static_cast<double>(split(job).points[1]), 1200 * 4 / 7.0, 4);
  job.workers[1].in = 0, job.workers[1].out = 0;  // all of it is there already, and stays there
  EXPECT_EQ(split(job).points, (Points{0, 1200}));
}

TEST(Split, SharesNothingThatJoiningCostsMoreThan) {
  Job job{1000, 1, {worker(100), worker(100, 1)}};
  job.workers[1].merge = 6;  // half of the work saves 5
  EXPECT_EQ(split(job).points, (Points{1000, 0}));
  EXPECT_EQ(skmd(job).points, (Points{1000, 0}));
  job.workers[1].merge = 2;
  EXPECT_NEAR(split(job).seconds, 7, 0.02);
  EXPECT_NEAR(skmd(job).seconds, 7, 0.02);
  job.workers[1].space = 0;  // in one memory nothing is to be joined
  EXPECT_NEAR(split(job).seconds, 5, 0.02);
}

TEST(Split, LinearSharesCanBeWorseThanOneDevice) {
  // What the paper's figure 9 shows: copies one after the other, and a device that is slow with little work.
  Job job{1000, 1, {worker(200), worker(500, 1), worker(300, 2)}};
  job.workers[1].in = job.workers[2].in = 0.002;
  job.workers[1].link = job.workers[2].link = 0;
  job.workers[2].compute.fixed = 3;
  const double alone = fastest_alone(job).seconds, linear = in_proportion(job).seconds, ours = split(job).seconds;
  EXPECT_GT(linear, ours);
  EXPECT_LT(ours, 0.8 * alone);
  EXPECT_EQ(split(job).points[2], 0);
  EXPECT_NEAR(skmd(job).seconds, ours, 0.05 * ours);
}

TEST(Split, DoesNotTrustDoubtfulPredictions) {
  Job job{1000, 1, {worker(100), worker(8, 1)}};  // 7 % would be gained
  EXPECT_GT(split(job).points[1], 0);
  for (Worker& w : job.workers) w.compute.error = 0.5;
  EXPECT_EQ(split(job).points[1], 0);
}

TEST(Split, IsNeverWorseThanOneDeviceAndCloseToTheBest) {
  std::mt19937_64 random(11);
  const auto uniform = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  double sum = 0, sum_skmd = 0;
  constexpr int trials = 300;
  for (int trial = 0; trial < trials; ++trial) {
    Job job{1 << 20, 1 << (random() % 10), {}};
    const std::size_t count = 2 + random() % 2;
    for (std::size_t w = 0; w < count; ++w) {
      Worker& one = job.workers.emplace_back(worker(uniform(1e8, 3e9), static_cast<int>(w)));
      one.compute.fixed = uniform(1e-6, 1e-4);
      if (random() % 2) one.compute.ramps[0] = {uniform(1e3, 1e6), one.compute.slope};
      if (w == 0) continue;
      one.in = uniform(1e-11, 1e-9), one.out = uniform(1e-11, 1e-9), one.tasks = random() % 2 ? 1 : 8;
      if (random() % 3 == 0) one.merge = uniform(1e-6, 1e-3);
      if (random() % 3 == 0) one.first = uniform(1e-6, 1e-3);
      if (random() % 2) one.link = 0;
    }
    const double best = best_of_grid(job, count == 2 ? 512 : 96), alone = fastest_alone(job).seconds;
    const Shares shares = split(job);
    EXPECT_EQ(std::accumulate(shares.points.begin(), shares.points.end(), std::int64_t{0}), job.points) << trial;
    EXPECT_DOUBLE_EQ(shares.seconds, duration(job, shares.points)) << trial;
    EXPECT_LE(shares.seconds, alone) << trial;
    EXPECT_LE(shares.seconds, 1.12 * best) << trial;
    EXPECT_LE(skmd(job).seconds, alone * (1 + 1e-12)) << trial;
    sum += shares.seconds / best, sum_skmd += skmd(job).seconds / best;
  }
  EXPECT_LT(sum / trials, 1.01);
  EXPECT_LT(sum / trials, sum_skmd / trials + 0.002);
}

}  // namespace
}  // namespace heddle::decide

// History: aggregates that merge without loss, bounded samples, disturbed samples left out.
#include "core/history.hpp"

#include <random>

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

Sample sample(std::int64_t points, std::int64_t nanoseconds, double contention = 1) {
  Sample s;
  s.points = points;
  s.duration = Nanoseconds(nanoseconds);
  s.contention = contention;
  return s;
}

TEST(Aggregate, MergingPartsEqualsAddingAll) {
  std::mt19937_64 random(7);
  Aggregate all, left, right;
  double sum = 0, squares = 0;
  for (int i = 0; i < 1000; ++i) {
    const double x = static_cast<double>(random() % 1000) + 1;
    all.add(x);
    (i % 3 ? left : right).add(x);
    sum += x, squares += x * x;
  }
  left.failures = 2, right.failures = 3;
  left.add(right);
  EXPECT_EQ(left.count, 1000);
  EXPECT_EQ(left.failures, 5);
  EXPECT_NEAR(left.mean, sum / 1000, 1e-9);
  EXPECT_NEAR(left.variance(), (squares - sum * sum / 1000) / 999, 1e-6);
  EXPECT_NEAR(left.variance(), all.variance(), 1e-6);
  EXPECT_EQ(left.least, all.least);
  EXPECT_EQ(left.most, all.most);
}

TEST(Aggregate, MergingWithAnEmptyOneKeepsFailures) {
  Aggregate a, b;
  a.failures = 1;
  b.add(5);
  b.failures = 2;
  a.add(b);
  EXPECT_EQ(a.failures, 3);
  EXPECT_EQ(a.mean, 5);
  b.add(Aggregate{});
  EXPECT_EQ(b.count, 1);
}

TEST(History, KeepsTheNewestSamplesAndCountsAll) {
  History history;
  const SampleKey key{"k", "v", "", "d", "s"};
  for (int i = 1; i <= 100; ++i) EXPECT_TRUE(history.add(key, sample(10, 10 * i)));
  const Record* record = history.find(key);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->aggregate.count, 100);
  EXPECT_EQ(record->samples.size(), samples_per_key);
  EXPECT_EQ(record->samples.front().duration.count(), 10 * (100 - 32 + 1));
  EXPECT_DOUBLE_EQ(record->median(), (84 + 85) / 2.0);  // of 69 to 100 nanoseconds per point
}

TEST(History, ADisturbedSampleTeachesNothing) {
  History history;
  const SampleKey key{"k", "v", "", "d", "s"};
  EXPECT_FALSE(history.add(key, sample(10, 100, 0.89)));
  EXPECT_FALSE(history.add(key, sample(0, 100)));
  EXPECT_EQ(history.find(key), nullptr);
  EXPECT_TRUE(history.add(key, sample(10, 100, 0.9)));
}

TEST(History, FailuresCountBesideSamples) {
  History history;
  const SampleKey key{"k", "v", "", "d", "s"};
  history.add_failure(key);
  history.add_failure(key);
  EXPECT_EQ(history.find(key)->aggregate.failures, 2);
  EXPECT_EQ(history.find(key)->aggregate.count, 0);
  EXPECT_EQ(history.find(key)->median(), 0);
  EXPECT_EQ(history.find(SampleKey{"k", "other", "", "d", "s"}), nullptr);
}

}  // namespace
}  // namespace heddle::core

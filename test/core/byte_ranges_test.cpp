// Runs of bytes, which may be joined but never change.
#include "core/byte_ranges.hpp"

#include <random>

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

TEST(ByteRanges, StatementsSideBySideAreOnePiece) {
  const std::vector<Stride> pairs{{8, 1000}};
  std::vector<core::Run> runs{{4, 4, pairs}, {0, 4, pairs}};
  join_neighbours(runs);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0], (core::Run{0, 8000, {}}));
  // In rows, with a gap between them.
  runs = {{8, 4, {{12, 10}, {1000, 5}}}, {0, 4, {{12, 10}, {1000, 5}}}, {4, 4, {{12, 10}, {1000, 5}}}};
  join_neighbours(runs);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0], (core::Run{0, 120, {{1000, 5}}}));
  // Not those with a gap, other strides, or another clip.
  runs = {{0, 4, {{16, 10}}}, {8, 4, {{16, 10}}}, {4, 4, {{16, 11}}}, {12, 4, {{16, 10}}, 0, 100}};
  const std::vector<core::Run> before = runs;
  join_neighbours(runs);
  EXPECT_EQ(runs, before);
}

TEST(ByteRanges, JoiningChangesNoByte) {
  std::mt19937 random(7);
  const auto pick = [&](int below) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(below)); };
  int joined = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Stride> strides;
    for (std::int64_t d = pick(3); d >= 0; --d) strides.push_back({pick(40) - 4, 1 + pick(5)});
    ByteRanges ranges;
    for (std::int64_t r = 1 + pick(5); r > 0; --r) {
      core::Run run{pick(60) - 10, 1 + pick(8), strides};
      if (pick(4) == 0) run.strides = {{pick(30), 1 + pick(4)}};
      if (pick(4) == 0) run.clip_begin = pick(50), run.clip_end = run.clip_begin + pick(100);
      ranges.runs.push_back(run);
    }
    const auto before = spans(ranges, 400);
    const std::size_t count = ranges.runs.size();
    const std::int64_t pieces = ranges.pieces();
    join_neighbours(ranges.runs);
    joined += ranges.runs.size() < count;
    ASSERT_EQ(spans(ranges, 400), before) << round;
    ASSERT_LE(ranges.pieces(), pieces);
  }
  EXPECT_GT(joined, 2000);
}

}  // namespace
}  // namespace heddle::core

// Regions with choices of their own, on paper.
#include "decide/mix.hpp"

#include <gtest/gtest.h>

namespace heddle::decide {
namespace {

// Two rivals of one point each, of which the first has won with 1 us per point.
Selection won(Mode mode = Mode::hybrid) {
  Rival one{.footprint = {{1, 1, 1}, false}, .ready = true, .prepared = true}, other = one;
  Selection out = selection_of(mode, 1, {one, other});
  out.rivals[0].samples = {1e-6}, out.rivals[1].samples = {1.5e-6};
  out.looked = true, out.winner = 0;
  return out;
}

TEST(Mix, OnlyLongLaunchesWhosePartsDifferHaveRegions) {
  EXPECT_EQ(count_of_regions(won(), 399, false), 1);  // as long as a probe
  EXPECT_EQ(count_of_regions(won(), 400, false), 2);
  EXPECT_EQ(count_of_regions(won(), 1500, false), 4);  // halves of halves
  EXPECT_EQ(count_of_regions(won(), 1'000'000, false), 8);
  EXPECT_EQ(count_of_regions(won(), 99'999, true), 1);  // 50 ms
  EXPECT_EQ(count_of_regions(won(), 100'000, true), 2);
  EXPECT_EQ(count_of_regions(won(Mode::fully), 1'000'000, false), 0);
  Selection open = won();
  open.winner.reset();
  EXPECT_EQ(count_of_regions(open, 1'000'000, false), 0);
  Selection watched = won();
  watched.expected = 2e-6;  // what launches take counts more than what parts did
  EXPECT_EQ(count_of_regions(watched, 400, false), 4);
}

TEST(Mix, RegionsAreWholePartsAndAllOfTheSpace) {
  const core::Box space{{0, 0, 0}, {100, 3, 1}};
  const auto regions = regions_of(space, {{16, 1, 1}, true}, 0, 4);
  ASSERT_EQ(regions.size(), 4u);
  EXPECT_EQ(regions[0], (core::Box{{0, 0, 0}, {16, 3, 1}}));
  EXPECT_EQ(regions[1], (core::Box{{16, 0, 0}, {48, 3, 1}}));
  EXPECT_EQ(regions[2], (core::Box{{48, 0, 0}, {80, 3, 1}}));
  EXPECT_EQ(regions[3], (core::Box{{80, 0, 0}, {100, 3, 1}}));
  EXPECT_EQ(regions_of(space, {{1, 2, 1}, true}, 1, 8).size(), 2u);  // no more than there are parts
  EXPECT_EQ(regions_of(space, {{200, 1, 1}, true}, 0, 8), std::vector{space});
}

TEST(Mix, ARegionThatTakesWhatAllDoKeepsTheWinner) {
  Selection region = selection_in_region(won(), 500);
  auto probe = next_probe(region, 500);
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->rival, 0u);
  EXPECT_TRUE(probe->whole);
  probe->points = 500;
  learn(region, *probe, 550e-6);
  ASSERT_TRUE(region.winner);
  EXPECT_EQ(*region.winner, 0u);
}

TEST(Mix, ARegionThatTakesAnotherTimeFindsItsOwn) {
  Selection region = selection_in_region(won(), 500);
  auto probe = next_probe(region, 500);
  probe->points = 500;
  learn(region, *probe, 1500e-6);
  EXPECT_FALSE(region.winner);
  int probes = 0;
  while (auto next = next_probe(region, 500)) {
    ASSERT_LT(++probes, 50);
    begin(region, *next, {});
    if (next->whole) next->points = 500;
    learn(region, *next, static_cast<double>(next->points) * (next->rival == 0 ? 3e-6 : 1e-6));
  }
  ASSERT_TRUE(region.winner);
  EXPECT_EQ(*region.winner, 1u);
}

TEST(Mix, TheGainWeighsRegionsByTheirTime) {
  Selection same = won(), other = won();
  other.rivals[0].samples = {4e-6}, other.rivals[1].samples = {2e-6}, other.winner = 1;
  EXPECT_DOUBLE_EQ(gain_of({{&same, 100}, {&other, 100}}, 0), 5.0 / 3.0);
  EXPECT_DOUBLE_EQ(gain_of({{&same, 300}, {&other, 100}}, 0), 7.0 / 5.0);
  EXPECT_DOUBLE_EQ(gain_of({{&same, 100}, {&same, 100}}, 0), 1);
  Selection open = won();
  open.winner.reset();
  EXPECT_DOUBLE_EQ(gain_of({{&open, 100}, {&other, 100}}, 0), 1);
}

}  // namespace
}  // namespace heddle::decide

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
  Selection crowded = won();
  crowded.units = 16;  // where a region ends, they wait for the slowest of them
  EXPECT_EQ(count_of_regions(crowded, 799'999, true), 1);
  EXPECT_EQ(count_of_regions(crowded, 800'000, true), 2);
  EXPECT_EQ(count_of_regions(crowded, 799'999, false), 1);
  EXPECT_EQ(count_of_regions(crowded, 800'000, false), 2);
  crowded.units = 7;
  EXPECT_EQ(count_of_regions(crowded, 400, false), 2);
  EXPECT_EQ(count_of_regions(won(Mode::fully), 1'000'000, false), 0);
  Selection open = won();
  open.winner.reset();
  EXPECT_EQ(count_of_regions(open, 1'000'000, false), 0);
  Selection watched = won();
  watched.expected = 2e-6;  // what launches take counts more than what parts did
  EXPECT_EQ(count_of_regions(watched, 400, false), 4);
}

// Each of them is looked at there, if the winner surprises.
TEST(Mix, OfManyRivalsTheBestCompeteInRegions) {
  Selection all = won();
  for (int r = 2; r < 60; ++r) {
    all.rivals.push_back(all.rivals[1]);
    all.rivals.back().samples = {1e-6 + 1e-8 * (100 - r)};
  }
  EXPECT_EQ(count_of_regions(all, 191'999, true), 1);  // 60 probes of 200 us for each of eight
  EXPECT_EQ(count_of_regions(all, 192'000, true), 2);
  EXPECT_EQ(count_of_regions(all, 1500, false), 4);
  const Selection region = selection_in_region(all, {{0, 0, 0}, {500, 1, 1}});
  std::vector<std::size_t> competing;
  for (std::size_t r = 0; r < region.rivals.size(); ++r) {
    if (!region.rivals[r].out) competing.push_back(r);
  }
  EXPECT_EQ(competing, (std::vector<std::size_t>{0, 53, 54, 55, 56, 57, 58, 59}));
  all.rivals[57].samples = {4.1e-6}, all.rivals[58].failed = true;
  const Selection fewer = selection_in_region(all, {{0, 0, 0}, {500, 1, 1}});
  EXPECT_TRUE(fewer.rivals[57].out && fewer.rivals[58].out && !fewer.rivals[51].out && fewer.rivals[50].out);
  // Who cannot run takes nobody's place.
  for (std::size_t r = 2; r < 51; ++r) all.rivals[r].ready = false, all.rivals[r].samples.clear();
  EXPECT_FALSE(selection_in_region(all, {{0, 0, 0}, {500, 1, 1}}).rivals[51].out);
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
  Selection region = selection_in_region(won(), {{0, 0, 0}, {500, 1, 1}});
  auto probe = next_probe(region, 500);
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->rival, 0u);
  EXPECT_TRUE(probe->whole);
  probe->points = 500;
  learn(region, *probe, 550e-6);
  ASSERT_TRUE(region.winner);
  EXPECT_EQ(*region.winner, 0u);
}

// What was compared there is as good as a probe of its own.
TEST(Mix, ARegionInWhichRivalsWereComparedNeedNotShowThatAgain) {
  const core::Box first{{0, 0, 0}, {500, 1, 1}}, second{{500, 0, 0}, {1000, 1, 1}};
  const auto at = [](std::int64_t place) { return Rival::Place{{{place, 0, 0}, {place + 10, 1, 1}}, 7}; };
  Selection all = won();
  all.rivals[0].places = {at(100)};
  EXPECT_EQ(selection_in_region(all, first, 7).winner, 0u);
  EXPECT_FALSE(selection_in_region(all, first, 8).winner);  // another launch, perhaps of other data
  EXPECT_FALSE(selection_in_region(all, second, 7).winner);
  // Two of three say what to expect of all; the one in the other region took longer.
  all.rivals[0].samples = {1e-6, 3e-6, 1e-6}, all.rivals[1].samples = {1.5e-6, 2e-6, 1.5e-6};
  all.rivals[0].places = all.rivals[1].places = {at(100), at(600), at(200)};
  EXPECT_EQ(selection_in_region(all, first, 7).winner, 0u);
  EXPECT_FALSE(selection_in_region(all, second, 7).winner);
  // Not so where a region has both.
  EXPECT_FALSE(selection_in_region(all, {{0, 0, 0}, {1000, 1, 1}}, 7).winner);
  // Nor where another was faster in it, however usual that was for the winner.
  all.rivals[0].samples = {1e-6, 1.2e-6, 1e-6}, all.rivals[1].samples = {1.5e-6, 1e-6, 1.5e-6};
  EXPECT_FALSE(selection_in_region(all, second, 7).winner);
  all.rivals[1].samples[1] = 1.15e-6;
  EXPECT_EQ(selection_in_region(all, second, 7).winner, 0u);
}

TEST(Mix, PlacesOfComparisonsAreKept) {
  Rival one{.footprint = {{1, 1, 1}, false}, .ready = true, .prepared = true}, other = one;
  Selection s = selection_of(Mode::hybrid, 1, {one, other});
  std::vector<core::Box> begun;
  std::int64_t at = 0;
  while (const auto probe = next_probe(s, 1'000'000, 1)) {
    ASSERT_LT(++at, 50);
    const core::Box box =
        probe->repeat ? s.region : core::Box{{at * 10'000, 0, 0}, {at * 10'000 + probe->points, 1, 1}};
    if (!probe->look && !probe->repeat && !probe->pilot) begun.push_back(box);
    begin(s, *probe, box, 1);
    const double region = probe->look ? 0.8e-6 : begun.size() > 1 ? 1.5e-6 : 1e-6;  // each differs
    learn(s, *probe, static_cast<double>(probe->points) * region * (probe->rival == 0 ? 1 : 1.2));
  }
  EXPECT_EQ(s.winner, 0u);
  ASSERT_EQ(begun.size(), 2u);
  for (const Rival& rival : s.rivals)
    EXPECT_EQ(rival.places, (std::vector<Rival::Place>{{begun[0], 1}, {begun[1], 1}}));
  begin_again(s);
  EXPECT_TRUE(s.rivals[0].places.empty());
}

TEST(Mix, ARegionThatTakesAnotherTimeFindsItsOwn) {
  Selection region = selection_in_region(won(), {{0, 0, 0}, {500, 1, 1}});
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

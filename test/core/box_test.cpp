// Boxes must never lose or double a point: exact cases, then properties over random spaces, footprints and sequences of
// takes.
#include "core/box.hpp"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::core {
namespace {

TEST(Box, VolumeAndContents) {
  const Box box{{1, 2, 3}, {4, 6, 8}};
  EXPECT_EQ(box.volume(), 3 * 4 * 5);
  EXPECT_TRUE(box.contains(Index{1, 2, 3}));
  EXPECT_FALSE(box.contains(Index{4, 2, 3}));
  EXPECT_TRUE(box.contains(Box{{2, 3, 4}, {4, 6, 8}}));
  EXPECT_FALSE(box.contains(Box{{2, 3, 4}, {5, 6, 8}}));
  EXPECT_TRUE((Box{{1, 1, 1}, {1, 5, 5}}.empty()));
  EXPECT_EQ((Box{{5, 0, 0}, {1, 5, 5}}.volume()), 0);
}

TEST(Box, SubtractingTheMiddleLeavesSixPieces) {
  const auto rest = subtract(box_of(3, 3, 3), Box{{1, 1, 1}, {2, 2, 2}});
  EXPECT_EQ(rest.size(), 6u);
  std::int64_t volume = 0;
  for (const Box& piece : rest) volume += piece.volume();
  EXPECT_EQ(volume, 26);
}

TEST(Box, SubtractingNothingAndEverything) {
  EXPECT_EQ(subtract(box_of(4), Box{{4, 0, 0}, {8, 1, 1}}), std::vector<Box>{box_of(4)});
  EXPECT_TRUE(subtract(box_of(4), box_of(9, 9, 9)).empty());
  EXPECT_TRUE(subtract(Box{}, box_of(1)).empty());
}

TEST(Box, CutKeepsBothSidesInside) {
  EXPECT_EQ(cut(box_of(10), 0, 4), (std::pair{Box{{0, 0, 0}, {4, 1, 1}}, Box{{4, 0, 0}, {10, 1, 1}}}));
  EXPECT_TRUE(cut(box_of(10), 0, -3).first.empty());
  EXPECT_TRUE(cut(box_of(10), 0, 99).second.empty());
}

TEST(Align, WholeFootprintsOnly) {
  const Box space = box_of(100);
  EXPECT_EQ(align(space, {{32, 1, 1}, false}, space), box_of(96));
  EXPECT_EQ(align(space, {{32, 1, 1}, true}, space), space);
  EXPECT_EQ(align(Box{{10, 0, 0}, {70, 1, 1}}, {{32, 1, 1}, true}, space), (Box{{32, 0, 0}, {64, 1, 1}}));
  EXPECT_TRUE(align(Box{{33, 0, 0}, {63, 1, 1}}, {{32, 1, 1}, false}, space).empty());
}

TEST(Align, FootprintsCountFromTheLaunchesBeginning) {
  const Box space{{7, 0, 0}, {47, 1, 1}};
  EXPECT_EQ(align(Box{{8, 0, 0}, {47, 1, 1}}, {{10, 1, 1}, false}, space), (Box{{17, 0, 0}, {47, 1, 1}}));
}

TEST(Align, AFootprintOfZeroIsABug) { EXPECT_THROW(align(box_of(4), {{0, 1, 1}, false}, box_of(4)), InternalError); }

TEST(BoxSet, AddingTwiceCountsOnce) {
  BoxSet set(box_of(4, 4));
  set.add(Box{{2, 2, 0}, {6, 6, 1}});
  EXPECT_EQ(set.volume(), 16 + 16 - 4);
  EXPECT_EQ(set.hull(), box_of(6, 6));
  EXPECT_TRUE(set.covers(box_of(4, 4)));
  EXPECT_FALSE(set.covers(box_of(6, 6)));
}

TEST(BoxSet, GivingBackWhatWasTakenMakesItWholeAgain) {
  const Box space = box_of(64, 64);
  BoxSet set(space);
  std::vector<Box> taken;
  while (auto box = set.take({{8, 8, 1}, false}, space, 512, 1)) taken.push_back(*box);
  EXPECT_TRUE(set.empty());
  for (const Box& box : taken) set.add(box);
  EXPECT_EQ(set.boxes(), std::vector<Box>{space});
}

TEST(BoxSet, TakesAboutAsMuchAsAsked) {
  const Box space = box_of(1000);
  BoxSet set(space);
  EXPECT_EQ(*set.take({{64, 1, 1}, false}, space, 192, 0), box_of(192));
  EXPECT_EQ(*set.take({{64, 1, 1}, false}, space, 1, 0),
            (Box{{192, 0, 0}, {256, 1, 1}}));  // never less than a footprint
  EXPECT_EQ(*set.take({{64, 1, 1}, false}, space, 65, 0), (Box{{256, 0, 0}, {384, 1, 1}}));  // rounded up
  EXPECT_EQ(*set.take({{64, 1, 1}, false}, space, std::numeric_limits<std::int64_t>::max(), 0),
            (Box{{384, 0, 0}, {960, 1, 1}}));
  EXPECT_FALSE(set.take({{64, 1, 1}, false}, space, 200, 0));
  EXPECT_EQ(*set.take({{64, 1, 1}, true}, space, 200, 0), (Box{{960, 0, 0}, {1000, 1, 1}}));
  EXPECT_TRUE(set.empty());
}

TEST(BoxSet, AllOfAGuardedLaunchIsOneBox) {
  const Box space = box_of(10'007);
  BoxSet set(space);
  EXPECT_EQ(*set.take({{256, 1, 1}, true}, space, space.volume(), 0), space);
}

// A driver that hands out groups in chunks leaves threads idle at the end of each box, of small ones most of the time.
TEST(BoxSet, WhoeverTakesAllBeginsWithTheLargestBox) {
  const Box space{{0, 0, 0}, {64, 64, 48}};
  const Footprint footprint{{8, 8, 8}, false};
  BoxSet set(space);
  for (const std::int64_t z : {0, 8, 24}) set.remove({{0, 0, z}, {16, 8, z + 8}});
  std::vector<Box> taken;
  while (auto box = set.take(footprint, space, space.volume(), 2)) taken.push_back(*box);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(
      taken,
      (std::vector<Box>{
          {{0, 8, 0}, {64, 64, 48}}, {{16, 0, 0}, {64, 8, 48}}, {{0, 0, 32}, {16, 8, 48}}, {{0, 0, 16}, {16, 8, 24}}}));
}

TEST(BoxSet, EqualPartsAreAsManySlicesAsAskedFor) {
  for (int parts : {1, 2, 3, 7, 8, 64}) {
    const Box space = box_of(10'007);
    BoxSet set(space);
    int slices = 0;
    while (set.take({{64, 1, 1}, true}, space, (space.volume() + parts - 1) / parts, 0)) ++slices;
    EXPECT_LE(slices, parts);
    EXPECT_GE(slices, parts - parts / 4);
  }
}

TEST(BoxSet, AnAxisOutOfRangeIsABug) {
  BoxSet set(box_of(4));
  EXPECT_THROW(set.take({}, box_of(4), 1, 3), InternalError);
}

// For any index space and any footprints, any sequence of takes covers every point exactly once and nothing outside.
TEST(BoxSetProperty, AnySequenceOfTakesCoversEveryPointExactlyOnce) {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto up_to = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
    Box space;
    const int dimensions = 1 + static_cast<int>(up_to(3));
    for (int d = 0; d < 3; ++d) {
      space.begin[d] = d < dimensions ? up_to(4) * up_to(5) : 0;
      space.end[d] = space.begin[d] + (d < dimensions ? 1 + up_to(dimensions == 1   ? 400
                                                                  : dimensions == 2 ? 40
                                                                                    : 12)
                                                      : 1);
    }
    std::vector<int> touched(static_cast<std::size_t>(space.volume()), 0);
    auto touch = [&](const Box& box, int by) {
      ASSERT_TRUE(space.contains(box));
      for (std::int64_t z = box.begin[2]; z < box.end[2]; ++z) {
        for (std::int64_t y = box.begin[1]; y < box.end[1]; ++y) {
          for (std::int64_t x = box.begin[0]; x < box.end[0]; ++x) {
            touched[static_cast<std::size_t>(
                (x - space.begin[0]) +
                space.extent(0) * ((y - space.begin[1]) + space.extent(1) * (z - space.begin[2])))] += by;
          }
        }
      }
    };
    BoxSet left(space);
    std::vector<Box> taken;
    std::int64_t before = left.volume();
    for (int step = 0; step < 200 && !left.empty(); ++step) {
      if (!taken.empty() && up_to(8) == 0) {  // a slice failed: its box comes back
        const std::size_t k = static_cast<std::size_t>(up_to(static_cast<std::int64_t>(taken.size())));
        left.add(taken[k]);
        touch(taken[k], -1);
        before += taken[k].volume();
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(k));
        ASSERT_EQ(left.volume(), before);
      }
      Footprint footprint;
      for (int d = 0; d < dimensions; ++d) footprint.points[d] = 1 + up_to(step > 100 ? 1 : 9);
      footprint.guarded = up_to(2) == 0;
      const auto box = left.take(footprint, space, 1 + up_to(200), static_cast<int>(up_to(3)));
      if (!box) continue;
      ASSERT_EQ(align(*box, footprint, space), *box);
      touch(*box, 1);
      before -= box->volume();
      ASSERT_EQ(left.volume(), before);
      taken.push_back(*box);
    }
    while (auto box = left.take({}, space, 1 << 20, 0)) touch(*box, 1);  // the base variant fills the edges
    ASSERT_TRUE(left.empty());
    for (int count : touched) ASSERT_EQ(count, 1);
  }
}

TEST(BoxSetProperty, SetsAgreeWithPlainSetsOfPoints) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    constexpr int n = 9;
    std::vector<bool> in(n * n * n, false);
    BoxSet set;
    for (int step = 0; step < 12; ++step) {
      Box box;
      for (int d = 0; d < 3; ++d) {
        box.begin[d] = static_cast<std::int64_t>(random() % n);
        box.end[d] = static_cast<std::int64_t>(random() % (n + 1));  // may well be empty
      }
      const bool add = random() % 3 != 0;
      add ? set.add(box) : set.remove(box);
      std::int64_t volume = 0;
      for (int i = 0; i < n * n * n; ++i) {
        const Index p{i % n, i / n % n, i / n / n};
        if (box.contains(p)) in[static_cast<std::size_t>(i)] = add;
        int holders = 0;
        for (const Box& mine : set.boxes()) holders += mine.contains(p);
        ASSERT_EQ(holders, in[static_cast<std::size_t>(i)] ? 1 : 0);
        volume += in[static_cast<std::size_t>(i)];
      }
      ASSERT_EQ(set.volume(), volume);
      ASSERT_TRUE(!add || set.covers(box));
    }
  }
}

}  // namespace
}  // namespace heddle::core

// What is seen of rivals at first sight, on how much of a launch, and who is out then.
#include <utility>

#include <gtest/gtest.h>

#include "decide/select.hpp"
#include "test/decide/select_rivals.hpp"

namespace heddle::decide {
namespace {

TEST(Select, ALookIsJustLongEnoughToBeTimed) {
  Selection s = selection_of(Mode::fully, 2, {rival(64, false), rival(256, false)});
  const auto look = [](std::size_t r, std::int64_t points) { return Probe{r, points, false, false, 100'000, true}; };
  EXPECT_EQ(*next_probe(s, 100'000), look(0, 128));
  learn(s, look(0, 128), 1.0);  // compiles
  EXPECT_EQ(*next_probe(s, 100'000), look(0, 128));
  s.rivals[0].prepared = true;   // the engine says so of each that ends
  learn(s, look(0, 128), 5e-6);  // five times as many would take 25 us
  EXPECT_EQ(*next_probe(s, 100'000), look(0, 640));
  learn(s, look(0, 640), 20e-6);
  EXPECT_EQ(*next_probe(s, 100'000), look(1, 512));  // in whole footprints on all units
  learn(s, look(1, 512), 1.0);
  s.rivals[1].prepared = true;
  learn(s, look(1, 512), 3.125e-6);
  EXPECT_EQ(*next_probe(s, 100'000), look(1, 4096));
  EXPECT_FALSE(s.looked);
  learn(s, look(1, 4096), 20e-6);
  EXPECT_EQ(*next_probe(s, 100'000), look(0, 4096));  // once more, on as much as the best
  learn(s, look(0, 4096), 80e-6);
  EXPECT_EQ(s.winner, 1u);
}

// What compiles tells nothing, and the first variant may be a hundred times as slow as the best.
TEST(Select, WhatIsNotCompiledYetIsRunOnLittle) {
  Selection s = selection_of(Mode::fully, 1, {rival(64, false), rival(64)});
  for (int form = 0; form < 2; ++form) {  // from zero, and with an offset
    const Probe first = *next_probe(s, 1 << 24);
    EXPECT_EQ(first, (Probe{0, 1024, false, false, 1 << 24, true}));
    learn(s, first, 1.0);
  }
}

// Whoever comes after the first is seen on a sixteenth of its part; one that is hopeless there, on nothing more.
TEST(Select, LooksAtSlowOnesAreShort) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64), rival(64)});
  const auto look = [](std::size_t r, std::int64_t points) { return Probe{r, points, false, false, 1 << 22, true}; };
  EXPECT_EQ(*next_probe(s, 1 << 22), look(0, 4096));
  learn(s, look(0, 4096), 100e-6);
  EXPECT_EQ(*next_probe(s, 1 << 22), look(1, 256));
  learn(s, look(1, 256), 160e-6);  // the first did sixteen times as much in less
  EXPECT_EQ(*next_probe(s, 1 << 22), look(2, 256));
  learn(s, look(2, 256), 60e-6);  // that may be what any launch takes
  EXPECT_EQ(*next_probe(s, 1 << 22), look(2, 4096));
  learn(s, look(2, 4096), 95e-6);
  EXPECT_TRUE(s.looked && s.rivals[1].out && !s.rivals[2].out);
}

// A look that was too short beside the best so far may be enough beside a better one that is seen after it.
TEST(Select, WhoIsSeenLaterMayEndALook) {
  for (const bool better : {false, true}) {
    Rival one = rival(64);
    one.wave = 4096;
    Selection s = selection_of(Mode::fully, 1, {one, one, one});
    const auto look = [](std::size_t r, std::int64_t points) { return Probe{r, points, false, false, 1 << 22, true}; };
    learn(s, look(0, 4096), 100e-6);
    learn(s, look(1, 256), 40e-6);  // less than the first took for more: perhaps what any launch takes
    EXPECT_FALSE(s.rivals[1].look);
    EXPECT_EQ(*next_probe(s, 1 << 22), look(2, 256));
    learn(s, look(2, 256), 6e-6);
    EXPECT_EQ(next_probe(s, 1 << 22)->rival, 1u);
    learn(s, look(2, 4096), better ? 20e-6 : 110e-6);
    EXPECT_EQ(s.rivals[1].look.has_value(), better);
    EXPECT_EQ(*next_probe(s, 1 << 22), look(1, 4096));  // once more, as that costs little, or longer
  }
}

// Where more groups at once might take no longer, few of them do not show that a variant is slow, if they are not so
// slow that a full device could not make up for it.
TEST(Select, APartThatDoesNotFillTheDeviceTellsLess) {
  const std::int64_t points = 1 << 20;
  const auto look = [&](std::size_t r, std::int64_t n) { return Probe{r, n, false, false, points, true}; };
  Rival large = rival(64);
  large.wave = 8192;
  Selection s = selection_of(Mode::fully, 1, {rival(64), large, large});
  learn(s, look(0, 1024), 100e-6);
  learn(s, look(1, 1024), 700e-6);  // perhaps for 8192, too
  EXPECT_FALSE(s.rivals[1].look);
  EXPECT_EQ(next_probe(s, points)->rival, 2u);
  learn(s, look(2, 1024), 3300e-6);
  EXPECT_EQ(*next_probe(s, points), look(1, 8192));
  learn(s, look(1, 8192), 800e-6);
  EXPECT_TRUE(s.looked && !s.rivals[1].out && s.rivals[2].out);
  EXPECT_EQ(next_probe(s, points)->points, 1024 * 2);  // 200 us
  s.rivals[0].samples = {1e-7};
  EXPECT_EQ(next_probe(s, points)->points, 8192);
}

// On many cores, any launch takes as long as a look should.
TEST(Select, ALookThatShowsOnlyWhatALaunchCostsIsLonger) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  const auto look = [](std::int64_t points) { return Probe{0, points, false, false, 1 << 16, true}; };
  s.least = 30e-6;
  learn(s, look(64), 40e-6);
  EXPECT_FALSE(s.rivals[0].look);
  EXPECT_EQ(*next_probe(s, 1 << 16), look(192));  // half of what a probe takes is enough
  learn(s, look(192), 99e-6);
  EXPECT_FALSE(s.rivals[0].look);
  learn(s, look(256), 101e-6);
  EXPECT_TRUE(s.rivals[0].look);
  Selection lighter = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  lighter.least = 10e-6;
  learn(lighter, look(64), 40e-6);
  EXPECT_TRUE(lighter.rivals[0].look);
}

// What any launch takes is spread over more points in a larger part: one that was seen on less is seen again before it
// is out, on as much as the launch has room for.
TEST(Select, NobodyIsOutForHavingBeenSeenOnLess) {
  for (const bool room : {true, false}) {
    const std::int64_t points = room ? 1 << 24 : 1 << 19;
    const auto look = [&](std::size_t r, std::int64_t n) { return Probe{r, n, false, false, points, true}; };
    Rival small = rival(64), large = rival(64);
    small.wave = 1024, large.wave = 1 << 18;
    Selection s = selection_of(Mode::fully, 1, {small, large});
    learn(s, look(0, 16384), 25e-6);
    learn(s, look(1, 1 << 18), 100e-6);  // a fourth of what the other takes per point
    EXPECT_FALSE(s.rivals[0].out);
    const Probe again = next_probe(s, points).value();
    EXPECT_EQ(again, look(0, room ? 1 << 18 : 1 << 17));  // what takes as long as a launch of the other
    learn(s, again, room ? 60e-6 : 48e-6);
    EXPECT_TRUE(s.looked && s.whole);
    EXPECT_FALSE(s.rivals[0].out);
    EXPECT_LT(*s.rivals[0].look, *s.rivals[1].look);
  }
}

// It is seen again even on a good part of the launch, if that takes less than a launch does.
TEST(Select, WhoWasSeenOnLittleIsSeenOnAsMuchAsTheBest) {
  const std::int64_t points = 1 << 19;
  const auto look = [&](std::size_t r, std::int64_t n) { return Probe{r, n, false, false, points, true}; };
  Rival small = rival(1), large = rival(64);
  small.wave = 512, large.wave = 1 << 17;
  Selection s = selection_of(Mode::fully, 1, {small, large});
  learn(s, look(0, 512), 55e-6);
  learn(s, look(1, 1 << 17), 7.8e-3);  // half of what the first takes per point, at first sight
  EXPECT_FALSE(s.looked);
  EXPECT_EQ(*next_probe(s, points), look(0, 1 << 17));
  learn(s, look(0, 1 << 17), 4.2e-3);
  EXPECT_EQ(s.winner, 0u);
}

// One that is far behind is seen on as much as takes no longer than a launch; and no device is fuller than with all of
// a launch.
TEST(Select, WhoIsFarBehindIsNotSeenOnMuch) {
  const std::int64_t points = 1 << 26;
  const auto look = [&](std::size_t r, std::int64_t n) { return Probe{r, n, false, false, points, true}; };
  Rival small = rival(256), large = rival(16384), serial = rival(32768);
  small.wave = 1 << 17, large.wave = 1 << 23, serial.wave = std::int64_t{1} << 32;
  Selection s = selection_of(Mode::fully, 1, {small, large, serial});
  learn(s, look(0, 1 << 17), 45e-6);
  learn(s, look(1, 1 << 23), 38e-6);    // a hundredth per point, of which most may be what any launch takes
  learn(s, look(2, 1 << 24), 2100e-6);  // seven times that at least, even if all of the launch took no longer
  const Probe again = next_probe(s, points).value();
  EXPECT_TRUE(again.look && again.rival == 0);
  EXPECT_GT(again.points, 1 << 18);
  EXPECT_LT(again.points, 1 << 20);
  learn(s, again, 45e-6 * static_cast<double>(again.points) / (1 << 17));
  EXPECT_EQ(s.winner, 1u);
}

// Where others would need all of a launch, the first is seen on a part, if a small one is enough for it.
TEST(Select, TheFirstIsSeenOnAPartThoughOthersAreNot) {
  Rival small = rival(64), wide = rival(64);
  small.wave = 1024, wide.wave = 1 << 20;
  const Selection s = selection_of(Mode::fully, 1, {small, wide});
  const Probe first = next_probe(s, 65536).value();
  EXPECT_TRUE(first.rival == 0 && first.look && !first.whole);
}

// Where a part takes as long as all of the launch, the first gets that; others do if it is short.
TEST(Select, WherePartsTellNothingLaunchesAreGivenToWhoeverIsSeenOrShort) {
  Rival wide = rival(64);
  wide.wave = 1 << 20;
  for (const bool is_short : {true, false}) {
    Selection s = selection_of(Mode::fully, 1, {wide, wide});
    const Probe first = next_probe(s, 65536).value();
    EXPECT_TRUE(first.whole && first.rival == 0);
    learn(s, {0, 65536, true, false, 65536}, is_short ? 19e-3 : 21e-3);
    const Probe second = next_probe(s, 65536).value();
    EXPECT_EQ(second.rival, 1u);
    EXPECT_EQ(second.whole, is_short);
    EXPECT_EQ(second.look, !is_short);
  }
}

TEST(Select, WhoeverIsFarOffIsOutAtSight) {
  const double costs[] = {1e-6, 5e-6, 0.4e-6, 0.43e-6};
  const auto cost = [&](std::size_t r) { return costs[r]; };
  const Competition out =
      compete(selection_of(Mode::fully, 2, {rival(64), rival(64), rival(64), rival(64)}), 1 << 20, cost);
  EXPECT_EQ(out.winner, 2u);
  EXPECT_EQ(out.probes, 1 + 1 + 1 + 1 + 5 + 5);  // two are out at sight, two compared
  EXPECT_EQ(out.wasted, 0);
}

TEST(Select, OneBadLookIsChance) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  const Probe first{0, 64, false, false, 1 << 16, true}, second{1, 64, false, false, 1 << 16, true};
  learn(s, first, 64e-6);
  learn(s, second, 100e-6);
  EXPECT_EQ(*next_probe(s, 1 << 16), second);
  learn(s, second, 60e-6);
  EXPECT_TRUE(s.looked && !s.rivals[1].out);
}

TEST(Select, OneThatFailsAtFirstSightDoesNotKeepTheOthers) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64), rival(64)});
  learn(s, {0, 1024, false, false, 1 << 20, true}, 30e-6);
  learn(s, {1, 1024, false, false, 1 << 20, true}, 31e-6);
  give_up(s, 2);
  EXPECT_TRUE(s.looked);
  EXPECT_GT(s.length, 1024);
}

// A look that is to be repeated in a large launch is enough in a small one.
TEST(Select, LooksEndInASmallerLaunch) {
  Selection s = selection_of(Mode::fully, 1, {rival(4), rival(4)});
  for (Rival& one : s.rivals) one.look = 1e-6, one.looks = 1, one.reach = 40;
  s.rivals[1].look = 1.5e-6, s.points = 100'000;
  EXPECT_TRUE(next_probe(s, 100'000)->look);
  EXPECT_FALSE(next_probe(s, 400)->look);
  for (int i = 0; i < 20 && !s.winner; ++i) {
    const Probe probe = *next_probe(s, 400);
    begin(s, probe, core::box_of(probe.points));
    learn(s, probe, static_cast<double>(probe.points) * *s.rivals[probe.rival].look);
  }
  EXPECT_EQ(s.winner, 0u);
}

}  // namespace
}  // namespace heddle::decide

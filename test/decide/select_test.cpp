// The choice among rivals that are only numbers: what is asked next, who wins, and what it costs.
#include "decide/select.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "test/decide/select_rivals.hpp"

namespace heddle::decide {
namespace {

TEST(Select, OneVariantNeedsNoProbe) {
  const Selection s = selection_of(Mode::fully, 2, {rival(64)});
  EXPECT_EQ(s.winner, 0u);
  EXPECT_FALSE(next_probe(s, 1'000'000));
}

TEST(Select, ProbesTakeAShareOfTheLaunch) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  learn(s, {0, 1024, false, false, 1 << 20, true}, 1.024e-3);
  learn(s, {1, 1024, false, false, 1 << 20, true}, 1.126e-3);
  EXPECT_TRUE(s.looked && !s.whole);
  EXPECT_EQ(*next_probe(s, 1 << 20), (Probe{0, 256, false, false, 1 << 20}));  // 200 us, in footprints
  Selection shorter = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  learn(shorter, {0, 64, false, false, 12'800, true}, 64e-6);
  learn(shorter, {1, 64, false, false, 12'800, true}, 70.4e-6);
  EXPECT_EQ(*next_probe(shorter, 12'800), (Probe{0, 128, false, false, 12'800}));  // 2 % of 12.8 ms by two
}

// A footprint for each of many units takes as long as the latest of them, and finds in no cache what its neighbours
// have read: several, where that is little of the launch.
TEST(Select, UnitsComputeSeveralFootprintsEach) {
  const auto length_in = [](int units, std::int64_t points) {
    Selection s = selection_of(Mode::fully, units, {rival(64), rival(64)});
    for (std::size_t r : {0, 1}) learn(s, Probe{r, 1024, false, false, points, true}, 300e-6);
    return next_probe(s, points)->points;
  };
  EXPECT_EQ(length_in(16, 1 << 18), 1024);
  EXPECT_EQ(length_in(16, 4 * 400 * 1024), 4 * 1024);
  EXPECT_EQ(length_in(16, 1 << 24), 8 * 1024);
  EXPECT_EQ(length_in(4, 1 << 18), 768);  // 200 us
  EXPECT_EQ(length_in(4, 1 << 24), 8 * 256);
}

TEST(Select, WhoIsNearlyAsGoodIsComparedLonger) {
  const auto probes = [](double other) {
    return compete(selection_of(Mode::fully, 1, {rival(64), rival(64)}), 1 << 20,
                   [&](std::size_t r) { return r == 0 ? 1e-6 : other; })
        .probes;
  };
  EXPECT_EQ(probes(1.03e-6), 3 + 9 + 9);
  EXPECT_EQ(probes(1.07e-6), 3 + 5 + 5);
  EXPECT_EQ(probes(1.2e-6), 3 + 2 + 2);
}

TEST(Select, WhatWasDisturbedIsRepeatedTwiceAtMost) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  const Probe first{0, 64, false, false, 1 << 16, true}, second{1, 64, false, false, 1 << 16, true};
  learn(s, first, 64e-6);
  for (int i = 0; i < 2; ++i) {
    learn(s, second, 5e-3, true);
    EXPECT_EQ(*next_probe(s, 1 << 16), second);
  }
  Selection always = s;
  learn(s, second, 60e-6);
  EXPECT_TRUE(s.looked && !s.rivals[1].out);
  learn(always, second, 5e-3, true);
  EXPECT_EQ(always.winner, 0u);
}

TEST(Select, WhoeverIsSlowOnTheWholeDeviceNeedNotRepeatWhatWasDisturbed) {
  for (const bool slow : {false, true}) {
    Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64)});
    const Probe first{0, 64, false, false, 1 << 16, true}, second{1, 64, false, false, 1 << 16, true};
    learn(s, first, 200e-6);
    learn(s, second, 2e-3, true, slow ? 0.3 : 0.2);  // 600 or 400 us of work
    EXPECT_EQ(s.winner, slow ? std::optional<std::size_t>(0) : std::nullopt);
  }
}

TEST(Select, WhatWasDisturbedCountsWhereItIsMuchOfTheLaunch) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  learn(s, Probe{0, 4096, false, false, 1 << 16, true}, 4096e-6, true);
  EXPECT_EQ(s.rivals[0].look, 1e-6);
  EXPECT_EQ(next_probe(s, 1 << 16)->rival, 1u);
}

// What is nobody else's work is repeated however long it is: launches, and long parts of their own.
TEST(Select, WhatWasDisturbedIsRepeatedWhereThatCostsNothing) {
  Selection launches = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  launches.looked = launches.whole = true;
  const auto whole = [](std::size_t r) { return Probe{r, 4096, true, false, 4096}; };
  learn(launches, whole(0), 1e-3);
  learn(launches, whole(1), 2.5e-3, true);
  EXPECT_FALSE(launches.winner);
  EXPECT_EQ(next_probe(launches, 4096)->rival, 1u);

  Selection parts = selection_of(Mode::hybrid, 1, {rival(64), rival(64)});
  parts.looked = parts.alike = parts.longer = true, parts.points = 1 << 20, parts.length = 1 << 15;
  const auto own = [](std::size_t r) { return Probe{r, 1 << 15, false, false, 1 << 20}; };
  learn(parts, own(0), 1e-3);
  learn(parts, own(1), 3e-3, true);
  EXPECT_FALSE(parts.winner);
  EXPECT_TRUE(parts.rivals[1].samples.empty());
}

// With one footprint for each unit: another unit then has two of them.
TEST(Select, NobodyIsOutForAUnitThatCameLate) {
  for (const int late : {1, 2}) {  // a look, the first sample
    int run = 0;
    const Competition out =
        compete(selection_of(Mode::fully, 16, {rival(1024), rival(1024)}), 1 << 20, [&](std::size_t r) {
          return r == 0 ? 1e-6 : ++run == late ? 1.8e-6 : 0.9e-6;
        });
    EXPECT_EQ(out.winner, 1u) << late;
  }
}

// Not so on GPUs, whose parts fill them; nor of launches.
TEST(Select, WhatIsNotCoarseIsOutForOneSample) {
  Rival full = rival(256);
  full.wave = 132 * 1024;
  for (const bool whole : {false, true}) {
    Selection s = selection_of(Mode::fully, whole ? 16 : 132, {whole ? rival(256) : full, whole ? rival(256) : full});
    s.looked = true, s.whole = whole, s.points = 1 << 24, s.length = whole ? 0 : 1000;
    for (std::size_t r : {0, 1}) learn(s, Probe{r, 1 << 18, whole, false, 1 << 24}, r == 0 ? 1e-3 : 1.4e-3);
    EXPECT_EQ(s.winner, 0u) << whole;
  }
}

TEST(Select, FindingOutAgainIsWorthATwentiethOfWhatLaunchesTake) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64)});
  s.winner = 0, s.points = s.done = 1000, s.spent = 2e-3, s.rivals[0].samples = {1e-6};
  for (s.since = 1; !worth_repeating(s) && s.since < 100;) ++s.since;
  EXPECT_EQ(s.since, 20);
  watch(s, 0.5e-3, 1000);  // parts took twice as much, which is not what finding out has cost
  for (s.since = 1; !worth_repeating(s) && s.since < 100;) ++s.since;
  EXPECT_EQ(s.since, 60);
}

TEST(Select, PartsThatMisleadAreNoLongerCompared) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(4), rival(4), rival(4)});
  for (int i = 0; i < 5 && !s.winner; ++i) {
    const Probe probe = next_probe(s, 1 << 20).value();
    constexpr double seconds[] = {30e-6, 90e-6, 3e-3};
    learn(s, probe, seconds[probe.rival] * static_cast<double>(probe.points) / 1024);
  }
  EXPECT_EQ(s.winner, 0u);
  watch(s, 1.9 * 30e-3, 1 << 20);
  EXPECT_EQ(s.winner, 0u);
  watch(s, 2.1 * 30e-3, 1 << 20);
  EXPECT_FALSE(s.winner);
  EXPECT_EQ(*next_probe(s, 1 << 20), (Probe{0, 4, true, false, 1 << 20}));  // whole launches
  EXPECT_FALSE(s.rivals[1].out);
  EXPECT_TRUE(s.rivals[2].out);  // not worth one
  begin_again(s);
  EXPECT_TRUE(next_probe(s, 1 << 20)->whole);  // from now on
}

TEST(Select, OneLaunchOfManyCoresDoesNotShowThatPartsMislead) {
  Selection s = selection_of(Mode::hybrid, 16, {rival(4), rival(4), rival(4)});
  s.rivals[0].samples = {1e-6}, s.rivals[1].samples = {1.9e-6}, s.rivals[2].samples = {2.1e-6};
  s.looked = true, s.winner = 0;
  watch(s, 2.1, 1'000'000);
  EXPECT_EQ(s.winner, 0u);
  watch(s, 1, 1'000'000);  // as parts had shown
  watch(s, 2.1, 1'000'000);
  EXPECT_EQ(s.winner, 0u);
  watch(s, 2.1, 1'000'000);
  EXPECT_FALSE(s.winner);
  EXPECT_TRUE(next_probe(s, 1'000'000)->whole);
  EXPECT_FALSE(s.rivals[1].out);
  EXPECT_TRUE(s.rivals[2].out);  // its launch would cost more than it could gain
}

TEST(Select, SmallLaunchesAreComparedWhole) {
  const Selection s = selection_of(Mode::fully, 2, {rival(4096), rival(64)});
  EXPECT_FALSE(next_probe(s, 1 << 20)->whole);
  EXPECT_FALSE(next_probe(s, 8'320)->whole);  // room for one look at each
  EXPECT_TRUE(next_probe(s, 8'319)->whole);
  const Competition out = compete(s, 8'000, [](std::size_t r) { return r == 0 ? 2e-9 : 1e-9; });
  EXPECT_EQ(out.winner, 1u);
}

TEST(Select, WhoFailsIsOut) {
  Selection s = selection_of(Mode::fully, 1, {rival(64), rival(64), rival(64)});
  give_up(s, 1);
  EXPECT_FALSE(s.winner);
  give_up(s, 0);
  EXPECT_EQ(s.winner, 2u);
  give_up(s, 2);  // nobody is left: it is tried again
  EXPECT_FALSE(s.rivals[2].out);
}

TEST(Select, WhatEarlierRunsFoundNeedsOneProbeThatAgrees) {
  const std::vector<std::optional<double>> costs = {3e-6, 1e-6, 2e-6};
  Selection s = selection_of(Mode::fully, 2, {rival(64), rival(64, false), rival(64)});
  recall(s, costs, 1 << 20);  // of a second: probes of eight footprints for each unit
  EXPECT_EQ(best_of(s), 1u);
  const Probe check{1, 1024, false, false, 1 << 20};
  EXPECT_EQ(*next_probe(s, 1 << 20), check);
  learn(s, check, 1.0);  // compiles
  EXPECT_EQ(*next_probe(s, 1 << 20), check);
  Selection otherwise = s;
  learn(s, check, 1024 * 1.2e-6);
  EXPECT_EQ(s.winner, 1u);
  EXPECT_FALSE(next_probe(s, 1 << 20));
  learn(otherwise, check, 1024 * 1.3e-6);  // all compete, as if nothing were known
  EXPECT_FALSE(otherwise.winner || otherwise.believed);
  EXPECT_EQ(*next_probe(otherwise, 1 << 20), (Probe{0, 1024, false, false, 1 << 20, true}));
}

TEST(Select, OneOfWhomNothingIsKnownMakesAllCompete) {
  Selection s = selection_of(Mode::fully, 2, {rival(64), rival(64)});
  recall(s, {1e-6, std::nullopt}, 1 << 20);
  EXPECT_FALSE(s.believed);
  s.rivals[1].ready = false;  // it cannot compete anyway
  recall(s, {1e-6, std::nullopt}, 1 << 20);
  EXPECT_EQ(s.believed, 0u);
}

TEST(Select, WhoWonAndFailsNowIsNotBelieved) {
  Selection s = selection_of(Mode::fully, 2, {rival(64), rival(64), rival(64)});
  recall(s, {2e-6, 1e-6, 3e-6}, 1 << 20);
  give_up(s, 1);
  EXPECT_FALSE(s.winner || s.believed);
  EXPECT_EQ(next_probe(s, 1 << 20)->rival, 0u);
}

TEST(Select, AWinnerThatDisappointsIsComparedAgainEverMoreSeldom) {
  Selection s = selection_of(Mode::fully, 2, {rival(64), rival(64)});
  s.rivals[0].samples = {2e-6}, s.rivals[1].samples = {1e-6};
  s.winner = 1, s.looked = true;
  const auto watched = [&](double cost) {
    watch(s, 1e6 * cost, 1'000'000);
    return s.winner.has_value();
  };
  EXPECT_TRUE(watched(1.2e-6));
  EXPECT_TRUE(watched(1.4e-6));
  EXPECT_TRUE(watched(1.1e-6));  // once is chance
  EXPECT_TRUE(watched(1.4e-6));
  EXPECT_FALSE(watched(1.4e-6));
  EXPECT_EQ(next_probe(s, 1 << 20)->rival, 0u);
  s.winner = 1;
  EXPECT_TRUE(watched(1e-6));  // what it takes now is what is expected
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(watched(1.4e-6)) << i;
  EXPECT_FALSE(watched(1.4e-6));
  EXPECT_EQ(s.reopened, 2);
  s.winner = 1;
  EXPECT_TRUE(watched(1.4e-6));
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(watched(1e-6)) << i;  // better than expected, which is no reason to doubt it
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(watched(1.4e-6)) << i;  // but less is expected now
  EXPECT_FALSE(watched(1.4e-6));
  s.winner = 1;
  for (int i = 0; i < 100; ++i) watch(s, 100e-6, 1);  // too short to tell
  EXPECT_EQ(s.winner, 1u);
}

// Noise of 5 % on everything: the best, or one within 3 % of it, in at least 95 of 100.
TEST(Select, NoiseRarelyMisleads) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(1, 0.05);
  std::uniform_real_distribution<double> spread(1, 4);
  int right = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<double> costs;
    std::vector<Rival> rivals;
    for (std::size_t r = 0; r < 2 + random() % 6; ++r) {
      costs.push_back(1e-6 * spread(random));
      rivals.push_back(rival(std::int64_t{1} << (4 + random() % 5)));
    }
    const Mode mode = random() % 2 ? Mode::fully : Mode::hybrid;
    const Competition out =
        compete(selection_of(mode, 2, rivals), 1 << 22, [&](std::size_t r) { return costs[r] * noise(random); });
    right += costs[out.winner] <= 1.03 * *std::min_element(costs.begin(), costs.end());
  }
  EXPECT_GE(right, 950);
}

}  // namespace
}  // namespace heddle::decide

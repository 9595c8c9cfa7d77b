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

TEST(Select, WhoIsNearlyAsGoodIsComparedLonger) {
  const auto probes = [](double other) {
    return compete(selection_of(Mode::fully, 1, {rival(64), rival(64)}), 1 << 20,
                   [&](std::size_t r) { return r == 0 ? 1e-6 : other; })
        .probes;
  };
  EXPECT_EQ(probes(1.03e-6), 2 + 9 + 9);
  EXPECT_EQ(probes(1.07e-6), 2 + 5 + 5);
  EXPECT_EQ(probes(1.2e-6), 3 + 2 + 2);
}

TEST(Select, WhoIsFarOffIsOutForOneSample) {
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
  recall(s, costs, 1 << 20);
  EXPECT_EQ(best_of(s), 1u);
  const Probe check{1, 256, false, false, 1 << 20};
  EXPECT_EQ(*next_probe(s, 1 << 20), check);
  learn(s, check, 1.0);  // compiles
  EXPECT_EQ(*next_probe(s, 1 << 20), check);
  Selection otherwise = s;
  learn(s, check, 256 * 1.2e-6);
  EXPECT_EQ(s.winner, 1u);
  EXPECT_FALSE(next_probe(s, 1 << 20));
  learn(otherwise, check, 256 * 1.3e-6);  // all compete, as if nothing were known
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

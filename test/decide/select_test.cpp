// The choice among rivals that are only numbers: what is asked next, who wins, and what it costs.
#include "decide/select.hpp"

#include <algorithm>
#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace heddle::decide {
namespace {

Rival rival(std::int64_t footprint, bool prepared = true) {
  return {.footprint = {{footprint, 1, 1}, true}, .ready = true, .prepared = prepared};
}

struct Outcome {
  std::size_t winner = 0;
  int probes = 0;
  double seconds = 0;        // of all probes
  std::int64_t wasted = 0;   // points that were computed again
  std::int64_t covered = 0;  // points that were computed
};

// Until the winner is known; costs are seconds per point.
Outcome compete(Selection s, std::int64_t points, const std::function<double(std::size_t)>& cost) {
  Outcome out;
  while (const auto probe = next_probe(s, points)) {
    const auto count = probe->whole ? points : probe->points;
    begin(s, *probe, core::box_of(count));
    Probe done = *probe;
    done.points = count;
    const double seconds = 10e-6 + static_cast<double>(count) * cost(probe->rival);
    learn(s, done, seconds);
    out.seconds += seconds;
    (probe->repeat ? out.wasted : out.covered) += count;
    if (++out.probes > 1000) break;
  }
  out.winner = best_of(s);
  EXPECT_TRUE(s.winner);
  return out;
}

TEST(Select, OneVariantNeedsNoProbe) {
  const Selection s = selection_of(Mode::fully, 2, {rival(64)});
  EXPECT_EQ(s.winner, 0u);
  EXPECT_FALSE(next_probe(s, 1'000'000));
}

TEST(Select, TheBaseFindsTheLengthOfProbes) {
  Selection s = selection_of(Mode::fully, 2, {rival(64, false), rival(256, false)});
  EXPECT_EQ(*next_probe(s, 1'000'000), (Probe{0, 128, false, false, 1'000'000}));
  learn(s, {0, 128, false, false, 1'000'000}, 1.0);  // compiles
  EXPECT_EQ(*next_probe(s, 1'000'000), (Probe{0, 128, false, false, 1'000'000}));
  learn(s, {0, 128, false, false, 1'000'000}, 20e-6);  // eight times as many would take 160 us
  EXPECT_EQ(*next_probe(s, 1'000'000), (Probe{0, 1024, false, false, 1'000'000}));
  learn(s, {0, 1024, false, false, 1'000'000}, 100e-6);
  EXPECT_EQ(*next_probe(s, 1'000'000), (Probe{0, 2048, false, false, 1'000'000}));
  learn(s, {0, 2048, false, false, 1'000'000}, 250e-6);
  EXPECT_TRUE(s.settled_length);
  EXPECT_EQ(*next_probe(s, 1'000'000),
            (Probe{1, 1024, false, false, 1'000'000, true}));  // a third, in whole footprints
}

TEST(Select, WhoeverIsFarOffGetsOneLook) {
  const double costs[] = {1e-6, 5e-6, 0.4e-6, 0.43e-6};
  const auto cost = [&](std::size_t r) { return costs[r]; };
  const Outcome out =
      compete(selection_of(Mode::fully, 2, {rival(64), rival(64), rival(64), rival(64)}), 1 << 20, cost);
  EXPECT_EQ(out.winner, 2u);
  EXPECT_EQ(out.probes, 2 + 3 + 3 + 3);  // the base sets the length, three are looked at, two compared
  EXPECT_EQ(out.wasted, 0);
}

TEST(Select, HybridComparesTheSameRegions) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(4)});
  EXPECT_EQ(s.together.points[0], 128);
  const auto run = [&](double seconds) {
    const Probe probe = next_probe(s, 1 << 20).value();
    begin(s, probe, core::box_of(probe.points));
    learn(s, probe, seconds);
    return std::pair(probe.rival, probe.repeat);
  };
  EXPECT_EQ(run(300e-6), std::pair(std::size_t{0}, false));
  EXPECT_EQ(run(110e-6), std::pair(std::size_t{1}, false));  // a look
  EXPECT_EQ(run(300e-6), std::pair(std::size_t{0}, false));
  EXPECT_EQ(run(310e-6), std::pair(std::size_t{1}, true));
  EXPECT_EQ(run(310e-6), std::pair(std::size_t{1}, false));  // another region, another order
  EXPECT_EQ(run(300e-6), std::pair(std::size_t{0}, true));
}

TEST(Select, SmallLaunchesAreComparedWhole) {
  const Selection s = selection_of(Mode::fully, 2, {rival(64), rival(4096)});
  EXPECT_FALSE(next_probe(s, 1 << 20)->whole);
  EXPECT_TRUE(next_probe(s, 30'000)->whole);
  const Outcome out = compete(s, 30'000, [](std::size_t r) { return r == 0 ? 1e-9 : 2e-9; });
  EXPECT_EQ(out.winner, 0u);
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
  recall(s, costs, 1 << 20);  // of a second: probes of 200 us
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
  EXPECT_EQ(*next_probe(otherwise, 1 << 20), (Probe{0, 128, false, false, 1 << 20}));
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
  s.winner = 1, s.settled_length = true;
  const auto watched = [&](double cost) {
    watch(s, cost);
    return s.winner.has_value();
  };
  EXPECT_TRUE(watched(1.2e-6));
  EXPECT_TRUE(watched(1.4e-6));
  EXPECT_TRUE(watched(1.1e-6));  // once is chance
  EXPECT_TRUE(watched(1.4e-6));
  EXPECT_FALSE(watched(1.4e-6));
  EXPECT_EQ(next_probe(s, 1 << 20)->rival, 0u);
  s.winner = 1;
  EXPECT_TRUE(watched(1.4e-6));  // what it takes now is what is expected
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(watched(1e-6)) << i;
  EXPECT_FALSE(watched(1e-6));
  EXPECT_EQ(s.reopened, 2);
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
    const Outcome out =
        compete(selection_of(mode, 2, rivals), 1 << 22, [&](std::size_t r) { return costs[r] * noise(random); });
    right += costs[out.winner] <= 1.03 * *std::min_element(costs.begin(), costs.end());
  }
  EXPECT_GE(right, 950);
}

}  // namespace
}  // namespace heddle::decide

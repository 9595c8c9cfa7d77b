// The same where parts of a launch differ: rivals compute the same ones, or what lies beside them.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "test/decide/select_rivals.hpp"

namespace heddle::decide {
namespace {

TEST(Select, HybridComparesTheSameRegions) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(4)});
  EXPECT_EQ(s.together.points[0], 128);
  const auto run = [&](double seconds) {
    const Probe probe = take_part(s, seconds);
    return std::pair(probe.rival, probe.repeat);
  };
  EXPECT_EQ(run(30e-6), std::pair(std::size_t{0}, false));  // looks
  EXPECT_EQ(run(2e-6), std::pair(std::size_t{1}, false));
  EXPECT_EQ(run(31e-6), std::pair(std::size_t{1}, false));
  EXPECT_EQ(run(20e-6), std::pair(std::size_t{0}, false));  // little of a region
  EXPECT_EQ(run(300e-6), std::pair(std::size_t{0}, false));
  EXPECT_EQ(run(310e-6), std::pair(std::size_t{1}, true));
  EXPECT_EQ(run(20e-6), std::pair(std::size_t{1}, false));
  EXPECT_FALSE(s.alike);
  EXPECT_EQ(run(310e-6), std::pair(std::size_t{1}, false));  // another region, another order
  EXPECT_TRUE(s.alike);
}

// Whoever is good took the same in both: parts of their own are as good, and longer, and nobody computes them again.
TEST(Select, WhereRegionsAreAlikePartsOfTheirOwnDecide) {
  constexpr std::int64_t points = 1 << 20;
  const auto count = [](double other, double disturbed) {
    Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128)});
    std::vector<int> apart(2);
    while (const auto probe = next_probe(s, points)) {
      Probe done = *probe;
      if (probe->repeat) done.points = s.region.volume();
      double cost = 1e-7 * (probe->rival == 0 ? 1 : other);
      if (s.alike) {
        EXPECT_FALSE(probe->repeat || to_be_repeated(s, *probe));
        EXPECT_EQ(probe->points, points / 8 / 4);
        if (++apart[probe->rival] == 1 && probe->rival == 0) cost *= disturbed;
      }
      begin(s, *probe, core::box_of(done.points));
      learn(s, done, 5e-6 + static_cast<double>(done.points) * cost);
    }
    EXPECT_EQ(s.winner, other < 1 ? 1u : 0u);
    return apart;
  };
  EXPECT_EQ(count(1.03, 1), (std::vector<int>{3, 3}));
  EXPECT_EQ(count(1.08, 1), (std::vector<int>{3, 2}));
  EXPECT_EQ(count(1.2, 1), (std::vector<int>{2, 2}));
  EXPECT_EQ(count(0.8, 1), (std::vector<int>{2, 1}));
  EXPECT_EQ(count(1.4, 1), (std::vector<int>{0, 0}));   // the parts that both computed are enough
  EXPECT_EQ(count(1.08, 2), (std::vector<int>{3, 3}));  // disturbed once
}

// Who was disturbed in one of two regions is not out for that.
TEST(Select, WhereRegionsAreAlikeTheBetterSampleCounts) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128), rival(128)});
  s.looked = true, s.points = 1 << 20, s.length = 512;
  s.rivals[0].samples = {1e-7, 1.15e-7}, s.rivals[1].samples = {1.4e-7, 1e-7}, s.rivals[2].samples = {1e-7};
  for (Rival& one : s.rivals) one.look = 1e-7, one.places.resize(one.samples.size());
  const Probe last{.rival = 2, .points = 512, .repeat = true, .of = 1 << 20};
  begin(s, last, core::box_of(512));
  learn(s, last, 512e-7);
  EXPECT_TRUE(s.alike);
  EXPECT_FALSE(s.rivals[1].out);
}

// A variant that does the same for each point takes the same everywhere, where others find little to do, too.
TEST(Select, WhoseOwnPointsAreAlikeSaysNothingOfOthers) {
  for (const bool both : {false, true}) {
    Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128), rival(128)});
    s.rivals[0].uniform = s.rivals[1].uniform = true, s.rivals[2].uniform = both;
    s.looked = true, s.points = 1 << 20, s.length = 2048;
    for (int i = 0; i < 30 && !s.alike && !s.winner; ++i) {
      Probe done = *next_probe(s, 1 << 20);
      if (done.repeat) done.points = s.region.volume();
      begin(s, done, core::box_of(done.points));
      // Two of three take the same in both regions, so that all of them together do, nearly.
      const double cost = done.rival < 2 ? 1e-7 : both || s.regions < 2 ? 1.05e-7 : 0.9e-7;
      learn(s, done, static_cast<double>(done.points) * cost);
    }
    EXPECT_EQ(s.alike, both);
    EXPECT_TRUE(both || s.winner == 2u);
  }
}

// Nor need it be seen in another region.
TEST(Select, WhoseOwnPointsAreAlikeIsComparedOnce) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128), rival(128)});
  s.rivals[1].uniform = true;
  std::vector<int> compared(3);
  while (const auto probe = next_probe(s, 1 << 20)) {
    Probe done = *probe;
    if (probe->repeat) done.points = s.region.volume();
    begin(s, *probe, core::box_of(done.points));
    compared[probe->rival] += !probe->look && !probe->pilot;
    const double at_sight[] = {1.1e-7, 1e-7, 1.1e-7}, first[] = {1.3e-7, 1e-7, 1.25e-7}, then[] = {1e-8, 1e-7, 2e-8};
    const double cost = (probe->look ? at_sight : s.regions < 2 ? first : then)[probe->rival];
    learn(s, done, 5e-6 + static_cast<double>(done.points) * cost);
  }
  EXPECT_EQ(compared, (std::vector<int>{2, 1, 2}));
  EXPECT_EQ(s.rivals[1].samples, std::vector<double>(2, s.rivals[1].samples.front()));
  EXPECT_EQ(s.winner, 0u);
}

// In a launch of two halves, looks and the first region of whoever is the same in both say nothing of another.
TEST(Select, WhoIsGoodInOneHalfIsFoundOut) {
  struct Case {
    double until, look, here, there, other;  // of whoever differs, and of the best of those who do not
    std::size_t best;
  };
  for (const Case& one : {Case{0.5, 1.02, 0.97, 2.0, 1.0, 2}, Case{0.5, 1.02, 0.97, 0.5, 1.0, 0},
                          Case{0.5, 0.82, 0.7, 1.9, 0.79, 2}, Case{0.8, 1.0, 1.0, 1.6, 1.29, 0}}) {
    constexpr std::int64_t points = 1'600'000;
    Selection s = selection_of(Mode::hybrid, 2, {rival(1024), rival(1024), rival(1024)});
    s.looked = true, s.points = points, s.length = 2048;
    const double looks[] = {one.look, 1.3, one.other};
    for (std::size_t r = 0; r < 3; ++r)
      s.rivals[r].look = 3e-7 * looks[r], s.rivals[r].reach = 2048, s.rivals[r].looks = 1;
    static constexpr double places[] = {0.6, 0, 1, 0.2, 0.8}, places_of_own[] = {1, 0.2, 0.6};  // as `step` has them
    for (int i = 0; i < 30 && !s.winner; ++i) {
      Probe probe = *next_probe(s, points);
      const int region = s.regions - (probe.repeat || probe.beside);
      const double place = s.alike ? places_of_own[s.rivals[probe.rival].samples.size()] : places[region];
      if (probe.repeat) probe.points = s.region.volume();
      begin(s, probe, core::box_of(probe.points));
      const double mine[] = {place < one.until ? one.here : one.there, 1.3, one.other};
      learn(s, probe, 3e-7 * static_cast<double>(probe.points) * mine[probe.rival]);
    }
    EXPECT_EQ(s.winner, one.best) << one.until << " " << one.there;
  }
}

// What is disturbed once is weighed against as many parts of the others, where one end takes all of them longer.
TEST(Select, WhoIsDisturbedIsNotComparedWithTheLesserOfOthers) {
  Selection s = selection_of(Mode::hybrid, 2, {rival(1024), rival(1024)});
  s.looked = s.alike = s.longer = true, s.points = 1 << 20, s.length = 1 << 15;
  for (Rival& one : s.rivals) one.look = 3e-7, one.reach = 2048, one.looks = 1;
  const double at[] = {1.3, 1.0, 1.3}, of[] = {1.0, 1.15};
  for (int i = 0; i < 10 && !s.winner; ++i) {
    const Probe probe = *next_probe(s, 1 << 20);
    const std::size_t turn = s.rivals[probe.rival].samples.size();
    const double disturbed = probe.rival == 0 && turn == 0 ? 1.2 : 1;
    begin(s, probe, core::box_of(probe.points));
    learn(s, probe, 3e-7 * static_cast<double>(probe.points) * at[turn] * of[probe.rival] * disturbed);
  }
  EXPECT_EQ(s.winner, 0u);
}

// What need not be computed again needs no copy.
TEST(Select, NobodyRepeatsWhereTheOthersAreKnown) {
  Selection s = selection_of(Mode::swap, 2, {rival(1024), rival(1024)});
  s.looked = true, s.points = 1 << 20, s.length = 2048;
  for (Rival& one : s.rivals) one.look = 3e-7, one.reach = 2048, one.looks = 1;
  const Probe probe = *next_probe(s, 1 << 20);
  EXPECT_TRUE(to_be_repeated(s, probe));
  s.rivals[1 - probe.rival].uniform = true, s.rivals[1 - probe.rival].samples = {3e-7};
  EXPECT_FALSE(to_be_repeated(s, probe));
}

TEST(Select, WhereRegionsDifferTwoAreEnough) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128)});
  for (const double seconds : {30e-6, 2e-6, 31e-6, 5e-6, 300e-6, 310e-6, 5e-6, 620e-6, 600e-6}) {
    EXPECT_FALSE(s.winner);
    take_part(s, seconds);
  }
  EXPECT_EQ(s.winner, 0u);
}

// Nor is the lesser of two samples what counts then: little of the work is where either is fast.
TEST(Select, WherePartsDifferBothRegionsCount) {
  Selection s = selection_of(Mode::hybrid, 2, {rival(256), rival(256)});
  s.looked = true, s.points = 1 << 17, s.length = 512;
  for (Rival& one : s.rivals) one.look = 4e-6;
  for (int i = 0; i < 4; ++i) {
    const std::size_t other = next_probe(s, s.points)->rival;
    take_part(s, i < 2 ? (other ? 2.9e-3 : 2.1e-3) : (other ? 32e-6 : 40e-6));
  }
  EXPECT_EQ(s.winner, 0u);
}

// What is good in one place may be bad where most of the work is, and little of that is enough to see it.
TEST(Select, WherePartsDifferNobodyIsOutForOne) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128)});
  for (const double seconds : {30e-6, 4e-6, 60e-6, 5e-6, 300e-6, 600e-6, 4e-3, 1.9e-3}) take_part(s, seconds);
  EXPECT_EQ(s.winner, 1u);
}

// But where most of the others take the same in another region, whoever was far off in the first is not asked again.
TEST(Select, WherePartsAreAlikeWhoIsFarOffIsOut) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128), rival(128)});
  std::vector<std::size_t> compared;
  while (const auto probe = next_probe(s, 1 << 20)) {
    Probe done = *probe;
    if (probe->repeat) done.points = s.region.volume();
    begin(s, *probe, core::box_of(done.points));
    if (!probe->look && !probe->pilot) compared.push_back(probe->rival);
    const double cost[] = {1e-7, 1.6e-7, 0.99e-7};
    learn(s, done, 5e-6 + static_cast<double>(done.points) * cost[probe->rival]);
  }
  EXPECT_EQ(s.winner, 2u);
  EXPECT_EQ(std::count(compared.begin(), compared.end(), 1u), 1);
}

// What takes long is not computed twice: others take what lies beside it.
TEST(Select, WhatTakesLongIsNotRepeated) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128)});
  for (const double seconds : {30e-6, 4e-6, 60e-6, 5e-6, 300e-6, 600e-6, 20e-3, 9e-3}) {
    const Probe probe = take_part(s, seconds);
    EXPECT_EQ(probe.beside, seconds == 9e-3);
    EXPECT_EQ(probe.repeat, seconds == 600e-6);
  }
  EXPECT_EQ(s.regions, 2);
  EXPECT_EQ(s.winner, 1u);
}

// But a region of which little took little is computed by all: what is heavy of it need not lie beside it.
TEST(Select, ARegionThatIsHeavyInOnePlaceIsComputedByAll) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(128), rival(128)});
  for (const double seconds : {30e-6, 4e-6, 60e-6, 5e-6, 5e-3}) EXPECT_FALSE(take_part(s, seconds).beside);
  EXPECT_TRUE(take_part(s, 10e-3).repeat);
}

// One footprint for each unit is the least: where that takes long, a look shows who is twice as slow.
TEST(Select, WhereTheLeastPartTakesLongNothingIsRepeated) {
  for (const auto& [units, size] : {std::pair(7, 2048), std::pair(16, 1024)}) {
    std::vector<int> probes(3);
    const double cost[] = {2e-7, 4.4e-7, 2.2e-7};
    const Competition out = compete(selection_of(Mode::hybrid, units, {rival(size), rival(size), rival(size)}), 1 << 19,
                                    [&](std::size_t r) { return ++probes[r], cost[r]; });
    EXPECT_EQ(out.winner, 0u);
    EXPECT_EQ(out.wasted, 0);
    EXPECT_EQ(probes[1], 1);
  }
}

// Private outputs are for the same part.
TEST(Select, SwapComparesTheSamePartHoweverLongItTakes) {
  Selection s = selection_of(Mode::swap, 16, {rival(1024), rival(1024)});
  s.looked = true, s.points = 1 << 19, s.length = 1024;
  take_part(s, 5e-3);
  EXPECT_TRUE(take_part(s, 5e-3).repeat);
}

// Which parts, by whom and in which order is the same; what is done with the results is not decided here.
TEST(Select, SwapComparesAsHybridDoes) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(1, 0.1);
  int all = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<double> costs;
    std::vector<Rival> rivals;
    for (std::size_t r = 0; r < 2 + random() % 3; ++r)
      costs.push_back(1e-6 + 1e-8 * static_cast<double>(random() % 60)), rivals.push_back(rival(4 << random() % 4));
    Selection hybrid = selection_of(Mode::hybrid, 2, rivals), swap = selection_of(Mode::swap, 2, rivals);
    int repeats = 0, probes = 0;
    hybrid.piloted = true;  // little of a region first: that is for parts that nobody copies
    while (const auto probe = next_probe(hybrid, 1 << 20, 5)) {
      ASSERT_EQ(next_probe(swap, 1 << 20, 5), probe);
      EXPECT_EQ(to_be_repeated(swap, *probe), !probe->look && !probe->whole && !swap.alike);
      const double seconds = static_cast<double>(probe->points) * costs[probe->rival] * noise(random);
      for (Selection* s : {&hybrid, &swap}) {
        begin(*s, *probe, core::box_of(probe->points), 5);
        learn(*s, *probe, seconds);
      }
      hybrid.piloted = true;
      repeats += probe->repeat;
      ASSERT_LT(++probes, 100);
    }
    EXPECT_EQ(swap.winner, hybrid.winner);
    EXPECT_FALSE(next_probe(swap, 1 << 20, 5));
    const auto has_computed = [](const Rival& r) {
      return std::any_of(r.places.begin(), r.places.end(), [](const auto& place) { return !place.box.empty(); });
    };
    const auto compared = std::count_if(hybrid.rivals.begin(), hybrid.rivals.end(), has_computed);
    EXPECT_GE(repeats, compared > 0 && !hybrid.alike ? compared - 1 : 0);
    all += repeats;
  }
  EXPECT_GT(all, 200);
}

TEST(Select, WhatIsBelievedOrWholeIsNotRepeated) {
  Selection s = selection_of(Mode::swap, 1, {rival(4), rival(4)});
  const Probe part{0, 1024, false, false, 1 << 20}, look{0, 1024, false, false, 1 << 20, true},
      whole{0, 1 << 20, true, false, 1 << 20};
  EXPECT_TRUE(to_be_repeated(s, part));
  EXPECT_FALSE(to_be_repeated(s, look));
  EXPECT_FALSE(to_be_repeated(s, whole));
  recall(s, {1e-6, 2e-6}, 1 << 20);
  EXPECT_FALSE(to_be_repeated(s, part));
  EXPECT_FALSE(to_be_repeated(selection_of(Mode::fully, 1, {rival(4), rival(4)}), part));
}

TEST(Select, ARegionThatWasNotComputedIsNotRepeated) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(4), rival(4), rival(4)});
  s.looked = true, s.length = 1024;
  const Probe first = next_probe(s, 1 << 20, 7).value();
  begin(s, first, core::box_of(first.points), 7);
  EXPECT_TRUE(next_probe(s, 1 << 20, 7)->repeat);
  give_up(s, first.rival);
  EXPECT_FALSE(next_probe(s, 1 << 20, 7)->repeat);
}

// The second region takes ten times as long by either: nobody is out before both have computed it.
TEST(Select, RegionsThatDifferAreNotCompared) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(4), rival(4)});
  s.looked = true, s.length = 1024;
  for (const double seconds : {7e-6, 105e-6, 100e-6, 62e-6, 1000e-6, 1050e-6}) {
    EXPECT_FALSE(s.winner);
    const Probe probe = next_probe(s, 1 << 20, 7).value();
    begin(s, probe, core::box_of(probe.points), 7);
    learn(s, probe, seconds);
  }
  EXPECT_EQ(s.winner, 1u);
}

TEST(Select, WhoIsOutAtSightDoesNotWidenRegions) {
  Selection s = selection_of(Mode::hybrid, 1, {rival(4), rival(8), rival(300)});
  EXPECT_EQ(s.together.points[0], 600);
  for (const auto& [r, seconds] : {std::pair(0, 30e-6), std::pair(1, 30e-6), std::pair(2, 9e-3)}) {
    const Probe probe = next_probe(s, 1 << 18).value();
    EXPECT_EQ(probe.rival, static_cast<std::size_t>(r));
    learn(s, {probe.rival, 300, false, false, 1 << 18, true}, seconds);
  }
  EXPECT_EQ(s.together.points[0], 8);
}

}  // namespace
}  // namespace heddle::decide

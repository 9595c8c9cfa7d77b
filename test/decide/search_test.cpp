// Strategies on spaces of which everything is known.
#include "decide/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "decide/replay.hpp"

namespace heddle::decide {
namespace {

core::Parameter numbers(const std::string& name, std::int64_t first, std::int64_t last, std::int64_t step = 1) {
  core::Parameter out{name, {}};
  for (std::int64_t v = first; v <= last; v += step) out.values.emplace_back(v);
  return out;
}

// Valleys with a best place, a name that matters, and failures.
core::ParameterSpace some_space() {
  return core::ParameterSpace(
      {numbers("X", 8, 256, 8), numbers("Y", 1, 16), {"KIND", {"a", "b", "c"}}, {"FLAG", {false, true}}}, {},
      {"X * Y <= 1024"});
}

std::vector<double> some_times(const core::ParameterSpace& space) {
  std::vector<double> out;
  for (std::uint64_t n = 0; n < space.size(); ++n) {
    const core::Configuration c = space.at(n);
    const auto x = static_cast<double>(std::get<std::int64_t>(c.at("X"))),
               y = static_cast<double>(std::get<std::int64_t>(c.at("Y")));
    const std::string kind = std::get<std::string>(c.at("KIND"));
    const bool fails = kind == "c" && x > 200;
    double time = 1 + std::abs(std::log2(x / 128)) + 0.3 * std::abs(y - 5) + (kind == "b" ? 0 : 0.7);
    if (std::get<bool>(c.at("FLAG"))) time *= x > 64 ? 0.8 : 1.3;
    out.push_back(fails ? std::nan("") : time);
  }
  return out;
}

TEST(Search, EveryStrategyProposesEachOnce) {
  const core::ParameterSpace space({numbers("X", 1, 6), numbers("Y", 1, 5)}, {}, {"X + Y < 9"});
  for (const Strategy& strategy : strategies()) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Search search(space, strategy, seed);
      std::set<std::uint64_t> seen;
      while (const auto number = search.next()) {
        EXPECT_LT(*number, space.size());
        EXPECT_TRUE(seen.insert(*number).second) << strategy.name;
        search.tell(*number, static_cast<double>((*number * 7) % 11) + 1);
      }
      EXPECT_TRUE(search.over()) << strategy.name;
      EXPECT_TRUE(seen.size() == space.size() || strategy.name == "genetic") << strategy.name;  // that may end before
    }
  }
}

TEST(Search, ASeedSaysItAll) {
  const core::ParameterSpace space = some_space();
  const std::vector<double> times = some_times(space);
  for (const Strategy& strategy : strategies()) {
    std::vector<std::vector<std::uint64_t>> orders;
    for (const std::uint64_t seed : {1u, 1u, 2u}) {
      Search search(space, strategy, seed);
      for (int i = 0; i < 60; ++i) {
        const auto number = search.next();
        if (!number) break;
        search.tell(*number, times[*number]);
      }
      orders.push_back(search.tried().order());
    }
    EXPECT_EQ(orders[0], orders[1]) << strategy.name;
    EXPECT_TRUE(orders[0] != orders[2] || strategy.name == "exhaustive") << strategy.name;
  }
}

TEST(Search, GuidedStrategiesBeatChance) {
  const core::ParameterSpace space = some_space();
  const std::vector<double> times = some_times(space);
  const auto reached = [&](const char* name) {
    std::vector<Replay> runs;
    for (std::uint64_t seed = 1; seed <= 15; ++seed)
      runs.push_back(replay(space, times, find_strategy(name), seed, 120));
    return summarise(runs);
  };
  const Replays chance = reached("random"), model = reached("");
  EXPECT_LT(model.median_to_5, chance.median_to_5 / 3);
  EXPECT_EQ(model.failed, 0);
  EXPECT_LE(model.median_to_5, 40);
  for (const char* name : {"genetic", "annealing", "evolution"})
    EXPECT_GT(reached(name).reached[2], chance.reached[2]) << name;
}

TEST(Search, WhatIsTriedFirstIsTriedFirst) {
  const core::ParameterSpace space = some_space();
  for (const Strategy& strategy : strategies()) {
    Search search(space, strategy, 1, {17, 4, 17});
    EXPECT_EQ(search.next(), 17u);
    EXPECT_EQ(search.next(), 4u);
    EXPECT_EQ(search.next(), std::nullopt);  // not before those two are told
    EXPECT_FALSE(search.over());
    search.tell(17, 2), search.tell(4, 1);
    const auto third = search.next();
    ASSERT_TRUE(third);
    EXPECT_TRUE(*third != 17 && *third != 4);
  }
}

// What nobody asked for counts, too, and is never proposed.
TEST(Search, WhatIsToldIsNotProposed) {
  const core::ParameterSpace space({numbers("X", 1, 10)});
  for (const Strategy& strategy : strategies()) {
    Search search(space, strategy, 3);
    for (std::uint64_t n = 0; n < 9; ++n) search.tell(n, 1.0 + static_cast<double>(n));
    const auto last = search.next();
    if (strategy.name == "genetic" && !last) continue;
    ASSERT_TRUE(last) << strategy.name;
    EXPECT_EQ(*last, 9u) << strategy.name;
    search.tell(9, 5);
    EXPECT_FALSE(search.next());
    EXPECT_TRUE(search.over());
  }
}

TEST(Search, WhereEverythingFailsAllIsTried) {
  const core::ParameterSpace space({numbers("X", 1, 8), numbers("Y", 1, 8)});
  for (const Strategy& strategy : strategies()) {
    Search search(space, strategy, 1);
    std::size_t count = 0;
    while (const auto number = search.next()) search.tell(*number, Tried::failed), ++count;
    EXPECT_FALSE(search.tried().best());
    EXPECT_TRUE(count == space.size() || strategy.name == "genetic") << strategy.name;
  }
}

TEST(Search, SeveralAtOnce) {
  const core::ParameterSpace space = some_space();
  const std::vector<double> times = some_times(space);
  Search search(space, find_strategy("model"), 1, {}, 4);
  std::set<std::uint64_t> seen;
  int rounds = 0;
  while (seen.size() < 60) {
    std::vector<std::uint64_t> batch;
    while (const auto number = search.next()) batch.push_back(*number);
    ASSERT_FALSE(batch.empty());
    for (std::uint64_t number : batch) {
      EXPECT_TRUE(seen.insert(number).second);
      search.tell(number, times[number]);
    }
    ++rounds;
    EXPECT_TRUE(rounds == 1 || batch.size() == 4);
  }
  double best = Tried::failed;
  for (double t : times) best = std::isnan(t) ? best : std::min(best, t);
  EXPECT_LE(search.tried().cost(*search.tried().best()), best / 0.95);
}

// A space that nobody could list.
TEST(Search, HugeSpaces) {
  std::vector<core::Parameter> parameters;
  for (int p = 0; p < 12; ++p) parameters.push_back(numbers("P" + std::to_string(p), 1, 16));
  const core::ParameterSpace space(parameters);
  for (const Strategy& strategy : strategies()) {
    Search search(space, strategy, 1);
    for (int i = 0; i < 100; ++i) {
      const auto number = search.next();
      if (strategy.name == "genetic" && !number) break;
      ASSERT_TRUE(number) << strategy.name;
      double cost = 1;
      for (const std::uint16_t place : space.places(*number)) cost += std::abs(place - 5.0);
      search.tell(*number, cost);
    }
  }
}

TEST(Search, TinySpaces) {
  for (const Strategy& strategy : strategies()) {
    const core::ParameterSpace one({{"X", {std::int64_t{4}}}});
    Search search(one, strategy, 1);
    EXPECT_EQ(search.next(), 0u) << strategy.name;
    search.tell(0, 1);
    EXPECT_FALSE(search.next()) << strategy.name;
    EXPECT_TRUE(search.over());
  }
}

TEST(Search, AnUnknownStrategyIsNamed) {
  EXPECT_EQ(find_strategy("").name, strategies().front().name);
  try {
    (void)find_strategy("luck");
    FAIL();
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("genetic"), std::string::npos);
  }
}

TEST(Replay, CountsEvaluations) {
  const core::ParameterSpace space({numbers("X", 1, 10)});
  const std::vector<double> times = {10, std::nan(""), 1.04, 1.02, 3, 1.005, 1, 2, 2, 2};
  const Replay all = replay(space, times, find_strategy("exhaustive"), 1, 400);
  EXPECT_EQ(all.to_5, 3);
  EXPECT_EQ(all.to_1, 6);
  EXPECT_EQ(all.evaluations, 7);  // the best is found
  EXPECT_EQ(all.reached[0], 1);
  const Replay cut = replay(space, times, find_strategy("exhaustive"), 1, 2);
  EXPECT_FALSE(cut.to_5);
  EXPECT_NEAR(cut.reached[0], 0.1, 1e-9);
  const Replays both = summarise(std::vector{all, cut});
  EXPECT_EQ(both.failed, 1);
  EXPECT_EQ(both.median_to_5, Tried::failed);
}

}  // namespace
}  // namespace heddle::decide

// Who gets which part, by trying, on machines that exist only here.
#include "decide/parts.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace heddle::decide {
namespace {

struct Machine {
  std::vector<double> alone;  // seconds of a whole launch
  std::vector<double> fixed;  // and of any part, more
  double disturbing = 0;      // all take so much longer for each part of the work that others do
  std::vector<bool> can = std::vector<bool>(alone.size(), true);
  std::int64_t steps = std::int64_t{1} << 40;
  Experience experience{};
  int launches = 0;
  double longest = 0;

  std::vector<double> ready(const Parts& parts) const {
    std::vector<double> out(parts.size(), 0);
    for (std::size_t m = 0; m < parts.size(); ++m) {
      if (parts[m] > 0) out[m] = (fixed[m] + parts[m] * alone[m]) * (1 + disturbing * (1 - parts[m]));
    }
    return out;
  }
  static double seconds(const std::vector<double>& ready) { return *std::max_element(ready.begin(), ready.end()); }

  // Launches until nothing is left to try; what they end with.
  Parts settle(std::size_t lead = 0) {
    for (launches = 0; launches < 100 && !next_parts(experience, {can, lead, steps}).settled; ++launches) {
      const Parts parts = next_parts(experience, {can, lead, steps}).parts;
      const auto times = ready(parts);
      note(experience, parts, times, seconds(times));
      longest = std::max(longest, seconds(times));
    }
    return next_parts(experience, {can, lead, steps}).parts;
  }
};

TEST(Parts, WhoIsMuchSlowerIsLeftOutAndCostsLittle) {
  Machine machine{{1, 200}, {0, 0}};
  EXPECT_EQ(machine.settle(), all_on(0, 2));
  EXPECT_LE(machine.launches, 6);
  EXPECT_LE(machine.longest, 1.6);  // a look that was too large, once
}

TEST(Parts, EqualDevicesShareEqually) {
  Machine machine{{1, 1}, {0, 0}};
  const Parts parts = machine.settle();
  EXPECT_NEAR(parts[0], 0.5, 0.01);
  EXPECT_LE(machine.launches, 12);
  EXPECT_DOUBLE_EQ(machine.longest, 1);
}

TEST(Parts, EndTogetherWhateverItTakesToBegin) {
  Machine machine{{1, 2}, {0.05, 0.2}};
  const auto ready = machine.ready(machine.settle());
  EXPECT_NEAR(ready[0], ready[1], 0.05);
  EXPECT_LE(machine.launches, 20);
}

TEST(Parts, ABeginThatTakesLongHidesNobody) {
  // In a thousandth of the launch it is a hundred times slower than alone.
  Machine machine{{1, 1}, {0, 0.1}};
  const Parts parts = machine.settle();
  EXPECT_GT(parts[1], 0.4);
  EXPECT_LT(Machine::seconds(machine.ready(parts)), 0.56);
}

TEST(Parts, WhoIsFasterAloneIsTriedThoughBeginningTakesLong) {
  // In its largest look, three times as slow as the first, which needs most of its time however little it gets.
  Machine machine{{0.3, 0.5}, {0.7, 0.15}};
  EXPECT_EQ(machine.settle(), all_on(1, 2));
  EXPECT_LE(machine.longest, 1);
}

TEST(Parts, OthersTogetherMayBeFasterThanTheFirst) {
  // Each of two halves is slower than the first alone; and that needs most of its time however little it gets.
  Machine machine{{0.3, 1.2, 1.2}, {0.7, 0.05, 0.05}};
  const Parts parts = machine.settle();
  EXPECT_EQ(parts[0], 0);
  EXPECT_NEAR(parts[1], 0.5, 0.02);
  // A fourth that is of no use does not spoil it.
  Machine four{{0.3, 1.2, 1.2, 1}, {0.7, 0.05, 0.05, 8}};
  EXPECT_LT(Machine::seconds(four.ready(four.settle())), 0.66);
  // Not so where all together are.
  EXPECT_GT((Machine{{1, 1.5, 1.5}, {0, 0.05, 0.05}}.settle()[0]), 0.3);
}

// Whatever look it is.
TEST(Parts, ALookThatWasSlowByChanceHidesNobody) {
  for (int unlucky = 1; unlucky < 6; ++unlucky) {
    Machine machine{{1, 0.7}, {0, 0.01}};
    for (int launch = 0; launch < 100; ++launch) {
      const Next next = next_parts(machine.experience, {machine.can});
      if (next.settled) break;
      std::vector<double> ready = machine.ready(next.parts);
      if (launch == unlucky && next.parts[1] > 0) ready[1] += 0.5;
      note(machine.experience, next.parts, ready, Machine::seconds(ready));
    }
    const Parts parts = next_parts(machine.experience, {machine.can}).parts;
    EXPECT_NEAR(parts[1], 1 / 1.7, 0.02) << unlucky;
  }
}

TEST(Parts, DevicesThatDisturbEachOtherAreKeptApart) {
  Machine machine{{1, 0.7}, {0, 0}, 1.5};
  EXPECT_EQ(machine.settle(), all_on(1, 2));
  EXPECT_LE(machine.launches, 18);
}

// Nor does a launch alone that was: where sharing would gain a little over that, it is tried again. And where shared
// launches come and go, what they take on the average counts.
TEST(Parts, LaunchesAloneThatWereSlowByChanceAreTriedAgain) {
  for (const double shared : {1.04, 0.9}) {
    Machine machine{{1, 6}, {0, 0}};
    int alone = 0;
    Next next;
    for (int launch = 0; launch < 200; ++launch) {
      next = next_parts(machine.experience, {machine.can});
      std::vector<double> ready = machine.ready(next.parts);
      const bool whole = next.parts == all_on(0, 2);
      if (whole && ++alone <= 2) ready[0] = 1.1;
      const double comes_and_goes = shared < 1 && launch % 3 != 0 ? 1.15 : shared;
      if (!whole) ready[0] = std::max(ready[0], comes_and_goes);
      note(machine.experience, next.parts, ready, Machine::seconds(ready));
    }
    EXPECT_TRUE(next.settled);
    EXPECT_EQ(next.parts, all_on(0, 2)) << shared;
  }
}

TEST(Parts, AsManyAsThereAre) {
  Machine machine{{1, 4, 2, 100}, {0, 0, 0, 0}};
  const Parts parts = machine.settle();
  EXPECT_EQ(parts[3], 0);
  EXPECT_NEAR(parts[0], 4.0 / 7, 0.03);
  EXPECT_NEAR(parts[1], 1.0 / 7, 0.03);
  EXPECT_NEAR(parts[2], 2.0 / 7, 0.03);
}

TEST(Parts, InWholeSteps) {
  EXPECT_EQ(in_steps({0.999, 0.001}, 4), (Parts{0.75, 0.25}));
  EXPECT_EQ(in_steps({0.001, 0.999}, 4), (Parts{0.25, 0.75}));
  EXPECT_EQ(in_steps({0.3, 0, 0.7}, 10), (Parts{0.3, 0, 0.7}));
  EXPECT_EQ(in_steps({0.5, 0.5}, 1), Parts{});
  EXPECT_EQ(in_steps({1, 0}, 1), (Parts{1, 0}));
  Machine machine{{1, 1}, {0, 0}};
  machine.steps = 5;
  const Parts parts = machine.settle();
  EXPECT_NEAR(std::max(parts[0], parts[1]), 0.6, 1e-9);
  EXPECT_LT(machine.launches, 12);
}

// Where they cannot be at work at once, one does all, whatever was found where they could.
TEST(Parts, InTurnOneDoesAll) {
  for (const double other : {0.5, 1.5, 300.0}) {
    Machine machine{{1, other}, {0, 0}};
    recall(machine.experience, {0.5, 0.5}, 0.5);
    note(machine.experience, {0.4, 0.6}, {0.4, 0.6}, 0.6);
    for (int launch = 0; launch < 40; ++launch) {
      const Next next = next_parts(machine.experience, {machine.can, 0, machine.steps, true});
      EXPECT_TRUE(launch < 20 || next.settled);
      EXPECT_TRUE(std::count(next.parts.begin(), next.parts.end(), 1) == 1 || next.parts[1] < 0.1) << launch;
      EXPECT_TRUE(!next.settled || next.parts == all_on(other < 1 ? 1 : 0, 2));
      auto times = machine.ready(next.parts);  // the look comes first
      if (next.parts[1] < 1) times[0] += times[1];
      note(machine.experience, next.parts, times, Machine::seconds(times));
    }
  }
}

// A look of one step would be a good part of the launch.
TEST(Parts, InTurnFewStepsAreNotLookedAt) {
  Machine machine{{1, 0.5}, {0, 0}};
  for (std::int64_t steps = 1; steps < 16; ++steps) {
    machine.experience = {};
    int tries = 0;
    for (int launch = 0; launch < 40; ++launch) {
      const Next next = next_parts(machine.experience, {machine.can, 0, steps, true});
      tries += !next.settled;
      const auto times = machine.ready(next.parts);
      note(machine.experience, next.parts, times, Machine::seconds(times));
    }
    EXPECT_LE(tries, 4) << steps;
  }
}

// Whenever parts change, bytes move: sharing is not given up for that.
TEST(Parts, LaunchesThatMoveBytesAreNotWhatIsUsual) {
  for (const double other : {7.2, 10.0, 14.0}) {
    Machine machine{{1, other}, {0, 0}};
    Parts before;
    for (int launch = 0; launch < 100; ++launch) {
      const Parts parts = next_parts(machine.experience, {machine.can}).parts;
      auto times = machine.ready(parts);
      if (parts != before && parts[0] > 0 && parts[1] > 0) {
        for (double& seconds : times) seconds *= 1.25;
      }
      note(machine.experience, parts, times, Machine::seconds(times));
      before = parts;
    }
    EXPECT_GT(before[1], 0.5 / other) << other;
  }
}

TEST(Parts, WhatIsDisturbedAgainAndAgainIsTriedRarely) {
  Experience experience;
  for (int i = 0; i < 3; ++i) note_lost(experience);
  EXPECT_EQ(experience.pause, 0);
  note_lost(experience);
  EXPECT_EQ(experience.pause, 16);
  for (int i = 0; i < 100; ++i) note_lost(experience);
  EXPECT_EQ(experience.pause, 4096);
  note(experience, {1, 0}, {1, 0}, 1);
  note_lost(experience);
  EXPECT_EQ(experience.pause, 0);
}

TEST(Parts, OfEqualTime) {
  EXPECT_EQ(of_equal_time({{0, 1, 5}}, 2), (Parts{0.5, 0.5}));
  EXPECT_EQ(of_equal_time({{0.5, 1, 3}, {0, 0.5, 1}}, 2), (Parts{0.5 + 1.0 / 6, 0.5 - 1.0 / 6}));
  EXPECT_EQ(of_equal_time({{0, 0.375, 6}, {0.375, 0.5, 1}, {0.5, 1, 1}}, 4), (Parts{0.125, 0.125, 0.125, 0.625}));
  EXPECT_EQ(of_equal_time({{0, 0.25, 1}, {0.25, 1, 1}}, 2), (Parts{0.25, 0.75}));
  EXPECT_EQ(of_equal_time({{0, 1, 1}}, 1), (Parts{1}));
}

TEST(Parts, WhoIsGoneGetsNothing) {
  Machine machine{{1, 1}, {0, 0}};
  machine.settle();
  machine.can[1] = false;
  EXPECT_EQ(machine.settle(), all_on(0, 2));
  machine.can[1] = true;
  EXPECT_NEAR(machine.settle()[1], 0.5, 0.01);  // all of it is remembered
  EXPECT_EQ(machine.launches, 0);
}

TEST(Parts, BeginsAnewWhenAllHasBecomeSlower) {
  Machine machine{{1, 1}, {0, 0}};
  machine.settle();
  machine.alone = {1, 50};  // another program is busy there
  for (int i = 0; i < 3; ++i) {
    const Parts parts = next_parts(machine.experience, {machine.can}).parts;
    const auto times = machine.ready(parts);
    note(machine.experience, parts, times, Machine::seconds(times));
  }
  EXPECT_EQ(machine.settle(), all_on(0, 2));
}

// A little slower than while it was tried, so that nothing begins anew: it gets less.
TEST(Parts, WhoHasBecomeALittleSlowerGetsLess) {
  Machine machine{{1, 7.2}, {0, 0}};
  EXPECT_NEAR(machine.settle()[1], 0.122, 0.01);
  machine.alone[1] *= 1.25;
  for (int launch = 0; launch < 30; ++launch) {
    const Parts parts = next_parts(machine.experience, {machine.can}).parts;
    note(machine.experience, parts, machine.ready(parts), Machine::seconds(machine.ready(parts)));
  }
  EXPECT_EQ(machine.experience.restarts, 0);
  const Next next = next_parts(machine.experience, {machine.can});
  EXPECT_TRUE(next.settled);
  EXPECT_NEAR(next.parts[1], 0.1, 0.01);
}

TEST(Parts, WhereTimesComeAndGoLessAndLessIsTriedAnew) {
  Machine machine{{1, 1}, {0, 0}};
  int trials = 0;
  for (int launch = 0; launch < 4000; ++launch) {
    const Next next = next_parts(machine.experience, {machine.can});
    trials += !next.settled;
    std::vector<double> ready = machine.ready(next.parts);
    for (double& seconds : ready) seconds *= launch / 25 % 2 ? 2 : 1;  // others have the machine, again and again
    note(machine.experience, next.parts, ready, Machine::seconds(ready));
  }
  EXPECT_GT(machine.experience.restarts, 1);
  EXPECT_LT(trials, 100);
}

TEST(Parts, WhatHasBecomeSlowerForGoodIsTriedAnewHoweverOften) {
  Machine machine{{1, 1}, {0, 0}};
  for (int round = 1; round <= 5; ++round) {
    machine.settle();
    for (double& seconds : machine.alone) seconds *= 1.4;
    for (int launch = 0; launch < 200 && machine.experience.restarts < round; ++launch) {
      const Parts parts = next_parts(machine.experience, {machine.can}).parts;
      note(machine.experience, parts, machine.ready(parts), Machine::seconds(machine.ready(parts)));
    }
    EXPECT_EQ(machine.experience.restarts, round);
  }
}

TEST(Parts, WhatIsRecalledHoldsIfItStillDoes) {
  Machine before{{1, 1}, {0, 0}};
  const Parts parts = before.settle();
  for (const double factor : {1.0, 0.01, 50.0}) {
    Machine now{{factor, 50 * (factor - 1) + 1}, {0, 0}};
    if (factor < 1) now.alone = {factor, factor / 100};
    recall(now.experience, parts, 0.5);
    EXPECT_EQ(now.settle(), parts);
    EXPECT_EQ(now.launches, 0);
    const auto times = now.ready(parts);
    note(now.experience, parts, times, Machine::seconds(times));
    // Another program is busy there, or it is another launch: noticed at once.
    const Parts then = now.settle();
    EXPECT_EQ(then, factor == 1 ? parts : factor < 1 ? all_on(1, 2) : all_on(0, 2)) << factor;
  }
}

TEST(Parts, WhoFailsIsLeftOut) {
  Machine machine{{1, 1}, {0, 0}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(machine.settle(), all_on(0, 2));
    note_failure(machine.experience, 1);
  }
  EXPECT_EQ(machine.settle(), all_on(0, 2));
}

TEST(Parts, TimesThatVaryAreNoReasonToBeginAnew) {
  Machine machine{{1, 1}, {0, 0}};
  const Parts parts = machine.settle();
  std::uint64_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double late = 1 + 0.5 * static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
    note(machine.experience, parts, machine.ready(parts), late * Machine::seconds(machine.ready(parts)));
    if (i > 100) {
      ASSERT_GT(machine.experience.outcomes.size(), 1u) << i;
    }
  }
}

TEST(Parts, OneThatWasSlowOnceIsNoReasonToBeginAnew) {
  Machine machine{{1, 1}, {0, 0}};
  const Parts parts = machine.settle();
  for (int i = 0; i < 20; ++i) {
    const auto times = machine.ready(parts);
    const double late = i % 3 == 0 ? 5 : 1;
    note(machine.experience, parts, times, late * Machine::seconds(times));
  }
  EXPECT_EQ(next_parts(machine.experience, {machine.can}).parts, parts);
  EXPECT_TRUE(next_parts(machine.experience, {machine.can}).settled);
}

TEST(Parts, AlwaysEndsAndNeverWithWorseThanAlone) {
  std::uint64_t state = 1;
  const auto uniform = [&](double low, double high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * static_cast<double>(state >> 11) / 9007199254740992.0;
  };
  for (int round = 0; round < 2000; ++round) {
    Machine machine{{}, {}, uniform(0, 1) < 0.3 ? uniform(0, 2) : 0};
    const int count = 2 + round % 3;
    for (int m = 0; m < count; ++m) {
      machine.alone.push_back(std::pow(10, uniform(-1, 2)));
      machine.fixed.push_back(uniform(0, 0.3));
    }
    machine.can.assign(static_cast<std::size_t>(count), true);
    if (round % 4 == 0) machine.steps = static_cast<std::int64_t>(uniform(1, 70));
    const Parts parts = machine.settle();
    ASSERT_LT(machine.launches, 60) << round;
    // Of those that it had a reason to try alone.
    EXPECT_LE(Machine::seconds(machine.ready(parts)), machine.alone[0] + machine.fixed[0] + 1e-12) << round;
    double all = 0;
    for (double part : parts) all += part;
    EXPECT_NEAR(all, 1, 1e-9);
  }
}

}  // namespace
}  // namespace heddle::decide

// Trials of rivals, with exact expectations.
#include "decide/rivals.hpp"

#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace heddle::decide {
namespace {

using core::Nanoseconds;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Launches whose times are known at once.
struct Program {
  Program(std::vector<Nanoseconds> its_times, const Rivals::Limits& limits)
      : times(std::move(its_times)), rivals(times.size(), limits), taken(times.size()), compiled(times.size()) {}

  Turn launch() {
    const Turn turn = rivals.next();
    const Nanoseconds waited = compiled[turn.rival] ? Nanoseconds{0} : compiling;
    compiled[turn.rival] = true;
    spent += times[turn.rival] + waited;
    ++taken[turn.rival];
    if (turn.timed) rivals.note(turn, times[turn.rival], waited);
    return turn;
  }
  void run(int count) {
    for (int i = 0; i < count; ++i) launch();
  }

  std::vector<Nanoseconds> times;
  Rivals rivals;
  std::vector<int> taken;
  std::vector<bool> compiled;
  Nanoseconds compiling{0}, spent{0};
};

TEST(Rivals, TheBestIsTimedNowAndThen) {
  Program program({milliseconds(1), milliseconds(2)}, {});
  for (int i = 1; i <= 200; ++i) EXPECT_EQ(program.launch(), (Turn{0, (i & (i - 1)) == 0})) << i;
  EXPECT_EQ(program.rivals.time(), milliseconds(1));
}

TEST(Rivals, ATrialWaitsUntilItsLossIsLittle) {
  // A rival is taken for eight times as slow, which is a 32nd of 256 launches.
  Program program({milliseconds(1), microseconds(1400)}, {});
  program.run(256);
  EXPECT_EQ(program.launch(), (Turn{0, true}));
  EXPECT_EQ(program.launch(), (Turn{1, true}));
  program.run(10000);
  EXPECT_EQ(program.taken[1], 2);  // not hopeless, so once more
  EXPECT_FALSE(program.rivals.comparing());
  EXPECT_EQ(program.rivals.best(), 0u);
}

// Whoever asks only for those that are not plain gets the same turns.
TEST(Rivals, PlainLaunchesNeedNotBeAskedFor) {
  for (const auto& limits : {Rivals::Limits{}, Rivals::Limits{.timing = microseconds(16), .first_look = 32}}) {
    for (const int us : {5, 40, 60, 1000}) {
      const std::vector<Nanoseconds> times{microseconds(us), microseconds(us / 2 + 1)};
      Program each(times, limits), some(times, limits);
      std::int64_t passed = 0, plain = 0, skipped = 0;
      for (int i = 1; i <= 20000; ++i) {
        if (i == 19000)
          each.times = some.times = {microseconds(2), microseconds(1)};  // in the middle of a trial, perhaps
        const Turn turn = each.launch();
        if (plain > 0) {
          EXPECT_EQ(turn, (Turn{some.rivals.best(), false})) << us << " us, launch " << i;
          --plain, ++passed, ++skipped;
          continue;
        }
        some.rivals.pass(std::exchange(passed, 0));
        EXPECT_EQ(some.launch(), turn) << us << " us, launch " << i;
        plain = some.rivals.plain();
      }
      EXPECT_EQ(each.rivals.best(), some.rivals.best());
      EXPECT_EQ(each.rivals.best(), us > 50 ? 1u : 0u);
      EXPECT_GE(skipped, us < 50 ? 19900 : 0);
    }
  }
  EXPECT_GT(Rivals(1, {}).plain(), 1000000);
}

TEST(Rivals, LaunchesThatBecomeShortArePlainEvenInATrial) {
  Program program({milliseconds(1), milliseconds(1)}, {});
  while (!program.rivals.comparing()) program.launch();
  EXPECT_EQ(program.rivals.plain(), 0);
  program.times = {microseconds(2), microseconds(2)};
  program.run(2000);
  EXPECT_TRUE(program.rivals.comparing());
  EXPECT_GT(program.rivals.plain(), 0);
}

// As the direct path does it on GPUs.
TEST(Rivals, WhatTakingTimesCostsIsLostToo) {
  Program program({milliseconds(1), microseconds(1400)}, {.timing = microseconds(125), .first_look = 4});
  for (int i = 1; i <= 256; ++i) EXPECT_EQ(program.launch(), (Turn{0, i >= 4 && (i & (i - 1)) == 0})) << i;
  // Seven times were taken, so 28 more launches must be done before there is room for a rival that is eight times as
  // slow.
  program.run(27);
  EXPECT_EQ(program.taken[1], 0);
  EXPECT_FALSE(program.rivals.comparing());
  EXPECT_EQ(program.launch(), (Turn{0, true}));
  EXPECT_EQ(program.launch(), (Turn{1, true}));
}

TEST(Rivals, TimesThatCostSomethingAreRarelyTakenOfShortLaunches) {
  Program program({microseconds(10), microseconds(5)}, {.timing = microseconds(16), .first_look = 32});
  std::vector<int> timed;
  for (int i = 1; i <= 20000; ++i) {
    if (program.launch().timed) timed.push_back(i);
  }
  EXPECT_EQ(timed, (std::vector<int>{32, 256, 2048, 16384}));
}

TEST(Rivals, WhatHasToBeCompiledWaitsLonger) {
  Program program({milliseconds(1), milliseconds(9), milliseconds(9)}, {.preparing = milliseconds(31)});
  program.compiling = milliseconds(63);  // as the first launch of all shows
  program.run(32 * (8 + 63));
  EXPECT_EQ(program.taken[1], 0);
  program.launch();
  EXPECT_EQ(program.taken[1], 1);
  // 8 + 63 ms are lost, and the next one may lose as many.
  program.run(32 * 2 * (8 + 63) - 32 * (8 + 63) - 1);
  EXPECT_EQ(program.taken[2], 0);
  program.launch();
  EXPECT_EQ(program.taken[2], 1);
  program.run(10000);
  EXPECT_EQ(program.taken[1] + program.taken[2], 2);
}

TEST(Rivals, TheBestIsFoundAndTheLossIsLimited) {
  Program program({milliseconds(4), milliseconds(6), milliseconds(3), microseconds(2900), milliseconds(1)},
                  {.preparing = milliseconds(300)});
  program.compiling = milliseconds(300);
  program.compiled[0] = true;
  Nanoseconds before{0};
  for (int i = 0; i < 60000; ++i) {
    before += milliseconds(4);
    program.launch();
    EXPECT_LE(program.spent, before + before / 32) << i;
  }
  EXPECT_EQ(program.rivals.best(), 4u);
  EXPECT_EQ(program.taken[1], 2);
  EXPECT_GT(program.taken[4], 40000);
}

TEST(Rivals, WhatIsAsFastChangesNothing) {
  std::mt19937 random(7);
  Program program({milliseconds(4), milliseconds(4), milliseconds(4)}, {});
  for (int i = 0; i < 20000; ++i) {
    for (Nanoseconds& time : program.times) time = microseconds(3900 + random() % 200);
    program.launch();
  }
  EXPECT_EQ(program.rivals.best(), 0u);
  EXPECT_EQ(program.taken[1], 2);
  EXPECT_EQ(program.taken[2], 2);
}

TEST(Rivals, LaunchesThatTakeTurnsDecideNothing) {
  Program program({milliseconds(5), milliseconds(7)}, {});
  for (int i = 0; i < 20000; ++i) {
    program.times = {milliseconds(i % 2 ? 10 : 5), milliseconds(i % 2 ? 14 : 7)};
    program.launch();
    ASSERT_EQ(program.rivals.best(), 0u) << i;
  }
  EXPECT_LT(program.taken[1], 20);
}

TEST(Rivals, ShortLaunchesAreLeftAlone) {
  Program program({microseconds(49), microseconds(1)}, {});
  program.run(100000);
  EXPECT_EQ(program.taken[1], 0);
}

TEST(Rivals, OneLightLaunchIsNotAll) {
  Program program({microseconds(10), microseconds(2)}, {});
  program.run(2);
  program.times = {milliseconds(10), milliseconds(2)};
  program.run(10000);
  EXPECT_EQ(program.rivals.best(), 1u);
}

TEST(Rivals, OneHeavyLaunchIsNotAll) {
  Program program({milliseconds(100), milliseconds(1000)}, {});
  program.run(2);
  program.times = {milliseconds(1), milliseconds(8)};
  Nanoseconds before = program.spent;
  for (int i = 2; i < 10000; ++i) {
    before += milliseconds(1);
    program.launch();
    EXPECT_LE(program.spent, before + before / 32) << i;
  }
  EXPECT_EQ(program.taken[1], 1);
}

TEST(Rivals, AChoiceThatNoLongerHoldsIsMadeAgain) {
  for (const Nanoseconds now_first : {microseconds(500), microseconds(1000), microseconds(3000)}) {
    Program program({milliseconds(1), microseconds(600)}, {});
    program.run(1000);
    EXPECT_EQ(program.rivals.best(), 1u);
    program.times = {now_first, 2 * now_first};
    program.run(10000);
    EXPECT_EQ(program.rivals.best(), 0u);
  }
}

TEST(Rivals, RivalsAreComparedWithTheWorkOfToday) {
  Program program({microseconds(900), microseconds(500)}, {});
  program.run(10);
  program.times = {microseconds(2700), microseconds(1500)};
  program.run(2000);
  EXPECT_EQ(program.rivals.best(), 1u);
}

TEST(Rivals, TheNextRunBeginsWithTheWinner) {
  Program program({milliseconds(4), milliseconds(6), milliseconds(1), milliseconds(3)}, {});
  program.run(2);
  program.rivals.expect({0, 1, 2}, 2, Nanoseconds{0});
  program.run(20);
  EXPECT_EQ(program.rivals.best(), 2u);
  program.run(3000);
  EXPECT_EQ(program.taken[1], 0);
  EXPECT_EQ(program.taken[3], 1);  // nobody had tried that

  Program changed({milliseconds(4), milliseconds(6), milliseconds(5)}, {});
  changed.run(2);
  changed.rivals.expect({0, 1, 2}, 2, Nanoseconds{0});
  changed.run(1000);
  EXPECT_EQ(changed.taken[2], 2);
  EXPECT_EQ(changed.rivals.best(), 0u);

  // What preparing took there is waited for here.
  Program slow({milliseconds(4), milliseconds(6)}, {});
  slow.run(2);
  slow.rivals.expect({}, 0, milliseconds(96));
  slow.run(32 * (32 + 96) / 4 - 2);
  EXPECT_EQ(slow.taken[1], 0);
  slow.run(2);
  EXPECT_EQ(slow.taken[1], 1);
}

TEST(Rivals, WhoCannotRunIsOut) {
  Program program({milliseconds(4), milliseconds(1), milliseconds(2)}, {});
  program.run(257);
  EXPECT_EQ(program.rivals.next(), (Turn{1, true}));
  program.rivals.drop();
  program.rivals.refuse(1);
  program.run(200);
  EXPECT_EQ(program.rivals.best(), 2u);
  program.rivals.refuse(2);  // though it could before
  EXPECT_EQ(program.rivals.best(), 0u);
  program.run(1000);
  EXPECT_EQ(program.rivals.best(), 0u);
  EXPECT_EQ(program.taken[1], 0);
}

TEST(Rivals, OneTimeIsWaitedForAtATime) {
  Rivals rivals(3, {});
  const Turn first = rivals.next();
  EXPECT_TRUE(first.timed);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(rivals.next(), (Turn{0, false}));
  rivals.note(first, milliseconds(1), Nanoseconds{0});
  const Turn second = rivals.next();
  EXPECT_EQ(second, (Turn{0, true}));
  rivals.note(second, milliseconds(1), Nanoseconds{0});
  const Turn beside = rivals.next();
  EXPECT_EQ(beside, (Turn{0, true}));
  EXPECT_TRUE(rivals.comparing());
  for (int i = 0; i < 500; ++i) EXPECT_EQ(rivals.next(), (Turn{0, false}));
  rivals.note(beside, milliseconds(1), Nanoseconds{0});
  EXPECT_EQ(rivals.next(), (Turn{1, true}));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rivals.next(), (Turn{0, false}));
  rivals.drop();  // nobody will know
  EXPECT_EQ(rivals.next(), (Turn{1, true}));
}

}  // namespace
}  // namespace heddle::decide

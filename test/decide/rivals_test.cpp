// Trials of rivals, with exact expectations.
#include "decide/rivals.hpp"

#include <random>

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

TEST(Rivals, ThePaceIsKnownFromTheSecondLaunch) {
  Program program({milliseconds(1), milliseconds(2)}, {});
  EXPECT_EQ(program.launch(), (Turn{0, false}));
  EXPECT_FALSE(program.rivals.known());
  EXPECT_EQ(program.launch(), (Turn{0, true}));
  EXPECT_EQ(program.rivals.time(), milliseconds(1));
}

TEST(Rivals, ATrialWaitsUntilItsLossIsLittle) {
  // A rival is taken for twice as slow: one launch more, which is a 32nd of 32.
  Program program({milliseconds(1), microseconds(1400)}, {});
  program.run(31);
  EXPECT_EQ(program.taken[1], 0);
  EXPECT_EQ(program.launch(), (Turn{1, true}));
  EXPECT_EQ(program.launch(), (Turn{0, true}));  // not hopeless at first sight, so beside the best
  EXPECT_TRUE(program.rivals.settled());
  program.run(10000);
  EXPECT_EQ(program.taken[1], 1);
}

TEST(Rivals, WhatHasToBeCompiledWaitsLonger) {
  Program program({milliseconds(1), milliseconds(9), milliseconds(9)}, {.preparing = milliseconds(31)});
  program.compiling = milliseconds(63);
  program.run(1023);
  EXPECT_EQ(program.taken[1], 0);
  program.launch();
  EXPECT_EQ(program.taken[1], 1);
  // 63 + 8 ms are lost; the next one may lose 64 more.
  program.run(32 * 135 - 1024 - 1);
  EXPECT_EQ(program.taken[2], 0);
  program.launch();
  EXPECT_EQ(program.taken[2], 1);
  EXPECT_TRUE(program.rivals.settled());
}

TEST(Rivals, TheBestIsFoundAndTheLossIsLimited) {
  Program program({milliseconds(4), milliseconds(6), milliseconds(3), microseconds(2900), milliseconds(1)},
                  {.preparing = milliseconds(300)});
  program.compiling = milliseconds(300);
  Nanoseconds before{0};
  for (int i = 0; i < 60000; ++i) {
    before += milliseconds(4);
    program.launch();
    // Trials are estimated by the one before, so one may surprise.
    EXPECT_LE(program.spent, before + before / 32 + milliseconds(310)) << i;
  }
  EXPECT_EQ(program.rivals.best(), 4u);
  EXPECT_TRUE(program.rivals.settled());
  EXPECT_EQ(program.taken[1], 1);  // 1.5 times as slow, and not tried again
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
  EXPECT_TRUE(program.rivals.settled());
}

TEST(Rivals, ShortLaunchesAreLeftAlone) {
  Program program({microseconds(49), microseconds(1)}, {});
  program.run(100000);
  EXPECT_EQ(program.taken[1], 0);
}

TEST(Rivals, AChoiceThatNoLongerHoldsIsMadeAgain) {
  Program program({milliseconds(4), milliseconds(1)}, {});
  program.run(1000);
  EXPECT_EQ(program.rivals.best(), 1u);
  program.times = {milliseconds(1), milliseconds(4)};
  program.run(5000);
  EXPECT_EQ(program.rivals.best(), 0u);
}

TEST(Rivals, TheNextRunBeginsWithTheWinner) {
  Program program({milliseconds(4), milliseconds(6), milliseconds(1), milliseconds(3)}, {});
  program.run(2);
  program.rivals.expect({0, 1, 2}, 2);
  program.run(8);
  EXPECT_EQ(program.taken[2], 4);
  EXPECT_EQ(program.rivals.best(), 2u);
  EXPECT_FALSE(program.rivals.settled());  // nobody has tried the last one
  program.run(1000);
  EXPECT_EQ(program.taken[1], 0);
  EXPECT_TRUE(program.rivals.settled());

  Program changed({milliseconds(4), milliseconds(6), milliseconds(5)}, {});
  changed.run(2);
  changed.rivals.expect({0, 1, 2}, 2);
  changed.run(1000);
  EXPECT_EQ(changed.taken[2], 1);
  EXPECT_EQ(changed.rivals.best(), 0u);
  EXPECT_TRUE(changed.rivals.settled());
}

TEST(Rivals, WhoCannotRunIsOut) {
  Program program({milliseconds(4), milliseconds(1), milliseconds(2)}, {});
  program.run(31);
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
  rivals.next();
  const Turn first = rivals.next();
  EXPECT_TRUE(first.timed);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rivals.next(), (Turn{0, false}));
  rivals.note(first, milliseconds(1), Nanoseconds{0});
  EXPECT_EQ(rivals.next(), (Turn{1, true}));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rivals.next(), (Turn{0, false}));
  rivals.drop();  // nobody will know
  EXPECT_EQ(rivals.next(), (Turn{1, true}));
}

}  // namespace
}  // namespace heddle::decide

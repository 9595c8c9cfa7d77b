// When single groups that were on their way together began.
#include "device/timing.hpp"

#include <gtest/gtest.h>

namespace heddle::device {
namespace {

struct Noted : EventState {
  explicit Noted(Times noted) : passed(noted) {}
  using EventState::wait;
  Status wait(Nanoseconds) override { return core::Done{}; }
  bool done() override { return over; }
  Result<Times> times() override { return passed; }
  void notify(std::function<void()>) override {}
  Result<Times> passed;
  bool over = true;
};

Event noted(int start, int end) {
  return std::make_shared<Noted>(Times{.start = Nanoseconds(start), .end = Nanoseconds(end)});
}

TEST(Began, WhoWaitsForACoreBeginsWhenOneIsFree) {
  const std::vector<Event> all{noted(0, 50), noted(0, 40), noted(5, 90), noted(41, 100), noted(95, 130)};
  const auto at = [&](std::size_t i) { return began(all, all[i], 2).count(); };
  EXPECT_EQ(at(0), 0);
  EXPECT_EQ(at(1), 0);
  EXPECT_EQ(at(2), 40);  // noted when a thread took it from the list, which had another first
  EXPECT_EQ(at(3), 50);
  EXPECT_EQ(at(4), 95);  // a core was free before
}

TEST(Began, WhatIsNotOverHasACore) {
  auto first = std::make_shared<Noted>(Times{});
  first->over = false;
  const std::vector<Event> all{first, noted(0, 40), noted(5, 90)};
  EXPECT_EQ(began(all, all[2], 2).count(), 40);
}

TEST(Began, WhatFailedIsNotCounted) {
  auto first = std::make_shared<Noted>(Times{});
  first->passed = core::Failure{core::FailureKind::launch, "it failed", ""};
  const std::vector<Event> all{first, noted(0, 40), noted(5, 90)};
  EXPECT_EQ(began(all, all[2], 2).count(), 5);
}

TEST(Began, WhatIsNotAmongThemBeganWhenItSays) { EXPECT_EQ(began({}, noted(7, 9), 2).count(), 7); }

}  // namespace
}  // namespace heddle::device

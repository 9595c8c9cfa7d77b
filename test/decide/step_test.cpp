// The policy on devices that are only numbers: exact actions, and no point lost or given twice.
#include "decide/step.hpp"

#include <random>

#include <gtest/gtest.h>

namespace heddle::decide {
namespace {

using core::box_of;

State state_of(std::int64_t points, std::int64_t footprint, std::vector<Member> members) {
  State s;
  s.space = box_of(points);
  s.footprints = {{{footprint, 1, 1}, false}};
  s.remaining = core::BoxSet(s.space);
  s.members = std::move(members);
  return s;
}

Member member(int space, double rate, std::vector<int> queued = {0}) {
  return {true, space, rate, std::move(queued), {}, nullptr, false};
}

core::Box from_to(std::int64_t begin, std::int64_t end) { return {{begin, 0, 0}, {end, 1, 1}}; }

TEST(Step, AWholeLaunchGoesToThePrimaryAtOnce) {
  State s = state_of(1000, 10, {member(0, 0), member(1, 0)});
  s.whole = true, s.primary = 1;
  EXPECT_EQ(step(s), (std::vector<Action>{{1, 0, s.space, "cannot be cut", 0, {}}}));
  s.members[1].ready = false;
  EXPECT_EQ(step(s)[0].member, 0u);
  s.in_flight = 1;
  EXPECT_TRUE(step(s).empty());
}

TEST(Step, NobodyReadyMeansNothingToDo) {
  State s = state_of(1000, 10, {Member{.queued = {0}}});
  EXPECT_TRUE(step(s).empty());
  s.whole = true;
  EXPECT_TRUE(step(s).empty());
}

TEST(Step, OneDeviceTakesItsTasksTwoPerQueue) {
  State s = state_of(800, 10, {member(1, 0, {0, 0})});
  s.tasks = 8;
  const auto actions = step(s);
  ASSERT_EQ(actions.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(actions[i].queue, i % 2);
    EXPECT_EQ(actions[i].box, from_to(100 * static_cast<std::int64_t>(i), 100 * static_cast<std::int64_t>(i) + 100));
  }
  for (const Action& a : actions) s.remaining.remove(a.box);
  s.members[0].queued = {1, 2};
  const auto more = step(s);
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0], (Action{0, 0, from_to(400, 500), "task of its device", 0, {}}));
}

TEST(Step, SharesFollowTheRates) {
  State s = state_of(900, 10, {member(0, 2e6), member(1, 1e6)});
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, s.space, "task of its device", 0, {}}}));  // not told to spread
  s.spread = true;
  const auto actions = step(s);
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(actions[0].box, from_to(0, 600));
  EXPECT_EQ(actions[1].box, from_to(600, 900));
  s.members[1].rate = 0;  // counts as the others do
  EXPECT_EQ(step(s)[1].box, from_to(450, 900));
}

TEST(Step, HalvesOfOneMemoryWorkTogether) {
  const State s = state_of(100, 10, {member(0, 0), member(0, 0), member(1, 0)});
  const auto actions = step(s);
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(actions[0].box, from_to(0, 50));
  EXPECT_EQ(actions[1], (Action{1, 0, from_to(50, 100), "share of several devices", 0, {}}));
}

TEST(Step, WhatCannotBeJoinedStaysInOneMemory) {
  State s = state_of(100, 10, {member(0, 0), member(1, 0)});
  s.spread = s.one_space = true;
  for (const Action& a : step(s)) EXPECT_EQ(a.member, 0u);
  s.home = 1;
  for (const Action& a : step(s)) EXPECT_EQ(a.member, 1u);
  s.members[1].ready = false;
  EXPECT_TRUE(step(s).empty());
}

TEST(Step, WhatIsLeftGoesToWhoeverHasAFootprintForIt) {
  State s = state_of(100, 8, {member(0, 0), Member{.space = 1}, member(2, 0)});  // the second has not even a queue
  s.footprints.push_back({{1, 1, 1}, false});
  s.members[0].can = {true, false};
  s.remaining = core::BoxSet(from_to(96, 100));
  EXPECT_EQ(step(s), (std::vector<Action>{{2, 0, from_to(96, 100), "left by others", 1, {}}}));
}

TEST(Step, WhoComparesVariantsMayComputeMeanwhile) {
  State s = state_of(10'000, 10, {member(0, 0)});
  s.footprints.push_back({{10, 1, 1}, false});
  s.initial = 1;
  const Rival rival{.footprint = {{10, 1, 1}, false}, .ready = true, .prepared = true};
  Selection selection = selection_of(Mode::fully, 1, {rival, rival});
  s.members[0].selection = &selection;
  const Action look{0, 0, from_to(0, 10), "to find the best variant", 0, Probe{0, 10, false, false, 10'000, true}};
  EXPECT_EQ(step(s), std::vector<Action>{look});
  s.meanwhile = true;  // a part behind it, by the initial variant
  selection.rivals[0].reach = 10;
  EXPECT_EQ(step(s), (std::vector<Action>{look, {0, 0, from_to(10, 50), "task of its device", 1, {}}}));
  s.members[0].probing = true, s.members[0].queued = {1}, s.remaining.remove(from_to(0, 10));
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, from_to(10, 50), "task of its device", 1, {}}}));
  s.meanwhile = false;
  EXPECT_TRUE(step(s).empty());
  // When all were looked at, the best so far fills what would else be a gap; not where queues run at once.
  selection.looked = true, selection.length = 80;
  selection.rivals[0].look = 1e-6, selection.rivals[1].look = 2e-6;
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, from_to(10, 330), "task of its device", 0, {}}}));
  s.members[0].queued = {1, 0};
  EXPECT_TRUE(step(s).empty());
  s.members[0].queued = {1}, selection.length = 70;  // few groups
  EXPECT_TRUE(step(s).empty());
  selection.between = 500;  // but something must be between two who compute the same part, and not from the beginning
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, from_to(4500, 5000), "task of its device", 0, {}}}));
}

// What a part changes is copied before, so nothing else may be on its way; where launches are compared, nothing is.
TEST(Step, WhoComparesOnCopiesDoesNothingElse) {
  State s = state_of(100'000, 10, {member(0, 0)});
  s.footprints = {{{10, 1, 1}, false}, {{10, 1, 1}, false}};
  const Rival rival{.footprint = s.footprints[0], .ready = true, .prepared = true, .look = 1e-6};
  Selection selection = selection_of(Mode::hybrid, 1, {rival, rival});
  for (Rival& one : selection.rivals) one.look = 1e-6;
  s.members[0].selection = &selection, s.members[0].probing = true, s.members[0].queued = {1};
  selection.looked = true, selection.length = 80;
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, from_to(0, 320), "task of its device", 0, {}}}));
  selection.mode = Mode::swap;
  EXPECT_TRUE(step(s).empty());
  s.members[0].probing = false;  // something is on its way: no probe yet
  EXPECT_TRUE(step(s).empty());
  s.members[0].queued = {0};
  const Probe first{0, 80, false, false, 100'000};
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, from_to(60'000, 60'080), "to find the best variant", 0, first}}));
  begin(selection, first, from_to(60'000, 60'080));
  s.remaining.remove(from_to(60'000, 60'080));
  const Probe again{1, 80, false, true, 100'000};
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, from_to(60'000, 60'080), "to find the best variant", 1, again}}));
  s.members[0].queued = {1}, selection.whole = true;
  EXPECT_FALSE(step(s).empty());
}

TEST(Step, EveryPointIsGivenOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    State s;
    const core::Index points{1 + static_cast<std::int64_t>(random() % 8), 1 + static_cast<std::int64_t>(random() % 8),
                             1};
    s.footprints = {{points, false}};
    s.space = box_of(points[0] * (1 + static_cast<std::int64_t>(random() % 40)),
                     points[1] * (1 + static_cast<std::int64_t>(random() % 40)));
    s.remaining = core::BoxSet(s.space);
    s.axis = static_cast<int>(random() % 2), s.tasks = 1 + static_cast<int>(random() % 9), s.spread = random() % 2;
    for (std::size_t m = 0; m < 1 + random() % 4; ++m)
      s.members.push_back(
          member(static_cast<int>(random() % 2), random() % 3 * 1e6, std::vector<int>(1 + random() % 3)));
    core::BoxSet given;
    std::vector<Action> on_the_way;
    for (int turn = 0; turn < 10'000 && !(s.remaining.empty() && on_the_way.empty()); ++turn) {
      for (const Action& a : step(s)) {
        EXPECT_TRUE(s.remaining.covers(a.box));
        EXPECT_EQ(core::align(a.box, s.footprints[0], s.space), a.box);
        s.remaining.remove(a.box);
        const auto before = given.volume();
        given.add(a.box);
        ASSERT_EQ(given.volume(), before + a.box.volume());
        ASSERT_LE(++s.members[a.member].queued[a.queue], slices_per_queue);
        on_the_way.push_back(a), ++s.in_flight;
      }
      ASSERT_FALSE(on_the_way.empty());
      const std::size_t done = random() % on_the_way.size();
      --s.members[on_the_way[done].member].queued[on_the_way[done].queue], --s.in_flight;
      on_the_way.erase(on_the_way.begin() + static_cast<std::ptrdiff_t>(done));
    }
    EXPECT_EQ(given.volume(), s.space.volume());
  }
}

}  // namespace
}  // namespace heddle::decide

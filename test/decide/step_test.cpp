// The policy on devices that are only numbers: exact actions, and no point lost or given twice.
#include "decide/step.hpp"

#include <functional>
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
  Member out{.ready = true, .queued = std::move(queued)};
  out.worker.space = space, out.known = rate > 0;
  if (out.known) out.worker.compute = predict::line(rate, 0);
  return out;
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
  s.members[0].worker.tasks = 8;
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

std::vector<std::pair<std::size_t, core::Box>> boxes_of(const std::vector<Action>& actions) {
  std::vector<std::pair<std::size_t, core::Box>> out;
  for (const Action& a : actions) out.emplace_back(a.member, a.box);
  return out;
}
using Boxes = std::vector<std::pair<std::size_t, core::Box>>;

TEST(Step, SharesFollowTheRates) {
  State s = state_of(900, 10, {member(0, 2e6), member(1, 1e6)});
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, s.space, "task of its device", 0, {}}}));  // not told to spread
  s.spread = true;
  // Nine tenths of what is expected of each, in two parts; then half of its part of the rest, to whoever is free.
  EXPECT_EQ(boxes_of(step(s)),
            (Boxes{{0, from_to(0, 270)}, {1, from_to(270, 410)}, {0, from_to(410, 680)}, {1, from_to(680, 810)}}));
  State rest = s;
  for (const Action& a : step(s)) rest.remaining.remove(a.box), rest.members[a.member].given += a.box.volume();
  EXPECT_EQ(boxes_of(step(rest))[0], (std::pair<std::size_t, core::Box>{0, from_to(810, 840)}));
  s.uniform = false;  // points may take longer than others
  EXPECT_EQ(step(s)[0].box, from_to(0, 80));
  s.uniform = true;
  for (Member& m : s.members) m.least = 1000;  // what is left would not be worth starting
  EXPECT_EQ(boxes_of(step(s)), (Boxes{{0, from_to(0, 600)}, {1, from_to(600, 900)}}));
  for (Member& m : s.members) m.least = 50;
  EXPECT_EQ(boxes_of(step(s)),
            (Boxes{{0, from_to(0, 270)}, {1, from_to(270, 570)}, {0, from_to(570, 840)}, {1, from_to(840, 860)}}));
  s.members[1] = member(1, 0);  // counts as the others do, and has to show it
  s.members[0].least = 1;
  EXPECT_EQ(boxes_of(step(s))[1], (std::pair<std::size_t, core::Box>{1, from_to(210, 270)}));
}

// Copies are tried by launches, and not foreseen: in another memory is nobody who was not asked for.
TEST(Step, WhoIsInTheSameMemoryTakesPartWhereThatPays) {
  State s = state_of(1'000'000, 10, {member(0, 1e6), member(0, 1e6), member(1, 1e6)});
  EXPECT_EQ(boxes_of(step(s))[0], (std::pair<std::size_t, core::Box>{0, from_to(0, 225'000)}));
  EXPECT_EQ(boxes_of(step(s))[1], (std::pair<std::size_t, core::Box>{1, from_to(225'000, 450'000)}));
  for (const Action& a : step(s)) EXPECT_NE(a.member, 2u);
  s.members[1].worker.in = 1;  // a second for each point
  EXPECT_EQ(step(s), (std::vector<Action>{{0, 0, s.space, "task of its device", 0, {}}}));
  s.members[1].worker.in = 0;
  s.spread = true, s.one_space = true, s.home = 0;
  for (const Action& a : step(s)) EXPECT_NE(a.member, 2u);
}

// Parts that cannot be at work at once: the smallest comes first, and whoever is busy keeps its own.
TEST(Step, InTurnEachComputesItsPart) {
  State s = state_of(1000, 10, {member(1, 1e6), member(0, 1e6)});
  s.settled = s.one_space = true;
  s.members[0].own.add(from_to(0, 900)), s.members[1].own.add(from_to(900, 1000));
  EXPECT_EQ(boxes_of(step(s)), (Boxes{{1, from_to(900, 1000)}}));
  s.members[1].own = {}, s.remaining.remove(from_to(900, 1000)), s.home = 0;
  EXPECT_EQ(boxes_of(step(s)), (Boxes{{0, from_to(0, 900)}}));
  s.members[0].queued = {slices_per_queue};  // with another launch
  EXPECT_TRUE(step(s).empty());
}

TEST(Step, WhatOnlyOneCanDoGoesToWhoeverIsSurelyFaster) {
  State s = state_of(1000, 10, {member(0, 1e6), member(0, 3e6)});
  s.whole = true;
  EXPECT_EQ(step(s)[0].member, 1u);
  s.members[1].worker.compute.error = 1.5;  // perhaps
  EXPECT_EQ(step(s)[0].member, 0u);
  s.members[1].worker.compute.error = 0, s.members[1].worker.first = 1;
  EXPECT_EQ(step(s)[0].member, 0u);
}

// Plays a launch out: who has something at work ends it after what its points really take, and is known by that.
double play(State s, const std::function<double(std::size_t member, std::int64_t point)>& cost, double doubt = 0.1) {
  struct Slice {
    std::size_t member, queue;
    double begin, end, points;
  };
  std::vector<Slice> running;
  std::vector<double> free_at(s.members.size(), 0), busy = free_at, points = free_at;
  double now = 0;
  while (!s.remaining.empty() || !running.empty()) {
    for (const Action& a : step(s)) {
      s.remaining.remove(a.box);
      ++s.members[a.member].queued[a.queue], ++s.in_flight;
      s.members[a.member].given += a.box.volume();
      double& at = free_at[a.member];
      const double begin = at = std::max(at, now);
      for (std::int64_t p = a.box.begin[0]; p < a.box.end[0]; ++p) at += cost(a.member, p);
      running.push_back({a.member, a.queue, begin, at, static_cast<double>(a.box.volume())});
    }
    const auto first =
        std::min_element(running.begin(), running.end(), [](const Slice& a, const Slice& b) { return a.end < b.end; });
    now = first->end;
    Member& member = s.members[first->member];
    --member.queued[first->queue], --s.in_flight;
    busy[first->member] += first->end - first->begin, points[first->member] += first->points;
    member.worker.compute = predict::line(points[first->member] / busy[first->member], doubt);
    member.known = true;
    running.erase(first);
  }
  return now;
}

TEST(Step, AllEndTogetherWhateverWasExpected) {
  constexpr std::int64_t points = 100'000;
  State s = state_of(points, 10, {member(0, 1e5), member(0, 1e5), member(0, 2e5)});
  for (Member& m : s.members) m.least = 200, m.worker.compute.error = 0.1;
  // As expected, then one half as fast, then twice.
  const double ideal = points / 4e5;
  EXPECT_LT(play(s, [](std::size_t m, std::int64_t) { return m == 2 ? 5e-6 : 1e-5; }), 1.01 * ideal);
  s.uniform = false;
  EXPECT_LT(play(s, [](std::size_t m, std::int64_t) { return m == 2 ? 1e-5 : 1e-5; }), 1.05 * points / 3e5);
  EXPECT_LT(play(s, [](std::size_t m, std::int64_t) { return m == 1   ? 5e-6
                                                             : m == 2 ? 5e-6
                                                                      : 1e-5; }),
            1.05 * points / 5e5);
  // Points of very different lengths, the long ones at the beginning.
  double work = 0;
  const auto length = [](std::int64_t p) { return p < points / 8 ? 5.0 : 0.5; };
  for (std::int64_t p = 0; p < points; ++p) work += length(p);
  EXPECT_LT(play(s, [&](std::size_t m, std::int64_t p) { return length(p) * (m == 2 ? 5e-6 : 1e-5); }),
            1.4 * work / 4e5);
  // Two equal ones, one of which meets easy points first, and looks twenty times as fast for a while.
  State two = s;
  two.members.pop_back();
  double all = 0;
  const auto hard = [](std::int64_t p) { return p < points / 16 ? 0.05 : 1.0; };
  for (std::int64_t p = 0; p < points; ++p) all += hard(p);
  EXPECT_LT(play(
                two, [&](std::size_t, std::int64_t p) { return 1e-5 * hard(p); }, 0.5),
            1.1 * all / 2e5);
  // Nothing is known of anybody.
  for (Member& m : s.members) m.known = false;
  EXPECT_LT(play(s, [](std::size_t m, std::int64_t) { return m == 2 ? 5e-6 : 1e-5; }), 1.25 * ideal);
}

TEST(Step, HalvesOfOneMemoryWorkTogether) {
  const State s = state_of(1600, 10, {member(0, 0), member(0, 0), member(1, 0)});
  const auto actions = step(s);  // nothing is known: an eighth of their halves, and another
  ASSERT_EQ(actions.size(), 4u);
  EXPECT_EQ(actions[0].box, from_to(0, 100));
  EXPECT_EQ(actions[1], (Action{1, 0, from_to(100, 200), "share of several devices", 0, {}}));
  EXPECT_EQ(actions[2].box, from_to(200, 300));
  EXPECT_EQ(actions[3].box, from_to(300, 400));
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
  State s = state_of(100, 8,
                     {member(0, 0), Member{.worker = {.space = 1}}, member(2, 0)});  // the second has not even a queue
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
}

// Where each has parts of its own the n-th of all lie side by side, as a launch may have two halves.
TEST(Step, PartsOfARoundLieSideBySide) {
  State s = state_of(100'000, 10, {member(0, 0)});
  s.footprints.push_back({{10, 1, 1}, false});
  const Rival rival{.footprint = {{10, 1, 1}, false}, .ready = true, .prepared = true};
  Selection selection = selection_of(Mode::hybrid, 1, {rival, rival});
  for (Rival& one : selection.rivals) one.look = 1e-6;
  selection.looked = selection.alike = selection.longer = true, selection.length = 1000, selection.points = 100'000;
  selection.regions = 2;
  s.members[0].selection = &selection;
  std::vector<std::int64_t> begins;
  for (int i = 0; i < 4; ++i) {
    const Action action = step(s).at(0);
    ASSERT_TRUE(action.probe);
    begins.push_back(action.box.begin[0]);
    begin(selection, *action.probe, action.box);
    learn(selection, *action.probe, 1e-3);
    s.remaining.remove(action.box);
  }
  EXPECT_EQ(begins, (std::vector<std::int64_t>{99'000, 98'000, 20'000, 19'000}));
}

// What a part changes is copied before, so nothing else may be on its way; where launches are compared, nothing is.
TEST(Step, WhoComparesOnCopiesDoesNothingElse) {
  State s = state_of(100'000, 10, {member(0, 0)});
  s.footprints = {{{10, 1, 1}, false}, {{10, 1, 1}, false}};
  const Rival rival{.footprint = s.footprints[0], .ready = true, .prepared = true, .look = 1e-6};
  Selection selection = selection_of(Mode::hybrid, 1, {rival, rival});
  for (Rival& one : selection.rivals) one.look = 1e-6;
  s.members[0].selection = &selection, s.members[0].probing = true, s.members[0].queued = {1}, s.meanwhile = true;
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

// What probes have computed is computed once more, where that is little: the rest is one piece then, the launch itself.
TEST(Step, WhatIsLeftBeginsAnewWhereLittleWasCompared) {
  State s = state_of(100'000, 10, {member(0, 0)});
  s.footprints = {{{10, 1, 1}, false}, {{10, 1, 1}, false}};
  Rival rival{.footprint = s.footprints[0], .ready = true, .prepared = true, .look = 1e-6};
  rival.samples = {1e-6}, rival.places = {{from_to(60'000, 61'000), 7}};
  Selection selection = selection_of(Mode::hybrid, 1, {rival, rival});
  selection.rivals = {rival, rival};
  selection.rivals[0].samples = {2e-6};
  selection.winner = 1, selection.looked = true;
  s.members[0].selection = &selection, s.launch = 7, s.again = true;
  s.remaining.remove(from_to(60'000, 61'000));
  const std::vector<Action> anew = {{0, 0, s.space, "all of it, from the beginning", 1, {}, true}};
  EXPECT_EQ(step(s), anew);
  const auto goes_on = [&](const char* why) {
    const auto actions = step(s);
    ASSERT_FALSE(actions.empty()) << why;
    EXPECT_FALSE(actions[0].again) << why;
    EXPECT_FALSE(begins_anew(s, s.members[0])) << why;
  };
  State keep = s;
  s.again = false, goes_on("something would change");
  s = keep, s.in_flight = 1;  // what was computed between two probes ends first
  EXPECT_TRUE(step(s).empty());
  s = keep, s.members.push_back(member(0, 0)), s.members[1].probing = true, goes_on("another device still compares");
  s = keep, s.meanwhile = true, goes_on("the program wants both at once");
  s = keep, s.remaining = core::BoxSet(s.space), goes_on("nothing was compared in it");
  s = keep, s.remaining.remove(from_to(61'000, 100'000)), goes_on("what is left is one piece from the beginning");
  s = keep, s.space = from_to(0, 99'999), goes_on("the winner does not cover all of it");
  s = keep, s.remaining.remove(from_to(0, 6000)), goes_on("too much was computed between");
  s = keep, selection.mode = Mode::fully, goes_on("each has parts of its own");
  selection.mode = Mode::hybrid;
  // Few points may be most of the work: of two places and the look, the one in the middle is what the rest takes.
  for (const auto& [seconds, little] : {std::pair(5e-6, true), {7e-6, false}, {1e-3, false}}) {
    for (Rival& one : selection.rivals) {
      one.samples = {1e-6, seconds};
      one.places = {{from_to(60'000, 60'100), 7}, {from_to(0, 1000), 7}};
    }
    EXPECT_EQ(step(s) == anew, little) << seconds;
  }
  for (Rival& one : selection.rivals) one.places.back().launch = 6;  // in another launch
  EXPECT_EQ(step(s), anew);
}

// Or where all have parts of their own, if a scrap that the winner does not fit into takes longer than what was
// computed.
TEST(Step, WhatIsLeftBeginsAnewWhereAScrapCostsMore) {
  State s = state_of(20'480, 1, {member(0, 0)});
  s.footprints = {{{1, 1, 1}, false}, {{64, 1, 1}, false}};
  Selection selection = selection_of(Mode::fully, 1,
                                     {{.footprint = s.footprints[0], .ready = true, .prepared = true},
                                      {.footprint = s.footprints[1], .ready = true, .prepared = true}});
  selection.rivals[1].look = 1e-6, selection.rivals[1].reach = 128;
  selection.winner = 1, selection.looked = true;
  s.members[0].selection = &selection, s.again = true;
  s.remaining.remove(from_to(0, 6)), s.remaining.remove(from_to(64, 192));
  const Action anew{0, 0, s.space, "all of it, from the beginning", 1, {}, true};
  for (const auto& [slower, costly] : {std::pair(68.0, true), {4.0, true}, {3.0, false}}) {  // 58 points against 134
    selection.rivals[0].look = slower * 1e-6, selection.rivals[0].reach = 6;
    EXPECT_EQ(step(s) == std::vector<Action>{anew}, costly) << slower;
  }
  selection.rivals[0].look = 68e-6;
  EXPECT_EQ(step(s), std::vector<Action>{anew});
  s.members[0].compiled = {true, false};  // that would take longer
  EXPECT_NE(step(s), std::vector<Action>{anew});
  s.members[0].compiled.clear(), s.again = false;
  EXPECT_NE(step(s), std::vector<Action>{anew});
  s.again = true;
  // Another coarse one that is nearly as good fits into no scrap either.
  s.footprints.push_back(s.footprints[1]), selection.rivals.push_back(selection.rivals[1]);
  selection.rivals[2].look = 1.05e-6;
  EXPECT_EQ(step(s), std::vector<Action>{anew});
  s.remaining.remove(from_to(6, 64));  // no scrap
  EXPECT_NE(step(s), std::vector<Action>{anew});
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
    s.axis = static_cast<int>(random() % 2), s.spread = random() % 2;
    const int tasks = 1 + static_cast<int>(random() % 9);
    s.uniform = random() % 2;
    for (std::size_t m = 0; m < 1 + random() % 4; ++m) {
      Member& one = s.members.emplace_back(
          member(static_cast<int>(random() % 2), random() % 3 * 1e6, std::vector<int>(1 + random() % 3)));
      one.worker.tasks = tasks;
      one.least = 1 + random() % 50;
      one.worker.compute.error = static_cast<double>(random() % 10) / 10, one.worker.in = random() % 3 * 1e-7;
    }
    if (random() % 3 == 0) {  // parts of their own, perhaps not all of it, and of some perhaps none
      s.settled = true;
      std::int64_t begin = 0;
      for (Member& one : s.members) {
        const std::int64_t end = std::min(s.space.end[1], begin + points[1] * static_cast<std::int64_t>(random() % 20));
        if (end > begin) one.own.add({{0, begin, 0}, {s.space.end[0], end, 1}});
        begin = end;
      }
    }
    core::BoxSet given;
    std::vector<Action> on_the_way;
    for (int turn = 0; turn < 10'000 && !(s.remaining.empty() && on_the_way.empty()); ++turn) {
      for (const Action& a : step(s)) {
        EXPECT_TRUE(s.remaining.covers(a.box));
        EXPECT_EQ(core::align(a.box, s.footprints[0], s.space), a.box);
        s.remaining.remove(a.box);
        for (Member& one : s.members) one.own.remove(a.box);
        const auto before = given.volume();
        given.add(a.box);
        ASSERT_EQ(given.volume(), before + a.box.volume());
        ASSERT_LE(++s.members[a.member].queued[a.queue], slices_per_queue);
        s.members[a.member].given += a.box.volume();
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

// Variants of a CPU side by side: single groups on one core each, at several places, until somebody is surely the best.
#include "decide/abreast.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "decide/mix.hpp"
#include "decide/step.hpp"
#include "test/decide/select_rivals.hpp"

namespace heddle::decide {
namespace {

constexpr std::int64_t points = 1 << 16;
constexpr double group_time = 1e-3;  // of 128 points on one core, by the best

Rival single(std::int64_t footprint) {
  Rival out = rival(footprint);
  out.single = true;
  return out;
}

Selection abreast(int units, std::vector<Rival> rivals, Mode mode = Mode::hybrid) {
  Selection out = selection_of(mode, units, std::move(rivals));
  out.abreast = true;
  return out;
}

// Seconds per point of all cores together, at a place from 0 to 1.
using Cost = std::function<double(std::size_t rival, double place)>;
Cost alike(std::vector<double> factors) {
  return [=](std::size_t r, double) { return factors[r] * group_time / 128; };
}

struct Found {
  std::size_t winner = 0;
  std::map<std::size_t, int> parts;  // of each rival
  std::int64_t computed = 0;
  bool whole = false;
};

// Each part takes what its place costs on one core, or on all.
Found find(Selection s, const Cost& cost) {
  Found out;
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::pair<Probe, double>> begun;
    while (const auto probe = next_probe(s, points)) {
      if (probe->whole || is_abreast(s) == false) return {lead_abreast(s).value_or(0), out.parts, out.computed, true};
      const double place = place_abreast(s, probe->rival);
      begin(s, *probe, core::box_of(probe->points), 1);
      begun.emplace_back(
          *probe, cost(probe->rival, place) * static_cast<double>(probe->points) / (probe->single ? 1 : s.units));
      ++out.parts[probe->rival], out.computed += probe->points;
    }
    if (begun.empty()) break;
    for (const auto& [probe, seconds] : begun) learn(s, probe, seconds);
  }
  EXPECT_TRUE(s.winner || s.whole);
  out.winner = best_of(s), out.whole = s.whole;
  return out;
}

TEST(Abreast, SingleGroupsAreOnTheirWayTogether) {
  Selection s = abreast(16, {single(256), single(128), single(512)});
  std::vector<std::size_t> order;
  while (const auto probe = next_probe(s, points)) {
    EXPECT_TRUE(probe->single);
    EXPECT_EQ(probe->points, core::volume(s.rivals[probe->rival].footprint));
    begin(s, *probe, core::box_of(probe->points));
    order.push_back(probe->rival);
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 0, 2}));  // short ones first
  EXPECT_TRUE(leaves_cores(s, points));
  EXPECT_FALSE(lead_abreast(s));
  // Nobody goes on to the next place before all have come.
  learn(s, {.rival = 1, .points = 128, .of = points, .single = true}, group_time);
  EXPECT_EQ(lead_abreast(s), 1u);
  EXPECT_FALSE(next_probe(s, points));
  learn(s, {.rival = 0, .points = 256, .of = points, .single = true}, 2 * group_time);
  learn(s, {.rival = 2, .points = 512, .of = points, .single = true}, 4 * group_time);
  ASSERT_TRUE(next_probe(s, points));
  EXPECT_NE(place_abreast(s, 0), 0.3);
  // Seconds per point of all cores.
  EXPECT_DOUBLE_EQ(*cost_abreast(s, 0), group_time / 128 / 16);
}

TEST(Abreast, AGroupThatTakesTooLittleIsNotTimedAlone) {
  Selection s = abreast(4, {single(128)});
  s.winner.reset();
  s.rivals.push_back(single(128));
  const auto first = next_probe(s, points);
  ASSERT_TRUE(first && first->single);
  begin(s, *first, core::box_of(128));
  learn(s, *first, 10e-6);
  EXPECT_TRUE(s.rivals[0].samples.empty());
  // So many that they would take 120 us together, on all cores and alone; of a launch at most a sixteenth.
  const auto wide = next_probe(s, points);
  ASSERT_TRUE(wide && !wide->single && wide->rival == 0);
  EXPECT_EQ(wide->points, points / 16);
  begin(s, *wide, core::box_of(wide->points));
  EXPECT_FALSE(next_probe(s, points));
  EXPECT_FALSE(leaves_cores(s, points));
  learn(s, *wide, 120e-6);
  EXPECT_EQ(s.rivals[0].samples.size(), 1u);
  EXPECT_TRUE(next_probe(s, points)->single);  // the other one may have longer groups
}

TEST(Abreast, WhoIsFarOffIsOutAtOnceAndWhoIsNearIsSeenEverywhere) {
  const Found found = find(abreast(16, {single(128), single(128), single(128)}), alike({3, 1, 1.01}));
  EXPECT_EQ(found.parts, (std::map<std::size_t, int>{{0, 1}, {1, 6}, {2, 6}}));
  EXPECT_EQ(found.winner, 1u);
}

TEST(Abreast, WhereAllPointsAreAlikeLessIsEnough) {
  const Found found = find(abreast(16, {single(128), single(128)}, Mode::fully), alike({2.5, 1}));
  EXPECT_EQ(found.parts, (std::map<std::size_t, int>{{0, 1}, {1, 1}}));
}

TEST(Abreast, WhoIsSurelyALittleWorseIsOutAfterThree) {
  const Found found = find(abreast(16, {single(128), single(128)}), alike({1.1, 1}));
  EXPECT_EQ(found.parts, (std::map<std::size_t, int>{{0, 3}, {1, 3}}));
  EXPECT_EQ(found.winner, 1u);
  // Not by chance: what differs from place to place by more tells less.
  const Cost noisy = [](std::size_t r, double place) {
    return group_time / 128 * (r == 0 ? (place < 0.5 ? 1.5 : 0.8) : 1);
  };
  EXPECT_GT(find(abreast(16, {single(128), single(128)}), noisy).parts.at(0), 3);
}

TEST(Abreast, OfSortedDataTheBeginningCounts) {
  // The first hundredth of the points is more than half of the work, and there the second is twice as fast.
  const Cost sorted = [](std::size_t r, double place) {
    const bool begins = place < 0.01;
    return group_time / 128 * (begins ? (r == 1 ? 100 : 200) : (r == 1 ? 1.2 : 1));
  };
  EXPECT_EQ(find(abreast(16, {single(128), single(128)}), sorted).winner, 1u);
}

TEST(Abreast, PlacesThatFavourOthersShowThatRegionsMayGain) {
  Selection s = abreast(16, {single(128), single(128)});
  const auto half = [](std::size_t r, double place) { return (place < 0.5) == (r == 0) ? 1.0 : 2.0; };
  while (!s.winner) {
    std::vector<Probe> begun;
    while (const auto probe = next_probe(s, points)) begin(s, *probe, core::box_of(128)), begun.push_back(*probe);
    for (const Probe& probe : begun) {
      const double place = place_abreast(s, probe.rival);
      learn(s, probe, group_time * half(probe.rival, place));
    }
  }
  EXPECT_TRUE(places_differ(s));
  s.expected = 1e-3;
  EXPECT_GT(count_of_regions(s, points, false), 1);
  EXPECT_EQ(count_of_regions(s, points, true), 0);  // in pieces already
  for (Rival& one : s.rivals) std::fill(one.samples.begin(), one.samples.end(), 1.0);
  EXPECT_FALSE(places_differ(s));
  EXPECT_EQ(count_of_regions(s, points, false), 0);
}

TEST(Abreast, ShortLaunchesAreComparedWhole) {
  const Found found = find(abreast(2, {single(128), single(128)}), alike({0.005, 0.005}));
  EXPECT_TRUE(found.whole);
  // Nor where a part is a good share of the launch.
  EXPECT_TRUE(find(abreast(2, {single(points / 4), single(points / 4)}), alike({1, 1})).whole);
}

TEST(Abreast, WhatEarlierRunsFoundNeedsOneGroupThatAgrees) {
  for (const double factor : {1.0, 2.0}) {
    Selection s = abreast(4, {single(128), single(128)});
    recall(s, {{group_time / 128 / 4, 3 * group_time / 128 / 4}}, points);
    ASSERT_EQ(s.believed, 0u);
    const auto probe = next_probe(s, points);
    ASSERT_TRUE(probe && probe->single);
    EXPECT_EQ(probe->rival, 0u);
    begin(s, *probe, core::box_of(128));
    EXPECT_FALSE(next_probe(s, points));
    learn(s, *probe, factor * group_time);
    EXPECT_EQ(s.winner.has_value(), factor == 1);
    EXPECT_EQ(next_probe(s, points).has_value(), factor != 1);
  }
}

TEST(Abreast, WhoFailsLeavesTheOthers) {
  Selection s = abreast(4, {single(128), single(128), single(128)});
  std::vector<Probe> begun;
  while (const auto probe = next_probe(s, points)) begin(s, *probe, core::box_of(128)), begun.push_back(*probe);
  ASSERT_EQ(begun.size(), 3u);
  give_up(s, 1), drop(s, begun[1]);
  learn(s, begun[0], group_time);
  learn(s, begun[2], 5 * group_time);
  EXPECT_EQ(s.winner, 0u);
  EXPECT_FALSE(s.rivals[1].pending);
}

TEST(Abreast, WhatWasCompiledTellsNothing) {
  Selection s = abreast(4, {rival(128, false), single(128)});
  s.rivals[0].single = true;
  begin(s, *next_probe(s, points), core::box_of(128));
  learn(s, {.rival = 0, .points = 128, .of = points, .single = true}, 1);
  EXPECT_TRUE(s.rivals[0].samples.empty());
  EXPECT_EQ(next_probe(s, points)->rival, 0u);
}

TEST(Abreast, NoiseRarelyMisleads) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.05);
  int right = 0;
  std::int64_t computed = 0;
  constexpr int trials = 400;
  for (int i = 0; i < trials; ++i) {
    const Found found =
        find(abreast(16, {single(128), single(128), single(128), single(256)}), [&](std::size_t r, double place) {
          static constexpr double factors[] = {1.5, 1.08, 1, 2.5};
          return factors[r] * group_time / 128 * (0.5 + place) * std::exp(noise(random));
        });
    right += found.winner == 2, computed += found.computed;
  }
  EXPECT_GE(right, trials * 95 / 100);
  EXPECT_LT(computed / trials, points / 20);
}

// ---- What a device does beside
// ----------------------------------------------------------------------------------------

State state(Selection& s) {
  State out;
  out.launch = 1;
  out.space = core::box_of(points);
  out.remaining = core::BoxSet(out.space);
  for (const Rival& one : s.rivals) out.footprints.push_back(one.footprint);
  Member& member = out.members.emplace_back();
  member.ready = true, member.queued = {0};
  member.worker.space = 0, member.worker.tasks = 1, member.selection = &s;
  out.uniform = false;
  return out;
}

// Carries out what was decided, as far as the state knows of it.
void take(State& st, Selection& s, const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    st.remaining.remove(action.box);
    ++st.in_flight;
    Member& member = st.members[0];
    ++(action.single ? member.singles : action.beside ? member.beside : member.queued[0]);
    if (action.probe) begin(s, *action.probe, action.box, 1), member.probing = true;
  }
}

TEST(Abreast, OthersComputeOnTheCoresThatAreFree) {
  Selection s = abreast(4, {single(128), single(256)});
  State st = state(s);
  const auto first = step(st);
  ASSERT_EQ(first.size(), 2u);  // nobody knows yet who is good
  for (const Action& action : first) EXPECT_TRUE(action.probe && action.beside && action.single);
  // Side by side, as far as footprints allow.
  EXPECT_LE(std::abs(first[0].box.begin[0] - first[1].box.begin[0]), 256);
  take(st, s, first);
  EXPECT_TRUE(step(st).empty());
  learn(s, *first[0].probe, group_time);
  --st.in_flight, --st.members[0].singles;
  const auto beside = step(st);
  ASSERT_EQ(beside.size(), 4u);  // with the other, one more than there are cores
  for (const Action& action : beside) {
    EXPECT_FALSE(action.probe);
    EXPECT_TRUE(action.beside && action.single);
    EXPECT_EQ(action.variant, 0u);
    EXPECT_EQ(action.box.volume(), 128);
  }
  take(st, s, beside);
  EXPECT_TRUE(step(st).empty());
}

TEST(Abreast, WhereNothingCanBeComparedTheBestGoesOn) {
  Selection s = abreast(4, {single(128), single(256)});
  State st = state(s);
  st.members[0].can = {false, true};
  take(st, s, step(st));
  ASSERT_EQ(st.in_flight, 1);  // all of it
  EXPECT_TRUE(st.remaining.empty());
}

TEST(Abreast, WhereAllTakeTheSamePartsLieTogetherAndTheLeastOfThemTells) {
  Selection s = abreast(2, {single(128), single(128)}, Mode::fully);
  const double place = place_abreast(s, 0);
  s.rivals[0].samples = {2, 1.1, 1.1}, s.rivals[1].samples = {1, 2, 2};
  EXPECT_EQ(place_abreast(s, 0), place);
  EXPECT_EQ(cost_abreast(s, 0), 1.1);
  EXPECT_EQ(lead_abreast(s), 1u);
}

// A group alone has the bandwidth of all cores, as here: on one core the second takes a quarter of what it takes beside
// others. The first takes too little by itself.
TEST(Abreast, WhereSomeAreTimedOnAllCoresOthersAreToo) {
  for (const std::int64_t footprint : {2048, 65'536}) {
    Selection s = abreast(16, {single(128), single(footprint)}, Mode::fully);
    const double of_first = 5e-9, of_second = 2 * of_first;
    for (int i = 0; i < 100 && !s.winner; ++i) {
      std::vector<Probe> begun;
      while (const auto probe = next_probe(s, 1 << 24)) {
        begin(s, *probe, core::box_of(probe->points), 1);
        begun.push_back(*probe);
      }
      for (const Probe& probe : begun) {
        const double alone = probe.rival == 1 && probe.single ? 0.25 : 1;
        const double cost = (probe.rival == 0 ? of_first : of_second) * alone;
        learn(s, probe, cost * static_cast<double>(probe.points) * (probe.single ? s.units : 1));
      }
    }
    // Whose groups take long computes no more of them.
    EXPECT_EQ(s.rivals[1].wide, footprint == 2048);
    EXPECT_EQ(s.winner, footprint == 2048 ? 0u : 1u);
  }
}

TEST(Abreast, DisturbedPartsDoNotDecideWhereAllTakeTheSame) {
  std::mt19937 random(7);
  const Cost steady = alike({1.3, 1, 1.2});
  const Cost disturbed = [&](std::size_t r, double place) { return steady(r, place) * (random() % 4 == 0 ? 1.7 : 1); };
  int right = 0;
  for (int i = 0; i < 200; ++i) {
    const Found found = find(abreast(2, {single(128), single(128), single(128)}, Mode::fully), disturbed);
    right += found.winner == 1;
    EXPECT_LE(found.computed, points / 8);
  }
  EXPECT_GE(right, 180);
}

TEST(Abreast, OfWhatIsLeftLittlePiecesFollowLargeOnes) {
  for (const int units : {2, 16}) {
    Selection s = abreast(units, {single(128), single(256)});
    s.winner = 1, s.looked = true;
    s.rivals[0].samples = {2}, s.rivals[1].samples = {1};
    s.rivals[0].places.resize(1), s.rivals[1].places.resize(1);
    State st = state(s);
    st.remaining = {};
    st.remaining.add({{0, 0, 0}, {30'720, 1, 1}});
    st.remaining.add({{31'232, 0, 0}, {31'744, 1, 1}});  // little
    st.remaining.add({{32'128, 0, 0}, {32'256, 1, 1}});  // half of what the winner takes
    st.remaining.add({{32'768, 0, 0}, {points, 1, 1}});
    const auto actions = step(st);
    // Of many cores two large ones are on their way; then what the winner does not fit into.
    ASSERT_EQ(actions.size(), units == 2 ? 3u : 4u);
    EXPECT_EQ(actions[0].box, (core::Box{{32'768, 0, 0}, {points, 1, 1}}));
    EXPECT_TRUE(actions[0].beside && !actions[0].single);
    const auto& scrap = actions[actions.size() - 2];
    EXPECT_EQ(scrap.variant, 0u);
    EXPECT_EQ(scrap.box, (core::Box{{32'128, 0, 0}, {32'256, 1, 1}}));
    const auto& little = actions.back();
    EXPECT_EQ(little.box, (core::Box{{31'232, 0, 0}, {31'744, 1, 1}}));
    EXPECT_TRUE(little.single && little.beside);
    if (units == 2) continue;
    EXPECT_EQ(actions[1].box, (core::Box{{0, 0, 0}, {30'720, 1, 1}}));
  }
}

TEST(Abreast, EveryPointIsGivenOnce) {
  std::mt19937 random(3);
  int decided = 0;
  for (int i = 0; i < 200; ++i) {
    const int units = 1 + static_cast<int>(random() % 16);
    std::vector<Rival> rivals;
    for (std::size_t r = 0; r < 2 + random() % 4; ++r) {
      rivals.push_back(rival(128 << random() % 3));
      rivals.back().single = random() % 2;
    }
    rivals.front().footprint.points[0] = 128;  // which all others are made of
    Selection s = abreast(units, rivals, random() % 2 ? Mode::hybrid : Mode::fully);
    std::vector<double> factors;
    for (std::size_t r = 0; r < rivals.size(); ++r) factors.push_back(1 + static_cast<double>(random() % 30) / 10);
    State st = state(s);
    std::vector<Action> at_work;
    std::int64_t given = 0;
    for (int steps = 0; steps < 10'000 && (!at_work.empty() || !st.remaining.empty()); ++steps) {
      const auto actions = step(st);
      for (const Action& action : actions) {
        EXPECT_TRUE(action.again || st.remaining.covers(action.box));
        given += action.box.volume();
        st.remaining.remove(action.box);
        EXPECT_FALSE(action.again);
        at_work.push_back(action);
      }
      take(st, s, actions);
      ASSERT_LE(st.members[0].singles, most_singles(s) + 16);
      ASSERT_FALSE(at_work.empty()) << "nothing is at work, and " << st.remaining.volume() << " points are left";
      const std::size_t which = random() % at_work.size();
      const Action done = at_work[which];
      at_work.erase(at_work.begin() + static_cast<std::ptrdiff_t>(which));
      Member& member = st.members[0];
      --st.in_flight;
      --(done.single ? member.singles : done.beside ? member.beside : member.queued[0]);
      const double seconds = factors[done.variant] * 1e-5 * static_cast<double>(done.box.volume());
      if (done.probe) learn(s, *done.probe, seconds / (done.probe->single ? 1 : units));
      member.probing = std::any_of(at_work.begin(), at_work.end(), [](const Action& a) { return a.probe.has_value(); });
    }
    EXPECT_EQ(given, points);
    decided += s.winner.has_value();
  }
  EXPECT_GT(decided, 150);
}

}  // namespace
}  // namespace heddle::decide

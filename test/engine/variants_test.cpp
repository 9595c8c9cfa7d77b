// Launches of kernels with variants, exactly.
#include <map>

#include <fmt/format.h>

#include "profile/store.hpp"
#include "test/engine/bench.hpp"

namespace heddle::engine {
namespace {

// Points in one dimension; `n` is what the kernel is told.
std::shared_ptr<Launch> submit(Bench& bench, const std::shared_ptr<Pool>& pool, std::int64_t points,
                               const std::vector<std::shared_ptr<Memory>>& memories, std::int32_t n) {
  Request request{.kernel = pool->variants[0].kernel, .pool = pool, .items = {points, 1, 1}};
  for (const auto& memory : memories) request.arguments.push_back(View{memory, 0, memory->size()});
  request.arguments.push_back(std::get<device::Scalar>(device::scalar(n)));
  return bench.engine->submit(request);
}

TEST(Variants, TheFasterOneDoesMostOfTheFirstLaunch) {
  Bench bench("device cpu cpu\nrate 1e6\nrate map_pairs 4e6\n");
  const auto pool =
      *bench.engine->make_pool("map", {{"one", {"map", "map", ""}, {16, 1, 1}, {{16, 1, 1}, false}},
                                       {"pairs", {"map_pairs", "map_pairs", ""}, {16, 1, 1}, {{32, 1, 1}}}});
  const auto in = bench.memory(1 << 16), out = bench.memory(1 << 16);
  const auto launch = submit(bench, pool, 1 << 16, {in, out}, 1 << 16);
  ASSERT_TRUE(bench.engine->wait(launch));
  bench.expect_mapped(out, 1);
  const Report report = bench.engine->report(*launch);
  std::int64_t by_one = 0;
  for (const SliceReport& slice : report.slices) by_one += slice.variant == "one" ? slice.box.volume() : 0;
  EXPECT_LT(by_one, (1 << 16) / 20);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes[0].find("variant 'pairs' is best on cpu"), std::string::npos) << report.notes[0];
  // The next one alike asks nobody.
  const std::uint64_t steps = bench.engine->steps();
  const auto next = submit(bench, pool, 1 << 16, {in, out}, 1 << 16);
  ASSERT_TRUE(bench.engine->wait(next));
  EXPECT_EQ(bench.engine->report(*next).slices.at(0).variant, "pairs");
  const auto third = submit(bench, pool, 1 << 16, {in, out}, 1 << 16);
  ASSERT_TRUE(bench.engine->wait(third));
  EXPECT_LE(bench.engine->steps() - steps, 1u);
}

std::shared_ptr<Pool> one_and_pairs(Bench& bench) {
  return *bench.engine->make_pool("map", {{"one", {"map", "map", ""}, {16, 1, 1}, {{16, 1, 1}, false}},
                                          {"pairs", {"map_pairs", "map_pairs", ""}, {16, 1, 1}, {{32, 1, 1}}}});
}

std::ptrdiff_t slices_by(const std::string& variant, const Report& report) {
  return std::count_if(report.slices.begin(), report.slices.end(),
                       [&](const SliceReport& slice) { return slice.variant == variant; });
}

TEST(Variants, TheNextRunBeginsWithTheWinner) {
  profile::Store store(":memory:");
  for (int run = 0; run < 2; ++run) {
    Bench bench("device cpu cpu\nrate 1e6\nrate map_pairs 4e6\n", {.store = &store});
    const auto pool = one_and_pairs(bench);
    const auto in = bench.memory(1 << 18), out = bench.memory(1 << 18);
    const auto launch = submit(bench, pool, 1 << 18, {in, out}, 1 << 18);
    ASSERT_TRUE(bench.engine->wait(launch));
    bench.expect_mapped(out, 1);
    const Report report = bench.engine->report(*launch);
    if (run == 0) {
      EXPECT_GT(slices_by("one", report), 0);
    } else {
      EXPECT_EQ(slices_by("one", report), 0);
      EXPECT_LE(slices_by("pairs", report), 6);  // some prepare, one must agree, and the rest
    }
  }
  // Another speed than it remembers: all compete.
  Bench bench("device cpu cpu\nrate 1e6\nrate map_pairs 2e6\n", {.store = &store});
  const auto pool = one_and_pairs(bench);
  const auto in = bench.memory(1 << 18), out = bench.memory(1 << 18);
  const auto launch = submit(bench, pool, 1 << 18, {in, out}, 1 << 18);
  ASSERT_TRUE(bench.engine->wait(launch));
  EXPECT_GT(slices_by("one", bench.engine->report(*launch)), 0);
}

TEST(Variants, AChoiceThatNoLongerHoldsIsMadeAgain) {
  Bench bench("device cpu cpu\nrate 1e6\nrate map_pairs 4e6\nslow 2 from launch 40\n");
  const auto pool = one_and_pairs(bench);
  const auto in = bench.memory(1 << 18), out = bench.memory(1 << 18);
  std::vector<int> compared;  // launches that more than one variant computed
  int told = 0;
  for (int l = 0; l < 60; ++l) {
    const auto launch = submit(bench, pool, 1 << 18, {in, out}, 1 << 18);
    ASSERT_TRUE(bench.engine->wait(launch));
    const Report report = bench.engine->report(*launch);
    if (slices_by("one", report) > 0 && slices_by("pairs", report) > 0) compared.push_back(l);
    for (const std::string& note : report.notes) told += note.find("all are compared again") != std::string::npos;
  }
  EXPECT_EQ(told, 1);
  EXPECT_EQ(compared.size(), 2u);  // the first, and the one after it was told
  EXPECT_EQ(compared.front(), 0);
}

std::shared_ptr<Launch> submit_hybrid(Bench& bench, const std::shared_ptr<Pool>& pool, std::int32_t points,
                                      const std::shared_ptr<Memory>& in, const std::shared_ptr<Memory>& out) {
  Request request{.kernel = pool->variants[0].kernel, .pool = pool, .items = {points, 1, 1}};
  request.arguments = {View{in, 0, in->size()}, View{out, 0, out->size()},
                       std::get<device::Scalar>(device::scalar(points))};
  request.wishes.mode = decide::Mode::hybrid;
  return bench.engine->submit(request);
}

// Points of slices whose results were not computed once more, and whether these are all of the launch.
std::int64_t points_kept(const Report& report, core::BoxSet& kept) {
  std::int64_t points = 0;
  for (const SliceReport& slice : report.slices) {
    if (!slice.repeat) points += slice.box.volume(), kept.add(slice.box);
  }
  return points;
}

// Where little was compared, the winner computes all of the launch: also where that fails and is done again, and not
// where pieces are left that it does not fit into, nor the region at the beginning alone.
TEST(Variants, WhatBeginsAnewIsAllOfTheLaunch) {
  Quieter quiet;
  const std::string rates = "device cpu cpu\nunits 4\nrate 5e5\nrate map_pairs 4e5\n";
  std::size_t slices = 0;  // the last of which is all of it
  for (const auto& [points, anew, fails] :
       {std::tuple(1 << 18, true, false), std::tuple(1 << 18, true, true), std::tuple((1 << 19) + 16, false, false)}) {
    Bench bench(fails ? fmt::format("{}fail launch {}\n", rates, slices) : rates);
    const auto pool = one_and_pairs(bench);
    const auto in = bench.memory(points), out = bench.memory(points);
    const auto launch = submit_hybrid(bench, pool, points, in, out);
    ASSERT_TRUE(bench.engine->wait(launch));
    bench.expect_mapped(out, 1);
    const Report report = bench.engine->report(*launch);
    core::BoxSet kept;
    EXPECT_EQ(points_kept(report, kept), points);
    EXPECT_TRUE(kept.covers(core::box_of(points)));
    EXPECT_EQ(report.retries > 0, fails);
    slices = report.slices.size();
    if (!fails) {
      EXPECT_EQ(report.slices.back().box == core::box_of(points), anew);
    }
  }
}

// Two devices that compare for themselves never compute the same points at once.
TEST(Variants, NobodyBeginsAnewWhileOthersCompare) {
  Bench bench(
      "device cpu.0 cpu\nunits 4\nrate 5e5\nrate map_pairs 4e5\nnoise 0.1 seed 3\n"
      "device cpu.1 cpu\nunits 4\nrate 5e5\nrate map_pairs 4e5\nnoise 0.1 seed 4\n");
  const auto pool = one_and_pairs(bench);
  constexpr std::int32_t points = 1 << 18;
  const auto in = bench.memory(points), out = bench.memory(points);
  for (int l = 0; l < 100; ++l) {
    Request request{.kernel = pool->variants[0].kernel, .pool = pool, .items = {points, 1, 1}};
    request.arguments = {View{in, 0, in->size()}, View{out, 0, out->size()},
                         std::get<device::Scalar>(device::scalar(points))};
    request.wishes.mode = decide::Mode::hybrid, request.wishes.profiling = Profiling::always;
    const auto launch = bench.engine->submit(request);
    ASSERT_TRUE(bench.engine->wait(launch));
    const Report report = bench.engine->report(*launch);
    core::BoxSet kept;
    EXPECT_EQ(points_kept(report, kept), points);
    for (const SliceReport& a : report.slices) {
      for (const SliceReport& b : report.slices) {
        const bool at_once = a.device != b.device && a.begin < b.end && b.begin < a.end;
        EXPECT_TRUE(!at_once || core::intersect(a.box, b.box).empty()) << l;
      }
    }
  }
}

TEST(Variants, RegionsThatFavourDifferentOnesGetThem) {
  for (const char* device : {"device cpu cpu\nrate 5e6\n", "device gpu gpu\nrate 5e6\ncopy in 1e12 out 1e12\n"}) {
    for (const std::int32_t points : {1 << 15, 1 << 18}) {  // 16 ms, 130 ms
      Bench bench(device, {}, good_before_and_after(points / 2));
      const auto pool = one_and_pairs(bench);
      const auto in = bench.memory(points), out = bench.memory(points);
      std::string told;
      Report report;
      for (int l = 0; l < 60; ++l) {
        ASSERT_TRUE(bench.engine->to_host(out, true));
        std::fill(Bench::data(*out), Bench::data(*out) + points, -1);
        const auto launch = submit_hybrid(bench, pool, points, in, out);
        ASSERT_TRUE(bench.engine->wait(launch));
        report = bench.engine->report(*launch);
        for (const std::string& note : report.notes) told += note.find("favour different") != note.npos ? note : "";
        bench.expect_mapped(out, 1);
      }
      EXPECT_NE(told, "");
      ASSERT_EQ(report.slices.size(), 2u);
      for (const SliceReport& slice : report.slices) {
        EXPECT_EQ(slice.variant, slice.box.begin[0] < points / 2 ? "one" : "pairs");
        EXPECT_EQ(slice.box.volume(), points / 2);
      }
    }
  }
}

TEST(Variants, RegionsThatAreAlikeCostOneLaunch) {
  Bench bench("device cpu cpu\nrate 5e6\nrate map_pairs 1e7\n");
  const std::int32_t points = 1 << 15;
  const auto pool = one_and_pairs(bench);
  const auto in = bench.memory(points), out = bench.memory(points);
  int divided = 0;
  for (int l = 0; l < 60; ++l) {
    const auto launch = submit_hybrid(bench, pool, points, in, out);
    ASSERT_TRUE(bench.engine->wait(launch));
    divided += bench.engine->report(*launch).slices.size() > 1 && l > 20;
  }
  EXPECT_EQ(divided, 0);
}

// The base guards itself, so that its grid is the same for several numbers of points.
TEST(Variants, APlanHoldsForItsNumberOfPointsOnly) {
  Bench bench("device cpu cpu\nrate 1e6\nrate map_pairs 1e8\n");
  const auto pool =
      *bench.engine->make_pool("map", {{"one", {"map", "map", ""}, {16, 1, 1}, {{16, 1, 1}, true}},
                                       {"pairs", {"map_pairs", "map_pairs", ""}, {16, 1, 1}, {{32, 1, 1}}}});
  const auto in = bench.memory(64), out = bench.memory(64);
  const auto last_of = [&](std::int64_t points) {
    const auto launch = submit(bench, pool, points, {in, out}, 64);
    EXPECT_TRUE(bench.engine->wait(launch));
    std::int64_t computed = 0;
    for (const SliceReport& slice : bench.engine->report(*launch).slices) computed += slice.box.volume();
    EXPECT_EQ(computed, points);
    return bench.engine->report(*launch).slices.back().variant;
  };
  for (int i = 0; i < 10; ++i) last_of(64);
  EXPECT_EQ(last_of(64), "pairs");
  EXPECT_EQ(last_of(50), "one");  // what two groups of the other leave
  for (int i = 0; i < 10; ++i) last_of(32);
  EXPECT_EQ(last_of(20), "one");
}

// The rest is for the base alone, which is not where the other variant is: an error, while results are on their way.
TEST(Variants, WhatNobodyIsLeftForIsAnError) {
  Quieter quiet;
  Bench bench(
      "device gpu gpu\nrate 1e6\ncopy in 1e9 out 1e9\nfail build 1\ndevice cpu cpu\nrate 1e6\nlost at launch 1\n");
  const auto pool =
      *bench.engine->make_pool("bump", {{"one", {"bump", "bump", ""}, {16, 1, 1}, {{16, 1, 1}}},
                                        {"pairs", {"bump_pairs", "bump_pairs", ""}, {16, 1, 1}, {{32, 1, 1}}}});
  const auto x = bench.memory(80), y = bench.memory(1024);
  const auto bump = bench.kernel("bump");
  Request both{.kernel = bump, .items = {1024, 1, 1}, .group = {16, 1, 1}, .wishes = {.tasks = 4, .spread = true}};
  both.arguments = {View{y, 0, y->size()}, std::get<device::Scalar>(device::scalar(std::int32_t{1024}))};
  (void)bench.engine->wait(bench.engine->submit(both));  // loses the CPU
  ASSERT_TRUE(bench.engine->wait(bench.run(bump, {x})));
  ASSERT_TRUE(bench.engine->to_host(x, false));
  const auto launch = submit(bench, pool, 80, {x}, 80);
  EXPECT_FALSE(bench.engine->wait(launch));
}

// Kernels that must not do anything twice: what is repeated is done on copies.
struct Apart : testing::Test {
  static constexpr std::int32_t n = 1 << 16;

  // All elements, or `views` of one memory.
  static std::shared_ptr<Launch> submit(Engine& engine, const std::string& name, const std::vector<View>& views,
                                        const Wishes& wishes = {.mode = decide::Mode::swap}) {
    const auto pool =
        *engine.make_pool(name, {{"one", {name, name, ""}, {16, 1, 1}, {{16, 1, 1}}},
                                 {"pairs", {name + "_pairs", name + "_pairs", ""}, {16, 1, 1}, {{32, 1, 1}}}});
    Request request{.kernel = pool->variants[0].kernel, .pool = pool, .items = {n, 1, 1}, .wishes = wishes};
    for (const View& view : views) request.arguments.push_back(view);
    request.arguments.push_back(std::get<device::Scalar>(device::scalar(n)));
    return engine.submit(request);
  }
  static View all(const std::shared_ptr<Memory>& memory) { return {memory, 0, memory->size()}; }
  // Numbers of the slices that were done again, from 1 on: on one device, they end in the order of their launches.
  static std::vector<int> repeats(const Report& report) {
    std::vector<int> out;
    for (std::size_t s = 0; s < report.slices.size(); ++s) {
      if (report.slices[s].repeat) out.push_back(static_cast<int>(s) + 1);
    }
    return out;
  }
  static void expect_bumped_once(const Memory& x, std::int32_t from = 0) {
    for (std::int32_t i = 0; i < n; ++i) ASSERT_EQ(Bench::data(x)[from + i], from + i + i + 1) << i;
  }
};

const std::string cpu = "device cpu cpu\nrate 1e6\nrate bump_pairs 0.51e6\nrate count_pairs 0.51e6\n";

TEST_F(Apart, InPlaceIsDoneOnce) {
  Bench bench(cpu);
  const auto x = bench.memory(n);
  const auto launch = submit(*bench.engine, "bump", {all(x)});
  Bytes most = 0;
  while (!bench.engine->is_over(*launch)) {
    most = std::max(most, bench.engine->host_bytes());
    bench.world.advance_to_next_completion();
  }
  ASSERT_TRUE(bench.engine->wait(launch));
  expect_bumped_once(*x);
  const Report report = bench.engine->report(*launch);
  EXPECT_GE(repeats(report).size(), 1u);
  // One private memory at a time, and the bytes of a part; nothing afterwards.
  EXPECT_GT(most, 2 * x->size());
  EXPECT_LT(most, 2 * x->size() + x->size() / 8);
  EXPECT_EQ(bench.engine->host_bytes(), x->size());
}

TEST_F(Apart, AtomicsCountOnce) {
  Bench bench(cpu);
  const auto in = bench.memory(n), out = bench.memory(n);
  const auto launch = submit(*bench.engine, "count", {all(in), all(out)});
  ASSERT_TRUE(bench.engine->wait(launch));
  for (std::int32_t i = 0; i < n; ++i) ASSERT_EQ(Bench::data(*out)[i], i < 4 ? i + n / 4 : i) << i;
  EXPECT_GE(repeats(bench.engine->report(*launch)).size(), 1u);
}

// Else work that depends on data would not be the same work.
TEST_F(Apart, EveryRivalFindsWhatWasThereBefore) {
  device::FakeWorld world(cpu);
  int seen = 0, changed = 0;
  for (const char* name : {"bump", "bump_pairs"}) {
    TestKernel kernel = test_kernels().at(name);
    kernel.body = [&, points = kernel.points, body = kernel.body](const WorkItem& item, FakeArguments& a) {
      for (std::int64_t i = points * item.global_id[0]; i < points * (item.global_id[0] + 1); ++i)
        ++seen, changed += a.buffer<std::int32_t>(0)[static_cast<std::size_t>(i)] != i;
      body(item, a);
    };
    world.add_kernel(name, {.body = boxed(kernel)});
  }
  Engine engine(world.devices(),
                {.analyse = analyse_test_kernel, .advance = [&] { return world.advance_to_next_completion(); }});
  const auto x = engine.make_memory(4 * n);
  std::iota(Bench::data(*x), Bench::data(*x) + n, 0);
  ASSERT_TRUE(engine.wait(submit(engine, "bump", {all(x)})));
  expect_bumped_once(*x);
  EXPECT_GT(seen, n);
  EXPECT_EQ(changed, 0);
}

// What is only read is read where it is, also where it is a part of the memory that is written.
TEST_F(Apart, PartsOfOneMemory) {
  Bench bench(cpu);
  const auto both = bench.memory(2 * n + 64);
  const auto launch = submit(*bench.engine, "count", {{both, 4 * 64, 4 * n}, {both, 4 * (n + 64), 4 * n}});
  ASSERT_TRUE(bench.engine->wait(launch));
  for (std::int32_t i = 0; i < 2 * n + 64; ++i)
    ASSERT_EQ(Bench::data(*both)[i], i >= n + 64 && i < n + 68 ? i + n / 4 : i) << i;
  EXPECT_GE(repeats(bench.engine->report(*launch)).size(), 1u);
  const auto x = bench.memory(n + 64);
  const auto part = submit(*bench.engine, "bump", {{x, 4 * 64, 4 * n}});
  ASSERT_TRUE(bench.engine->wait(part));
  expect_bumped_once(*x, 64);
  EXPECT_GE(repeats(bench.engine->report(*part)).size(), 1u);
}

// Whatever becomes of a copy, the result is there.
TEST_F(Apart, ARepeatThatFailsDoesNotCount) {
  Quieter quiet;
  Bench whole(cpu);
  const auto launch = submit(*whole.engine, "bump", {all(whole.memory(n))});
  ASSERT_TRUE(whole.engine->wait(launch));
  const int number = repeats(whole.engine->report(*launch)).at(0);
  for (const std::string what :
       {"fail launch {}", "fail launch {} late", "lost at launch {}", "lost at launch {} late", "hang at launch {}"}) {
    SCOPED_TRACE(what);
    const bool gone = what.find("fail") != 0;
    Bench bench(cpu + fmt::format(fmt::runtime(what), number) + (gone ? "\ndevice other cpu\nrate 1e3\n" : "\n"));
    const auto x = bench.memory(n);
    const auto again = submit(*bench.engine, "bump", {all(x)});
    const auto status = bench.engine->wait(again);
    ASSERT_TRUE(status) << status.failure().what;
    expect_bumped_once(*x);
    const Report report = bench.engine->report(*again);
    EXPECT_EQ(report.retries, 0);
    EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(),
                            [](const std::string& note) { return note.find("is not needed") != std::string::npos; }));
    EXPECT_TRUE(gone || bench.engine->host_bytes() == x->size());  // what a device may still use is kept
  }
}

TEST_F(Apart, IsChosenWhereItCanBe) {
  const auto told = [](const Report& report, const std::string& what) {
    return std::any_of(report.notes.begin(), report.notes.end(),
                       [&](const std::string& note) { return note.find(what) != std::string::npos; });
  };
  {  // what cannot be repeated
    Bench bench(cpu);
    const auto x = bench.memory(n);
    const auto launch = submit(*bench.engine, "bump", {all(x)}, {.mode = decide::Mode::hybrid});
    ASSERT_TRUE(bench.engine->wait(launch));
    EXPECT_TRUE(told(bench.engine->report(*launch), "the same part on copies"));
    EXPECT_GE(repeats(bench.engine->report(*launch)).size(), 1u);
    expect_bumped_once(*x);
    EXPECT_THROW(submit(*bench.engine, "bump", {all(x)}, {.mode = decide::Mode::swap, .meanwhile = true}),
                 core::UsageError);
  }
  {  // other parts are computed meanwhile
    Bench bench(cpu);
    const auto x = bench.memory(n);
    const auto launch = submit(*bench.engine, "bump", {all(x)}, {.mode = decide::Mode::hybrid, .meanwhile = true});
    ASSERT_TRUE(bench.engine->wait(launch));
    EXPECT_TRUE(told(bench.engine->report(*launch), "parts of their own: other parts are computed meanwhile"));
    EXPECT_TRUE(repeats(bench.engine->report(*launch)).empty());
    expect_bumped_once(*x);
  }
  {  // bytes may be on a device
    Bench bench(cpu + "device gpu gpu\nrate 1e5\ncopy in 1e9 out 1e9\n");
    const auto x = bench.memory(n);
    const auto launch = submit(*bench.engine, "bump", {all(x)});
    ASSERT_TRUE(bench.engine->wait(launch));
    EXPECT_TRUE(told(bench.engine->report(*launch), "parts of their own: a device has memory of its own"));
    EXPECT_TRUE(repeats(bench.engine->report(*launch)).empty());
  }
  {  // nobody knows where it writes, and others write, too
    Bench bench(cpu + "device other cpu\nrate 1e6\n");
    const auto in = bench.memory(n), out = bench.memory(n);
    const auto launch = submit(*bench.engine, "count", {all(in), all(out)});
    ASSERT_TRUE(bench.engine->wait(launch));
    EXPECT_TRUE(told(bench.engine->report(*launch), "other devices may write to the same bytes"));
  }
  {  // nobody knows where it writes, and that is much
    Bench bench(cpu);
    const auto in = bench.memory(n), out = bench.memory(1 << 20);
    const auto launch = submit(*bench.engine, "count", {all(in), all(out)});
    ASSERT_TRUE(bench.engine->wait(launch));
    EXPECT_TRUE(told(bench.engine->report(*launch), "too many bytes would have to be copied"));
    EXPECT_TRUE(repeats(bench.engine->report(*launch)).empty());
    EXPECT_EQ(Bench::data(*out)[0], n / 4);
  }
}

// Two devices in one memory: what one may be writing anywhere, the other cannot copy.
TEST_F(Apart, NobodyCopiesWhatIsBeingWritten) {
  for (const char* name : {"bump", "count"}) {
    const bool in_place = name == std::string("bump");
    Bench bench(cpu + "device other cpu\nrate 1e6\nrate bump_pairs 0.51e6\nrate count_pairs 0.51e6\n");
    const auto in = bench.memory(n), out = bench.memory(n);
    const auto launch = submit(*bench.engine, name, in_place ? std::vector{all(in)} : std::vector{all(in), all(out)});
    ASSERT_TRUE(bench.engine->wait(launch));
    const Report report = bench.engine->report(*launch);
    std::map<std::string, int> again;
    for (const SliceReport& slice : report.slices) again[slice.device] += slice.repeat;
    EXPECT_EQ(again["cpu"] > 0, in_place);
    EXPECT_EQ(again["other"] > 0, in_place);
    if (in_place) expect_bumped_once(*in);
    for (std::int32_t i = 0; !in_place && i < n; ++i) ASSERT_EQ(Bench::data(*out)[i], i < 4 ? i + n / 4 : i) << i;
  }
}

TEST(Variants, HaveNoOffsetAndNoOtherGroups) {
  Bench bench("device cpu cpu\nrate 1e6\n");
  const auto pool = *bench.engine->make_pool("bump", {{"one", {"bump", "bump", ""}, {16, 1, 1}, {{16, 1, 1}}}});
  const auto x = bench.memory(64);
  Request request{.kernel = pool->variants[0].kernel, .pool = pool, .items = {32, 1, 1}, .offset = {32, 0, 0}};
  request.arguments = {View{x, 0, x->size()}, std::get<device::Scalar>(device::scalar(std::int32_t{64}))};
  EXPECT_THROW(bench.engine->submit(request), core::UsageError);
  request.offset = {0, 0, 0}, request.group = {8, 1, 1};
  EXPECT_THROW(bench.engine->submit(request), core::UsageError);
  request.group = {0, 0, 0}, request.items = {32, 2, 1};  // of one dimension
  EXPECT_THROW(bench.engine->submit(request), core::UsageError);
}

// The base, and the same on a copy of its input, which `padding` makes larger.
struct Copied {
  explicit Copied(Bench& bench, std::size_t padding = 0, bool in_order = false)
      : pool(*bench.engine->make_pool(
            "map", {{"map", {"map", "map", ""}, {16, 1, 1}, {{16, 1, 1}}},
                    {"copied",
                     {"map", "map", ""},
                     {16, 1, 1},
                     {{16, 1, 1}},
                     [this, padding](const auto&, const auto& in) {
                       ++calls;
                       if (fails) throw std::runtime_error("it cannot");
                       auto own = std::make_shared<std::vector<std::byte>>(in[0].bytes.size() + padding);
                       std::copy(in[0].bytes.begin(), in[0].bytes.end(), own->begin());
                       return std::vector<MadeArgument>{NewArray{own, *own}, std::size_t{1}, std::size_t{2}};
                     },
                     {},
                     in_order}})) {}

  std::shared_ptr<Launch> submit(Bench& bench, const std::shared_ptr<Memory>& in, const std::shared_ptr<Memory>& out,
                                 Wishes wishes = {.profiling = Profiling::never, .initial = "copied"}) {
    Request request{.kernel = pool->variants[0].kernel, .pool = pool, .wishes = std::move(wishes)};
    const auto elements = static_cast<std::int32_t>(out->size() / 4);
    request.items = {elements, 1, 1};
    request.arguments = {View{in, 0, in->size()}, View{out, 0, out->size()},
                         std::get<device::Scalar>(device::scalar(elements))};
    return bench.engine->submit(request);
  }

  int calls = 0;
  bool fails = false;
  std::shared_ptr<Pool> pool;
};

TEST(PreparedVariants, SeeWhatAnotherDeviceHas) {
  Bench bench("device gpu gpu\nrate 1e6\ncopy in 1e9 out 1e9\n");
  Copied copied(bench);
  const auto a = bench.memory(1024), b = bench.memory(1024), c = bench.memory(1024);
  for (int i = 0; i < 3; ++i) {
    bench.run(bench.kernel("map"), {a, b});  // b is fresh on the device alone
    const auto launch = copied.submit(bench, b, c), again = copied.submit(bench, b, c);
    ASSERT_TRUE(bench.engine->wait(again));
    EXPECT_EQ(copied.calls, i + 1);
    EXPECT_EQ(bench.engine->report(*launch).slices.at(0).variant, "copied");
    EXPECT_EQ(bench.engine->report(*again).slices.at(0).variant, "copied");
    EXPECT_EQ(bench.engine->report(*again).bytes_in, 0u);  // what was prepared stays there
    bench.expect_mapped(c, 2);
  }
}

TEST(PreparedVariants, ThatFindNoRoomLeaveItToOthers) {
  Bench bench("device gpu gpu\nrate 1e6\ncopy in 1e9 out 1e9\nmemory 10K\n");
  Copied copied(bench, 4096);  // 8K with 4K of output
  const auto in = bench.memory(1024), out = bench.memory(1024);
  for (const Profiling profiling : {Profiling::never, Profiling::once}) {
    for (int i = 0; i < 20; ++i) {
      const auto launch = copied.submit(bench, in, out, {.profiling = profiling, .initial = "copied"});
      ASSERT_TRUE(bench.engine->wait(launch));
      EXPECT_EQ(bench.engine->report(*launch).slices.at(0).variant, "map");
      bench.expect_mapped(out, 1);
    }
  }
  EXPECT_EQ(copied.calls, 1);
}

// Launches that were there before it failed have it among their variants.
TEST(PreparedVariants, ThatFailLeaveItToOthersInAllLaunchesOnTheWay) {
  Quieter quiet;
  Bench bench("device gpu gpu\nrate 1e6\ncopy in 1e9 out 1e9\nmemory 100\ndevice cpu cpu\nrate 1e6\n");
  Copied copied(bench, 0, true);
  copied.fails = true;
  const auto in = bench.memory(2048), out = bench.memory(2048);  // not even a window of both fits
  std::vector<std::shared_ptr<Launch>> launches;
  for (int i = 0; i < 8; ++i) launches.push_back(copied.submit(bench, in, out, {.initial = "copied"}));
  for (const auto& launch : launches) {
    const auto status = bench.engine->wait(launch);
    ASSERT_TRUE(status) << status.failure().what;
    EXPECT_EQ(bench.engine->report(*launch).slices.at(0).variant, "map");
  }
  bench.expect_mapped(out, 1);
  EXPECT_EQ(copied.calls, 1);
}

// In place, what the failed one left is not what another could begin with.
TEST(PreparedVariants, DoNotRunAgainWhereOthersReadWhatTheyWrite) {
  Quieter quiet;
  Bench bench("device cpu cpu\nrate 1e6\nfail launch 1 late\n");
  Copied copied(bench);
  const auto a = bench.memory(1024), b = bench.memory(1024);
  EXPECT_FALSE(bench.engine->wait(copied.submit(bench, a, a)));
  const auto launch = copied.submit(bench, b, b);
  ASSERT_TRUE(bench.engine->wait(launch));
  bench.expect_mapped(b, 1);
  ASSERT_TRUE(bench.engine->wait(copied.submit(bench, b, b)));
  bench.expect_mapped(b, 2);
  EXPECT_EQ(copied.calls, 3);
}

TEST(PreparedVariants, LeaveWithTheBuffersThatTheyCameFrom) {
  Bench bench("device cpu cpu\nrate 1e6\n");
  Copied copied(bench);
  const Bytes before = bench.engine->host_bytes();
  const auto out = bench.memory(1024);
  for (int i = 0; i < 3; ++i) {
    const auto in = bench.memory(1024);
    ASSERT_TRUE(bench.engine->wait(copied.submit(bench, in, out)));
    EXPECT_EQ(bench.engine->host_bytes() - before, 3 * 4096u);
  }
  bench.engine->forget(*copied.pool);
  EXPECT_EQ(bench.engine->host_bytes() - before, 4096u);
}

}  // namespace
}  // namespace heddle::engine

// Launches of kernels with variants, exactly.
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
  explicit Copied(Bench& bench, std::size_t padding = 0)
      : pool(*bench.engine->make_pool(
            "map",
            {{"map", {"map", "map", ""}, {16, 1, 1}, {{16, 1, 1}}},
             {"copied", {"map", "map", ""}, {16, 1, 1}, {{16, 1, 1}}, [this, padding](const auto&, const auto& in) {
                ++calls;
                auto own = std::make_shared<std::vector<std::byte>>(in[0].bytes.size() + padding);
                std::copy(in[0].bytes.begin(), in[0].bytes.end(), own->begin());
                return std::vector<MadeArgument>{NewArray{own, *own}, std::size_t{1}, std::size_t{2}};
              }}})) {}

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

// One launch on several devices: who gets how much, and which bytes move, on machines of which everything is known.
#include <map>

#include <fmt/format.h>

#include "profile/store.hpp"
#include "test/engine/bench.hpp"

namespace heddle::engine {
namespace {

struct Outcome {
  double seconds = 0;
  std::map<std::string, std::int64_t> points;  // per device
  Bytes in = 0, out = 0;
};

Outcome outcome(Bench& bench, const std::shared_ptr<Launch>& launch) {
  EXPECT_TRUE(bench.engine->wait(launch));
  const Report report = bench.engine->report(*launch);
  Outcome out{core::seconds(report.ended - report.submitted), {}, report.bytes_in, report.bytes_out};
  for (const SliceReport& slice : report.slices) out.points[slice.device] += slice.box.volume();
  return out;
}

constexpr std::int32_t many = 1 << 20;

std::string cpu_and_gpu(double cpu, double gpu, double link) {
  return fmt::format(
      "device gpu gpu\nrate {}\nlaunch 5us\ncopy in {} out {} latency 5us engines 2\ndevice cpu cpu\nrate {}\n"
      "launch 5us\n",
      gpu, link, link, cpu);
}

TEST(Sharing, DevicesOfOneMemoryEndTogether) {
  Bench bench("device a cpu\nrate 1e7\nlaunch 5us\ndevice b cpu\nrate 3e7\nlaunch 5us\n");
  const auto in = bench.memory(many), out = bench.memory(many);
  const auto map = bench.kernel("map");
  Outcome last;
  for (int i = 0; i < 6; ++i) last = outcome(bench, bench.run(map, {in, out}));
  EXPECT_LT(last.seconds, 1.03 * many / 4e7);
  EXPECT_NEAR(static_cast<double>(last.points["b"]) / many, 0.75, 0.02);
  // By then it is settled: one part each.
  const auto again = bench.run(map, {in, out});
  ASSERT_TRUE(bench.engine->wait(again));
  EXPECT_EQ(bench.engine->report(*again).slices.size(), 2u);
  // Several at once end as they can: that unsettles it, and nothing else.
  std::vector<std::shared_ptr<Launch>> beside;
  std::vector<std::shared_ptr<Memory>> outs;
  for (int i = 0; i < 4; ++i) beside.push_back(bench.run(map, {in, outs.emplace_back(bench.memory(many))}));
  for (const auto& launch : beside) EXPECT_TRUE(bench.engine->wait(launch));
  for (const auto& one : outs) bench.expect_mapped(one, 1);
}

TEST(Sharing, PartsOfLaunchesEverywhereAreNotThoseOfOthers) {
  Bench bench(cpu_and_gpu(1e8, 1e8, 1e9));
  const auto in = bench.memory(many), out = bench.memory(many);
  const auto map = bench.kernel("map");
  const auto run = [&](bool spread) {
    Request request{.kernel = map, .items = {many, 1, 1}, .group = {16, 1, 1}};
    for (const auto& m : {in, out}) request.arguments.push_back(View{m, 0, m->size()});
    request.arguments.push_back(std::get<device::Scalar>(device::scalar(many)));
    request.wishes.spread = spread;
    return outcome(bench, bench.engine->submit(request)).points.size();
  };
  for (int i = 0; i < 8; ++i) EXPECT_EQ(run(true), 2u) << i;
  EXPECT_EQ(run(false), 1u);
}

// Where the first launch finds nothing known, it still does not take much longer than it must.
TEST(Sharing, TheFirstLaunchFindsOut) {
  Bench bench("device a cpu\nrate 1e7\nlaunch 5us\ndevice b cpu\nrate 4e7\nlaunch 5us\n");
  const auto in = bench.memory(many), out = bench.memory(many);
  const Outcome first = outcome(bench, bench.run(bench.kernel("map"), {in, out}));
  EXPECT_LT(first.seconds, 1.3 * many / 5e7);
}

// And the first of the next run knows it, whatever its size.
TEST(Sharing, TheNextRunKnowsHowFastDevicesAre) {
  const std::string machine = "device a cpu\nrate 1e7\nlaunch 5us\ndevice b cpu\nrate 4e7\nlaunch 5us\n";
  profile::Store store(":memory:");
  for (int run = 0; run < 2; ++run) {
    Bench bench(machine, {.store = &store});
    const auto in = bench.memory(many), out = bench.memory(many);
    const auto map = bench.kernel("map");
    const Outcome first = outcome(bench, bench.run(map, {in, out}));
    if (run == 1) {
      EXPECT_LT(first.seconds, 1.03 * many / 5e7);
      EXPECT_NEAR(static_cast<double>(first.points.at("b")) / many, 0.8, 0.02);
    }
    for (int i = 0; run == 0 && i < 4; ++i) outcome(bench, bench.run(map, {in, out}));
  }
  // What is twice as fast as it was is noticed at once, and in the next run believed.
  for (int run = 0; run < 2; ++run) {
    Bench bench("device a cpu\nrate 2e7\nlaunch 5us\ndevice b cpu\nrate 4e7\nlaunch 5us\n", {.store = &store});
    const auto in = bench.memory(many), out = bench.memory(many);
    const auto map = bench.kernel("map");
    Outcome last;
    for (int i = 0; i < 10; ++i) last = outcome(bench, bench.run(map, {in, out}));
    EXPECT_LT(last.seconds, 1.05 * many / 6e7);
  }
}

// The program writes the input on the host, and reads the result there, each time.
Outcome from_host_to_host(Bench& bench, const std::shared_ptr<Kernel>& kernel, const std::shared_ptr<Memory>& in,
                          const std::shared_ptr<Memory>& out) {
  EXPECT_TRUE(bench.engine->to_host(in, true));
  EXPECT_TRUE(bench.engine->to_host(out, false));
  const auto launch = bench.run(kernel, {in, out});
  Outcome result = outcome(bench, launch);
  const auto begin = bench.engine->report(*launch).submitted;
  EXPECT_TRUE(bench.engine->to_host(out, false));
  result.seconds = core::seconds(bench.engine->devices().front()->now() - begin);
  return result;
}

// 4 bytes in and 4 out for each point, at 1e9 bytes a second each way: 2.5e8 points a second at best, both ways at
// once; computing on the GPU takes next to nothing, on the CPU as long as the copies. And how little trying costs.
TEST(Sharing, ByTryingALaunchFromTheHostIsShared) {
  Bench bench(cpu_and_gpu(2.5e8, 1e10, 1e9));
  const auto in = bench.memory(4 * many), out = bench.memory(4 * many);
  const auto map = bench.kernel("map");
  const double gpu_alone = 4 * many * 4 / 1e9, ideal = gpu_alone / 2;
  Outcome last;
  for (int i = 0; i < 30; ++i) {
    last = from_host_to_host(bench, map, in, out);
    if (i > 0) {
      EXPECT_LT(last.seconds, 1.3 * gpu_alone) << i;
    }
  }
  EXPECT_LT(last.seconds, 1.2 * ideal);
  EXPECT_NEAR(static_cast<double>(last.points["cpu"]) / (4 * many), 0.5, 0.1);
  bench.expect_mapped(in, 0);
}

// Each device with the variant that is best there. At first the CPU takes the base: what it finds out in its part makes
// the parts others.
TEST(Sharing, ByTryingVariantsAreSharedEachWithItsOwn) {
  Bench bench(
      "device gpu gpu\nrate 1e8\nrate map_pairs 2.5e7\nlaunch 5us\ncopy in 2.5e9 out 2.5e9 latency 5us engines 2\n"
      "device cpu cpu\nrate 1.25e7\nrate map_pairs 5e7\nlaunch 5us\n");
  const auto pool =
      *bench.engine->make_pool("map", {{"one", {"map", "map", ""}, {16, 1, 1}, {{16, 1, 1}, false}},
                                       {"pairs", {"map_pairs", "map_pairs", ""}, {16, 1, 1}, {{32, 1, 1}}}});
  const auto in = bench.memory(many), out = bench.memory(many);
  std::map<std::string, std::map<std::string, std::int64_t>> points;
  double seconds = 0;
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(bench.engine->to_host(in, true));
    Request request{.kernel = pool->variants[0].kernel, .pool = pool, .items = {many, 1, 1}};
    request.arguments = {View{in, 0, in->size()}, View{out, 0, out->size()},
                         std::get<device::Scalar>(device::scalar(many))};
    const auto launch = bench.engine->submit(request);
    ASSERT_TRUE(bench.engine->wait(launch));
    ASSERT_TRUE(bench.engine->to_host(out, false));
    const Report report = bench.engine->report(*launch);
    points.clear();
    for (const SliceReport& slice : report.slices) points[slice.device][slice.variant] += slice.box.volume();
    seconds = core::seconds(report.ended - report.submitted);
  }
  bench.expect_mapped(out, 1);
  const double ideal = many / (1e8 + 5e7);
  EXPECT_LT(seconds, 1.25 * ideal);
  EXPECT_GT(points["gpu"]["one"], 3 * many / 8);  // it would do more, but for the copies
  EXPECT_GT(points["cpu"]["pairs"], 3 * many / 8);
  EXPECT_LT(points["gpu"]["pairs"] + points["cpu"]["one"], many / 256);
}

// What one run has found out, the next begins with.
TEST(Sharing, ByTryingNothingIsTriedAgainInTheNextRun) {
  profile::Store store(":memory:");
  const double gpu_alone = 4 * many * 4 / 1e9, ideal = gpu_alone / 2;
  for (int run = 0; run < 2; ++run) {
    Bench bench(cpu_and_gpu(2.5e8, 1e10, 1e9), {.store = &store});
    const auto in = bench.memory(4 * many), out = bench.memory(4 * many);
    const auto map = bench.kernel("map");
    for (int i = 0; i < 25; ++i) {
      const Outcome one = from_host_to_host(bench, map, in, out);
      // Once the kernel has run, and it is known that the host reads the results.
      if (run == 1 && i > 1) {
        EXPECT_LT(one.seconds, 1.2 * ideal) << i;
      }
    }
  }
  // What has changed meanwhile costs two launches: in the first one, something may have been compiled.
  Bench other(cpu_and_gpu(1e6, 1e10, 1e9), {.store = &store});
  const auto in = other.memory(4 * many), out = other.memory(4 * many);
  const auto map = other.kernel("map");
  int shared = 0;
  for (int i = 0; i < 12; ++i) shared += from_host_to_host(other, map, in, out).points["cpu"] > many;
  EXPECT_LE(shared, 2);
}

TEST(Sharing, ByTryingTheFasterOneIsLeftAlone) {
  Bench slow_cpu(cpu_and_gpu(1e6, 1e10, 1e9)), slow_link(cpu_and_gpu(2.5e8, 1e10, 1e7));
  for (Bench* bench : {&slow_cpu, &slow_link}) {
    const auto in = bench->memory(many), out = bench->memory(many);
    const auto map = bench->kernel("map");
    Outcome last;
    for (int i = 0; i < 30; ++i) last = from_host_to_host(*bench, map, in, out);
    EXPECT_EQ(last.points.size(), 1u);
    const double best = bench == &slow_cpu ? 2 * many * 4 / 1e9 : many / 2.5e8;
    EXPECT_LT(last.seconds, 1.1 * best);
  }
}

TEST(Sharing, ByTryingStepsOfAnIterationMoveOnlyTheEdges) {
  constexpr std::int32_t few = many / 8;
  Bench bench(cpu_and_gpu(3e7 / 8, 9e7 / 8, 1e8));
  const auto a = bench.memory(few), b = bench.memory(few);
  const auto blur = bench.kernel("blur");
  for (int i = 0; i < 100; ++i) {
    const Outcome last = outcome(bench, i % 2 ? bench.run(blur, {b, a}) : bench.run(blur, {a, b}));
    if (i < 30) continue;
    EXPECT_EQ(last.points.size(), 2u) << i;
    EXPECT_EQ(last.in, 4) << i;
    EXPECT_LE(last.out, 4) << i;
    EXPECT_LT(last.seconds, 1.1 * few / (12e7 / 8)) << i;
  }
}

// Parts are whole groups: a look is at least one, and leaves one for others.
TEST(Sharing, ByTryingLaunchesOfFewGroupsAreShared) {
  Bench bench(cpu_and_gpu(2.5e6, 1e10, 1e7));
  constexpr std::int32_t few = 64 << 10;  // in 64 groups
  const auto in = bench.memory(few), out = bench.memory(few);
  const auto map = bench.kernel("map");
  Outcome last;
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(bench.engine->to_host(in, true));
    EXPECT_TRUE(bench.engine->to_host(out, false));
    Request request{.kernel = map, .items = {few, 1, 1}, .group = {1 << 10, 1, 1}};
    for (const auto& m : {in, out}) request.arguments.push_back(View{m, 0, m->size()});
    request.arguments.push_back(std::get<device::Scalar>(device::scalar(few)));
    last = outcome(bench, bench.engine->submit(request));
    EXPECT_TRUE(bench.engine->to_host(out, false));
  }
  // In one task the copies go one after the other: the GPU needs twice as long as the CPU.
  EXPECT_NEAR(static_cast<double>(last.points["cpu"]) / few, 2.0 / 3, 0.05);
  bench.expect_mapped(in, 0);
}

// What needs long to begin is slow in little parts, and may be faster all the same.
TEST(Sharing, WhoBeginsSlowlyIsTriedWhereLaunchesAreNotLong) {
  Bench bench(
      "device gpu gpu\nrate 1e10\nlaunch 5us\ncopy in 1e9 out 1e9 latency 5us engines 2\n"
      "device cpu cpu\nrate 4e8\nlaunch 500us\n");
  constexpr std::int32_t few = 3 * many / 16;  // 0.8 ms each way; 0.5 and 0.5 ms
  const auto in = bench.memory(few), out = bench.memory(few);
  const auto map = bench.kernel("map");
  Outcome last;
  for (int i = 0; i < 30; ++i) last = from_host_to_host(bench, map, in, out);
  EXPECT_GT(last.points["cpu"], 0);
  EXPECT_LT(last.seconds, 1.1e-3);
}

// Where what different memories do cannot be joined, one does all: whoever is faster, after looks at the others.
TEST(Sharing, ByTryingWhatCannotBeJoinedGoesToTheFasterOne) {
  for (const double cpu : {1e9, 1e6}) {
    Bench bench(cpu_and_gpu(cpu, 1e10, 1e9));
    const auto in = bench.memory(many), out = bench.memory(many);
    const auto sums = bench.kernel("sums");
    Outcome last;
    double all = 0;
    std::vector<std::int32_t> expected(Bench::data(*out), Bench::data(*out) + 16);
    for (int i = 0; i < 30; ++i) {
      last = from_host_to_host(bench, sums, in, out), all += last.seconds;
      EXPECT_EQ(last.points["cpu"] + last.points["gpu"], many);
      for (std::int32_t k = 0; k < many; ++k) ++expected[k & 3], expected[4 + (k & 7)] |= k;
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), Bench::data(*out)));
    }
    EXPECT_EQ(last.points[cpu > 1e8 ? "cpu" : "gpu"], many) << cpu;
    // All to the GPU, both ways for the output; or where it is.
    const double alone = cpu > 1e8 ? many / cpu : 3 * many * 4 / 1e9;
    EXPECT_LT(last.seconds, 1.1 * alone) << cpu;
    EXPECT_LT(all, 30 * 1.2 * 3 * many * 4 / 1e9);
  }
}

// But nobody moves all of it for a look.
TEST(Sharing, WhatIsElsewhereAndCannotBeJoinedStays) {
  Bench bench(cpu_and_gpu(1e9, 1e9, 1e9));
  const auto in = bench.memory(many), out = bench.memory(many);
  const auto sums = bench.kernel("sums");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(outcome(bench, bench.run(sums, {in, out})).points["gpu"], many) << i;
}

// Two halves of a device: what points took in one launch says where the next is cut. Each begins and ends once then.
TEST(Sharing, WorkThatDiffersIsCutByTime) {
  std::int64_t heavy = many / 4;  // points at the beginning that take nine times as long as others
  Costs costs;
  costs["walk"] = [&](const WorkItem& item, const FakeArguments&) {
    return item.global_offset[0] + item.group_id[0] * item.local_size[0] < heavy ? 9.0 : 1.0;
  };
  const std::string half = " cpu\nname half\nrate 1e8\nlaunch 20us\n";
  Bench bench("device a" + half + "device b" + half, {}, costs);
  const auto in = bench.memory(many), out = bench.memory(many);
  const auto walk = bench.kernel("walk");
  const auto go = [&] {
    const auto launch = bench.run(walk, {in, out});
    const Outcome result = outcome(bench, launch);
    return std::pair(result, bench.engine->report(*launch).slices.size());
  };
  for (int i = 0; i < 8; ++i) go();
  for (int i = 0; i < 4; ++i) {
    const auto [last, slices] = go();
    EXPECT_EQ(slices, 2u);
    EXPECT_LT(last.seconds, 1.01 * (9 * heavy + many - heavy) / 2e8 + 20e-6);
    EXPECT_NEAR(static_cast<double>(last.points.at("a")), many / 6.0, many / 100.0);
  }
  // Other data: the cut moves, or is given up.
  heavy = many / 2;
  for (int i = 0; i < 12; ++i) go();
  EXPECT_LT(go().first.seconds, 1.15 * (9 * heavy + many - heavy) / 2e8);
}

TEST(Sharing, WhatIsShortIsNotTried) {
  Bench bench(cpu_and_gpu(2.5e8, 2.5e8, 1e9));
  const auto in = bench.memory(many / 16), out = bench.memory(many / 16);
  const auto map = bench.kernel("map");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outcome(bench, bench.run(map, {in, out})).points.count("cpu"), 0u) << i;
}

// Not worth to be shared, perhaps, but another may be faster.
TEST(Sharing, WhatIsNotLongGoesToTheFasterOne) {
  Bench bench(cpu_and_gpu(5e8, 1e10, 1e9));
  const auto in = bench.memory(many / 4), out = bench.memory(many / 4);  // 1 ms each way; 0.5 ms where it is
  const auto map = bench.kernel("map");
  double all = 0;
  Outcome last;
  for (int i = 0; i < 30; ++i) last = from_host_to_host(bench, map, in, out), all += last.seconds;
  EXPECT_GT(last.points["cpu"], many / 8);
  EXPECT_LT(last.seconds, 0.55e-3);
  EXPECT_LT(all, 30 * 1.5e-3);
}

// Where the program says who gets what, from the second step on.
TEST(Sharing, StepsOfAnIterationMoveOnlyTheEdges) {
  Bench bench(cpu_and_gpu(3e7, 9e7, 1e8));
  const auto a = bench.memory(many), b = bench.memory(many);
  const auto blur = bench.kernel("blur");
  for (int i = 0; i < 100; ++i) {
    Request request{.kernel = blur, .items = {many, 1, 1}, .group = {16, 1, 1}};
    for (const auto& m : {i % 2 ? b : a, i % 2 ? a : b}) request.arguments.push_back(View{m, 0, m->size()});
    request.arguments.push_back(std::get<device::Scalar>(device::scalar(many)));
    request.wishes.parts = {3, 1};
    const Outcome last = outcome(bench, bench.engine->submit(request));
    EXPECT_EQ(last.points.at("gpu"), 3 * many / 4) << i;
    EXPECT_EQ(last.points.at("cpu"), many / 4) << i;
    if (i == 0) {
      EXPECT_EQ(last.in, 4 * (3 * many / 4 + 1));
      continue;
    }
    // One element each way over one edge.
    EXPECT_EQ(last.in, 4) << i;
    EXPECT_LE(last.out, 4) << i;
  }
}

}  // namespace
}  // namespace heddle::engine

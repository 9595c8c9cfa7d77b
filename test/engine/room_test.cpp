// Too little memory, exactly: who leaves, who gets windows, what is moved, and how much memory of the host's that
// takes.
#include <thread>

#include <gtest/gtest.h>

#include "test/engine/bench.hpp"

namespace heddle::engine {
namespace {

constexpr const char* gpu = "device gpu gpu\nrate 1e6\ncopy in 1e9 out 1e9\n";

TEST(Room, WhatDoesNotFitRunsInWindows) {
  Bench bench(std::string(gpu) + "memory 4K\n");  // for two arrays of 16K
  const auto in = bench.memory(4096), out = bench.memory(4096);
  const auto launch = bench.run(bench.kernel("map"), {in, out});
  ASSERT_TRUE(bench.engine->wait(launch));
  const Report report = bench.engine->report(*launch);
  // Both windows of a slice take a quarter of the memory: 128 elements of each array.
  EXPECT_EQ(report.slices.size(), 32u);
  EXPECT_EQ(report.windows, 32);
  EXPECT_EQ(report.bytes_in, 16384u);
  EXPECT_EQ(report.bytes_out, 16384u);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0],
            "runs in windows, as it needs 32768 bytes of memory on gpu: 16384 bytes asked for, 4096 of 4096 are free");
  bench.expect_mapped(out, 1);
}

TEST(Room, TheLimitOfAUserCountsAsTheDevicesOwn) {
  Bench bench(gpu, {.memory_limit = 4096});
  const auto in = bench.memory(4096), out = bench.memory(4096);
  const auto launch = bench.run(bench.kernel("map"), {in, out});
  ASSERT_TRUE(bench.engine->wait(launch));
  EXPECT_EQ(bench.engine->report(*launch).windows, 32);
  bench.expect_mapped(out, 1);
}

TEST(Room, WindowsMayBePerhapsWrittenAndInPlace) {
  Bench bench(std::string(gpu) + "memory 4K\n");
  const auto in = bench.memory(4096), counts = bench.memory(16);
  auto launch = bench.run(bench.kernel("count"), {in, counts});  // atomics: each slice goes on from the last
  ASSERT_TRUE(bench.engine->wait(launch));
  EXPECT_GT(bench.engine->report(*launch).windows, 1);
  ASSERT_TRUE(bench.engine->to_host(counts, false));
  for (std::int32_t i = 0; i < 16; ++i) EXPECT_EQ(bench.data(*counts)[i], i < 4 ? i + 1024 : i);
  launch = bench.run(bench.kernel("bump"), {in});
  ASSERT_TRUE(bench.engine->wait(launch));
  ASSERT_TRUE(bench.engine->to_host(in, false));
  for (std::int32_t i = 0; i < 4096; ++i) ASSERT_EQ(bench.data(*in)[i], 2 * i + 1);
}

TEST(Room, BuffersThatNobodyUsesLeaveFirst) {
  Bench bench(std::string(gpu) + "memory 10K\n");  // for two of three arrays of 4K
  const auto a = bench.memory(1024), b = bench.memory(1024), c = bench.memory(1024);
  const auto map = bench.kernel("map");
  auto launch = bench.run(map, {a, b});
  ASSERT_TRUE(bench.engine->wait(launch));
  launch = bench.run(map, {b, c});  // a leaves: the host has it
  ASSERT_TRUE(bench.engine->wait(launch));
  Report report = bench.engine->report(*launch);
  EXPECT_EQ(report.windows, 0);
  EXPECT_EQ(report.bytes_in, 0u);
  launch = bench.run(map, {c, a});  // b leaves: it comes to the host before
  ASSERT_TRUE(bench.engine->wait(launch));
  report = bench.engine->report(*launch);
  EXPECT_EQ(report.windows, 0);
  EXPECT_EQ(report.bytes_in, 0u);
  EXPECT_EQ(a->device_bytes(0), 4096u);
  EXPECT_EQ(b->device_bytes(0), 0u);
  bench.expect_mapped(b, 1);
  bench.expect_mapped(c, 2);
  bench.expect_mapped(a, 3);
}

// What fills the device is one of the launch's own buffers: of this launch, or left by another.
TEST(Room, BuffersOfALaunchGiveWayToItsWindows) {
  for (const bool before : {false, true}) {
    Bench bench(std::string(gpu) + "memory 16K\n");  // for one of two
    const auto in = bench.memory(4096), out = bench.memory(4096);
    if (before) {
      ASSERT_TRUE(bench.engine->wait(bench.run(bench.kernel("map"), {in, in})));
    }
    const auto status = bench.engine->wait(bench.run(bench.kernel("map"), {in, out}));
    ASSERT_TRUE(status) << status.failure().what;
    bench.expect_mapped(out, before ? 2 : 1);
  }
}

// Results come to the host by themselves where a program has read them before; it must not notice.
TEST(Room, WhatIsWrittenNowIsNotWhatComesBack) {
  Bench bench(gpu);
  const auto x = bench.memory(4096);
  const auto bump = bench.kernel("bump");
  ASSERT_TRUE(bench.engine->wait(bench.run(bump, {x})));
  ASSERT_TRUE(bench.engine->to_host(x, false));
  ASSERT_TRUE(bench.engine->wait(bench.run(bump, {x})));
  bench.engine->discard(x);
  std::fill_n(bench.data(*x), 4096, 7);
  while (bench.world.advance_to_next_completion()) {
  }
  ASSERT_TRUE(bench.engine->to_host(x, false));
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(bench.data(*x)[i], 7) << i;
}

TEST(Room, WhoeverCannotBeCutRunsElsewhereOrSaysWhy) {
  Bench both(std::string(gpu) + "memory 4K\ndevice cpu cpu\nrate 1e6\n");
  const auto in = both.memory(4096), out = both.memory(4096);
  const auto launch = both.run(both.kernel("whole"), {in, out});
  ASSERT_TRUE(both.engine->wait(launch));
  EXPECT_EQ(both.engine->report(*launch).slices.at(0).device, "cpu");

  Bench alone(std::string(gpu) + "memory 4K\n");
  const auto status = alone.engine->wait(alone.run(alone.kernel("whole"), {alone.memory(4096), alone.memory(4096)}));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().what,
            "it needs 32768 bytes of memory on gpu: 16384 bytes asked for, 4096 of 4096 are free");
}

// What the engine itself takes of the host's memory: nothing beside the buffers.
TEST(Room, BuffersLieOnceInHostMemory) {
  for (const char* memory : {"memory 1M\n", "memory 4K\n"}) {
    Bench bench(gpu + std::string(memory) + "device cpu cpu\nrate 1e6\n");
    EXPECT_EQ(bench.engine->host_bytes(), 0u);
    std::vector<std::int32_t> mine(4096), theirs(4096);
    const auto in = bench.engine->use_memory(std::as_writable_bytes(std::span(mine)));
    const auto out = bench.engine->use_memory(std::as_writable_bytes(std::span(theirs)));
    Bytes most = 0;
    for (int round = 0; round < 3; ++round) {
      for (const char* name : {"map", "bump", "count", "scatter"}) {
        const auto launch = std::string(name) == "bump" ? bench.run(bench.kernel(name), {in})
                                                        : bench.run(bench.kernel(name), {in, out});
        while (!bench.engine->is_over(*launch)) {
          most = std::max(most, bench.engine->host_bytes());
          bench.world.advance_to_next_completion();
        }
        ASSERT_TRUE(bench.engine->wait(launch));
      }
      ASSERT_TRUE(bench.engine->to_host(out, false));
    }
    EXPECT_EQ(most, 0u);
    const auto ours = bench.engine->make_memory(1000);
    EXPECT_EQ(bench.engine->host_bytes(), 1000u);
  }
}

// With copies by way of locked memory: that ring, and no more.
TEST(Room, TheRingIsBounded) {
  device::FakeWorld world(gpu);
  add_test_kernels(world);
  Engine engine(world.devices(), {.analyse = analyse_test_kernel, .locked_limit = Bytes{64} << 20});
  constexpr std::int64_t elements = 24 << 20;  // 96 MB
  std::vector<std::int32_t> mine(elements, 7);
  const auto in = engine.use_memory(std::as_writable_bytes(std::span(mine)));
  Request request{.kernel = *engine.make_kernel({"unknown", "unknown", ""}),  // reads and writes all of it
                  .items = {16, 1, 1},
                  .group = {16, 1, 1}};
  request.arguments = {View{in, 0, in->size()}, View{in, 0, in->size()},
                       std::get<device::Scalar>(device::scalar(static_cast<std::int32_t>(16)))};
  std::jthread clock([&](std::stop_token stop) {
    while (!stop.stop_requested()) world.advance_to_next_completion();
  });
  const auto launch = engine.submit(request);
  ASSERT_TRUE(engine.wait(launch));
  ASSERT_TRUE(engine.to_host(in, false));
  EXPECT_EQ(engine.host_bytes(), Bytes{64} << 20);
  EXPECT_EQ(mine[0], 7 ^ 77);
  EXPECT_EQ(mine[elements - 1], 7);
}

}  // namespace
}  // namespace heddle::engine

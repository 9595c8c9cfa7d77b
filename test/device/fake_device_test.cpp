// The fake device must be exact, or every test of a policy that stands on it says nothing: all times here are in whole
// nanoseconds.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>

#include "test/device/fake_bench.hpp"

namespace heddle::device {
namespace {

using core::FailureKind;
using core::InternalError;
using core::UsageError;
using namespace std::chrono_literals;

// ---- Time -----------------------------------------------------------------------------------------------------------

TEST(FakeTime, ALaunchTakesLatencyPlusItemsOverRate) {
  Bench b(FakeWorld::from_file(HEDDLE_TEST_DATA "/fake_gpu_and_cpu.txt"), "gpu0");
  b.world.advance(100ns);
  const Event event = b.run(1'000'000);
  EXPECT_FALSE(event->done());
  EXPECT_THROW((void)event->times(), InternalError);
  EXPECT_EQ(b.world.now(), 100ns);
  ASSERT_TRUE(event->wait());
  EXPECT_TRUE(event->done());
  expect_times(event, 100, 100, 100 + 10'000 + 500'000);
  EXPECT_EQ(b.device.now(), ns(510'100));
  EXPECT_EQ(b.program->build_time, 50ms);

  b.world.add_kernel("saxpy", {});
  auto saxpy = b.program->kernel("saxpy").value();
  const Event own_rate = b.queue->launch({*saxpy, {}, items(1'000'000)}).value();
  ASSERT_TRUE(own_rate->wait());
  EXPECT_EQ(own_rate->times()->duration(), ns(10'000 + 250'000));

  auto buffer = b.device.allocate(1300).value();
  std::vector<std::byte> host(1300);
  const Event in = b.queue->copy_in(*buffer, 0, host).value(), out = b.queue->copy_out(host, *buffer, 0).value();
  const Event fill = b.queue->fill(*buffer, 0, 1000, std::byte{1}).value();
  const Event copy = b.queue->copy(*buffer, 500, *buffer, 0, 500).value();
  ASSERT_TRUE(b.queue->finish());
  EXPECT_EQ(in->times()->duration(), ns(8'000 + 108));  // 1300 bytes at 12e9
  EXPECT_EQ(out->times()->duration(), ns(8'000 + 100));
  EXPECT_EQ(fill->times()->duration(), ns(8'000 + 2));
  EXPECT_EQ(copy->times()->duration(), ns(8'000 + 1));
}

TEST(FakeTime, AQueueRunsInOrder) {
  Bench b(plain);
  const Event first = b.run(10), second = b.run(20);
  ASSERT_TRUE(second->wait());
  EXPECT_TRUE(first->done());
  expect_times(first, 0, 0, 10);
  expect_times(second, 0, 10, 30);
}

TEST(FakeTime, LaunchesOfOneDeviceTakeTurnsAndThoseOfTwoOverlap) {
  Bench b(plain + "device e gpu\nrate 1e9\n");
  auto other_queue = b.device.open_queue().value();
  auto other_device = b.world.device("e").open_queue().value();
  auto program = b.world.device("e").build({"", ""}).value();
  auto kernel = program->kernel("time").value();
  const Event first = b.run(10);
  const Event turn = other_queue->launch({*b.time, {}, items(10)}).value();
  const Event overlap = other_device->launch({*kernel, {}, items(10)}).value();
  b.world.advance(20ns);
  expect_times(first, 0, 0, 10);
  expect_times(turn, 0, 10, 20);
  expect_times(overlap, 0, 0, 10);
}

// Three tasks of copy in (4), compute (4), copy out (4), each task in a queue of its own.
Nanoseconds streamed(int engines) {
  Bench b(plain.substr(0, plain.size() - 1) + " engines " + std::to_string(engines) + "\n");
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<std::byte> host(4);
  auto buffer = b.device.allocate(4).value();
  std::vector<Event> ends;
  for (int task = 0; task < 3; ++task) {
    queues.push_back(b.device.open_queue().value());
    (void)queues.back()->copy_in(*buffer, 0, host).value();
    (void)queues.back()->launch({*b.time, {}, items(4)}).value();
    ends.push_back(queues.back()->copy_out(host, *buffer, 0).value());
  }
  for (const Event& end : ends) EXPECT_TRUE(end->wait());
  return b.world.now();
}

TEST(FakeTime, CopiesOverlapComputing) {
  EXPECT_EQ(streamed(2), 20ns);  // in 0-4-8-12, compute 4-8-12-16, out 8-12-16-20
  EXPECT_EQ(streamed(1), 24ns);  // the engine is never idle: 3 in and 3 out
}

TEST(FakeTime, AnIdleEngineTakesWhatIsReadyFirst) {
  Bench b(plain);  // one copy engine
  std::vector<std::byte> host(100);
  auto buffer = b.device.allocate(100).value();
  auto other = b.device.open_queue().value();
  (void)b.run(50);
  const Event out = b.queue->copy_out(host, *buffer, 0).value();  // ready at 50
  const Event in = other->copy_in(*buffer, 0, host).value();      // queued later, but ready at once
  const Event late = other->copy_in(*buffer, 0, host).value();    // ready at 100
  b.world.advance(1us);
  expect_times(in, 0, 0, 100);
  expect_times(out, 0, 100, 200);
  expect_times(late, 0, 200, 300);
}

TEST(FakeTime, WaitListsReachAcrossQueuesAndDevices) {
  Bench b(plain + "device e gpu\nrate 1e9\ncopy in 1e9\n");
  auto queue = b.world.device("e").open_queue().value();
  auto buffer = b.world.device("e").allocate(5).value();
  std::vector<std::byte> host(5);
  const std::vector<Event> waits = {b.run(10), b.world.timer(25ns)};
  const Event after = queue->copy_in(*buffer, 0, host, waits).value();
  const Event behind = queue->copy_in(*buffer, 0, host).value();
  const Event back = b.run(1, std::vector{behind});
  ASSERT_TRUE(back->wait());
  expect_times(after, 0, 25, 30);
  expect_times(behind, 0, 30, 35);
  expect_times(back, 0, 35, 36);
  ASSERT_TRUE(b.run(1, waits)->wait());  // all done already
  EXPECT_EQ(b.world.now(), 37ns);
}

TEST(FakeTime, AdvanceStepsFromEndToEnd) {
  Bench b(plain);
  EXPECT_FALSE(b.world.advance_to_next_completion());
  const Event first = b.run(10), timer = b.world.timer(10ns), second = b.run(5);
  b.world.advance(9ns);
  EXPECT_FALSE(first->done());
  EXPECT_TRUE(b.world.advance_to_next_completion());
  EXPECT_TRUE(first->done());
  EXPECT_TRUE(timer->done());
  EXPECT_FALSE(second->done());
  EXPECT_EQ(b.world.now(), 10ns);
  EXPECT_TRUE(b.world.advance_to_next_completion());
  EXPECT_EQ(b.world.now(), 15ns);
  EXPECT_FALSE(b.world.advance_to_next_completion());
  b.world.advance(1s);
  EXPECT_EQ(b.world.now(), ns(1'000'000'015));
  EXPECT_THROW(b.world.advance(-1ns), UsageError);
}

TEST(FakeTime, NothingHappensWhileQueuing) {
  Bench b("device d gpu\nrate 1e9\n");  // copies take no time
  std::vector<std::byte> host(4);
  auto buffer = b.device.allocate(4).value();
  const Event in = b.queue->copy_in(*buffer, 0, host).value();
  EXPECT_FALSE(in->done());
  b.world.advance(0ns);
  EXPECT_TRUE(in->done());
  EXPECT_EQ(b.world.now(), 0ns);
}

TEST(FakeTime, CostWeighsItems) {
  Bench b(plain);
  b.world.add_kernel("row", {.cost = [](const WorkItem& item, const FakeArguments& arguments) {
                       return static_cast<double>(item.global_id[0]) * arguments.scalar<float>(0);
                     }});
  b.world.add_kernel(
      "whole", {.launch_cost = [](const core::NdRange& range, const FakeArguments& arguments) {
        return static_cast<double>(range.global[0] / std::get<std::int64_t>(*arguments.definition("BX")));
      }});
  b.world.add_kernel(
      "peeks", {.cost = [](const WorkItem&, const FakeArguments& arguments) { return arguments.buffer<float>(0)[0]; }});
  b.world.add_kernel("negative", {.cost = [](const WorkItem&, const FakeArguments&) { return -1.0; }});
  auto program = b.device.build({"", "-DAX=2 -DBX=8 -cl-mad-enable"}).value();
  const auto launch = [&](const std::string& name, std::vector<Argument> arguments, core::NdRange range) {
    auto kernel = program->kernel(name).value();
    const Event event = b.queue->launch({*kernel, arguments, range}).value();
    EXPECT_TRUE(event->wait());
    return event->times()->duration();
  };
  auto range = items(4);
  range.offset[0] = 10;
  EXPECT_EQ(launch("row", {scalar(2.0f)}, range), ns(2 * (10 + 11 + 12 + 13)));
  EXPECT_EQ(launch("whole", {}, items(std::int64_t{1} << 50)), ns(std::int64_t{1} << 47));
  EXPECT_EQ(launch("time", {}, {.offset = {}, .global = {1 << 20, 1 << 20, 4}, .local = {1, 1, 1}}),
            ns(std::int64_t{1} << 42));
  auto buffer = b.device.allocate(4).value();
  EXPECT_THROW(launch("peeks", {BufferArgument{buffer.get()}}, items(1)), UsageError);
  EXPECT_THROW(launch("negative", {}, items(1)), UsageError);
}

TEST(FakeTime, SlowAsDescribed) {
  Bench all(plain + "launch 3ns\nslow 10\n");
  const Event event = all.run(100);
  ASSERT_TRUE(event->wait());
  EXPECT_EQ(event->times()->duration(), 1030ns);

  Bench later(plain + "slow 10 from launch 2\nslow 0.5 from launch 3\n");
  const Event first = later.run(100), second = later.run(100), third = later.run(100);
  ASSERT_TRUE(later.queue->finish());
  EXPECT_EQ(first->times()->duration(), 100ns);
  EXPECT_EQ(second->times()->duration(), 1000ns);
  EXPECT_EQ(third->times()->duration(), 50ns);
}

TEST(FakeTime, NoiseIsBoundedAndTheSameEverywhere) {
  const auto durations = [](const std::string& noise) {
    Bench b(plain + noise);
    std::vector<std::int64_t> out;
    for (int i = 0; i < 1000; ++i) {
      const Event event = b.run(1'000'000);
      EXPECT_TRUE(event->wait());
      out.push_back(event->times()->duration().count());
    }
    return out;
  };
  const auto seven = durations("noise 0.05 seed 7");
  EXPECT_EQ(seven, durations("noise 0.05 seed 7"));
  EXPECT_NE(seven, durations("noise 0.05 seed 8"));
  EXPECT_EQ(durations("noise 0"), std::vector<std::int64_t>(1000, 1'000'000));
  const auto [least, most] = std::minmax_element(seven.begin(), seven.end());
  EXPECT_GE(*least, 950'000);
  EXPECT_LE(*most, 1'050'000);
  EXPECT_LT(*least, 952'000);
  EXPECT_GT(*most, 1'048'000);
  EXPECT_NEAR(std::accumulate(seven.begin(), seven.end(), 0.0) / 1000, 1'000'000, 3'000);
  EXPECT_EQ(std::vector(seven.begin(), seven.begin() + 3), (std::vector<std::int64_t>{1038983, 1001679, 990076}));
}

// ---- Effects --------------------------------------------------------------------------------------------------------

TEST(FakeEffect, HappensAtTheEndAndNotBefore) {
  Bench b(plain);
  std::vector<int> in(8, 41), out(8, 0);
  auto buffer = b.device.allocate(32).value();
  const Event to = b.queue->copy_in(*buffer, 0, bytes_of(in)).value();
  const Event run = b.run_k(*buffer);
  const Event from = b.queue->copy_out(bytes_of(out), *buffer, 0).value();
  b.world.advance(32ns + 8ns + 31ns);
  EXPECT_TRUE(run->done());
  EXPECT_FALSE(from->done());
  EXPECT_EQ(out, std::vector<int>(8, 0));
  b.world.advance(1ns);
  EXPECT_TRUE(from->done());
  EXPECT_EQ(out, std::vector<int>(8, 42));

  // Read too early, by another queue and without a wait: the launch (8 ns) is still running after the copy (4 ns).
  std::vector<int> early(1, 0);
  auto other = b.device.open_queue().value();
  (void)b.run_k(*buffer);
  ASSERT_TRUE(other->copy_out(bytes_of(early), *buffer, 0).value()->wait());
  EXPECT_EQ(early[0], 42);
}

TEST(FakeEffect, MemoryIsPoisonedCopiedAndFilled) {
  Bench b(plain);
  auto buffer = b.device.allocate(8).value(), other = b.device.allocate(8).value();
  std::vector<std::byte> out(8);
  (void)b.queue->fill(*buffer, 2, 3, std::byte{7}).value();
  (void)b.queue->copy(*other, 0, *buffer, 1, 3).value();
  (void)b.queue->copy_out(out, *other, 0).value();
  ASSERT_TRUE(b.queue->finish());
  const std::byte x{0xA5}, y{7};
  EXPECT_EQ(out, (std::vector<std::byte>{x, y, y, x, x, x, x, x}));
  auto locked = b.device.lock(100).value();
  EXPECT_EQ(locked->bytes().size(), 100u);
  ASSERT_TRUE(b.queue->copy_out(locked->bytes().subspan(4, 8), *buffer, 0).value()->wait());
  EXPECT_EQ(locked->bytes()[6], y);
}

TEST(FakeEffect, IdsAreOpenCls) {
  Bench b(plain);
  const core::NdRange range{.offset = {3, 20, 100}, .global = {4, 6, 2}, .local = {2, 3, 1}};
  std::vector<WorkItem> seen;
  b.world.add_kernel("ids", {.body = [&](const WorkItem& item, FakeArguments&) { seen.push_back(item); }});
  auto kernel = b.program->kernel("ids").value();
  ASSERT_TRUE(b.queue->launch({*kernel, {}, range}).value()->wait());
  ASSERT_EQ(seen.size(), 48u);
  std::vector<core::Index> ids, expected;
  for (std::int64_t z = 0; z < 2; ++z) {
    for (std::int64_t y = 0; y < 6; ++y) {
      for (std::int64_t x = 0; x < 4; ++x) expected.push_back({3 + x, 20 + y, 100 + z});
    }
  }
  for (const WorkItem& item : seen) {
    ids.push_back(item.global_id);
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t linear = item.global_id[axis] - range.offset[axis];
      EXPECT_EQ(item.group_id[axis], linear / range.local[axis]);
      EXPECT_EQ(item.local_id[axis], linear % range.local[axis]);
    }
    EXPECT_EQ(item.global_size, range.global);
    EXPECT_EQ(item.local_size, range.local);
    EXPECT_EQ(item.global_offset, range.offset);
    EXPECT_EQ(item.num_groups, (core::Index{2, 2, 2}));
  }
  std::sort(ids.begin(), ids.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(ids, expected);
}

TEST(FakeEffect, BodiesSeeTheirArguments) {
  Bench b(plain);
  b.world.add_kernel("args", {.body = [](const WorkItem&, FakeArguments& arguments) {
                       EXPECT_EQ(arguments.size(), 3u);
                       EXPECT_EQ(arguments.local_size(2), 64u);
                       EXPECT_EQ(arguments.options(), "-DN=3");
                       EXPECT_EQ(arguments.device().id, "d");
                       EXPECT_EQ(arguments.definition("M"), std::nullopt);
                       EXPECT_THROW(arguments.local_size(0), UsageError);
                       EXPECT_THROW(arguments.buffer<int>(1), UsageError);
                       EXPECT_THROW(arguments.scalar<double>(1), UsageError);
                       EXPECT_THROW(arguments.scalar<int>(3), UsageError);
                       arguments.buffer<float>(0)[1] = arguments.scalar<float>(1);
                     }});
  b.world.add_kernel("throws", {.body = [](const WorkItem&, FakeArguments&) { throw UsageError("ouch"); }});
  auto buffer = b.device.allocate(11).value();
  std::unique_ptr<Kernel> kernel;
  {
    auto program = b.device.build({"", "-DN=3"}).value();
    kernel = program->kernel("args").value();
  }
  const std::vector<Argument> arguments = {BufferArgument{buffer.get()}, scalar(2.5f), LocalMemory{64}};
  const Event event = b.queue->launch({*kernel, arguments, items(1)}).value();
  kernel.reset();  // a pending launch needs neither kernel nor program
  ASSERT_TRUE(event->wait());
  std::vector<float> out(1);
  ASSERT_TRUE(b.queue->copy_out(bytes_of(out), *buffer, 4).value()->wait());
  EXPECT_EQ(out[0], 2.5f);

  auto throws = b.program->kernel("throws").value();
  const Status status = b.queue->launch({*throws, {}, items(1)}).value()->wait();
  EXPECT_EQ(kind_of(status), FailureKind::launch);
  EXPECT_EQ(status.failure().what, "a host function threw: ouch");
}

TEST(FakeEffect, DevicesShareWrappedHostMemory) {
  Bench b("device d cpu\nrate 1e9\ncopy in 1e9 out 1e9 latency 3ns\ndevice e cpu\nrate 1e9\ndevice g gpu\nrate 1e9\n");
  std::vector<int> host(4, 0);
  Device& e = b.world.device("e");
  auto here = b.device.wrap(bytes_of(host)).value(), there = e.wrap(bytes_of(host)).value();
  auto queue = e.open_queue().value();
  auto program = e.build({"", ""}).value();
  auto kernel = program->kernel("k").value();
  const Event first = b.run_k(*here);
  const std::vector<Argument> arguments = {BufferArgument{there.get()}};
  ASSERT_TRUE(queue->launch({*kernel, arguments, items(2)}, std::vector{first}).value()->wait());
  EXPECT_EQ(host, (std::vector<int>{2, 2, 1, 1}));
  std::vector<int> elsewhere(4);
  const Event in_place = b.queue->copy_out(bytes_of(host).subspan(4), *here, 4).value();
  const Event moved = b.queue->copy_out(bytes_of(elsewhere), *here, 0).value();
  ASSERT_TRUE(moved->wait());
  EXPECT_EQ(in_place->times()->duration(), 3ns);  // no bytes move
  EXPECT_EQ(moved->times()->duration(), 19ns);
  EXPECT_EQ(b.world.device("g").wrap(bytes_of(host)).failure().kind, FailureKind::unsupported);
}

TEST(FakeEffect, MemoryIsLimitedAndGivenBack) {
  Bench b("device d gpu\nrate 1e9\nmemory 1000 largest 600\n");
  EXPECT_EQ(b.device.allocate(601).failure().kind, FailureKind::allocation);
  auto first = b.device.allocate(600).value();
  EXPECT_EQ(b.device.allocate(401).failure().kind, FailureKind::allocation);
  auto second = b.device.allocate(400).value();
  EXPECT_EQ(b.device.allocate(1).failure().kind, FailureKind::allocation);
  first.reset();
  EXPECT_TRUE(b.device.allocate(600));
  EXPECT_EQ(b.device.allocate(0).failure().kind, FailureKind::allocation);
}

TEST(FakeEffect, LargeBuffersCostNothingUntilTouched) {
  Bench b("device d gpu\nrate 1e9\nmemory 4000G\n");
  auto buffer = b.device.allocate(Bytes{2000} << 30).value(), copy = b.device.allocate(Bytes{2000} << 30).value();
  ASSERT_TRUE(b.queue->copy(*copy, 0, *buffer, 0, buffer->size()).value()->wait());
  const std::vector<Argument> arguments = {BufferArgument{buffer.get()}};
  ASSERT_TRUE(b.queue->launch({*b.time, arguments, items(1)}).value()->wait());
}

TEST(FakeEffect, ABufferMayGoBeforeItsCommands) {
  Bench b("device d gpu\nrate 1e9\nmemory 32\n");
  std::vector<int> out(8, 0), in(8, 1);
  auto buffer = b.device.allocate(32).value();
  (void)b.queue->copy_in(*buffer, 0, bytes_of(in)).value();
  (void)b.run_k(*buffer);
  (void)b.queue->copy_out(bytes_of(out), *buffer, 0).value();
  buffer.reset();
  EXPECT_FALSE(b.device.allocate(32));  // still in use
  ASSERT_TRUE(b.queue->finish());
  EXPECT_EQ(out, std::vector<int>(8, 2));
  EXPECT_TRUE(b.device.allocate(32));
}

// ---- Callbacks ------------------------------------------------------------------------------------------------------

TEST(FakeNotify, InOrderOfEndsThenOfQueuing) {
  Bench b(plain);
  std::string called;
  b.run(10)->notify([&] { called += 'b'; });
  const Event late = b.world.timer(10ns), early = b.world.timer(5ns);
  late->notify([&] { called += 'c'; });
  late->notify([&] { called += 'd'; });
  early->notify([&] { called += 'a'; });
  ASSERT_TRUE(late->wait());
  EXPECT_EQ(called, "abcd");
  late->notify([&] { called += 'e'; });  // done already: at once
  EXPECT_EQ(called, "abcde");
}

TEST(FakeNotify, CallbacksMayQueueMore) {
  Bench b(plain);
  int left = 4;
  std::vector<Event> events;
  std::function<void()> next = [&] {
    if (left-- == 0) return;
    events.push_back(b.run(10));
    events.back()->notify(next);
  };
  next();
  while (b.world.advance_to_next_completion()) {
  }
  ASSERT_EQ(events.size(), 4u);
  expect_times(events.back(), 30, 30, 40);
}

TEST(FakeNotify, CallbacksMayNotWait) {
  Bench b(plain);
  const Event first = b.run(1), second = b.run(1);
  first->notify([&] {
    EXPECT_TRUE(first->wait());
    (void)second->wait();
  });
  EXPECT_THROW((void)second->wait(), UsageError);
  EXPECT_TRUE(second->wait());  // the world is still whole
  EXPECT_EQ(b.world.now(), 2ns);
}

// ---- Scale and threads ----------------------------------------------------------------------------------------------

TEST(FakeScale, ALongChainEndsAndAHungOneIsDestroyed) {
  Bench b(plain + "hang at launch 100001\n");
  Event last;
  for (int i = 0; i < 100'000; ++i) last = b.run(1);
  ASSERT_TRUE(last->wait());
  EXPECT_EQ(b.world.now(), 100us);
  for (int i = 0; i < 100'000; ++i) last = b.run(1);
  EXPECT_EQ(kind_of(last->wait(1s)), FailureKind::hang);
}

TEST(FakeThreads, QueueAndWaitTogether) {
  Bench b(plain + "device e cpu\nrate 1e9\n");
  constexpr int rounds = 200;
  std::vector<std::vector<int>> results(4, std::vector<int>(16, 0));
  std::atomic<int> called = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      Device& device = *b.world.devices()[t % 2];
      auto queue = device.open_queue().value();
      auto program = device.build({"", ""}).value();
      auto kernel = program->kernel("k").value();
      auto buffer = device.allocate(64).value();
      std::vector<int>& host = results[t];
      const std::vector<Argument> arguments = {BufferArgument{buffer.get()}};
      for (int i = 0; i < rounds; ++i) {
        const Event in = queue->copy_in(*buffer, 0, bytes_of(host)).value();
        const Event run = queue->launch({*kernel, arguments, items(16)}, std::vector{in}).value();
        run->notify([&] { ++called; });
        ASSERT_TRUE(queue->copy_out(bytes_of(host), *buffer, 0).value()->wait());
        ASSERT_EQ(host[15], i + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(called, 4 * rounds);
  for (const auto& host : results) EXPECT_EQ(host, std::vector<int>(16, rounds));
}

// ---- Launches that overlap
// ---------------------------------------------------------------------------------------------

constexpr const char* overlapping = "device d cpu\nunits 4\nrate 4e9\noverlap\nlaunch 10ns\n";  // an item a ns and unit

TEST(FakeOverlap, EachGroupIsOnOneUnit) {
  Bench b(overlapping);
  auto other = b.device.open_queue().value();
  const Event one = b.queue->launch({*b.time, {}, items(100, 100)}).value();
  const Event two = other->launch({*b.time, {}, items(100, 50)}).value();
  ASSERT_TRUE(b.queue->finish() && other->finish());
  expect_times(one, 0, 10, 110);  // of 400 ns on all units, a group
  expect_times(two, 0, 10, 60);
  EXPECT_EQ(b.device.cpu_time(), ns(200));
  // The first unit takes one more than its part of eight.
  const Event eight = b.queue->launch({*b.time, {}, items(80, 10)}).value();
  ASSERT_TRUE(b.queue->finish());
  EXPECT_EQ(eight->times()->duration(), ns(30));
}

TEST(FakeOverlap, WhatWasReadyFirstGoesFirst) {
  Bench b("device d cpu\nunits 1\nrate 1e9\noverlap\n");
  auto other = b.device.open_queue().value();
  const Event one = b.run(100), behind = b.run(100);
  const Event beside = other->launch({*b.time, {}, items(100)}).value();
  ASSERT_TRUE(b.queue->finish() && other->finish());
  expect_times(one, 0, 0, 100);
  expect_times(beside, 0, 100, 200);
  expect_times(behind, 0, 200, 300);
}

TEST(FakeOverlap, TellsWhenALaunchBegins) {
  Bench b("device d cpu\nunits 1\nrate 1e9\noverlap\n");
  auto other = b.device.open_queue().value();
  const Event one = b.run(100), two = other->launch({*b.time, {}, items(100)}).value();
  std::vector<Nanoseconds> told;
  for (const Event& event : {one, two}) {
    EXPECT_FALSE(event->begun());
    event->notify_begun([&] { told.push_back(b.world.now()); });
  }
  b.world.advance(50ns);
  EXPECT_TRUE(one->begun() && !one->done());
  EXPECT_FALSE(two->begun());
  ASSERT_TRUE(b.queue->finish() && other->finish());
  EXPECT_TRUE(one->begun() && two->begun());
  EXPECT_EQ(told, (std::vector<Nanoseconds>{0ns, 100ns}));
  one->notify_begun([&] { ADD_FAILURE() << "too late"; });
}

TEST(FakeOverlap, WhoIsNarrowerMayFollowWhoHasBegun) {
  Bench b(overlapping);
  auto other = b.device.open_queue().value();
  (void)b.queue->launch({*b.time, {}, items(32, 8)}).value();
  b.world.advance(11ns);
  (void)other->launch({*b.time, {}, items(16, 8)}).value();
  EXPECT_TRUE(b.queue->finish() && other->finish());
}

TEST(FakeOverlap, TwoFormsOfAKernelEndTheProcess) {
  for (const bool same : {true, false}) {
    Bench b(overlapping);
    auto other = b.device.open_queue().value();
    (void)b.queue->launch({*b.time, {}, items(16, 8)}).value();
    (void)other->launch({*b.time, {}, items(same ? 16 : 32, 8)}).value();
    const auto finish = [&] { return b.queue->finish() && other->finish(); };
    if (same)
      EXPECT_TRUE(finish());
    else
      EXPECT_THROW(finish(), InternalError);
  }
}

}  // namespace
}  // namespace heddle::device

// Callers' mistakes on fake devices, and failures that their descriptions ask for.
#include <string>
#include <vector>

#include "test/device/fake_bench.hpp"

namespace heddle::device {
namespace {

using core::FailureKind;
using core::InternalError;
using core::UsageError;
using namespace std::chrono_literals;

TEST(FakeMistake, RangesOutsideABuffer) {
  Bench b(plain);
  auto buffer = b.device.allocate(10).value();
  std::vector<std::byte> host(5);
  const Bytes huge = ~Bytes{0};
  EXPECT_THROW((void)b.queue->copy_in(*buffer, 6, host), UsageError);
  EXPECT_THROW((void)b.queue->copy_in(*buffer, huge, host), UsageError);
  EXPECT_THROW((void)b.queue->copy_out(host, *buffer, 6), UsageError);
  EXPECT_THROW((void)b.queue->copy(*buffer, 6, *buffer, 0, 5), UsageError);
  EXPECT_THROW((void)b.queue->copy(*buffer, 0, *buffer, 6, 5), UsageError);
  EXPECT_EQ(b.queue->copy(*buffer, 0, *buffer, 4, 5).failure().kind, FailureKind::transfer);  // overlap
  EXPECT_THROW((void)b.queue->fill(*buffer, 1, huge, std::byte{0}), UsageError);
  EXPECT_TRUE(b.queue->copy_in(*buffer, 5, host));
}

TEST(FakeMistake, ThingsOfOthers) {
  Bench b(plain + "device e gpu\nrate 1e9\n"), other(plain);
  auto foreign = b.world.device("e").allocate(4).value();
  std::vector<std::byte> host(4);
  EXPECT_THROW((void)b.queue->copy_in(*foreign, 0, host), InternalError);
  EXPECT_THROW((void)b.queue->launch({*other.time, {}, items(1)}), InternalError);
  EXPECT_THROW((void)b.try_run(1, std::vector{other.run(1)}), InternalError);
  EXPECT_THROW((void)b.try_run(1, std::vector<Event>{nullptr}), InternalError);
  const std::vector<Argument> none = {BufferArgument{nullptr}};
  EXPECT_THROW((void)b.queue->launch({*b.time, none, items(1)}), UsageError);
  EXPECT_THROW((void)b.try_run(-1), UsageError);
  EXPECT_THROW((void)b.queue->launch({*b.time, {}, items(1, 0)}), UsageError);
  EXPECT_THROW(b.world.add_kernel("k", {}), UsageError);
  EXPECT_EQ(b.program->kernel("unknown").failure().kind, FailureKind::build);
}

TEST(FakeMistake, LaunchesThatDoNotFitFail) {
  Bench b(plain + "group 64\nlocal 1K\n");
  b.world.add_kernel("small",
                     {.limits = KernelLimits{.group = 8, .preferred = 4, .local_memory = 1000, .arguments = 1}});
  auto small = b.program->kernel("small").value();
  EXPECT_EQ(small->limits().preferred, 4);
  EXPECT_EQ(b.time->limits().group, 64);
  const auto reason = [&](Kernel& kernel, const core::NdRange& range, std::vector<Argument> arguments) {
    const auto event = b.queue->launch({kernel, arguments, range});
    return event ? "" : event.failure().what;
  };
  EXPECT_EQ(reason(*b.time, items(10, 4), {}), "launch of time on d: global size 10 is no multiple of local size 4");
  EXPECT_EQ(reason(*b.time, items(128, 128), {}), "launch of time on d: local size 128 is above 64");
  EXPECT_EQ(reason(*small, items(16, 16), {LocalMemory{1}}),
            "launch of small on d: a group of 16 work-items is above 8");
  EXPECT_EQ(reason(*small, items(8, 8), {LocalMemory{25}}),
            "launch of small on d: 1025 bytes of local memory, of 1024");
  EXPECT_THROW(reason(*small, items(8, 8), {}), UsageError);  // one argument expected
  EXPECT_EQ(reason(*small, items(8, 8), {LocalMemory{24}}), "");
  EXPECT_EQ(reason(*b.time, items(0, 4), {}), "");  // nothing to do is no error
}

TEST(FakeFailure, BuildAndAllocation) {
  FakeWorld world("device d cpu\nrate 1e9\nfail build 1\nfail build 3\nfail allocation 2\n");
  Device& device = world.device("d");
  EXPECT_EQ(device.build({"", ""}).failure().kind, FailureKind::build);
  EXPECT_TRUE(device.build({"", ""}));
  EXPECT_EQ(device.build({"", ""}).failure().what, "build 3 on d fails as described");
  std::vector<int> host(1);
  EXPECT_TRUE(device.allocate(4));
  EXPECT_EQ(device.wrap(bytes_of(host)).failure().kind, FailureKind::allocation);
  EXPECT_TRUE(device.wrap(bytes_of(host)));
}

TEST(FakeFailure, LaunchAtOnceAndLate) {
  Bench b(plain + "fail launch 2\nfail launch 3 late\n");
  std::vector<int> in(4, 1), out(4);
  auto buffer = b.device.allocate(16).value();
  (void)b.queue->copy_in(*buffer, 0, bytes_of(in)).value();
  (void)b.run_k(*buffer);
  EXPECT_EQ(b.try_run(1).failure().what, "launch 2 on d fails as described");
  const Event late = b.run_k(*buffer);
  const Event named = b.run(1, std::vector{late}), next = b.queue->copy_out(bytes_of(out), *buffer, 0).value();
  const Event far = b.run(1, std::vector{named});
  const Status status = late->wait();
  EXPECT_EQ(kind_of(status), FailureKind::launch);
  EXPECT_EQ(b.world.now(), ns(16 + 4 + 4));
  EXPECT_FALSE(late->times().ok());
  EXPECT_EQ(named->wait().failure().what, "dependency failed: launch 3 on d fails as described");
  EXPECT_EQ(kind_of(named->wait()), FailureKind::launch);
  EXPECT_EQ(b.world.now(), ns(16 + 4 + 4));
  EXPECT_TRUE(next->wait());  // the order in a queue passes no failure on
  EXPECT_EQ(out, std::vector<int>(4, 2));
  EXPECT_EQ(kind_of(far->wait()), FailureKind::launch);
  EXPECT_EQ(kind_of(b.run(1, std::vector{late})->wait()), FailureKind::launch);  // failed before it was queued
  EXPECT_TRUE(b.queue->finish());
}

TEST(FakeFailure, WriteAndRead) {
  Bench b(plain + "fail write 1\nfail read 1\nfail read 2 late\n");
  auto buffer = b.device.allocate(4).value();
  std::vector<std::byte> host(4);
  EXPECT_EQ(b.queue->copy_in(*buffer, 0, host).failure().kind, FailureKind::transfer);
  EXPECT_TRUE(b.queue->copy_in(*buffer, 0, host));
  EXPECT_EQ(b.queue->copy_out(host, *buffer, 0).failure().kind, FailureKind::transfer);
  const Event late = b.queue->copy_out(host, *buffer, 0).value();
  EXPECT_EQ(kind_of(late->wait()), FailureKind::transfer);
  EXPECT_TRUE(b.queue->copy_out(host, *buffer, 0).value()->wait());
}

TEST(FakeFailure, HangKeepsTheEngineAndItsDependents) {
  Bench b(plain + "hang at launch 2\ndevice e gpu\nrate 1e9\ncopy in 1e9\n");
  auto buffer = b.device.allocate(4).value();
  auto other = b.device.open_queue().value();
  auto elsewhere = b.world.device("e").open_queue().value();
  auto there = b.world.device("e").allocate(4).value();
  std::vector<std::byte> host(4);
  const Event fine = b.run(10), hung = b.run(10), behind = b.run(10);
  const Event dependent = elsewhere->copy_in(*there, 0, host, std::vector{hung}).value();
  EXPECT_EQ(kind_of(fine->wait(9ns)), FailureKind::hang);  // a limit that was too short: go on waiting
  EXPECT_EQ(b.world.now(), 9ns);
  EXPECT_TRUE(fine->wait(1ns));
  const Event engine = other->launch({*b.time, {}, items(1)}).value();
  EXPECT_EQ(kind_of(hung->wait(1000ns)), FailureKind::hang);
  EXPECT_EQ(b.world.now(), 1010ns);
  EXPECT_EQ(kind_of(hung->wait(5ns)), FailureKind::hang);
  EXPECT_EQ(b.world.now(), 1015ns);
  EXPECT_EQ(kind_of(hung->wait()), FailureKind::hang);  // for ever, so the clock stays
  EXPECT_EQ(b.world.now(), 1015ns);
  EXPECT_EQ(kind_of(b.queue->finish()), FailureKind::hang);
  EXPECT_FALSE(b.world.advance_to_next_completion());
  for (const Event& event : {hung, behind, engine, dependent}) EXPECT_FALSE(event->done());
  auto third = b.device.open_queue().value();
  EXPECT_TRUE(third->copy_in(*buffer, 0, host).value()->wait());  // the copy engines still work
}

TEST(FakeFailure, LostAtALaunchTakesThePendingWithIt) {
  Bench b(plain + "lost at launch 3\ndevice e gpu\nrate 1e9\ncopy in 1e9\n");
  auto elsewhere = b.world.device("e").open_queue().value();
  auto there = b.world.device("e").allocate(4).value();
  std::vector<std::byte> host(4);
  std::vector<int> called;
  const Event running = b.run(10), waiting = b.run(10);
  const Event dependent = elsewhere->copy_in(*there, 0, host, std::vector{waiting}).value();
  running->notify([&] { called.push_back(1); });
  waiting->notify([&] { called.push_back(2); });
  dependent->notify([&] { called.push_back(3); });
  b.world.advance(4ns);
  EXPECT_EQ(b.try_run(1).failure().kind, FailureKind::lost);
  EXPECT_TRUE(called.empty());  // never while queuing
  EXPECT_EQ(kind_of(waiting->wait()), FailureKind::lost);
  EXPECT_EQ(b.world.now(), 4ns);
  EXPECT_EQ(kind_of(running->wait()), FailureKind::lost);
  EXPECT_EQ(kind_of(dependent->wait()), FailureKind::lost);
  EXPECT_EQ(called, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(b.device.allocate(1).failure().kind, FailureKind::lost);
  EXPECT_EQ(b.device.lock(1).failure().kind, FailureKind::lost);
  EXPECT_EQ(b.device.build({"", ""}).failure().kind, FailureKind::lost);
  EXPECT_EQ(b.device.open_queue().failure().kind, FailureKind::lost);
  EXPECT_EQ(b.program->kernel("k").failure().kind, FailureKind::lost);
  EXPECT_EQ(b.try_run(1).failure().kind, FailureKind::lost);
  EXPECT_EQ(kind_of(b.queue->flush()), FailureKind::lost);
  EXPECT_EQ(kind_of(b.queue->finish()), FailureKind::lost);
  EXPECT_TRUE(elsewhere->copy_in(*there, 0, host).value()->wait());
}

TEST(FakeFailure, LostLateIsFoundOutAtTheEnd) {
  Bench b(plain + "lost at launch 2 late\n");
  auto buffer = b.device.allocate(1000).value();
  auto other = b.device.open_queue().value();
  std::vector<std::byte> host(1000);
  const Event good = b.run(10), bad = b.run(10), behind = b.run(10);
  const Event copy = other->copy_in(*buffer, 0, host).value();
  EXPECT_TRUE(good->wait());
  EXPECT_TRUE(b.device.allocate(1));
  EXPECT_EQ(kind_of(bad->wait()), FailureKind::lost);
  EXPECT_EQ(b.world.now(), 20ns);
  EXPECT_TRUE(copy->done());
  EXPECT_EQ(kind_of(copy->wait()), FailureKind::lost);
  EXPECT_EQ(kind_of(behind->wait()), FailureKind::lost);
  EXPECT_EQ(b.world.now(), 20ns);
  EXPECT_EQ(b.device.allocate(1).failure().kind, FailureKind::lost);
  EXPECT_TRUE(good->times().ok());
}

TEST(FakeFailure, AHungDeviceCanBeLost) {
  Bench b(plain + "hang at launch 1\nlost at launch 2\n");
  const Event hung = b.run(1);
  EXPECT_EQ(kind_of(hung->wait()), FailureKind::hang);
  EXPECT_EQ(b.try_run(1).failure().kind, FailureKind::lost);
  EXPECT_EQ(kind_of(hung->wait()), FailureKind::lost);
}

}  // namespace
}  // namespace heddle::device

// What descriptions of fake devices say, and what is wrong with those that say nothing.
#include <string>

#include <gtest/gtest.h>

#include "device/fake_device.hpp"

namespace heddle::device {
namespace {

using core::UsageError;

std::string message_of(const std::string& description) {
  try {
    FakeWorld world(description);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(FakeDescription, ReadsEveryItem) {
  const FakeWorld world = FakeWorld::from_file(HEDDLE_TEST_DATA "/fake_gpu_and_cpu.txt");
  ASSERT_EQ(world.devices().size(), 2u);
  const Info& gpu = world.devices()[0]->info();
  EXPECT_EQ(gpu.id, "gpu0");
  EXPECT_EQ(gpu.name, "Fictional 9000");
  EXPECT_EQ(gpu.kind, Kind::gpu);
  EXPECT_EQ(gpu.units, 80);
  EXPECT_EQ(gpu.memory, Bytes{16} << 30);
  EXPECT_EQ(gpu.largest_buffer, Bytes{4} << 30);
  EXPECT_EQ(gpu.local_memory, 48u << 10);
  EXPECT_EQ(gpu.largest_group, 256);
  EXPECT_EQ(gpu.space, 1);
  const Info& cpu = world.device("cpu").info();
  EXPECT_EQ(cpu.kind, Kind::cpu);
  EXPECT_EQ(cpu.name, "fake cpu");
  EXPECT_EQ(cpu.space, host_memory);
  EXPECT_EQ(cpu.largest_buffer, cpu.memory);
  EXPECT_EQ(gpu.fingerprint.size(), 32u);
  EXPECT_NE(cpu.fingerprint, gpu.fingerprint);
  EXPECT_THROW(world.device("gpu1"), UsageError);
}

TEST(FakeDescription, DevicesOfOneNameShareAFingerprint) {
  const FakeWorld world("device a gpu\nrate 1\nname X 1\ndevice b gpu\nrate 1\nname X   1\n");
  EXPECT_EQ(world.device("a").info().fingerprint, world.device("b").info().fingerprint);
  EXPECT_NE(world.device("a").info().space, world.device("b").info().space);
}

TEST(FakeDescription, ErrorsNameTheLine) {
  EXPECT_EQ(message_of(""), "line 1: no device in the description");
  EXPECT_EQ(message_of("\n# x\nrate 1\n"), "line 3: 'rate': 'device ID KIND' expected first");
  EXPECT_EQ(message_of("device a tpu\n"), "line 1: 'tpu': cpu, gpu or accelerator expected");
  EXPECT_EQ(message_of("device a\n"), "line 1: a kind (cpu, gpu or accelerator) expected after 'a'");
  EXPECT_EQ(message_of("device a gpu\n\ndevice b gpu\n"), "line 3: device a has no rate");
  EXPECT_EQ(message_of("device a gpu\nunits 1\n"), "line 2: device a has no rate");
  const std::string a = "device a gpu\nrate 1\n";
  EXPECT_EQ(message_of(a + a), "line 3: device a is there twice");
  EXPECT_EQ(message_of(a + "rate x"), "line 3: 'x': a rate per second such as 2e9 expected");
  EXPECT_EQ(message_of(a + "rate k -1"), "line 3: '-1': a rate per second such as 2e9 expected");
  EXPECT_EQ(message_of(a + "rate k inf"), "line 3: 'inf': a rate per second such as 2e9 expected");
  EXPECT_EQ(message_of(a + "rate 2"), "line 3: this rate is there twice for device a");
  EXPECT_EQ(message_of(a + "rate k 2\nrate k 3"), "line 4: this rate is there twice for device a");
  EXPECT_EQ(message_of(a + "units 1\nunits 2"), "line 4: 'units' is there twice for device a");
  EXPECT_EQ(message_of(a + "units 0"), "line 3: '0': a number of units expected");
  EXPECT_EQ(message_of(a + "units 8 9"), "line 3: '9': end of the line expected");
  EXPECT_EQ(message_of(a + "memory lots"), "line 3: size='lots': a size such as 512K, 256M or 2G expected");
  EXPECT_EQ(message_of(a + "launch 10"), "line 3: '10': a time such as 10us, 1.5ms or 2s expected");
  EXPECT_EQ(message_of(a + "copy inn 3"), "line 3: 'inn': in, out, within, latency or engines expected");
  EXPECT_EQ(message_of(a + "copy in 1 engines 3"), "line 3: '3': 1 or 2 engines expected");
  EXPECT_EQ(message_of(a + "space shared"), "line 3: 'shared': own or host expected");
  EXPECT_EQ(message_of(a + "noise 1.5"), "line 3: '1.5': a part of 1 such as 0.05 expected");
  EXPECT_EQ(message_of(a + "fail luck 1"), "line 3: 'luck': build, allocation, launch, write or read expected");
  EXPECT_EQ(message_of(a + "fail launch 0"), "line 3: '0': a number from 1 expected");
  EXPECT_EQ(message_of(a + "fail build 1 late"), "line 3: 'late': end of the line expected");
  EXPECT_EQ(message_of(a + "lost in launch 3"), "line 3: 'in': 'at' expected");
  EXPECT_EQ(message_of(a + "hang at launch"), "line 3: a number from 1 expected after 'launch'");
  EXPECT_EQ(message_of(a + "fail launch 2\nhang at launch 2"), "line 4: launch 2 of a goes wrong already");
  EXPECT_EQ(message_of(a + "color red").substr(0, 16), "line 3: 'color':");
  EXPECT_THROW(FakeWorld::from_file("/nowhere"), UsageError);
}

}  // namespace
}  // namespace heddle::device

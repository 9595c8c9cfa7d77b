// Choosing devices: the text of HEDDLE_DEVICES, and what it opens on this machine.
#include "device/machine.hpp"

#include <set>

#include <gtest/gtest.h>

#include "core/log.hpp"
#include "test/device/any_device.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::device {
namespace {

std::string complaint(const std::string& devices) {
  try {
    open_machine(test_settings(devices), process_environment);
  } catch (const core::UsageError& e) {
    return e.what();
  }
  return "none";
}

TEST(Selectors, AreReadAsWritten) {
  const auto selectors = parse_selectors("cpu/4,GPU,gpu1,H200");
  ASSERT_EQ(selectors.size(), 4u);
  EXPECT_EQ(selectors[0].what, "cpu");
  EXPECT_EQ(selectors[0].parts, 4);
  EXPECT_EQ(selectors[1].what, "GPU");
  EXPECT_EQ(selectors[1].parts, 0);
}

TEST(Selectors, FewCoresAreLeftToFeedOthers) {
  for (const auto& [units, used] : {std::pair(1, 1), {4, 4}, {7, 7}, {8, 7}, {16, 14}, {128, 126}})
    EXPECT_EQ(units_beside_others(units), used);
}

TEST(Selectors, BadOnesAreOneClearLine) {
  for (const char* bad : {"", ",", "cpu,,gpu", "cpu/", "cpu/0", "cpu/-1", "cpu/x", "/2", "cpu/2x"}) {
    EXPECT_THROW(parse_selectors(bad), core::UsageError) << bad;
  }
}

TEST(Machine, FindsTheCpu) {
  const auto machine = open_machine(test_settings("all"), process_environment);
  ASSERT_FALSE(machine.devices.empty());
  std::set<std::string> ids;
  for (const auto& device : machine.devices) {
    const Info& info = device->info();
    EXPECT_TRUE(ids.insert(info.id).second) << info.id;
    EXPECT_GE(info.units, 1);
    EXPECT_GT(info.largest_group, 0);
    EXPECT_EQ(info.fingerprint.size(), 32u);
    EXPECT_EQ(info.space == host_memory, info.kind == Kind::cpu);
  }
  EXPECT_TRUE(ids.count("cpu"));
}

TEST(Machine, CutsTheCpuIntoParts) {
  const auto whole = open_machine(test_settings("cpu"), process_environment);
  const int units = whole.devices.front()->info().units;
  if (units < 2) GTEST_SKIP() << "one core only";
  const auto machine = open_machine(test_settings("cpu/2"), process_environment);
  ASSERT_EQ(machine.devices.size(), 2u);
  int sum = 0;
  for (const auto& device : machine.devices) {
    sum += device->info().units;
    EXPECT_EQ(device->info().parent, whole.devices.front()->info().fingerprint);
    EXPECT_NE(device->info().fingerprint, whole.devices.front()->info().fingerprint);
    EXPECT_EQ(device->info().space, host_memory);
  }
  EXPECT_EQ(sum, units);
  EXPECT_EQ(machine.devices[1]->info().id, "cpu.1");
}

TEST(Machine, OnlyEqualDevicesAreExact) {
  core::Settings settings = test_settings("all");
  settings.exactness = "exact";
  const auto exact = open_machine(settings, process_environment);
  ASSERT_FALSE(exact.devices.empty());
  for (const auto& device : exact.devices)
    EXPECT_EQ(device->info().fingerprint, exact.devices.front()->info().fingerprint);
  // 3 units in 2 parts are 2 and 1.
  const auto halves = open_machine(test_settings("cpu/2"), process_environment);
  settings.devices = "cpu/2";
  const bool equal = halves.devices[0]->info().units == halves.devices[1]->info().units;
  EXPECT_EQ(open_machine(settings, process_environment).devices.size(), equal ? 2u : 1u);
  settings.exactness = "rather";
  EXPECT_THROW(open_machine(settings, process_environment), core::UsageError);
}

TEST(Machine, BadChoicesAreOneClearLine) {
  EXPECT_EQ(complaint("nonsense").rfind("HEDDLE_DEVICES: 'nonsense' matches no device; there are: ", 0), 0u);
  EXPECT_EQ(complaint("999").rfind("HEDDLE_DEVICES: '999' matches no device", 0), 0u);
  EXPECT_NE(complaint("cpu/100000").find("has only"), std::string::npos);
  EXPECT_NE(complaint("cpu,cpu/2").find("chosen both"), std::string::npos);
  EXPECT_EQ(complaint("all,cpu/1"), "none");
  EXPECT_EQ(complaint("cpu,CPU,all"), "none");
}

TEST(Machine, WithoutDriversThereIsNoDeviceAndOneWarningEach) {
  TemporaryFolder folder;
  folder.write("gone.icd", "libheddle-gone-driver.so");
  std::vector<std::string> warnings;
  auto before = core::set_log_sink([&](core::LogLevel, std::string_view text) { warnings.emplace_back(text); });
  core::Lookup lookup = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "OCL_ICD_VENDORS") return folder.path();
    return std::nullopt;
  };
  for (int i = 0; i < 2; ++i) {
    const auto machine = open_machine(test_settings("all"), lookup);
    EXPECT_TRUE(machine.devices.empty());
    EXPECT_EQ(machine.problems.size(), 1u);
  }
  core::set_log_sink(before);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("libheddle-gone-driver.so"), std::string::npos);
}

}  // namespace
}  // namespace heddle::device

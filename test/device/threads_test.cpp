// How drivers' threads are scheduled. Each case in a process of its own, as threads begin once.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "device/chosen.hpp"
#include "test/device/any_device.hpp"

namespace heddle::device {
namespace {

// 0: as many threads as the CPU has units are for computing, or none if `none`; and this one is as it was.
int wrong_threads(const std::string& devices, bool none) {
  const Choice choice = choose_devices(test_settings(devices), process_environment);
  int units = 0, batch = 0;
  for (const Chosen& one : choice.devices) units += one.info.units;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    batch += ::sched_getscheduler(std::stoi(entry.path().filename())) == SCHED_BATCH;
  if (::sched_getscheduler(0) != SCHED_OTHER) return 2;
  return batch == (none ? 0 : units) ? 0 : 3;
}

TEST(Threads, ThoseOfPartsDoNotTakeTheCoreOfWhoeverWakesThem) {
  const sched_param none{};
  ASSERT_EQ(::sched_setscheduler(0, SCHED_OTHER, &none), 0);  // however the test was started
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(::_exit(wrong_threads("cpu/2", false)), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(::_exit(wrong_threads("cpu", true)), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace heddle::device

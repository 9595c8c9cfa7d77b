// The loader: which libraries it finds under which environment, and what bad surroundings do to it.
#include "device/vendor.hpp"

#include <map>

#include <gtest/gtest.h>

#include "test/temporary_folder.hpp"

namespace heddle::device {
namespace {

using Libraries = std::vector<std::string>;

core::Lookup environment(std::map<std::string, std::string> variables) {
  return [=](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

TEST(DriverLibraries, AFolderOfIcdFilesInOrder) {
  TemporaryFolder folder;
  folder.write("b.icd", "libb.so\n");
  folder.write("a.icd", "  liba.so.1 \r\n");
  folder.write("c.txt", "libc.so\n");
  folder.write("d.icd", "");
  EXPECT_EQ(driver_libraries(environment({{"OCL_ICD_VENDORS", folder.path()}})), (Libraries{"liba.so.1", "libb.so"}));
  EXPECT_EQ(driver_libraries(environment({{"OPENCL_VENDOR_PATH", folder.path()}})),
            (Libraries{"liba.so.1", "libb.so"}));
}

TEST(DriverLibraries, OneFileOrALibrary) {
  TemporaryFolder folder;
  const std::string file = folder.write("one.icd", "libone.so");
  EXPECT_EQ(driver_libraries(environment({{"OCL_ICD_VENDORS", file}})), Libraries{"libone.so"});
  EXPECT_EQ(driver_libraries(environment({{"OCL_ICD_VENDORS", "libtwo.so.1"}})), Libraries{"libtwo.so.1"});
  EXPECT_EQ(driver_libraries(environment({{"OCL_ICD_VENDORS", folder.path("nowhere.icd")}})), Libraries{});
}

TEST(DriverLibraries, MoreByFileNamesWithoutRepeats) {
  TemporaryFolder folder;
  folder.write("a.icd", "liba.so");
  EXPECT_EQ(
      driver_libraries(environment({{"OCL_ICD_VENDORS", folder.path()}, {"OCL_ICD_FILENAMES", "liba.so:/x/libz.so"}})),
      (Libraries{"liba.so", "/x/libz.so"}));
}

TEST(DriverLibraries, NeverOurselves) {
  TemporaryFolder folder;
  folder.write("heddle.icd", "/usr/lib/libheddle-icd.so.1");
  folder.write("other.icd", "libother.so");
  EXPECT_EQ(driver_libraries(environment({{"OCL_ICD_VENDORS", folder.path()}})), Libraries{"libother.so"});
  EXPECT_EQ(driver_libraries(environment({{"OCL_ICD_VENDORS", folder.path() + "/"}})), Libraries{"libother.so"});
}

TEST(DriverLibraries, OurselvesAloneStandsForTheMachinesDrivers) {
  EXPECT_EQ(driver_libraries(environment({{"OCL_ICD_VENDORS", "/usr/lib/libheddle-icd.so"}})),
            driver_libraries(environment({})));
}

TEST(DriverLibraries, WhatHeddleRunKeptForTheInnerDriversCounts) {
  const auto kept = environment({{"OCL_ICD_VENDORS", "liba.so"}, {"HEDDLE_INNER_OCL_ICD_VENDORS", "libb.so"}});
  EXPECT_EQ(driver_libraries(kept), Libraries{"libb.so"});
  // Kept empty: the user had none.
  const auto none = environment({{"OCL_ICD_VENDORS", "liba.so"}, {"HEDDLE_INNER_OCL_ICD_VENDORS", ""}});
  EXPECT_EQ(driver_libraries(none), driver_libraries(environment({})));
}

TEST(LoadPlatforms, NamesWhatCannotBeLoadedAndGoesOn) {
  std::vector<std::string> problems;
  const auto platforms = load_platforms({"libheddle-no-such-driver.so", "libm.so.6"}, problems);
  EXPECT_TRUE(platforms.empty());
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_NE(problems[0].find("libheddle-no-such-driver.so cannot be loaded"), std::string::npos) << problems[0];
  EXPECT_EQ(problems[1], "OpenCL driver libm.so.6 has no clIcdGetPlatformIDsKHR, so no loader can use it");
}

TEST(Dispatch, AnEmptySlotAnswersInvalidOperation) {
  cl_icd_dispatch table{};
  cl_icd_dispatch* object = &table;
  const Dispatch cl(&object);
  EXPECT_FALSE(cl.has(&cl_icd_dispatch::clFinish));
  EXPECT_EQ(cl(&cl_icd_dispatch::clFinish, nullptr), CL_INVALID_OPERATION);
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(cl(&cl_icd_dispatch::clCreateBuffer, nullptr, 0, 0, nullptr, &code), nullptr);
  EXPECT_EQ(code, CL_INVALID_OPERATION);
}

TEST(Failed, CodesThatSayMoreDecideTheKind) {
  using core::FailureKind;
  EXPECT_EQ(failed(FailureKind::launch, "clX", CL_OUT_OF_RESOURCES).kind, FailureKind::launch);
  EXPECT_EQ(failed(FailureKind::launch, "clX", CL_MEM_OBJECT_ALLOCATION_FAILURE).kind, FailureKind::allocation);
  EXPECT_EQ(failed(FailureKind::transfer, "clX", CL_DEVICE_NOT_AVAILABLE).kind, FailureKind::lost);
  EXPECT_EQ(failed(FailureKind::launch, "clX", CL_OUT_OF_RESOURCES).what, "clX: CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(error_name(-9999), "error -9999");
}

}  // namespace
}  // namespace heddle::device

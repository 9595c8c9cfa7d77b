// What is written is read back to the same values.
#include "profile/t4.hpp"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "profile/recorded.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::profile {
namespace {

Tried tried(std::int64_t tile, double real, bool flag, const std::string& name, double ms,
            const std::string& failure = "") {
  return {.configuration = {{{"TILE", tile}, {"REAL", real}, {"FLAG", flag}, {"A_NAME", name}}},
          .ms = ms,
          .failure = failure,
          .why = failure.empty() ? "" : "a \"reason\"\n",
          .build_ms = 12.25,
          .seconds_since_epoch = 1703238828};
}

TEST(T4, RoundTrip) {
  const std::vector<Tried> before = {tried(8, 2.0, true, "float", 0.1 + 0.2), tried(2, 0.5, false, "sät \"4\"", 1e-7),
                                     tried(8, 0.5, true, "float", NAN, "compile"),
                                     tried(4, 2.0, true, "float", NAN, "timeout")};
  const TemporaryFolder folder;
  const Recorded after = read_recorded(folder.write("t4.json", t4_text({"k", "a device", "64x64"}, before)));
  EXPECT_EQ(after.kernel, "k");
  EXPECT_EQ(after.device, "a device");
  EXPECT_EQ(after.problem, "64x64");
  EXPECT_EQ(after.skipped_count, 0u);
  ASSERT_EQ(after.places.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(configuration(after, i), before[i].configuration);
    EXPECT_EQ(after.failures[i], before[i].failure);
    EXPECT_TRUE(after.times[i] == before[i].ms || std::isnan(before[i].ms));  // to the last bit
    EXPECT_EQ(after.compile_ms[i], 12.25);
  }
}

TEST(T4, HasWhatTheSchemaRequires) {
  const auto json =
      nlohmann::json::parse(t4_text({}, {tried(8, 2.0, true, "x", 5), tried(4, 2.0, true, "x", NAN, "runtime")}));
  EXPECT_EQ(json["schema_version"], "1.0.0");
  for (const auto& result : json["results"]) {
    for (const char* name : {"configuration", "times", "invalidity", "correctness"})
      EXPECT_TRUE(result.contains(name)) << name;
  }
  EXPECT_EQ(json["results"][0]["timestamp"], "2023-12-22 09:53:48+00:00");
  EXPECT_EQ(json["results"][0]["invalidity"], "correct");
  EXPECT_EQ(json["results"][1]["invalidity"], "runtime");
  EXPECT_TRUE(nlohmann::json::parse(t4_text({}, {}))["results"].empty());
}

TEST(T4, WhatCouldNotBeReadBackIsOurBug) {
  EXPECT_THROW(t4_text({}, {tried(1, 1, true, "x", NAN)}), core::InternalError);
  EXPECT_THROW(t4_text({}, {tried(1, 1, true, "x", 0)}), core::InternalError);
  EXPECT_THROW(t4_text({}, {tried(1, 1, true, "x", NAN, "odd")}), core::InternalError);
  EXPECT_THROW(t4_text({}, {tried(1, INFINITY, true, "x", 1)}), core::InternalError);
}

}  // namespace
}  // namespace heddle::profile

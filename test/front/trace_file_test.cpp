// The trace file is what viewers expect: JSON, microseconds, one track per device; and an event costs next to nothing.
#include "front/report/trace_file.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::front::report {
namespace {

using core::Nanoseconds;
using core::TraceKind;

nlohmann::json read(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

TEST(TraceFile, IsAJsonArrayOfEvents) {
  TemporaryFolder folder;
  {
    TraceFile file(folder.path("t.json"));
    file.add({TraceKind::slice, "cpu", "saxpy", "64x1x1 items", Nanoseconds(1'500), Nanoseconds(2'000)});
    file.add({TraceKind::decision, "host", "run \"whole\"", "too small \\ to gain\n\xff", Nanoseconds(4'000),
              Nanoseconds(0)});
    file.add({TraceKind::transfer, "cpu", "copy in", "4 bytes", Nanoseconds(9'001), Nanoseconds(1)});
  }
  const auto events = read(folder.path("t.json"));
  ASSERT_EQ(events.size(), 5u);  // two of them name the tracks
  EXPECT_EQ(events[0].at("args").at("name"), "cpu");
  EXPECT_EQ(events[1].at("ph"), "X");
  EXPECT_EQ(events[1].at("ts"), 1.5);
  EXPECT_EQ(events[1].at("dur"), 2.0);
  EXPECT_EQ(events[1].at("cat"), "slice");
  EXPECT_EQ(events[3].at("ph"), "i");
  EXPECT_EQ(events[3].at("name"), "run \"whole\"");
  EXPECT_EQ(events[4].at("tid"), events[1].at("tid"));
  EXPECT_NE(events[3].at("tid"), events[1].at("tid"));
}

TEST(TraceFile, AnEmptyOneIsValidToo) {
  TemporaryFolder folder;
  { TraceFile file(folder.path("t.json")); }
  EXPECT_TRUE(read(folder.path("t.json")).empty());
}

TEST(TraceFile, TakesEventsFromManyThreadsAndNoneAfterItIsClosed) {
  TemporaryFolder folder;
  TraceFile file(folder.path("t.json"));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10'000; ++i) {
          file.add({TraceKind::slice, "track " + std::to_string(t), "k", "", Nanoseconds(i), Nanoseconds(1)});
        }
      });
    }
  }
  file.close();
  file.add({TraceKind::slice, "late", "k", "", Nanoseconds(1), Nanoseconds(1)});
  EXPECT_EQ(read(folder.path("t.json")).size(), 40'000u + 4u);
}

TEST(TraceFile, SaysWhyItCannotBeCreated) { EXPECT_THROW(TraceFile("/proc/no/such/folder/t.json"), core::UsageError); }

}  // namespace
}  // namespace heddle::front::report

// The log sink: replaceable, filtered by level, and quiet where told once.
#include "core/log.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

TEST(Log, GoesToTheSinkAndOnlyFromTheLevelOn) {
  std::vector<std::string> lines;
  LogSink before = set_log_sink([&](LogLevel level, std::string_view text) {
    lines.push_back(std::string(to_string(level)) + " " + std::string(text));
  });
  log(LogLevel::warn, "a");
  log(LogLevel::info, "not shown");
  set_log_level(LogLevel::debug);
  log(LogLevel::debug, "b");
  log_once(LogLevel::warn, "only once, says log_test");
  log_once(LogLevel::warn, "only once, says log_test");
  set_log_level(LogLevel::warn);
  set_log_sink(before);
  EXPECT_EQ(lines, (std::vector<std::string>{"warn a", "debug b", "warn only once, says log_test"}));
}

TEST(Log, ASinkMayLog) {
  int calls = 0;
  LogSink before = set_log_sink([&](LogLevel, std::string_view) {
    if (++calls < 3) log(LogLevel::warn, "again");
  });
  log(LogLevel::warn, "first");
  set_log_sink(before);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace heddle::core

// Settings come from whatever environment is handed in; a bad value is one clear line.
#include "core/settings.hpp"

#include <map>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::core {
namespace {

Settings read(std::map<std::string, std::string> variables) {
  return read_settings([=](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string complaint(std::map<std::string, std::string> variables) {
  try {
    read(std::move(variables));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "none";
}

TEST(Settings, Defaults) {
  const Settings s = read({{"HOME", "/home/u"}});
  EXPECT_EQ(s.devices, "all");
  EXPECT_EQ(s.store, "/home/u/.local/share/heddle/profile.db");
  EXPECT_EQ(s.cache, "/home/u/.cache/heddle");
  EXPECT_EQ(s.cache_limit, 256_MiB);
  EXPECT_EQ(s.log, LogLevel::warn);
  EXPECT_EQ(s.trace, "");
  EXPECT_TRUE(s.active);
  EXPECT_FALSE(s.report);
  EXPECT_EQ(s.show, "one");
}

TEST(Settings, SwitchesAreOnOrOff) {
  EXPECT_FALSE(read({{"HEDDLE", "off"}}).active);
  EXPECT_TRUE(read({{"HEDDLE_REPORT", "on"}}).report);
  EXPECT_THROW(read({{"HEDDLE", "no"}}), UsageError);
}

TEST(Settings, XdgFoldersComeFirstUnlessRelative) {
  const Settings s = read({{"HOME", "/home/u"}, {"XDG_DATA_HOME", "/d"}, {"XDG_CACHE_HOME", "relative"}});
  EXPECT_EQ(s.store, "/d/heddle/profile.db");
  EXPECT_EQ(s.cache, "/home/u/.cache/heddle");
}

TEST(Settings, NoHomeMeansNoStoreAndNoCache) {
  EXPECT_EQ(read({}).store, "");
  EXPECT_EQ(read({{"HOME", ""}}).cache, "");
}

TEST(Settings, Given) {
  const Settings s = read({{"HEDDLE_STORE", ":memory:"},
                           {"HEDDLE_CACHE", "off"},
                           {"HEDDLE_CACHE_LIMIT", "2g"},
                           {"HEDDLE_LOG", "debug"},
                           {"HEDDLE_DEVICES", "cpu/2"}});
  EXPECT_EQ(s.store, ":memory:");
  EXPECT_EQ(s.cache, "");
  EXPECT_EQ(s.cache_limit, 2ull << 30);
  EXPECT_EQ(s.log, LogLevel::debug);
  EXPECT_EQ(s.devices, "cpu/2");
}

TEST(Settings, BadValuesAreOneClearLine) {
  EXPECT_EQ(complaint({{"HEDDLE_LOG", "loud"}}), "HEDDLE_LOG='loud': warn, info or debug expected");
  for (const char* size : {"many", "-1", "1X", "1MB", "99999999999G", " 1"}) {
    EXPECT_EQ(complaint({{"HEDDLE_CACHE_LIMIT", size}}),
              "HEDDLE_CACHE_LIMIT='" + std::string(size) + "': a size such as 512K, 256M or 2G expected");
  }
}

TEST(Settings, MisspeltNamesAreNoticed) {
  EXPECT_EQ(misspelt_settings({"HEDDLE_DEVICE", "HEDDLE_DEVICES", "HEDDLE_DEPS", "PATH"}),
            std::vector<std::string>{"HEDDLE_DEVICE is not a setting; did you mean HEDDLE_DEVICES?"});
}

TEST(Settings, EveryOneHasHelp) {
  for (const SettingLine& line : setting_lines()) {
    EXPECT_EQ(std::string(line.variable).rfind("HEDDLE", 0), 0u);
    EXPECT_GT(std::string(line.help).size(), 20u) << line.variable;
  }
}

}  // namespace
}  // namespace heddle::core

// All settings as one value, read once from the environment that a front end hands in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/units.hpp"

namespace heddle::core {

using Lookup = std::function<std::optional<std::string>(const std::string& variable)>;

// `heddle run` points OpenCL's loaders at Heddle alone and keeps the variables that it changes under this prefix, for
// the drivers below.
inline const std::string inner_prefix = "HEDDLE_INNER_";

struct Settings {
  using Text = std::string;
  using Path = std::string;
  using Size = Bytes;
  using Level = LogLevel;
  using Switch = bool;
#define SETTING(member, variable, type, fallback, help) type member{};
#include "core/settings.def"
#undef SETTING
};

// One line of settings.def, for help texts and documentation.
struct SettingLine {
  const char* variable;
  const char* fallback;
  const char* help;
};
const std::vector<SettingLine>& setting_lines();

// UsageError in one line for a bad value. Store and cache are resolved: a path, ":memory:", or empty for none.
Settings read_settings(const Lookup& environment);

// Variables that begin with HEDDLE_ and look like a misspelt setting, each as "X is not a setting; did you mean Y?".
std::vector<std::string> misspelt_settings(const std::vector<std::string>& variables);

// "64M" -> 67108864. UsageError naming `what` where it is no size.
Bytes parse_size(const std::string& what, const std::string& text);

}  // namespace heddle::core

// Parsing of settings: one overload per type that settings.def uses.
#include "core/settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <numeric>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

void parse(const std::string&, const std::string& text, std::string& out) { out = text; }

void parse(const std::string& variable, const std::string& text, Bytes& out) { out = parse_size(variable, text); }

void parse(const std::string& variable, const std::string& text, bool& out) {
  if (text != "on" && text != "off") throw UsageError(variable + "='" + text + "': on or off expected");
  out = text == "on";
}

void parse(const std::string& variable, const std::string& text, LogLevel& out) {
  for (LogLevel level : {LogLevel::warn, LogLevel::info, LogLevel::debug}) {
    if (text == to_string(level)) {
      out = level;
      return;
    }
  }
  throw UsageError(variable + "='" + text + "': warn, info or debug expected");
}

// A file or folder below an XDG base folder; empty where the user has neither that nor a home.
std::string xdg(const Lookup& environment, const char* base, const char* below_home, const char* rest) {
  auto folder = environment(base);
  if (folder && !folder->empty() && folder->front() == '/')
    return *folder + "/" + rest;  // relative ones are to be ignored
  auto home = environment("HOME");
  if (home && !home->empty()) return *home + "/" + below_home + "/" + rest;
  return "";
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t here = std::min({row[j] + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1])});
      corner = row[j];
      row[j] = here;
    }
  }
  return row.back();
}

}  // namespace

const std::vector<SettingLine>& setting_lines() {
  static const std::vector<SettingLine> lines = {
#define SETTING(member, variable, type, fallback, help) {#variable, fallback, help},
#include "core/settings.def"
#undef SETTING
  };
  return lines;
}

Settings read_settings(const Lookup& environment) {
  Settings s;
#define SETTING(member, variable, type, fallback, help)                       \
  {                                                                           \
    const auto given = environment(#variable);                                \
    parse(#variable, given && !given->empty() ? *given : fallback, s.member); \
  }
#include "core/settings.def"
#undef SETTING
  if (s.store.empty()) s.store = xdg(environment, "XDG_DATA_HOME", ".local/share", "heddle/profile.db");
  if (s.cache.empty()) s.cache = xdg(environment, "XDG_CACHE_HOME", ".cache", "heddle");
  if (s.store == "off") s.store.clear();
  if (s.cache == "off") s.cache.clear();
  if (s.trace == "off") s.trace.clear();
  return s;
}

std::vector<std::string> misspelt_settings(const std::vector<std::string>& variables) {
  std::vector<std::string> out;
  for (const std::string& name : variables) {
    if (name.rfind("HEDDLE_", 0) != 0) continue;
    const SettingLine* nearest = nullptr;
    std::size_t least = 3;  // two slips of the finger at most: other tools have HEDDLE_ variables of their own
    for (const SettingLine& line : setting_lines()) {
      const std::size_t distance = edit_distance(name, line.variable);
      if (distance < least) least = distance, nearest = &line;
    }
    if (nearest && least > 0) out.push_back(name + " is not a setting; did you mean " + nearest->variable + "?");
  }
  return out;
}

Bytes parse_size(const std::string& what, const std::string& text) {
  Bytes number = 0;
  const char* last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, number);
  int shift = 0;
  if (error == std::errc() && end + 1 == last) {
    const std::string suffixes = "KMG";
    const auto at = suffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*end))));
    if (at != std::string::npos) shift = 10 * (static_cast<int>(at) + 1), ++end;
  }
  if (error != std::errc() || end != last || number > (std::numeric_limits<Bytes>::max() >> shift)) {
    throw UsageError(what + "='" + text + "': a size such as 512K, 256M or 2G expected");
  }
  return number << shift;
}

}  // namespace heddle::core

#include "kernel/group_blind.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace heddle::kernel {

namespace {

// The text as the language sees it: lines that go on are one, and comments are a blank. What looks like one behind the
// first string or character may be part of that, and stays in, where it can only make the answer false.
std::string without_comments(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') continue;
    if (source[i] == '\\') {
      std::size_t next = i + 1;
      while (next < source.size() && (source[next] == ' ' || source[next] == '\t' || source[next] == '\r')) ++next;
      if (next < source.size() && source[next] == '\n') {
        i = next;
        continue;
      }
    }
    text += source[i];
  }
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' || text[i] == '\'') return out + text.substr(i);
    const std::string_view rest = std::string_view(text).substr(i);
    const bool line = rest.starts_with("//");
    if (!line && !rest.starts_with("/*")) {
      out += text[i];
      continue;
    }
    const std::size_t end = line ? text.find('\n', i) : text.find("*/", i + 2);
    if (end == std::string::npos) break;
    i = line ? end : end + 1;
    out += line ? '\n' : ' ';
  }
  return out;
}

bool says_something(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  // Ids, sizes, attributes, memory and functions of groups have the first of these in their names; the others could
  // bring such names, or do without.
  static constexpr std::array<std::string_view, 11> words = {"local",   "group",  "barrier", "builtin", "asm", "nvvm",
                                                             "include", "import", "??",      "##",      "%:"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return text.find(w) != text.npos; });
}

}  // namespace

bool blind_to_groups(std::string_view source, std::string_view options) {
  return source.find('\0') == source.npos && !says_something(without_comments(source)) &&
         !says_something(std::string(options));
}

}  // namespace heddle::kernel

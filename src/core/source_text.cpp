#include "core/source_text.hpp"

#include <algorithm>
#include <initializer_list>

namespace heddle::core {

namespace {

// Lines that go on are one: whatever blanks a compiler allows between the backslash and the end.
std::string joined_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\\') {
      const std::size_t next = source.find_first_not_of(" \t\v\f", i + 1);
      if (next != source.npos && (source[next] == '\n' || source[next] == '\r')) {
        i = next + (source.substr(next).starts_with("\r\n") ? 1 : 0);
        continue;
      }
    }
    text += source[i] == '\r' ? '\n' : source[i];
  }
  return text;
}

}  // namespace

std::string without_comments(std::string_view source) {
  const std::string text = joined_lines(source);
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

bool includes_nothing(std::string_view source, std::string_view options) {
  // Trigraphs end comments, too, and begin directives.
  if (source.find('\0') != source.npos || source.find("??") != source.npos) return false;
  const std::string text = without_comments(source);
  const auto none_in = [](std::string_view where, std::initializer_list<std::string_view> words) {
    return std::all_of(words.begin(), words.end(), [&](std::string_view w) { return where.find(w) == where.npos; });
  };
  return none_in(text, {"include", "import"}) && none_in(options, {"include", "imacros"});
}

}  // namespace heddle::core

#include "core/source_text.hpp"

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

namespace {

// Whether a directive of that name may begin somewhere, which also asks whether a file is there.
bool has_directive(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const std::size_t last = before.find_last_not_of(" \t\v\f");
    if (last != before.npos && (before[last] == '#' || before.substr(0, last + 1).ends_with("%:"))) return true;
    if (before.ends_with("__has_")) return true;
  }
  return false;
}

}  // namespace

bool includes_nothing(std::string_view source, std::string_view options) {
  while (source.ends_with('\0')) source.remove_suffix(1);  // programs count the end of a string in
  // Trigraphs are backslashes and directives, too.
  if (source.find('\0') != source.npos || source.find("?\?/") != source.npos || source.find("?\?=") != source.npos)
    return false;
  const std::string text = without_comments(source);
  for (const std::string_view name : {"include", "import", "embed"}) {
    if (has_directive(text, name)) return false;
  }
  return options.find("include") == options.npos && options.find("imacros") == options.npos;
}

}  // namespace heddle::core

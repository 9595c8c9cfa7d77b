#include "kernel/group_blind.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/source_text.hpp"

namespace heddle::kernel {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

bool says_something(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  // Ids, sizes, attributes, memory and functions of groups have the first of these in their names; the others could
  // bring such names, or do without; and what is printed comes in the order of groups.
  static constexpr std::array<std::string_view, 11> words = {"local",   "group",  "barrier", "builtin", "asm",   "nvvm",
                                                             "include", "import", "##",      "%:",      "printf"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return text.find(w) != text.npos; });
}

bool any_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Behind a parenthesis and all that it holds.
std::size_t behind(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return at;
}

// What is left without brackets and what they hold.
std::string without_brackets(std::string_view text) {
  std::string out;
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (depth == 0 && !std::isspace(static_cast<unsigned char>(c))) out += c;
    if (c == ']') --depth;
  }
  return out;
}

// What stands between semicolons and braces: whether it may declare an array. A declaration begins with two words, or
// with one and a star or parentheses, as few other things do; behind `=`, brackets are those of an expression.
bool declares_array(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == text.npos) return false;
  std::size_t i = 0;
  const auto skip = [&] { i = std::min(text.find_first_not_of(" \t\v\f", i), text.size()); };
  std::vector<std::string> begin;  // the words before anything else
  bool type = false, returned = false;
  for (skip(); i < text.size(); skip()) {
    if (text[i] == ':' && begin.size() == 1) {  // a label
      begin.clear();
      ++i;
    } else if (text[i] == '(' && begin.size() == 1) {
      const std::string& what = begin[0];
      if (what == "for") {
        begin.clear();
        ++i;
        continue;
      }
      if (any_of(what, {"if", "while", "switch"})) return false;
      i = behind(text, i);
      if (what == "__attribute__") {
        begin.clear();
        continue;
      }
      skip();  // a macro, or the type of something
      type = i < text.size() && is_word(text[i]);
      break;
    } else if (is_word(text[i])) {
      begin.emplace_back();
      while (i < text.size() && is_word(text[i])) begin.back() += text[i++];
      returned |= begin.back() == "return";
      if (any_of(begin.back(), {"return", "else", "do", "case", "goto"})) begin.clear();
    } else {
      break;
    }
  }
  if (!begin.empty() && any_of(begin[0], {"constant", "__constant"})) return false;  // there is one of it for all
  const char next = i < text.size() ? text[i] : ' ';
  type |= begin.size() > 1 || (begin.size() == 1 && next == '*' && !text.substr(i).starts_with("*="));
  if (type) {
    int depth = 0;
    bool value = false;
    for (; i < text.size(); ++i) {
      if (text[i] == '[' && !value) return true;
      depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
      if (text[i] == '=') value = true;
      if (text[i] == ',' && depth == 0) value = false;
    }
    return false;
  }
  // `} name[8];` behind the body of a struct; `(name)[8]`; and `(float[8]) {` in an expression.
  const std::string rest = without_brackets(text);
  if (!returned && begin.size() == 1 && next == '[' &&
      ((rest.find('=') == rest.npos && rest.find("++") == rest.npos && rest.find("--") == rest.npos) ||
       rest.ends_with('=')))
    return true;
  for (std::size_t at = open; at != text.npos; at = text.find('[', at + 1)) {
    const std::size_t before = text.find_last_not_of(" \t\v\f", at - (at > 0));
    if (at > 0 && before != text.npos && text[before] == ')') return true;
  }
  const std::size_t last = text.find_last_not_of(" \t\v\f"), inner = text.find_last_not_of(" \t\v\f)", last);
  return last != text.npos && text[last] == ')' && inner != text.npos && text[inner] == ']';
}

}  // namespace

bool blind_to_groups(std::string_view source, std::string_view options) {
  // Trigraphs end comments, too; and what a quote does to an option, each driver knows for itself.
  return source.find('\0') == source.npos && source.find("??") == source.npos &&
         options.find_first_of("\"'\\") == options.npos && !says_something(core::without_comments(source)) &&
         !says_something(std::string(options)) && options.find("??") == options.npos;
}

bool without_private_arrays(std::string_view source) {
  const std::string text = core::without_comments(source);
  std::string statement;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find_first_not_of(" \t\v\f");
    if (first != line.npos && line[first] == '#') {
      if (line.find('[') != line.npos) return false;  // a macro may be anything
      continue;
    }
    for (const char c : line) {
      if (c == ';' || c == '{' || c == '}') {
        if (declares_array(statement)) return false;
        statement.clear();
      } else {
        statement += c;
      }
    }
    statement += ' ';
  }
  return !declares_array(statement);
}

}  // namespace heddle::kernel

// From a kernel's text to its parameters, and from a configuration to a variant.
#include "core/tunable.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/errors.hpp"
#include "core/expression.hpp"

namespace heddle::core {

namespace {

constexpr std::size_t most_values = 65536;  // as a parameter may have; a range must not fill the memory before that

[[noreturn]] void not_values(const std::string& text, const std::string& what) {
  throw UsageError("values '" + text + "': " + what);
}

std::int64_t whole_number(const std::string& word, const std::string& text) {
  if (!word.empty()) {
    const Value value = parse_value(word);
    if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
  }
  not_values(text, "a whole number expected where '" + word + "' stands");
}

// Fields between commas that stand outside of parentheses, brackets and quotes.
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    }
    if (c == ',' && depth == 0 && quote == 0) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// The first word of `rest`, which loses it.
std::string take_word(std::string& rest) {
  rest = trimmed(rest);
  const auto end = rest.find_first_of(" \t");
  const std::string out = rest.substr(0, end);
  rest = end == std::string::npos ? "" : trimmed(rest.substr(end));
  return out;
}

void add_range(std::vector<Value>& out, const std::string& range, const std::string& how, const std::string& by,
               const std::string& text) {
  const auto dots = range.find("..");
  const std::int64_t first = whole_number(range.substr(0, dots), text);
  const std::int64_t last = whole_number(range.substr(dots + 2), text);
  const std::int64_t step = how.empty() ? 1 : whole_number(by, text);
  if (first > last) not_values(text, "a range from the smaller to the larger number expected");
  if (how == "times" && (step < 2 || first < 1)) {
    not_values(text, "'times' expects a range of positive numbers, and a factor of at least 2");
  }
  if (step < 1) not_values(text, "a positive step expected");
  for (std::int64_t v = first;;) {
    if (out.size() == most_values) not_values(text, "at most " + std::to_string(most_values) + " values expected");
    out.emplace_back(v);
    const bool ends = how == "times" ? __builtin_mul_overflow(v, step, &v) : __builtin_add_overflow(v, step, &v);
    if (ends || v > last) return;
  }
}

Value one_value(const std::string& word, const std::string& text) {
  const char quote = word.front();
  if (quote != '\'' && quote != '"') return parse_value(word);
  if (word.size() < 3 || word.find(quote, 1) != word.size() - 1) {
    not_values(text, "a name in quotes, without blanks, expected where " + word + " stands");
  }
  return word.substr(1, word.size() - 2);
}

std::int64_t extent(const std::string& text, const Configuration& all, const Tunable& tunable, const char* what) {
  const Value value = Expression(text).evaluate(all);
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (integer && *integer > 0) return *integer;
  // 2^53: beyond, a real number is not one whole number.
  if (real && *real >= 1 && *real <= 9007199254740992.0 && std::floor(*real) == *real) {
    return static_cast<std::int64_t>(*real);
  }
  throw UsageError("kernel '" + tunable.name + "': " + what + " '" + text + "' is " + to_string(value) + " with " +
                   to_string(all) + "; a positive whole number expected");
}

// Removes comments, and keeps the lines. Within a line of ours, // is an operator.
std::string without_comments(const std::string& source) {
  std::string out;
  enum { code, line, block, string, character } in = code;
  bool ours = false;  // the line begins with #
  bool blank = true;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i], next = i + 1 < source.size() ? source[i + 1] : '\0';
    if (c == '\n') {
      if (in != block) in = code;
      ours = false, blank = true;
      out += c;
      continue;
    }
    if (in == code && blank && c == '#') ours = true;
    if (in == code && c == '/' && next == '*') {
      in = block, ++i;
    } else if (in == block) {
      if (c == '*' && next == '/') in = code, ++i;
    } else if (in == code && c == '/' && next == '/' && !ours) {
      in = line;
    } else if (in == code) {
      if (c == '"' && !ours) in = string;
      if (c == '\'' && !ours) in = character;
      out += c;
    } else if (in == string || in == character) {
      out += c;
      if (c == '\\' && next != '\0' && next != '\n') {
        out += source[++i];
      } else if (c == (in == string ? '"' : '\'')) {
        in = code;
      }
    }
    blank &= c == ' ' || c == '\t' || in == block;
  }
  return out;
}

// What stands after "#pragma heddle" in a line.
std::optional<std::string> statement_in(const std::string& line) {
  std::string rest = trimmed(line);
  if (rest.empty() || rest[0] != '#') return std::nullopt;
  rest.erase(0, 1);
  if (take_word(rest) != "pragma" || take_word(rest) != "heddle") return std::nullopt;
  return rest;
}

std::array<std::string, 3> extents_of(const std::string& text) {
  const std::vector<std::string> fields = split_at_commas(text);
  if (fields.size() > 3) throw UsageError("'" + text + "': at most three extents expected");
  std::array<std::string, 3> out{"1", "1", "1"};
  for (std::size_t i = 0; i < fields.size(); ++i) out[i] = trimmed(fields[i]);
  return out;
}

}  // namespace

std::vector<Value> parse_values(const std::string& text) {
  std::vector<Value> out;
  for (std::string field : split_at_commas(text)) {
    std::string word = take_word(field);
    if (word.empty()) not_values(text, "a value expected before or after a comma");
    while (!word.empty()) {
      std::string next = take_word(field);
      if (word.find("..") == std::string::npos) {
        out.push_back(one_value(word, text));
      } else if (next == "step" || next == "times") {
        const std::string by = take_word(field);
        add_range(out, word, next, by, text);
        next = take_word(field);
      } else {
        add_range(out, word, "", "", text);
      }
      word = next;
    }
  }
  return out;
}

Variant variant_of(const Tunable& tunable, const Configuration& configuration) {
  const Configuration all = tunable.space.with_derived(configuration);
  Variant out;
  out.name = to_string(configuration);
  out.source = tunable.source;
  out.entry = tunable.entry;
  out.options = tunable.options + build_options(all);
  out.cut = tunable.cut;
  out.footprint.guarded = tunable.guarded;
  for (std::size_t d = 0; d < 3; ++d) {
    out.group[d] = extent(tunable.group[d], all, tunable, "the group's extent");
    out.footprint.points[d] = extent(tunable.points[d], all, tunable, "the extent in points");
  }
  return out;
}

std::optional<Tunable> read_tunable(const std::string& source) {
  Tunable out;
  out.source = source;
  std::vector<Parameter> parameters;
  std::vector<Derived> derived;
  std::vector<std::string> constraints;
  std::vector<std::pair<int, std::string>> used;  // expressions that may use all names, and their lines
  std::vector<std::string> names;
  bool any = false, group = false, points = false;
  const auto at_line = [](int number, const auto& act) {
    try {
      act();
    } catch (const UsageError& e) {
      throw UsageError("line " + std::to_string(number) + ": " + e.what());
    }
  };
  const auto read = [&](std::string rest, int number) {
    const std::string what = take_word(rest);
    if (what == "tune") {
      const std::string name = take_word(rest);
      parameters.push_back({name, parse_values(rest)});
      const ParameterSpace alone({parameters.back()});  // complains with this line
      if (std::find(names.begin(), names.end(), name) != names.end()) throw UsageError("'" + name + "' is given twice");
      names.push_back(name);
    } else if (what == "derive") {
      const std::string name = take_word(rest);
      if (!is_identifier(name)) throw UsageError("'" + name + "': a name expected after 'derive'");
      if (std::find(names.begin(), names.end(), name) != names.end()) throw UsageError("'" + name + "' is given twice");
      derived.push_back({name, Expression(rest, names).text()});
      names.push_back(name);
    } else if (what == "constraint") {
      constraints.push_back(rest);
      used.emplace_back(number, rest);
    } else if (what == "group" || what == "points") {
      bool& seen = what == "group" ? group : points;
      if (seen) throw UsageError("'" + what + "' is given twice");
      seen = true;
      auto& extents = what == "group" ? out.group : out.points;
      extents = extents_of(rest);
      for (const std::string& e : extents) used.emplace_back(number, e);
    } else if (what == "guarded" && rest.empty()) {
      out.guarded = true;
    } else {
      throw UsageError("'" + what + (rest.empty() ? "" : " " + rest) +
                       "': tune, derive, constraint, group, points or guarded expected");
    }
  };
  std::istringstream lines(without_comments(source));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (const auto rest = statement_in(line)) {
      any = true;
      at_line(number, [&] { read(*rest, number); });
    }
  }
  if (!any) return std::nullopt;
  for (const auto& [at, text] : used) at_line(at, [&, &expression = text] { Expression(expression, names); });
  if (group && !points) out.points = out.group;
  out.space = ParameterSpace(std::move(parameters), std::move(derived), std::move(constraints));
  return out;
}

}  // namespace heddle::core

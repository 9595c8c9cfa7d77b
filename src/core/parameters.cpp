// Text forms of typed values and configurations.
#include "core/parameters.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

template <class T>
bool parse_whole(const std::string& text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool is_identifier(std::string_view s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) return false;
  return std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::string to_string(const Value& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  char text[64];
  auto [end, error] =
      std::to_chars(text, text + sizeof text, std::get<double>(value));  // shortest form that reads back
  std::string out(text, end);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";  // so that it stays a real number when read back
  return out;
}

Value parse_value(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (std::int64_t i; parse_whole(text, i)) return i;
  if (double d; parse_whole(text, d)) return d;
  if (text.empty() || text.find_first_of(" =") != std::string::npos) {
    throw UsageError("parameter value '" + text + "': a number, true, false or a name without blanks or '=' expected");
  }
  return text;
}

const Value& Configuration::at(std::string_view name) const {
  std::string known;
  for (const auto& [key, value] : values) {
    if (key == name) return value;
    known += (known.empty() ? "" : ", ") + key;
  }
  throw UsageError("no parameter '" + std::string(name) + "'; there are: " + (known.empty() ? "none" : known));
}

std::string to_string(const Configuration& configuration) {
  std::string out;
  for (const auto& [key, value] : configuration.values) out += (out.empty() ? "" : " ") + key + "=" + to_string(value);
  return out;
}

Configuration parse_configuration(const std::string& text) {
  Configuration out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || !is_identifier(word.substr(0, equals))) {
      throw UsageError("parameters '" + text + "': NAME=VALUE expected at '" + word + "'");
    }
    out.values.emplace_back(word.substr(0, equals), parse_value(word.substr(equals + 1)));
  }
  return out;
}

std::string build_options(const Configuration& configuration) {
  std::string out;
  for (const auto& [key, value] : configuration.values) {
    const auto* truth = std::get_if<bool>(&value);
    out += " -D" + key + "=" + (truth ? (*truth ? "1" : "0") : to_string(value));
  }
  return out;
}

}  // namespace heddle::core

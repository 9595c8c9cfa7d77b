// Text forms of typed values, and the numbering of a space's configurations.
#include "core/parameters.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <sstream>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

bool is_identifier(const std::string& s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) return false;
  return std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

template <class T>
bool parse_whole(const std::string& text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

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

ParameterSpace::ParameterSpace(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {
  for (auto p = parameters_.begin(); p != parameters_.end(); ++p) {
    if (!is_identifier(p->name)) throw UsageError("parameter name '" + p->name + "': an identifier expected");
    if (std::any_of(parameters_.begin(), p, [&](const Parameter& q) { return q.name == p->name; })) {
      throw UsageError("parameter '" + p->name + "' is given twice");
    }
    if (p->values.empty()) throw UsageError("parameter '" + p->name + "' has no values");
    for (auto v = p->values.begin(); v != p->values.end(); ++v) {
      if (const auto* word = std::get_if<std::string>(&*v); word && parse_value(*word) != *v) {
        throw UsageError("parameter '" + p->name + "': the name '" + *word + "' reads as a number or truth value");
      }
      if (v->index() != p->values.front().index())
        throw UsageError("parameter '" + p->name + "' mixes types of values");
      if (std::find(p->values.begin(), v, *v) != v) {
        throw UsageError("parameter '" + p->name + "' has the value " + to_string(*v) + " twice");
      }
    }
    if (size_ > std::numeric_limits<std::uint64_t>::max() / p->values.size()) {
      throw UsageError("the parameter space has more than 2^64 configurations");
    }
    size_ *= p->values.size();
  }
}

Configuration ParameterSpace::at(std::uint64_t number) const {
  if (number >= size_) {
    throw InternalError("configuration " + std::to_string(number) + " of a space of " + std::to_string(size_));
  }
  Configuration out;
  out.values.resize(parameters_.size());
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const Parameter& p = parameters_[i];
    out.values[i] = {p.name, p.values[number % p.values.size()]};
    number /= p.values.size();
  }
  return out;
}

std::uint64_t ParameterSpace::number_of(const Configuration& configuration) const {
  if (configuration.values.size() != parameters_.size()) {
    throw UsageError("configuration '" + to_string(configuration) + "' has " +
                     std::to_string(configuration.values.size()) + " values; " + std::to_string(parameters_.size()) +
                     " expected");
  }
  std::uint64_t number = 0;
  for (const Parameter& p : parameters_) {
    const Value& value = configuration.at(p.name);
    const auto found = std::find(p.values.begin(), p.values.end(), value);
    if (found == p.values.end()) throw UsageError("parameter " + p.name + ": no value " + to_string(value));
    number = number * p.values.size() + static_cast<std::uint64_t>(found - p.values.begin());
  }
  return number;
}

}  // namespace heddle::core

// Tunable parameters: typed values, the space they span, and one point of that space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace heddle::core {

// An integer, a real number, a truth value or a name.
using Value = std::variant<std::int64_t, double, bool, std::string>;

// The text of a value as it appears in keys, reports and `-D` options; parse_value reads it back to the same type and
// value.
std::string to_string(const Value&);
Value parse_value(const std::string& text);

// One value per parameter, in the order of the space.
struct Configuration {
  std::vector<std::pair<std::string, Value>> values;

  bool operator==(const Configuration&) const = default;
  const Value& at(std::string_view name) const;  // throws UsageError that lists the names there are
};

// "BX=8 TILE=2": the form that the store keeps. Empty for a kernel without parameters.
std::string to_string(const Configuration&);
Configuration parse_configuration(const std::string& text);
// " -DBX=8 -DTILE=2": what the kernel's compiler is told; truth values become 1 and 0.
std::string build_options(const Configuration&);

struct Parameter {
  std::string name;
  std::vector<Value> values;
};

// The product of all parameters' values.
class ParameterSpace {
 public:
  ParameterSpace() = default;
  explicit ParameterSpace(
      std::vector<Parameter> parameters);  // UsageError: no values, mixed types, a value or name twice

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::uint64_t size() const { return size_; }          // one for a space without parameters: the empty configuration
  Configuration at(std::uint64_t number) const;         // the first parameter varies slowest
  std::uint64_t number_of(const Configuration&) const;  // the inverse; UsageError for a configuration of another space

 private:
  std::vector<Parameter> parameters_;
  std::uint64_t size_ = 1;
};

}  // namespace heddle::core

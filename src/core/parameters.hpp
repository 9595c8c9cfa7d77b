// Tunable parameters: typed values, the space they span, and one point of that space.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

bool is_identifier(std::string_view text);

struct Parameter {
  std::string name;
  std::vector<Value> values;
};

// A value that follows from the parameters and from earlier derived values; see core/expression.hpp.
struct Derived {
  std::string name;
  std::string expression;
};

// One configuration as the place of each parameter's value in its list.
using Places = std::vector<std::uint16_t>;

// The configurations that satisfy all constraints, numbered. Parameters fall into groups that constraints connect; each
// group holds its valid choices as rows, and the space is the product of its groups, so what no constraint touches
// costs nothing. The order of numbers: groups by their first parameters, the first one varying slowest; within a group,
// the first parameter varies slowest. Without constraints that is: the first parameter varies slowest.
class ParameterSpace {
 public:
  ParameterSpace();
  // A constraint may use parameters and derived values. Where a constraint has no value (it divides by zero) another
  // one must be false. UsageError: no values, mixed types, a value or name twice, an expression that cannot be read,
  // constraints that nothing satisfies, more than 2^63 configurations, more than 50 million in one group.
  explicit ParameterSpace(std::vector<Parameter> parameters, std::vector<Derived> derived = {},
                          std::vector<std::string> constraints = {});
  // Exactly those configurations, however often each is given: a recorded space. They form one group.
  static ParameterSpace of(std::vector<Parameter> parameters, const std::vector<Places>& configurations);

  const std::vector<Parameter>& parameters() const;
  const std::vector<Derived>& derived() const;
  const std::vector<std::string>& constraints() const;

  std::uint64_t size() const;  // one for a space without parameters: the empty configuration
  Configuration at(std::uint64_t number) const;
  std::uint64_t number_of(const Configuration&) const;  // the inverse; UsageError for a configuration of another space
  Places places(std::uint64_t number) const;
  std::optional<std::uint64_t> find(const Places& places) const;  // nothing: not valid

  // The parameters, then the derived values.
  Configuration with_derived(const Configuration& configuration) const;

  // The valid ones that differ in one parameter, by any other value of it; parameter after parameter.
  std::vector<std::uint64_t> neighbours(std::uint64_t number) const;
  // Sum over the parameters: of numbers, how far apart their places are, 1 from the first to the last; of names and
  // truth values, whether they differ.
  double distance(std::uint64_t a, std::uint64_t b) const;

 private:
  struct Contents;
  explicit ParameterSpace(std::shared_ptr<const Contents> contents);

  // Shared, because rows may be many and never change: a copy of a space is the same space.
  std::shared_ptr<const Contents> contents_;
};

}  // namespace heddle::core

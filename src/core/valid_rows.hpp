// Finds the configurations that satisfy constraints without walking the product of all values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/expression.hpp"
#include "core/parameters.hpp"

namespace heddle::core {

// Slots of the expressions: first the parameters, then the derived values, each of which uses only earlier ones.
struct Rules {
  std::vector<Parameter> parameters;
  std::vector<Expression> derived, constraints;
  std::vector<std::string> names;  // of the slots
};

// The parameters on which an expression depends, directly or through derived values; ascending.
std::vector<std::size_t> parameters_of(const Expression& expression, const Rules& rules);

struct SearchLimits {
  std::size_t rows = 50'000'000;        // some hundred megabytes
  std::uint64_t steps = 2'000'000'000;  // values tried: about a minute
  std::size_t table = 1 << 15;          // entries in the table of one constraint; 0: no tables
};

// The places of the parameters `group` (ascending) that satisfy `constraints` (numbers of those that depend on
// parameters of the group alone), row after row, sorted. A choice at which a constraint has no value (it divides by
// zero) and no other constraint is false is a UsageError, as is a search beyond its limits.
std::vector<std::uint16_t> valid_rows(const Rules& rules, const std::vector<std::size_t>& group,
                                      const std::vector<std::size_t>& constraints, const SearchLimits& limits = {});

// Whether there is such a row at all; a constraint without a value counts as satisfied. Nothing where this takes long.
std::optional<bool> any_valid_row(const Rules& rules, const std::vector<std::size_t>& group,
                                  const std::vector<std::size_t>& constraints);

}  // namespace heddle::core

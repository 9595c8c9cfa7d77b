// Linear forms over the variables of a launch (group ids, local ids, loop counters) and intervals, in 64-bit arithmetic
// that notices when it does not suffice.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/facts.hpp"

namespace heddle::core {

// Sum of coefficient times variable; variables ascending, no coefficient zero.
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<int, std::int64_t>> terms;

  bool operator==(const Linear&) const = default;
  std::int64_t coefficient(int variable) const;
};

// Nothing on overflow.
std::optional<std::int64_t> add(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> multiply(std::int64_t a, std::int64_t b);
std::optional<Interval> add(const Interval& a, const Interval& b);
std::optional<Interval> multiply(const Interval& a, const Interval& b);
bool add_scaled(Linear& to, const Linear& what, std::int64_t factor);  // false on overflow

std::int64_t floor_divide(std::int64_t a, std::int64_t b);  // b > 0

// A set of points: what each variable can be (nothing: not known yet), and forms that are at most zero.
struct Ranges {
  std::vector<std::optional<Interval>> variables;
  std::vector<Linear> bounds;

  std::optional<Interval>& operator[](std::size_t variable) { return variables[variable]; }
  const std::optional<Interval>& operator[](std::size_t variable) const { return variables[variable]; }
};

// What a form can be at these points; `by_variables` looks at the variables alone.
std::optional<Interval> interval(const Linear& form, const Ranges& ranges);
std::optional<Interval> interval_by_variables(const Linear& form, const Ranges& ranges);

// Narrows the ranges to where `form` can be at most zero; other points of them may remain. False where there is none.
// Only variables that have a range are narrowed, and only if all others have one.
bool narrow(const Linear& form, Ranges& ranges);

}  // namespace heddle::core

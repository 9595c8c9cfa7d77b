// Arithmetic of linear forms.
#include "core/linear.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace heddle::core {

std::int64_t Linear::coefficient(int variable) const {
  for (const auto& [v, c] : terms) {
    if (v == variable) return c;
  }
  return 0;
}

std::optional<std::int64_t> add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

std::optional<std::int64_t> multiply(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

std::optional<Interval> add(const Interval& a, const Interval& b) {
  const auto low = add(a.low, b.low), high = add(a.high, b.high);
  if (!low || !high) return std::nullopt;
  return Interval{*low, *high};
}

std::optional<Interval> multiply(const Interval& a, const Interval& b) {
  std::int64_t corners[4];
  if (__builtin_mul_overflow(a.low, b.low, &corners[0]) || __builtin_mul_overflow(a.low, b.high, &corners[1]) ||
      __builtin_mul_overflow(a.high, b.low, &corners[2]) || __builtin_mul_overflow(a.high, b.high, &corners[3]))
    return std::nullopt;
  const auto [low, high] = std::minmax_element(corners, corners + 4);
  return Interval{*low, *high};
}

bool add_scaled(Linear& to, const Linear& what, std::int64_t factor) {
  std::int64_t more = 0;
  if (__builtin_mul_overflow(what.constant, factor, &more) || __builtin_add_overflow(to.constant, more, &to.constant))
    return false;
  for (const auto& [variable, coefficient] : what.terms) {
    if (__builtin_mul_overflow(coefficient, factor, &more)) return false;
    auto at = std::lower_bound(to.terms.begin(), to.terms.end(), variable,
                               [](const auto& term, int v) { return term.first < v; });
    if (at == to.terms.end() || at->first != variable) at = to.terms.insert(at, {variable, 0});
    if (__builtin_add_overflow(at->second, more, &at->second)) return false;
    if (at->second == 0) to.terms.erase(at);
  }
  return true;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

namespace {

// Tightens `values` of a form by a bound on a multiple of it.
void tighten(const Linear& form, const Linear& bound, Interval& values) {
  if (form.terms.empty() || form.terms.size() != bound.terms.size()) return;
  const std::int64_t f = form.terms.front().second, b = bound.terms.front().second;
  for (std::size_t i = 0; i < form.terms.size(); ++i) {
    const auto left = multiply(bound.terms[i].second, f), right = multiply(b, form.terms[i].second);
    if (form.terms[i].first != bound.terms[i].first || !left || left != right) return;
  }
  // b / f * (form - its constant) + bound.constant <= 0
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const auto scaled = f == least || b == least ? std::nullopt : multiply(bound.constant, std::abs(f));
  if (!scaled || *scaled == least) return;
  Interval out = values;
  if ((f > 0) == (b > 0)) {
    const auto high = add(form.constant, floor_divide(-*scaled, std::abs(b)));
    if (high) out.high = std::min(out.high, *high);
  } else {
    const auto low = add(form.constant, -floor_divide(-*scaled, std::abs(b)));
    if (low) out.low = std::max(out.low, *low);
  }
  if (out.low <= out.high) values = out;
}

}  // namespace

std::optional<Interval> interval(const Linear& form, const Ranges& ranges) {
  auto out = interval_by_variables(form, ranges);
  if (!out) return out;
  if (out->low == out->high) return out;
  for (const Linear& bound : ranges.bounds) tighten(form, bound, *out);
  return out;
}

std::optional<Interval> interval_by_variables(const Linear& form, const Ranges& ranges) {
  std::optional<Interval> out = Interval{form.constant, form.constant};
  for (const auto& [variable, coefficient] : form.terms) {
    const auto& range = ranges[static_cast<std::size_t>(variable)];
    if (!range) return std::nullopt;
    const auto part = multiply(Interval{coefficient, coefficient}, *range);
    if (!part || !(out = add(*out, *part))) return std::nullopt;
  }
  return out;
}

bool narrow(const Linear& form, Ranges& ranges) {
  for (const auto& [variable, coefficient] : form.terms) {
    auto& range = ranges[static_cast<std::size_t>(variable)];
    if (!range || coefficient == std::numeric_limits<std::int64_t>::min()) continue;
    // coefficient * variable <= -(the least that the rest can be)
    Linear rest{form.constant, {}};
    if (form.terms.size() > 1) {
      rest.terms = form.terms;
      std::erase(rest.terms, std::pair(variable, coefficient));
    }
    const auto others = interval(rest, ranges);
    if (!others || others->low == std::numeric_limits<std::int64_t>::min()) continue;
    const std::int64_t bound = -others->low;
    if (coefficient > 0)
      range->high = std::min(range->high, floor_divide(bound, coefficient));
    else
      range->low = std::max(range->low, -floor_divide(bound, -coefficient));
    if (range->low > range->high) return false;
  }
  if (form.terms.empty()) return form.constant <= 0;
  return true;
}

}  // namespace heddle::core

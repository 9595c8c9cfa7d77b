// The evaluation of symbols, polynomials and functions.
#include "core/launch_values.hpp"

#include <algorithm>

namespace heddle::core {

namespace {

bool is_division(FunctionKind kind) {
  return kind == FunctionKind::divide || kind == FunctionKind::remainder || kind == FunctionKind::floor_divide;
}

std::optional<std::int64_t> read_scalar(const std::vector<std::byte>& bytes, const Symbol& symbol) {
  if (std::int64_t{symbol.byte} + symbol.size > static_cast<std::int64_t>(bytes.size())) return std::nullopt;
  std::uint64_t raw = 0;
  for (int i = symbol.size - 1; i >= 0; --i)
    raw = raw << 8 | std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(symbol.byte + i)]);
  const int unused = 64 - 8 * symbol.size;
  if (symbol.is_signed) return static_cast<std::int64_t>(raw << unused) >> unused;
  if (raw > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(raw);
}

// The interval of values that a type of so many bits has.
std::optional<Interval> type_range(FunctionKind kind, int bits) {
  if (kind == FunctionKind::wrap_signed) {
    if (bits == 64) return Interval{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    return Interval{-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  }
  if (bits >= 63) return std::nullopt;
  return Interval{0, (std::int64_t{1} << bits) - 1};
}

bool inside(const Interval& a, const Interval& b) { return a.low >= b.low && a.high <= b.high; }

// floor(form / by), where all that is not a multiple of `by` stays below it.
std::optional<Linear> quotient(const Linear& form, std::int64_t by, const Ranges& ranges) {
  const std::int64_t over = form.constant % by;
  Linear out{floor_divide(form.constant, by), {}}, rest{over < 0 ? over + by : over, {}};
  for (const auto& [variable, coefficient] : form.terms) {
    if (coefficient % by == 0)
      out.terms.emplace_back(variable, coefficient / by);
    else
      rest.terms.emplace_back(variable, coefficient);
  }
  const auto values = core::interval(rest, ranges);
  if (!values || values->low < 0 || values->high >= by) return std::nullopt;
  return out;
}

std::optional<Linear> remainder(const Linear& form, std::int64_t by, const Ranges& ranges) {
  const auto whole = quotient(form, by, ranges);
  Linear out = form;
  if (!whole || !add_scaled(out, *whole, -by)) return std::nullopt;
  return out;
}

}  // namespace

LaunchValues::LaunchValues(const KernelFacts& facts, const Grid& grid,
                           const std::vector<std::vector<std::byte>>& scalars)
    : facts_(facts), grid_(grid) {
  for (const Symbol& symbol : facts_.symbols) values_.push_back(value_of(symbol, scalars));
  split_local_ids();
  // Loops that count the same in all of the launch need not be counted again for every box.
  for (const LoopFacts& loop : facts_.loops) {
    const auto last = loop.last ? interval(*loop.last, ranges_of({{0, 0, 0}, grid_.groups})) : std::nullopt;
    lasts_.push_back(last && last->low == last->high && last->low >= 0 ? std::optional(last->low) : std::nullopt);
  }
  // A function that is linear for the whole launch is so for every box of it.
  const Ranges whole = ranges_of({{0, 0, 0}, grid_.groups});
  Memo memo;
  for (std::size_t i = 0; i < facts_.symbols.size(); ++i) {
    if (facts_.symbols[i].kind == SymbolKind::function) values_[i] = linear_symbol(static_cast<int>(i), whole, memo);
  }
}

// A symbol that is known at launch or is a combination of variables; nothing for functions and opaque values.
std::optional<Linear> LaunchValues::value_of(const Symbol& s,
                                             const std::vector<std::vector<std::byte>>& scalars) const {
  const auto d = static_cast<std::size_t>(s.index);
  switch (s.kind) {
    case SymbolKind::group_id:
      return Linear{0, {{group_variable + s.index, 1}}};
    case SymbolKind::local_id:
      return Linear{0, {{local_variable + s.index, 1}}};
    case SymbolKind::loop:
      return Linear{0, {{loop_variable + s.index, 1}}};
    case SymbolKind::local_size:
      return Linear{grid_.local[d], {}};
    case SymbolKind::num_groups:
      return Linear{grid_.groups[d], {}};
    case SymbolKind::global_offset:
      return Linear{grid_.offset[d], {}};
    case SymbolKind::work_dim:
      return Linear{grid_.dimensions, {}};
    case SymbolKind::scalar: {
      const auto value = read_scalar(scalars[d], s);
      if (!value) return std::nullopt;
      return Linear{*value, {}};
    }
    case SymbolKind::function:
    case SymbolKind::opaque:
      return std::nullopt;
  }
  return std::nullopt;
}

Ranges LaunchValues::ranges_of(const Box& groups) const {
  Ranges out;
  out.variables.resize(static_cast<std::size_t>(loop_variable) + facts_.loops.size());
  for (std::size_t d = 0; d < 3; ++d) {
    out[group_variable + d] = Interval{groups.begin[d], groups.end[d] - 1};
    const std::int64_t part = split_[d] ? split_[d] : grid_.local[d];
    out[local_variable + d] = Interval{0, part - 1};
    out[quotient_variable + d] = Interval{0, grid_.local[d] / part - 1};
  }
  for (std::size_t l = 0; l < lasts_.size(); ++l) {
    if (lasts_[l]) out[static_cast<std::size_t>(loop_variable) + l] = Interval{0, *lasts_[l]};
  }
  return out;
}

// Kernels divide a local id by the width of a row of work-items: local = width * quotient + rest makes both linear.
void LaunchValues::split_local_ids() {
  const Ranges whole = ranges_of({{0, 0, 0}, grid_.groups});
  for (const Function& function : facts_.functions) {
    std::optional<std::int64_t> width;
    if (is_division(function.kind)) {
      const auto by = linear(function.operands[1], whole);
      if (by && by->terms.empty()) width = by->constant;
    } else if (function.kind == FunctionKind::wrap_unsigned && function.bits < 31) {
      width = std::int64_t{1} << function.bits;
    }
    const auto form = width && *width > 1 ? linear(function.operands[0], whole) : std::nullopt;
    if (!form) continue;
    for (int d = 0; d < 3; ++d) {
      const std::int64_t size = grid_.local[static_cast<std::size_t>(d)];
      if (form->coefficient(local_variable + d) == 1 && !split_[d] && size > *width && size % *width == 0)
        split_[d] = *width;
    }
  }
  for (std::size_t i = 0; i < facts_.symbols.size(); ++i) {
    const Symbol& s = facts_.symbols[i];
    if (s.kind == SymbolKind::local_id && split_[s.index])
      values_[i] = Linear{0, {{local_variable + s.index, 1}, {quotient_variable + s.index, split_[s.index]}}};
  }
}

std::optional<Linear> LaunchValues::linear(const Polynomial& polynomial, const Ranges& ranges, Memo& memo) const {
  Linear out;
  for (const Term& term : polynomial) {
    Linear product{term.coefficient, {}};
    for (int s : term.symbols) {
      const auto factor = linear_symbol(s, ranges, memo);
      if (!factor) return std::nullopt;
      Linear next;
      if (factor->terms.empty() ? !add_scaled(next, product, factor->constant)
                                : !product.terms.empty() || !add_scaled(next, *factor, product.constant))
        return std::nullopt;
      product = std::move(next);
    }
    if (!add_scaled(out, product, 1)) return std::nullopt;
  }
  return out;
}

std::optional<Linear> LaunchValues::linear_symbol(int symbol, const Ranges& ranges, Memo& memo) const {
  const auto at = static_cast<std::size_t>(symbol);
  if (values_[at] || facts_.symbols[at].kind != SymbolKind::function) return values_[at];
  memo.linears.resize(values_.size());
  if (const auto& known = memo.linears[at]) return *known;
  auto out = linear_function(facts_.functions[static_cast<std::size_t>(facts_.symbols[at].index)], ranges, memo);
  memo.linears[at] = out;
  return out;
}

std::optional<Linear> LaunchValues::linear_function(const Function& function, const Ranges& ranges, Memo& memo) const {
  const auto first = linear(function.operands[0], ranges, memo);
  switch (function.kind) {
    case FunctionKind::wrap_signed:
    case FunctionKind::wrap_unsigned: {
      if (!first) return std::nullopt;
      const auto values = core::interval(*first, ranges);
      const auto type = type_range(function.kind, function.bits);
      if (values && (type ? inside(*values, *type) : values->low >= 0)) return first;
      if (function.kind == FunctionKind::wrap_unsigned && function.bits < 62)
        return remainder(*first, std::int64_t{1} << function.bits, ranges);
      return std::nullopt;
    }
    case FunctionKind::divide:
    case FunctionKind::floor_divide:
    case FunctionKind::remainder: {
      const auto by = linear(function.operands[1], ranges, memo);
      if (!first || !by || !by->terms.empty() || by->constant <= 0) return std::nullopt;
      if (function.kind != FunctionKind::floor_divide) {  // towards zero: the same only if nothing is negative
        const auto values = core::interval(*first, ranges);
        if (!values || values->low < 0) return std::nullopt;
      }
      return function.kind == FunctionKind::remainder ? remainder(*first, by->constant, ranges)
                                                      : quotient(*first, by->constant, ranges);
    }
    case FunctionKind::minimum:
      return extreme(function, -1, ranges, memo);
    case FunctionKind::maximum:
      return extreme(function, 1, ranges, memo);
    case FunctionKind::choose:
      for (const Polynomial& operand : function.operands) {
        if (!first || linear(operand, ranges, memo) != first) return std::nullopt;
      }
      return first;
    case FunctionKind::bit_and:
    case FunctionKind::bit_or: {
      const auto second = linear(function.operands[1], ranges, memo);
      if (!first || !second || !first->terms.empty() || !second->terms.empty()) return std::nullopt;
      return Linear{function.kind == FunctionKind::bit_and ? first->constant & second->constant
                                                           : first->constant | second->constant,
                    {}};
    }
  }
  return std::nullopt;
}

// The operand that is never beaten, if there is one. `sign`: 1 for the largest, -1 for the smallest.
std::optional<Linear> LaunchValues::extreme(const Function& function, std::int64_t sign, const Ranges& ranges,
                                            Memo& memo) const {
  std::vector<Linear> all;
  for (const Polynomial& operand : function.operands) {
    auto form = linear(operand, ranges, memo);
    if (!form) return std::nullopt;
    all.push_back(std::move(*form));
  }
  for (const Linear& candidate : all) {
    const bool best = std::all_of(all.begin(), all.end(), [&](const Linear& other) {
      Linear ahead;
      if (!add_scaled(ahead, candidate, sign) || !add_scaled(ahead, other, -sign)) return false;
      const auto by = core::interval(ahead, ranges);
      return by && by->low >= 0;
    });
    if (best) return candidate;
  }
  return std::nullopt;
}

std::optional<Interval> LaunchValues::interval(const Polynomial& polynomial, const Ranges& ranges, Memo& memo) const {
  if (const auto form = linear(polynomial, ranges, memo)) return core::interval(*form, ranges);
  std::optional<Interval> out = Interval{0, 0};
  for (const Term& term : polynomial) {
    std::optional<Interval> product = Interval{term.coefficient, term.coefficient};
    for (int s : term.symbols) {
      const auto factor = interval_symbol(s, ranges, memo);
      if (!factor || !(product = multiply(*product, *factor))) return std::nullopt;
    }
    if (!(out = add(*out, *product))) return std::nullopt;
  }
  return out;
}

std::optional<Interval> LaunchValues::interval_symbol(int symbol, const Ranges& ranges, Memo& memo) const {
  const auto at = static_cast<std::size_t>(symbol);
  const Symbol& s = facts_.symbols[at];
  if (values_[at]) return core::interval(*values_[at], ranges);
  if (s.kind != SymbolKind::function) return s.known;
  memo.intervals.resize(values_.size());
  if (const auto& known = memo.intervals[at]) return *known;
  const auto form = linear_symbol(symbol, ranges, memo);
  const auto out = form ? core::interval(*form, ranges)
                        : interval_function(facts_.functions[static_cast<std::size_t>(s.index)], ranges, memo);
  memo.intervals[at] = out;
  return out;
}

std::optional<Interval> LaunchValues::interval_function(const Function& function, const Ranges& ranges,
                                                        Memo& memo) const {
  std::vector<Interval> operands;
  const bool wraps = function.kind == FunctionKind::wrap_signed || function.kind == FunctionKind::wrap_unsigned;
  for (const Polynomial& operand : function.operands) {
    const auto values = interval(operand, ranges, memo);
    if (!values && wraps) return type_range(function.kind, function.bits);
    if (!values) return std::nullopt;
    operands.push_back(*values);
  }
  const Interval a = operands[0];
  Interval out = a;
  switch (function.kind) {
    case FunctionKind::wrap_signed:
    case FunctionKind::wrap_unsigned: {
      const auto type = type_range(function.kind, function.bits);
      if (type ? inside(a, *type) : a.low >= 0) return a;
      return type;
    }
    case FunctionKind::divide: {
      const Interval b = operands[1];
      if (b.low <= 0) return std::nullopt;
      return Interval{a.low / (a.low < 0 ? b.low : b.high), a.high / (a.high < 0 ? b.high : b.low)};
    }
    case FunctionKind::floor_divide: {
      const Interval b = operands[1];
      if (b.low <= 0 || b.low != b.high) return std::nullopt;
      return Interval{floor_divide(a.low, b.low), floor_divide(a.high, b.low)};
    }
    case FunctionKind::remainder: {
      const Interval b = operands[1];
      if (b.low <= 0) return std::nullopt;
      return Interval{a.low < 0 ? std::max(a.low, 1 - b.high) : 0, a.high > 0 ? std::min(a.high, b.high - 1) : 0};
    }
    case FunctionKind::minimum:
      for (const Interval& b : operands) out = {std::min(out.low, b.low), std::min(out.high, b.high)};
      return out;
    case FunctionKind::maximum:
      for (const Interval& b : operands) out = {std::max(out.low, b.low), std::max(out.high, b.high)};
      return out;
    case FunctionKind::choose:
      for (const Interval& b : operands) out = {std::min(out.low, b.low), std::max(out.high, b.high)};
      return out;
    case FunctionKind::bit_and: {
      const Interval b = operands[1];
      if (a.low < 0 && b.low < 0) return std::nullopt;
      return Interval{0, a.low < 0 ? b.high : b.low < 0 ? a.high : std::min(a.high, b.high)};
    }
    case FunctionKind::bit_or: {
      const Interval b = operands[1];
      const auto high = add(a.high, b.high);
      if (a.low < 0 || b.low < 0 || !high) return std::nullopt;
      return Interval{std::max(a.low, b.low), *high};
    }
  }
  return std::nullopt;
}

}  // namespace heddle::core

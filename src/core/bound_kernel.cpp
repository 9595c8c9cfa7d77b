// The evaluation of facts for a box. What cannot be computed makes a range larger or unknown, never smaller.
//
// Every access runs through the same steps: ranges of the variables for the box; loops bound their counters and guards
// narrow the ranges, until nothing changes; then the index over what is left is the set of bytes. It is exact if the
// index is linear, and the points at which the access happens are all of that: guards that bind several variables must
// bind them in the same combination as the index does (as i < n with i = group * size + local), which then counts as
// one variable.
#include <algorithm>
#include <numeric>

#include "core/byte_ranges.hpp"
#include "core/errors.hpp"
#include "core/linear.hpp"

namespace heddle::core {

namespace {

bool is_division(FunctionKind kind) {
  return kind == FunctionKind::divide || kind == FunctionKind::remainder || kind == FunctionKind::floor_divide;
}

std::optional<std::int64_t> read_scalar(const std::vector<std::byte>& bytes, const Symbol& symbol) {
  if (symbol.byte + symbol.size > static_cast<int>(bytes.size())) return std::nullopt;
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

}  // namespace

class BoundKernel::Evaluation {
 public:
  Evaluation(const KernelFacts& facts, const Grid& grid, std::vector<std::vector<std::byte>> scalars)
      : facts_(facts), grid_(grid), scalars_(std::move(scalars)) {
    for (const Symbol& symbol : facts_.symbols) values_.push_back(value_of(symbol));
    split_local_ids();
    // Loops that count the same in all of the launch need not be counted again for every box.
    for (std::size_t l = 0; l < facts_.loops.size(); ++l) {
      const auto last =
          facts_.loops[l].last ? interval(*facts_.loops[l].last, ranges_of({{0, 0, 0}, grid_.groups})) : std::nullopt;
      lasts_.push_back(last && last->low == last->high && last->low >= 0 ? std::optional(last->low) : std::nullopt);
    }
    // What is linear for the whole launch is so for every box of it.
    const Ranges whole = ranges_of({{0, 0, 0}, grid_.groups});
    for (const LoopFacts& loop : facts_.loops) {
      std::vector<Polynomial> tests;
      if (loop.while_at_most_zero) add_constraint(*loop.while_at_most_zero, tests, 0);
      tests_.push_back(constraints(std::move(tests), whole));
      countable_.push_back(conditions_hold(loop, whole));
    }
    for (const AccessFacts& access : facts_.accesses) {
      places_.push_back(place_of(access, whole));
      indices_.push_back(access.index ? linear(*access.index, whole) : std::nullopt);
    }
    // An index is only asked for where its access happens, and a box's points are among those of the whole launch:
    // narrowing keeps the order of sets.
    std::vector<std::optional<State>> states(conditions_.size());
    for (std::size_t i = 0; i < facts_.accesses.size(); ++i) {
      if (indices_[i] || !facts_.accesses[i].index) continue;
      auto& state = states[places_[i]];
      if (!state) state = solve(conditions_[places_[i]], whole);
      if (!state->never) indices_[i] = linear(*facts_.accesses[i].index, state->ranges);
    }
  }

  const KernelFacts& facts() const { return facts_; }
  const Grid& grid() const { return grid_; }

  std::vector<Touched> touched(const Box& groups) const {
    std::vector<Touched> out(facts_.arguments.size());
    if (groups.empty()) return out;
    const Ranges ranges = ranges_of(groups);
    std::vector<std::optional<State>> states(conditions_.size());
    for (std::size_t i = 0; i < facts_.accesses.size(); ++i) {
      const AccessFacts& access = facts_.accesses[i];
      auto& state = states[places_[i]];
      if (!state) state = solve(conditions_[places_[i]], ranges);
      const ByteRanges bytes = evaluate(access, indices_[i], *state);
      for (std::size_t a = 0; a < out.size(); ++a) {
        const AddressSpace space = facts_.arguments[a].space;
        const bool memory =
            space != AddressSpace::value && space != AddressSpace::local && space != AddressSpace::sampler;
        if (access.argument != static_cast<int>(a) && !(access.argument == -1 && memory)) continue;
        ByteRanges& to = access.kind == AccessKind::read    ? out[a].read
                         : access.kind == AccessKind::write ? out[a].written
                                                            : out[a].updated;
        to.certainty = std::max(to.certainty, bytes.certainty);
        for (const Run& run : bytes.runs) {
          if (std::find(to.runs.begin(), to.runs.end(), run) == to.runs.end()) to.runs.push_back(run);
        }
      }
    }
    for (Touched& t : out) {
      for (ByteRanges* r : {&t.read, &t.written, &t.updated}) {
        if (r->certainty == Certainty::unknown) r->runs.clear();
      }
    }
    return out;
  }

 private:
  // Variables: group ids, local ids (or what is left of them), quotients of split local ids, loop counters.
  static constexpr int group_variable = 0, local_variable = 3, quotient_variable = 6, loop_variable = 9;

  // A symbol that is known at launch or is a combination of variables; nothing for functions and opaque values.
  std::optional<Linear> value_of(const Symbol& s) const {
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
        const auto value = read_scalar(scalars_[d], s);
        if (!value) return std::nullopt;
        return Linear{*value, {}};
      }
      case SymbolKind::function:
      case SymbolKind::opaque:
        return std::nullopt;
    }
    return std::nullopt;
  }

  Ranges ranges_of(const Box& groups) const {
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
  void split_local_ids() {
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

  // --- polynomials and functions under given ranges ---

  std::optional<Linear> linear(const Polynomial& polynomial, const Ranges& ranges) const {
    Linear out;
    for (const Term& term : polynomial) {
      Linear product{term.coefficient, {}};
      for (int s : term.symbols) {
        const auto factor = linear_symbol(s, ranges);
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

  std::optional<Linear> linear_symbol(int symbol, const Ranges& ranges) const {
    const auto at = static_cast<std::size_t>(symbol);
    if (values_[at] || facts_.symbols[at].kind != SymbolKind::function) return values_[at];
    return linear_function(facts_.functions[static_cast<std::size_t>(facts_.symbols[at].index)], ranges);
  }

  std::optional<Linear> linear_function(const Function& function, const Ranges& ranges) const {
    const auto first = linear(function.operands[0], ranges);
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
        const auto by = linear(function.operands[1], ranges);
        if (!first || !by || !by->terms.empty() || by->constant <= 0) return std::nullopt;
        if (function.kind != FunctionKind::floor_divide) {  // towards zero: the same only if nothing is negative
          const auto values = core::interval(*first, ranges);
          if (!values || values->low < 0) return std::nullopt;
        }
        return function.kind == FunctionKind::remainder ? remainder(*first, by->constant, ranges)
                                                        : quotient(*first, by->constant, ranges);
      }
      case FunctionKind::minimum:
        return extreme(function, -1, ranges);
      case FunctionKind::maximum:
        return extreme(function, 1, ranges);
      case FunctionKind::choose:
        for (const Polynomial& operand : function.operands) {
          if (!first || linear(operand, ranges) != first) return std::nullopt;
        }
        return first;
      case FunctionKind::bit_and:
      case FunctionKind::bit_or: {
        const auto second = linear(function.operands[1], ranges);
        if (!first || !second || !first->terms.empty() || !second->terms.empty()) return std::nullopt;
        return Linear{function.kind == FunctionKind::bit_and ? first->constant & second->constant
                                                             : first->constant | second->constant,
                      {}};
      }
    }
    return std::nullopt;
  }

  // floor(form / by), where all that is not a multiple of `by` stays below it.
  std::optional<Linear> quotient(const Linear& form, std::int64_t by, const Ranges& ranges) const {
    Linear out{floor_divide(form.constant, by), {}}, rest{form.constant - out.constant * by, {}};
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

  std::optional<Linear> remainder(const Linear& form, std::int64_t by, const Ranges& ranges) const {
    const auto whole = quotient(form, by, ranges);
    Linear out = form;
    if (!whole || !add_scaled(out, *whole, -by)) return std::nullopt;
    return out;
  }

  // The operand that is never beaten, if there is one. `sign`: 1 for the largest, -1 for the smallest.
  std::optional<Linear> extreme(const Function& function, std::int64_t sign, const Ranges& ranges) const {
    std::vector<Linear> all;
    for (const Polynomial& operand : function.operands) {
      auto form = linear(operand, ranges);
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

  std::optional<Interval> interval(const Polynomial& polynomial, const Ranges& ranges) const {
    if (const auto form = linear(polynomial, ranges)) return core::interval(*form, ranges);
    std::optional<Interval> out = Interval{0, 0};
    for (const Term& term : polynomial) {
      std::optional<Interval> product = Interval{term.coefficient, term.coefficient};
      for (int s : term.symbols) {
        const auto factor = interval_symbol(s, ranges);
        if (!factor || !(product = multiply(*product, *factor))) return std::nullopt;
      }
      if (!(out = add(*out, *product))) return std::nullopt;
    }
    return out;
  }

  std::optional<Interval> interval_symbol(int symbol, const Ranges& ranges) const {
    const auto at = static_cast<std::size_t>(symbol);
    const Symbol& s = facts_.symbols[at];
    if (values_[at]) return core::interval(*values_[at], ranges);
    if (s.kind == SymbolKind::function)
      return interval_function(facts_.functions[static_cast<std::size_t>(s.index)], ranges);
    return s.known;
  }

  std::optional<Interval> interval_function(const Function& function, const Ranges& ranges) const {
    if (const auto form = linear_function(function, ranges)) return core::interval(*form, ranges);
    std::vector<Interval> operands;
    const bool wraps = function.kind == FunctionKind::wrap_signed || function.kind == FunctionKind::wrap_unsigned;
    for (const Polynomial& operand : function.operands) {
      const auto values = interval(operand, ranges);
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

  // --- guards ---

  struct Constraint {
    Polynomial value;
    std::optional<Linear> form;  // where it is linear for the whole launch
  };

  // When an access happens; accesses in the same place of a kernel share this.
  struct Conditions {
    const AccessFacts* first;  // that happens so
    std::vector<Constraint> at_most_zero;
    std::vector<Polynomial> not_zero;
    bool opaque = false;  // there are others
  };

  // The place in conditions_ of an access.
  std::size_t place_of(const AccessFacts& access, const Ranges& whole) {
    const auto same = [](const Guard& a, const Guard& b) { return a.kind == b.kind && a.value == b.value; };
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const AccessFacts& other = *conditions_[i].first;
      if (other.guards_suffice == access.guards_suffice && other.loops == access.loops &&
          std::equal(other.guards.begin(), other.guards.end(), access.guards.begin(), access.guards.end(), same))
        return i;
    }
    Conditions& out = conditions_.emplace_back();
    out.first = &access;
    std::vector<Polynomial> at_most_zero;
    for (const Guard& guard : access.guards) {
      if (guard.kind == GuardKind::at_most_zero)
        add_constraint(guard.value, at_most_zero, 0);
      else if (guard.kind == GuardKind::not_zero)
        out.not_zero.push_back(guard.value);
      else
        out.opaque = true;
    }
    out.at_most_zero = constraints(std::move(at_most_zero), whole);
    return conditions_.size() - 1;
  }

  std::vector<Constraint> constraints(std::vector<Polynomial> polynomials, const Ranges& whole) const {
    std::vector<Constraint> out;
    for (Polynomial& p : polynomials) {
      auto form = linear(p, whole);
      out.push_back({std::move(p), std::move(form)});
    }
    return out;
  }

  // x <= min(a, b) is x <= a and x <= b; likewise max(a, b) <= x.
  void add_constraint(const Polynomial& polynomial, std::vector<Polynomial>& out, int depth) const {
    for (std::size_t i = 0; i < polynomial.size() && depth < 4; ++i) {
      const Term& term = polynomial[i];
      if (term.symbols.size() != 1) continue;
      const Symbol& symbol = facts_.symbols[static_cast<std::size_t>(term.symbols[0])];
      if (symbol.kind != SymbolKind::function) continue;
      const Function& function = facts_.functions[static_cast<std::size_t>(symbol.index)];
      const bool both = function.kind == (term.coefficient < 0 ? FunctionKind::minimum : FunctionKind::maximum);
      if (!both) continue;
      for (const Polynomial& operand : function.operands) {
        Polynomial part = polynomial;
        part.erase(part.begin() + static_cast<std::ptrdiff_t>(i));
        bool fits = true;
        for (Term t : operand) {
          fits &= !__builtin_mul_overflow(t.coefficient, term.coefficient, &t.coefficient);
          part.push_back(std::move(t));
        }
        if (!fits) return out.push_back(polynomial);
        add_constraint(part, out, depth + 1);
      }
      return;
    }
    out.push_back(polynomial);
  }

  // An unsigned test of something that may be below zero: wrap(p) <= limit. Where wrapping would take p beyond every
  // limit, it says 0 <= p <= limit.
  std::optional<std::pair<Linear, Linear>> unsigned_test(const Polynomial& polynomial, const Ranges& ranges) const {
    for (std::size_t i = 0; i < polynomial.size(); ++i) {
      const Term& term = polynomial[i];
      if (term.coefficient != 1 || term.symbols.size() != 1) continue;
      const Symbol& symbol = facts_.symbols[static_cast<std::size_t>(term.symbols[0])];
      if (symbol.kind != SymbolKind::function) continue;
      const Function& function = facts_.functions[static_cast<std::size_t>(symbol.index)];
      if (function.kind != FunctionKind::wrap_unsigned || function.bits > 61) continue;
      Polynomial others = polynomial;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const auto inner = linear(function.operands[0], ranges), rest = linear(others, ranges);
      if (!inner || !rest) continue;
      const auto values = core::interval(*inner, ranges), limits = core::interval(*rest, ranges);
      const std::int64_t modulus = std::int64_t{1} << function.bits;
      if (!values || !limits || values->high >= modulus || values->low < -modulus) continue;
      const auto least_wrapped = add(values->low, modulus);
      const auto sum = least_wrapped ? add(*least_wrapped, limits->low) : std::nullopt;
      if (!sum || *sum <= 0) continue;
      Linear upper = *inner, lower;
      if (!add_scaled(upper, *rest, 1) || !add_scaled(lower, *inner, -1)) continue;
      return std::pair(upper, lower);
    }
    return std::nullopt;
  }

  // --- accesses ---

  // A loop's counter as one access sees it.
  struct Counter {
    bool uniform = false;  // the same number of iterations at all points
    bool tested = false;   // its test stands among the guards
  };

  struct State {
    Ranges ranges;
    std::vector<Counter> counters;  // as access.loops
    bool exact = true;              // so far, the points are exactly those of `ranges`
    bool never = false;             // the access does not happen
    std::vector<Linear> open;       // bounds that the ranges of the variables do not hold already
  };

  // Bounds a loop's counter. True if that is done.
  bool bound_loop(int loop, Counter& counter, State& state) const {
    const LoopFacts& facts = facts_.loops[static_cast<std::size_t>(loop)];
    const auto variable = static_cast<std::size_t>(loop_variable + loop);
    std::optional<Interval> range;
    auto at_most = [&](std::int64_t high) { range = Interval{0, range ? std::min(range->high, high) : high}; };
    const bool countable = countable_[static_cast<std::size_t>(loop)] || conditions_hold(facts, state.ranges);
    if (facts.while_at_most_zero && countable) {
      for (const Constraint& test : tests_[static_cast<std::size_t>(loop)]) {
        if (const auto high = largest_iteration(test, static_cast<int>(variable), state.ranges)) at_most(*high);
      }
      counter.tested = range && facts.tested_first;
    }
    if (!counter.tested && facts.last) {
      if (const auto last = interval(*facts.last, state.ranges); last && last->low >= 0) {
        at_most(last->high);
        counter.uniform = last->low == last->high;
      }
    }
    if (!range) return false;
    state.ranges[variable] = range;
    return true;
  }

  // The last iteration that a loop's test lets happen.
  std::optional<std::int64_t> largest_iteration(const Constraint& test, int counter, const Ranges& ranges) const {
    auto form = test.form ? test.form : linear(test.value, ranges);
    const std::int64_t step = form ? form->coefficient(counter) : 0;
    if (step <= 0) return std::nullopt;
    std::erase_if(form->terms, [&](const auto& term) { return term.first == counter; });
    const auto others = core::interval(*form, ranges);
    if (!others || others->low == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    return std::max<std::int64_t>(0, floor_divide(-others->low, step));
  }

  bool conditions_hold(const LoopFacts& facts, const Ranges& ranges) const {
    return std::all_of(facts.conditions.begin(), facts.conditions.end(), [&](const Polynomial& condition) {
      const auto values = interval(condition, ranges);
      return values && values->high <= 0;
    });
  }

  void apply_guards(const Conditions& conditions, State& state) const {
    state.ranges.bounds.clear();
    state.exact = conditions.first->guards_suffice && !conditions.opaque;
    auto bound = [&](const Linear& form) {
      const auto values = core::interval(form, state.ranges);
      if (values && values->high <= 0) return;
      state.never |= !narrow(form, state.ranges);
      state.ranges.bounds.push_back(form);
    };
    for (const Constraint& guard : conditions.at_most_zero) {
      if (guard.form) {
        bound(*guard.form);
      } else if (const auto form = linear(guard.value, state.ranges)) {
        bound(*form);
      } else if (const auto test = unsigned_test(guard.value, state.ranges)) {
        bound(test->first);
        bound(test->second);
      } else if (const auto values = interval(guard.value, state.ranges); values && values->low > 0) {
        state.never = true;
      } else if (!values || values->high > 0) {
        state.exact = false;
      }
    }
    for (const Polynomial& guard : conditions.not_zero) {
      const auto values = interval(guard, state.ranges);
      if (values && values->low == 0 && values->high == 0) state.never = true;
      if (!values || (values->low <= 0 && values->high >= 0)) state.exact = false;
    }
    const std::vector<int>& loops = conditions.first->loops;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (state.counters[i].uniform || !state.counters[i].tested) continue;
      for (const Constraint& test : tests_[static_cast<std::size_t>(loops[i])]) {
        if (test.form)
          bound(*test.form);
        else if (const auto form = linear(test.value, state.ranges))
          bound(*form);
        else
          state.exact = false;
      }
    }
  }

  // The points at which accesses under these conditions happen.
  State solve(const Conditions& conditions, const Ranges& ranges) const {
    const std::vector<int>& loops = conditions.first->loops;
    State state;
    state.ranges = ranges;
    state.counters.resize(loops.size());
    for (std::size_t i = 0; i < loops.size(); ++i)
      state.counters[i].uniform = lasts_[static_cast<std::size_t>(loops[i])].has_value();
    // Guards make loops countable and the other way round; each round only narrows, so ending early is safe.
    for (int round = 0; round < 8 && !state.never; ++round) {
      const auto before = state.ranges.variables;
      apply_guards(conditions, state);
      for (std::size_t i = 0; i < loops.size() && !state.never; ++i) {
        if (!state.ranges[static_cast<std::size_t>(loop_variable + loops[i])])
          bound_loop(loops[i], state.counters[i], state);
      }
      if (state.ranges.variables == before) break;
    }
    if (state.never) return state;
    for (Linear& form : state.ranges.bounds) fix(form, state.ranges);
    // Those that narrowing has done all of need no further care.
    std::vector<Linear> left;
    for (const Linear& form : state.ranges.bounds) {
      const auto values = interval_by_variables(form, state.ranges);
      if (!values || values->high > 0) left.push_back(form);
    }
    state.open = std::move(left);
    return state;
  }

  ByteRanges evaluate(const AccessFacts& access, const std::optional<Linear>& known_index, const State& state) const {
    const ByteRanges unknown{Certainty::unknown, {}};
    if (state.never) return {};
    if (!access.index) return unknown;
    const auto index = known_index ? known_index : linear(*access.index, state.ranges);
    if (!index) {
      const auto values = interval(*access.index, state.ranges);
      const auto end = values ? add(values->high, access.bytes) : std::nullopt;
      const auto least = std::numeric_limits<std::int64_t>::min();
      const auto length = end && values->low > least ? add(*end, -values->low) : std::nullopt;
      if (!length) return unknown;
      return {Certainty::may, {Run{values->low, *length, {}}}};
    }
    if (!interval_by_variables(*index, state.ranges)) return unknown;  // a loop that nobody can count
    return image(*index, access.bytes, state, state.exact && loops_are_exact(access, *index, state));
  }

  // Every iteration that the counter's range has must happen, if it matters which.
  bool loops_are_exact(const AccessFacts& access, const Linear& index, const State& state) const {
    for (std::size_t i = 0; i < access.loops.size(); ++i) {
      const int variable = loop_variable + access.loops[i];
      const auto has = [&](const Linear& form) { return form.coefficient(variable) != 0; };
      const bool matters = has(index) || std::any_of(state.ranges.bounds.begin(), state.ranges.bounds.end(), has);
      if (!facts_.loops[static_cast<std::size_t>(access.loops[i])].single_exit) return false;
      if (matters && !state.counters[i].uniform && !state.counters[i].tested) return false;
    }
    return true;
  }

  // Variables that guard and index only know in one combination: `unit` takes every whole value of `range`.
  struct Compound {
    std::vector<std::pair<int, std::int64_t>> unit;
    Interval range;
    bool dense = true;
  };

  ByteRanges image(Linear index, int bytes, const State& state, bool exact) const {
    Interval clip{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    std::vector<Compound> compounds;
    fix(index, state.ranges);
    for (const Linear& bound : state.open) {
      if (bound.terms.size() < 2 || !combine(bound, index, state.ranges, compounds, clip)) exact = false;
    }
    // One compound that is no full interval can still be cut where it is all of the index.
    std::vector<std::pair<std::int64_t, Interval>> steps;  // coefficient, range
    Linear left = index;
    for (const Compound& compound : compounds) {
      const auto [variable, unit] = compound.unit.front();
      const std::int64_t factor = left.coefficient(variable) / unit;
      if (!compound.dense || factor == 0) continue;
      steps.emplace_back(factor, compound.range);
      for (const auto& [v, u] : compound.unit)
        std::erase_if(left.terms, [v = v](const auto& term) { return term.first == v; });
    }
    for (const auto& [variable, coefficient] : left.terms)
      steps.emplace_back(coefficient, *state.ranges[static_cast<std::size_t>(variable)]);
    return lay_out(index.constant, bytes, std::move(steps), clip, exact);
  }

  // Variables of one value become constants.
  static void fix(Linear& form, const Ranges& ranges) {
    std::erase_if(form.terms, [&](const auto& term) {
      const auto& range = ranges[static_cast<std::size_t>(term.first)];
      if (!range || range->low != range->high) return false;
      const auto value = multiply(term.second, range->low);
      const auto sum = value ? add(form.constant, *value) : std::nullopt;
      if (!sum) return false;
      form.constant = *sum;
      return true;
    });
  }

  // Takes a guard over several variables into a compound. False if the points within it cannot be told exactly.
  bool combine(const Linear& bound, const Linear& index, const Ranges& ranges, std::vector<Compound>& compounds,
               Interval& clip) const {
    std::int64_t divisor = 0;
    for (const auto& [v, c] : bound.terms) divisor = std::gcd(divisor, c);
    if (bound.terms.front().second < 0) divisor = -divisor;
    Compound mine;
    for (const auto& [v, c] : bound.terms) mine.unit.emplace_back(v, c / divisor);
    const auto values = interval_by_variables(Linear{0, mine.unit}, ranges);
    if (!values) return false;
    mine.range = *values;
    mine.dense = is_dense(mine.unit, ranges);
    // The index must hold all of these variables in the same proportion, or none of them.
    const auto [variable, unit] = mine.unit.front();
    if (index.coefficient(variable) % unit != 0) return false;
    const std::int64_t factor = index.coefficient(variable) / unit;
    for (const auto& [v, u] : mine.unit) {
      const auto expected = multiply(factor, u);
      if (!expected || index.coefficient(v) != *expected) return false;
    }
    Compound* same = nullptr;
    for (Compound& other : compounds) {
      if (other.unit == mine.unit) same = &other;
      const bool shares = std::any_of(other.unit.begin(), other.unit.end(), [&](const auto& o) {
        return std::any_of(mine.unit.begin(), mine.unit.end(), [&](const auto& m) { return m.first == o.first; });
      });
      if (shares && other.unit != mine.unit) return false;
    }
    if (!same) same = &compounds.emplace_back(mine);
    // divisor * unit + constant <= 0
    const bool above = divisor < 0;
    const std::int64_t limit =
        above ? -floor_divide(-bound.constant, -divisor) : floor_divide(-bound.constant, divisor);
    if (above)
      same->range.low = std::max(same->range.low, limit);
    else
      same->range.high = std::min(same->range.high, limit);
    if (same->dense) return same->range.low <= same->range.high;
    // Not every value occurs. If it is all of the index, cutting the bytes is the same as cutting the points.
    if (factor == 0 || index.terms.size() != mine.unit.size()) return false;
    const auto edge = multiply(factor, limit);
    const auto byte = edge ? add(*edge, index.constant) : std::nullopt;
    if (!byte) return false;
    const bool cut_below = above == (factor > 0);
    if (cut_below)
      clip.low = std::max(clip.low, *byte);
    else
      clip.high = std::min(clip.high, *byte);
    return true;
  }

  // Whether the sum takes every whole value from its least to its largest.
  static bool is_dense(const std::vector<std::pair<int, std::int64_t>>& unit, const Ranges& ranges) {
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // size of step, number of steps
    for (const auto& [variable, coefficient] : unit) {
      const auto& range = ranges[static_cast<std::size_t>(variable)];
      if (!range || coefficient == std::numeric_limits<std::int64_t>::min()) return false;
      steps.emplace_back(std::abs(coefficient), range->high - range->low);
    }
    std::sort(steps.begin(), steps.end());
    std::int64_t reach = 0;
    for (const auto& [step, count] : steps) {
      const auto more = multiply(step, count);
      if (step > reach + 1 || !more || !add(reach, *more)) return false;
      reach += *more;
    }
    return true;
  }

  static ByteRanges lay_out(std::int64_t begin, int bytes, std::vector<std::pair<std::int64_t, Interval>> steps,
                            const Interval& clip, bool exact) {
    const ByteRanges unknown{Certainty::unknown, {}};
    Run run{begin, bytes, {}};
    std::vector<Stride> strides;
    for (const auto& [coefficient, range] : steps) {
      const auto part = multiply(Interval{coefficient, coefficient}, range);
      const auto sum = part ? add(run.begin, part->low) : std::nullopt;
      if (!sum || coefficient == std::numeric_limits<std::int64_t>::min()) return unknown;
      run.begin = *sum;
      if (range.high > range.low) strides.push_back({std::abs(coefficient), range.high - range.low + 1});
    }
    std::sort(strides.begin(), strides.end(), [](const Stride& a, const Stride& b) { return a.step < b.step; });
    for (const Stride& stride : strides) {
      const auto reach = multiply(stride.step, stride.count - 1);
      const auto longer = reach ? add(run.length, *reach) : std::nullopt;
      if (!longer || !add(run.begin, *longer)) return unknown;
      if (run.strides.empty() && stride.step <= run.length)
        run.length = *longer;
      else
        run.strides.push_back(stride);
    }
    if (clip.low != std::numeric_limits<std::int64_t>::min()) run.clip_begin = clip.low;
    if (clip.high != std::numeric_limits<std::int64_t>::max()) {
      const auto end = add(clip.high, bytes);
      if (!end) return unknown;
      run.clip_end = *end;
    }
    return {exact ? Certainty::exact : Certainty::may, {run}};
  }

  const KernelFacts& facts_;
  const Grid grid_;
  const std::vector<std::vector<std::byte>> scalars_;
  std::vector<std::optional<Linear>> values_;       // of the symbols
  Index split_{0, 0, 0};                            // width by which a local id is split; 0: it is not
  std::vector<std::optional<std::int64_t>> lasts_;  // of loops: their last iteration where it is the same everywhere
  std::vector<Conditions> conditions_;
  std::vector<std::size_t> places_;             // of the accesses, in conditions_
  std::vector<std::optional<Linear>> indices_;  // of the accesses, where linear for the whole launch
  std::vector<bool> countable_;                 // loops whose conditions hold in all of the launch
  std::vector<std::vector<Constraint>> tests_;  // of the loops: at most zero, in all iterations but perhaps the first
};

BoundKernel::BoundKernel(const KernelFacts& facts, const Grid& grid, std::vector<std::vector<std::byte>> scalars) {
  if (scalars.size() != facts.arguments.size())
    throw UsageError("kernel '" + facts.name + "': " + std::to_string(scalars.size()) + " arguments given, " +
                     std::to_string(facts.arguments.size()) + " expected");
  evaluation_ = std::make_unique<Evaluation>(facts, grid, std::move(scalars));
}

BoundKernel::~BoundKernel() = default;
BoundKernel::BoundKernel(BoundKernel&&) noexcept = default;

const KernelFacts& BoundKernel::facts() const { return evaluation_->facts(); }
const Grid& BoundKernel::grid() const { return evaluation_->grid(); }
std::vector<Touched> BoundKernel::touched(const Box& groups) const { return evaluation_->touched(groups); }

}  // namespace heddle::core

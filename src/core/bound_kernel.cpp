// The evaluation of facts for a box. What cannot be computed makes a range larger or unknown, never smaller.
//
// Every access runs through the same steps: ranges of the variables for the box; loops bound their counters and guards
// narrow the ranges, until nothing changes; then the index over what is left is the set of bytes (byte_layout.cpp).
#include <algorithm>
#include <limits>

#include "core/byte_layout.hpp"
#include "core/byte_ranges.hpp"
#include "core/errors.hpp"
#include "core/launch_values.hpp"

namespace heddle::core {

class BoundKernel::Evaluation {
 public:
  Evaluation(const KernelFacts& facts, const Grid& grid, const std::vector<std::vector<std::byte>>& scalars)
      : facts_(facts), grid_(grid), values_(facts, grid, scalars) {
    // What is linear for the whole launch is so for every box of it.
    const Ranges whole = values_.ranges_of({{0, 0, 0}, grid_.groups});
    for (const LoopFacts& loop : facts_.loops) {
      std::vector<Polynomial> tests;
      if (loop.while_at_most_zero) add_constraint(*loop.while_at_most_zero, tests, 0);
      tests_.push_back(constraints(std::move(tests), whole));
      countable_.push_back(conditions_hold(loop, whole));
    }
    // And what is so while loops count as far as they ever do: a box's are not longer, and nobody asks outside of them.
    const Ranges inside = with_loops(whole);
    for (const AccessFacts& access : facts_.accesses) {
      places_.push_back(place_of(access, inside));
      indices_.push_back(access.index ? values_.linear(*access.index, inside) : std::nullopt);
    }
    // An index is only asked for where its access happens, and a box's points are among those of the whole launch:
    // narrowing keeps the order of sets.
    std::vector<std::optional<State>> states(conditions_.size());
    for (std::size_t i = 0; i < facts_.accesses.size(); ++i) {
      if (indices_[i] || !facts_.accesses[i].index) continue;
      auto& state = states[places_[i]];
      if (!state) state = solve(conditions_[places_[i]], whole);
      if (!state->never) indices_[i] = values_.linear(*facts_.accesses[i].index, state->ranges);
    }
  }

  const KernelFacts& facts() const { return facts_; }
  const Grid& grid() const { return grid_; }

  std::vector<Touched> touched(const Box& groups) const {
    std::vector<Touched> out(facts_.arguments.size());
    if (groups.empty()) return out;
    const Ranges ranges = values_.ranges_of(groups);
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
        join_neighbours(r->runs);
      }
    }
    return out;
  }

 private:
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
      auto form = values_.linear(p, whole);
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
      const auto inner = values_.linear(function.operands[0], ranges), rest = values_.linear(others, ranges);
      if (!inner || !rest) continue;
      const auto values = interval(*inner, ranges), limits = interval(*rest, ranges);
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
    LaunchValues::Memo memo;        // under the ranges
  };

  // Bounds a loop's counter. True if that is done.
  bool bound_loop(int loop, Counter& counter, State& state) const {
    const LoopFacts& facts = facts_.loops[static_cast<std::size_t>(loop)];
    const auto variable = static_cast<std::size_t>(LaunchValues::loop_variable + loop);
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
      if (const auto last = values_.interval(*facts.last, state.ranges); last && last->low >= 0) {
        at_most(last->high);
        counter.uniform = last->low == last->high;
      }
    }
    if (!range) return false;
    state.ranges[variable] = range;
    return true;
  }

  // The same with all loops that can be counted without guards.
  Ranges with_loops(const Ranges& ranges) const {
    State state{.ranges = ranges};
    bool changed = true;
    while (changed) {  // loops within loops
      changed = false;
      for (int loop = 0; loop < static_cast<int>(facts_.loops.size()); ++loop) {
        Counter counter;
        if (!state.ranges[static_cast<std::size_t>(LaunchValues::loop_variable + loop)])
          changed |= bound_loop(loop, counter, state);
      }
    }
    return state.ranges;
  }

  // The last iteration that a loop's test lets happen.
  std::optional<std::int64_t> largest_iteration(const Constraint& test, int counter, const Ranges& ranges) const {
    auto form = test.form ? test.form : values_.linear(test.value, ranges);
    const std::int64_t step = form ? form->coefficient(counter) : 0;
    if (step <= 0) return std::nullopt;
    std::erase_if(form->terms, [&](const auto& term) { return term.first == counter; });
    const auto others = interval(*form, ranges);
    if (!others || others->low == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    return std::max<std::int64_t>(0, floor_divide(-others->low, step));
  }

  bool conditions_hold(const LoopFacts& facts, const Ranges& ranges) const {
    return std::all_of(facts.conditions.begin(), facts.conditions.end(), [&](const Polynomial& condition) {
      const auto values = values_.interval(condition, ranges);
      return values && values->high <= 0;
    });
  }

  void apply_guards(const Conditions& conditions, State& state) const {
    state.ranges.bounds.clear();
    state.exact = conditions.first->guards_suffice && !conditions.opaque;
    auto bound = [&](const Linear& form) {
      const auto values = interval(form, state.ranges);
      if (values && values->high <= 0) return;
      state.never |= !narrow(form, state.ranges);
      state.ranges.bounds.push_back(form);
    };
    for (const Constraint& guard : conditions.at_most_zero) {
      if (guard.form) {
        bound(*guard.form);
      } else if (const auto form = values_.linear(guard.value, state.ranges)) {
        bound(*form);
      } else if (const auto test = unsigned_test(guard.value, state.ranges)) {
        bound(test->first);
        bound(test->second);
      } else if (const auto values = values_.interval(guard.value, state.ranges); values && values->low > 0) {
        state.never = true;
      } else if (!values || values->high > 0) {
        state.exact = false;
      }
    }
    for (const Polynomial& guard : conditions.not_zero) {
      const auto values = values_.interval(guard, state.ranges);
      if (values && values->low == 0 && values->high == 0) state.never = true;
      if (!values || (values->low <= 0 && values->high >= 0)) state.exact = false;
    }
    const std::vector<int>& loops = conditions.first->loops;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (state.counters[i].uniform || !state.counters[i].tested) continue;
      for (const Constraint& test : tests_[static_cast<std::size_t>(loops[i])]) {
        if (test.form)
          bound(*test.form);
        else if (const auto form = values_.linear(test.value, state.ranges))
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
      state.counters[i].uniform = values_.counts_the_same_everywhere(loops[i]);
    // Guards make loops countable and the other way round; each round only narrows, so ending early is safe.
    std::vector<std::optional<Interval>> before;
    for (int round = 0; round < 8 && !state.never; ++round) {
      before = state.ranges.variables;
      apply_guards(conditions, state);
      for (std::size_t i = 0; i < loops.size() && !state.never; ++i) {
        if (!state.ranges[static_cast<std::size_t>(LaunchValues::loop_variable + loops[i])])
          bound_loop(loops[i], state.counters[i], state);
      }
      if (state.ranges.variables == before) break;
    }
    if (state.never) return state;
    for (Linear& form : state.ranges.bounds) fix(form, state.ranges);
    // Those that narrowing has done all of need no further care.
    for (const Linear& form : state.ranges.bounds) {
      const auto values = interval_by_variables(form, state.ranges);
      if (!values || values->high > 0) state.open.push_back(form);
    }
    return state;
  }

  ByteRanges evaluate(const AccessFacts& access, const std::optional<Linear>& known_index, State& state) const {
    const ByteRanges unknown{Certainty::unknown, {}};
    if (state.never) return {};
    if (!access.index) return unknown;
    const auto computed = known_index ? std::nullopt : values_.linear(*access.index, state.ranges, state.memo);
    const std::optional<Linear>& index = known_index ? known_index : computed;
    if (!index) {
      const auto values = values_.interval(*access.index, state.ranges, state.memo);
      const auto end = values ? add(values->high, access.bytes) : std::nullopt;
      const auto least = std::numeric_limits<std::int64_t>::min();
      const auto length = end && values->low > least ? add(*end, -values->low) : std::nullopt;
      if (!length) return unknown;
      return {Certainty::may, {Run{values->low, *length, {}}}};
    }
    if (!interval_by_variables(*index, state.ranges)) return unknown;  // a loop that nobody can count
    return lay_out(*index, access.bytes, state.ranges, state.open,
                   state.exact && loops_are_exact(access, *index, state));
  }

  // Every iteration that the counter's range has must happen, if it matters which.
  bool loops_are_exact(const AccessFacts& access, const Linear& index, const State& state) const {
    for (std::size_t i = 0; i < access.loops.size(); ++i) {
      const int variable = LaunchValues::loop_variable + access.loops[i];
      const auto has = [&](const Linear& form) { return form.coefficient(variable) != 0; };
      const bool matters = has(index) || std::any_of(state.ranges.bounds.begin(), state.ranges.bounds.end(), has);
      if (!facts_.loops[static_cast<std::size_t>(access.loops[i])].single_exit) return false;
      if (matters && !state.counters[i].uniform && !state.counters[i].tested) return false;
    }
    return true;
  }

  const KernelFacts& facts_;
  const Grid grid_;
  const LaunchValues values_;
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
  evaluation_ = std::make_unique<Evaluation>(facts, grid, scalars);
}

BoundKernel::~BoundKernel() = default;
BoundKernel::BoundKernel(BoundKernel&&) noexcept = default;

const KernelFacts& BoundKernel::facts() const { return evaluation_->facts(); }
const Grid& BoundKernel::grid() const { return evaluation_->grid(); }
std::vector<Touched> BoundKernel::touched(const Box& groups) const { return evaluation_->touched(groups); }

}  // namespace heddle::core

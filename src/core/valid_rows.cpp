// A backtracking search. Values that no constraint allows are removed first; then parameters are given values in an
// order that completes constraints early. A constraint is evaluated as soon as all it depends on is known, and before
// that over what is still possible, so that a branch without a future ends at its root.
#include "core/valid_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

constexpr std::uint64_t most_steps = 2'000'000'000;     // values tried: about a minute
constexpr std::uint64_t most_steps_of_any = 5'000'000;  // for a better message only: a fraction of a second
constexpr std::size_t most_rounds = 8;  // of removing values; it is an optimisation, and further rounds find little

std::string names_of(const Rules& rules, const std::vector<std::size_t>& group) {
  std::string out;
  for (const std::size_t p : group) out += (out.empty() ? "" : ", ") + rules.names[p];
  return out;
}

enum class Goal { all, any };

class Search {
 public:
  Search(const Rules& rules, const std::vector<std::size_t>& group, const std::vector<std::size_t>& constraints,
         Goal goal)
      : rules_(rules), group_(group), goal_(goal) {
    const std::size_t slots = rules.parameters.size() + rules.derived.size();
    known_.resize(slots), possible_.resize(slots);
    values_.resize(rules.parameters.size()), open_.resize(rules.parameters.size());
    for (const std::size_t p : group) {
      for (const Value& v : rules.parameters[p].values) values_[p].push_back(scalar_of(v));
      open_[p].resize(values_[p].size());
      std::iota(open_[p].begin(), open_[p].end(), std::uint16_t{0});
      widen(p);
    }
    std::set<std::size_t> needed;
    for (const std::size_t c : constraints) {
      checks_.push_back({&rules.constraints[c], parameters_of(rules.constraints[c], rules)});
      need(rules.constraints[c], needed);
    }
    for (const std::size_t d : needed) derived_.push_back({d, parameters_of(rules.derived[d], rules)});
    for (const Need& d : derived_) bound(d);
  }

  // False where the search took more than `steps`.
  bool run(std::uint64_t steps) {
    steps_left_ = steps;
    if (!remove_hopeless_values()) return true;
    choose_order();
    row_.resize(group_.size());
    descend(0, nullptr);
    return steps_left_ > 0;
  }

  std::vector<std::uint16_t> sorted_rows() const;
  bool found() const { return found_ > 0; }

 private:
  struct Check {
    const Expression* constraint;
    std::vector<std::size_t> depends;
  };
  struct Need {
    std::size_t number;
    std::vector<std::size_t> depends;
  };
  // What is to do when the parameter of one level has got a value.
  struct Level {
    std::size_t parameter, column;
    std::vector<std::size_t> completed_derived, touched_derived, completed_checks, touched_checks;
    std::vector<Possible> before;  // of the derived values, to be put back
  };

  std::size_t slot_of(const Need& d) const { return rules_.parameters.size() + d.number; }

  void need(const Expression& e, std::set<std::size_t>& needed) const {
    for (const std::uint32_t slot : e.slots()) {
      if (slot < rules_.parameters.size()) continue;
      const std::size_t d = slot - rules_.parameters.size();
      if (needed.insert(d).second) need(rules_.derived[d], needed);
    }
  }

  void widen(std::size_t p) {
    if (open_[p].empty()) return;
    possible_[p] = possible(values_[p][open_[p].front()]);
    for (std::size_t i = 1; i < open_[p].size(); ++i) {
      possible_[p] = either(possible_[p], possible(values_[p][open_[p][i]]));
    }
  }

  void bound(const Need& d) { possible_[slot_of(d)] = rules_.derived[d.number].evaluate(possible_.data()); }

  static bool depends(const std::vector<std::size_t>& on, std::size_t p) {
    return std::binary_search(on.begin(), on.end(), p);
  }

  bool remove_hopeless_values() {
    bool changed = true;
    for (std::size_t round = 0; changed && round < most_rounds; ++round) {
      changed = false;
      for (const std::size_t p : group_) {
        const std::size_t before = open_[p].size();
        std::erase_if(open_[p], [&](std::uint16_t place) {
          possible_[p] = possible(values_[p][place]);
          for (const Need& d : derived_) {
            if (depends(d.depends, p)) bound(d);
          }
          return std::any_of(checks_.begin(), checks_.end(), [&](const Check& c) {
            return depends(c.depends, p) && c.constraint->certain(possible_.data()) == Certain::no;
          });
        });
        if (open_[p].empty()) return false;
        widen(p);
        for (const Need& d : derived_) bound(d);
        changed |= open_[p].size() != before;
      }
    }
    return true;
  }

  // Next comes the parameter that belongs to the constraint with the fewest choices left until it is complete.
  void choose_order() {
    std::vector<std::size_t> left = group_;
    const auto choices_left = [&](const Check& c) {
      double out = 0;
      for (const std::size_t p : c.depends) {
        if (std::find(left.begin(), left.end(), p) != left.end()) out += std::log2(open_[p].size());
      }
      return out;
    };
    while (!left.empty()) {
      std::size_t best = left.front();
      std::pair<double, double> best_score{1e300, 0};
      for (const std::size_t p : left) {
        std::pair<double, double> score{1e200, 0};  // fewest choices; then, of how many constraints it is part
        for (const Check& c : checks_) {
          if (!depends(c.depends, p)) continue;
          score.first = std::min(score.first, choices_left(c));
          score.second -= 1 / (1 + choices_left(c));
        }
        if (score < best_score) best_score = score, best = p;
      }
      left.erase(std::find(left.begin(), left.end(), best));
      add_level(best, left);
    }
    settled_.assign(checks_.size(), levels_.size());
  }

  void add_level(std::size_t p, const std::vector<std::size_t>& left) {
    Level level;
    level.parameter = p;
    level.column = static_cast<std::size_t>(std::find(group_.begin(), group_.end(), p) - group_.begin());
    const auto complete = [&](const std::vector<std::size_t>& on) {
      return std::none_of(left.begin(), left.end(), [&](std::size_t q) { return depends(on, q); });
    };
    for (std::size_t d = 0; d < derived_.size(); ++d) {
      if (depends(derived_[d].depends, p)) {
        (complete(derived_[d].depends) ? level.completed_derived : level.touched_derived).push_back(d);
      }
    }
    for (std::size_t c = 0; c < checks_.size(); ++c) {
      if (depends(checks_[c].depends, p)) {
        (complete(checks_[c].depends) ? level.completed_checks : level.touched_checks).push_back(c);
      }
    }
    level.before.resize(level.completed_derived.size() + level.touched_derived.size());
    levels_.push_back(std::move(level));
  }

  // False where a constraint is false for certain. `failed` becomes a constraint that has no value.
  bool still_possible(std::size_t depth, const Expression*& failed) {
    const Level& level = levels_[depth];
    for (const std::size_t d : level.completed_derived) {
      const std::size_t slot = slot_of(derived_[d]);
      known_[slot] = rules_.derived[derived_[d].number].evaluate(known_.data());
      possible_[slot] = possible(known_[slot]);
    }
    for (const std::size_t c : level.completed_checks) {
      if (settled_[c] < depth) continue;  // it has been true for certain since then
      const Scalar truth = truth_of(checks_[c].constraint->evaluate(known_.data()));
      if (truth.kind == Scalar::Kind::failure) {
        failed = checks_[c].constraint;
      } else if (!is_true(truth)) {
        return false;
      }
    }
    for (const std::size_t d : level.touched_derived) bound(derived_[d]);
    for (const std::size_t c : level.touched_checks) {
      if (settled_[c] < depth) continue;
      const Certain certain = checks_[c].constraint->certain(possible_.data());
      if (certain == Certain::no) return false;
      settled_[c] = certain == Certain::yes ? depth : levels_.size();
    }
    return true;
  }

  template <class Do>
  void for_each_touched(Level& level, Do act) {
    std::size_t i = 0;
    for (const std::size_t d : level.completed_derived) act(level.before[i++], possible_[slot_of(derived_[d])]);
    for (const std::size_t d : level.touched_derived) act(level.before[i++], possible_[slot_of(derived_[d])]);
  }

  void descend(std::size_t depth, const Expression* failed) {
    if (depth == levels_.size()) return arrive(failed);
    Level& level = levels_[depth];
    const std::size_t p = level.parameter;
    const Possible before = possible_[p];
    for_each_touched(level, [](Possible& kept, const Possible& now) { kept = now; });
    for (const std::uint16_t place : open_[p]) {
      if (steps_left_ == 0 || (goal_ == Goal::any && found())) break;
      --steps_left_;
      row_[level.column] = place;
      known_[p] = values_[p][place];
      possible_[p] = possible(known_[p]);
      const Expression* failed_here = failed;
      if (still_possible(depth, failed_here)) descend(depth + 1, failed_here);
    }
    possible_[p] = before;
    for_each_touched(level, [](const Possible& kept, Possible& now) { now = kept; });
  }

  void arrive(const Expression* failed) {
    ++found_;
    if (goal_ == Goal::any) return;
    if (failed) complain(*failed);
    if (found_ > most_valid_rows) {
      throw UsageError("parameters " + names_of(rules_, group_) + ", which constraints connect: more than " +
                       std::to_string(most_valid_rows) + " valid configurations of them; at most that many expected");
    }
    rows_.insert(rows_.end(), row_.begin(), row_.end());
  }

  [[noreturn]] void complain(const Expression& failed) const {
    Configuration here;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const Parameter& p = rules_.parameters[group_[i]];
      here.values.emplace_back(p.name, p.values[row_[i]]);
    }
    for (const Need& d : derived_) {
      here.values.emplace_back(rules_.names[slot_of(d)], rules_.derived[d.number].evaluate(here));
    }
    failed.holds(here);
    throw InternalError("constraint '" + failed.text() + "' failed, and then did not");
  }

  const Rules& rules_;
  const std::vector<std::size_t>& group_;
  const Goal goal_;
  std::vector<Check> checks_;
  std::vector<Need> derived_;                     // those that the checks need, in their order
  std::vector<std::vector<Scalar>> values_;       // of each parameter
  std::vector<std::vector<std::uint16_t>> open_;  // places of values that may be part of a row
  std::vector<Scalar> known_;                     // by slot, valid where known
  std::vector<Possible> possible_;                // by slot
  std::vector<Level> levels_;
  std::vector<std::size_t> settled_;  // per check: the level at which it became true for certain
  std::vector<std::uint16_t> row_, rows_;
  std::size_t found_ = 0;
  std::uint64_t steps_left_ = 0;
};

// Column after column from the last, each time stable: rows come out in the order of their first columns.
std::vector<std::uint16_t> Search::sorted_rows() const {
  const std::size_t columns = group_.size(), count = columns == 0 ? 0 : rows_.size() / columns;
  std::vector<std::uint32_t> order(count), next(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t column = columns; column-- > 0;) {
    std::vector<std::uint32_t> begin(values_[group_[column]].size() + 1, 0);
    for (std::size_t i = 0; i < count; ++i) ++begin[rows_[i * columns + column] + 1u];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (const std::uint32_t row : order) next[begin[rows_[row * columns + column]]++] = row;
    order.swap(next);
  }
  std::vector<std::uint16_t> out;
  out.reserve(rows_.size());
  for (const std::uint32_t row : order) {
    const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(row * columns);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
  }
  return out;
}

}  // namespace

std::vector<std::size_t> parameters_of(const Expression& expression, const Rules& rules) {
  std::set<std::size_t> out, seen;
  std::vector<std::size_t> open(expression.slots().begin(), expression.slots().end());
  while (!open.empty()) {
    const std::size_t slot = open.back();
    open.pop_back();
    if (!seen.insert(slot).second) continue;
    if (slot < rules.parameters.size()) {
      out.insert(slot);
    } else {
      const auto& more = rules.derived[slot - rules.parameters.size()].slots();
      open.insert(open.end(), more.begin(), more.end());
    }
  }
  return {out.begin(), out.end()};
}

std::vector<std::uint16_t> valid_rows(const Rules& rules, const std::vector<std::size_t>& group,
                                      const std::vector<std::size_t>& constraints) {
  Search search(rules, group, constraints, Goal::all);
  if (!search.run(most_steps)) {
    throw UsageError("parameters " + names_of(rules, group) + ", which constraints connect: no end after trying " +
                     std::to_string(most_steps) + " values; constraints of fewer parameters each expected");
  }
  return search.sorted_rows();
}

std::optional<bool> any_valid_row(const Rules& rules, const std::vector<std::size_t>& group,
                                  const std::vector<std::size_t>& constraints) {
  Search search(rules, group, constraints, Goal::any);
  if (!search.run(most_steps_of_any)) return std::nullopt;
  return search.found();
}

}  // namespace heddle::core

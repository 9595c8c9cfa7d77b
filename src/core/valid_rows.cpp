// A backtracking search. Values that no constraint allows are removed first; then parameters are given values in an
// order that completes constraints early, and a branch ends as soon as a constraint allows none of its rows.
// Constraints of few choices know that from a table; others are evaluated when all they depend on is known, and before
// that over what is still possible.
#include "core/valid_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

constexpr std::uint64_t most_steps_of_any = 5'000'000;  // for a better message only: a fraction of a second
constexpr std::size_t most_rounds = 8;  // of removing values; it is an optimisation, and further rounds find little

std::string names_of(const Rules& rules, const std::vector<std::size_t>& group) {
  std::string out;
  for (const std::size_t p : group) out += (out.empty() ? "" : ", ") + rules.names[p];
  return out;
}

constexpr std::size_t all_tables = 1 << 19;  // entries that are evaluated in a few hundredths of a second
// A constraint that decided nothing so often at a level is asked there only at times.
constexpr std::uint32_t patience = 200, at_times = 50;

enum class Goal { all, any };

class Search {
 public:
  Search(const Rules& rules, const std::vector<std::size_t>& group, const std::vector<std::size_t>& constraints,
         Goal goal, const SearchLimits& limits)
      : rules_(rules), group_(group), goal_(goal), limits_(limits), steps_left_(limits.steps) {
    const std::size_t slots = rules.parameters.size() + rules.derived.size();
    known_.resize(slots), possible_.resize(slots);
    values_.resize(rules.parameters.size()), possible_values_.resize(rules.parameters.size());
    open_.resize(rules.parameters.size());
    for (const std::size_t p : group) {
      for (const Value& v : rules.parameters[p].values) {
        values_[p].push_back(scalar_of(v));
        possible_values_[p].push_back(possible(values_[p].back()));
      }
      open_[p].resize(values_[p].size());
      std::iota(open_[p].begin(), open_[p].end(), std::uint16_t{0});
      widen(p);
    }
    for (const std::size_t c : constraints) {
      checks_.push_back({&rules.constraints[c], parameters_of(rules.constraints[c], rules)});
      need(rules.constraints[c], checks_.back().needs);
    }
    std::set<std::size_t> needed;
    for (const Check& c : checks_) needed.insert(c.needs.begin(), c.needs.end());
    for (const std::size_t d : needed) derived_.push_back({d, parameters_of(rules.derived[d], rules)});
    for (const Need& d : derived_) bound(d);
  }

  // False where the search took too many steps.
  bool run() {
    if (!remove_hopeless_values()) return true;
    plan(choose_order());
    row_.resize(group_.size());
    descend(0, nullptr);
    return steps_left_ > 0;
  }

  std::vector<std::uint16_t> sorted_rows() &&;
  bool found() const { return found_ > 0; }

 private:
  struct Check {
    const Expression* constraint;
    std::vector<std::size_t> depends;
    std::set<std::size_t> needs;  // derived values, also indirectly
    // With the first so many of its parameters (in the order of the search) known, row after row: whether it is true
    // (1), or has no value (2), for some choice of the others. Empty where there is no table.
    std::vector<std::vector<std::uint8_t>> tables;
    std::vector<std::size_t> entries;  // where the present choice stands in each of them
  };
  struct Need {
    std::size_t number;
    std::vector<std::size_t> depends;
  };
  // What is to do when the parameter of one level has got a value.
  struct Level {
    std::size_t parameter, column;
    std::vector<std::size_t> completed_derived, touched_derived, completed_checks;
    struct Touched {
      std::size_t check;
      std::uint32_t in_vain = 0;
    };
    std::vector<Touched> touched_checks;
    struct Looked {
      std::size_t check, known;  // the table for so many known parameters
    };
    std::vector<Looked> looked_up;
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
    possible_[p] = possible_values_[p][open_[p].front()];
    for (std::size_t i = 1; i < open_[p].size(); ++i) {
      possible_[p] = either(possible_[p], possible_values_[p][open_[p][i]]);
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
          possible_[p] = possible_values_[p][place];
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
  std::vector<std::size_t> choose_order() const {
    std::vector<std::size_t> left = group_;
    const auto choices_left = [&](const Check& c) {
      double out = 0;
      for (const std::size_t p : c.depends) {
        if (std::find(left.begin(), left.end(), p) != left.end()) out += std::log2(open_[p].size());
      }
      return out;
    };
    std::vector<std::size_t> order;
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
      order.push_back(best);
    }
    return order;
  }

  void plan(const std::vector<std::size_t>& order) {
    std::size_t room = all_tables;
    for (Check& c : checks_) make_table(c, order, room);
    std::set<std::size_t> needed;
    for (const Check& c : checks_) {
      if (c.tables.empty()) needed.insert(c.needs.begin(), c.needs.end());
    }
    std::erase_if(derived_, [&](const Need& d) { return !needed.contains(d.number); });
    std::vector<std::size_t> left = order;
    for (const std::size_t p : order) {
      left.erase(left.begin());
      add_level(p, left);
    }
    settled_.assign(checks_.size(), levels_.size());
  }

  void make_table(Check& check, const std::vector<std::size_t>& order, std::size_t& room) {
    std::vector<std::size_t> depends;
    std::size_t size = 1;
    for (const std::size_t p : order) {
      if (!Search::depends(check.depends, p)) continue;
      depends.push_back(p);
      size *= open_[p].size();
      if (size > std::min(room, limits_.table)) return;
    }
    room -= size;
    check.tables.resize(depends.size());
    check.entries.resize(depends.size());
    std::vector<std::uint8_t>& last = check.tables.back();
    last.resize(size);
    for (std::size_t entry = 0; entry < size; ++entry) {
      std::size_t rest = entry;
      for (std::size_t i = depends.size(); i-- > 0; rest /= open_[depends[i]].size()) {
        const std::size_t p = depends[i];
        known_[p] = values_[p][open_[p][rest % open_[p].size()]];
      }
      for (const std::size_t d : check.needs) {
        known_[rules_.parameters.size() + d] = rules_.derived[d].evaluate(known_.data());
      }
      const Scalar truth = truth_of(check.constraint->evaluate(known_.data()));
      last[entry] = truth.kind == Scalar::Kind::failure ? 2 : is_true(truth) ? 1 : 0;
    }
    for (std::size_t i = depends.size() - 1; i-- > 0;) {
      const std::size_t width = open_[depends[i + 1]].size();
      check.tables[i].assign(check.tables[i + 1].size() / width, 0);
      for (std::size_t e = 0; e < check.tables[i + 1].size(); ++e) check.tables[i][e / width] |= check.tables[i + 1][e];
    }
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
      const Check& check = checks_[c];
      if (!depends(check.depends, p)) continue;
      if (!check.tables.empty()) {
        const auto unknown = static_cast<std::size_t>(
            std::count_if(left.begin(), left.end(), [&](std::size_t q) { return depends(check.depends, q); }));
        level.looked_up.push_back({c, check.depends.size() - 1 - unknown});
      } else if (complete(check.depends)) {
        level.completed_checks.push_back(c);
      } else {
        level.touched_checks.push_back({c});
      }
    }
    level.before.resize(level.completed_derived.size() + level.touched_derived.size());
    levels_.push_back(std::move(level));
  }

  // False where a constraint is false for certain. `failed` becomes a constraint that has no value.
  bool still_possible(std::size_t depth, std::size_t choice, const Expression*& failed) {
    Level& level = levels_[depth];
    for (const auto [c, known] : level.looked_up) {
      Check& check = checks_[c];
      const std::size_t before = known == 0 ? 0 : check.entries[known - 1];
      const std::size_t entry = before * open_[level.parameter].size() + choice;
      const std::uint8_t some = check.tables[known][entry];
      if (some == 0) return false;
      check.entries[known] = entry;
      if (some == 2 && known + 1 == check.tables.size()) failed = check.constraint;
    }
    if (level.completed_checks.empty() && level.touched_checks.empty() && level.before.empty()) return true;
    known_[level.parameter] = values_[level.parameter][open_[level.parameter][choice]];
    possible_[level.parameter] = possible_values_[level.parameter][open_[level.parameter][choice]];
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
    for (auto& [c, in_vain] : level.touched_checks) {
      if (settled_[c] < depth) continue;
      settled_[c] = levels_.size();
      if (in_vain > patience && ++in_vain % at_times != 0) continue;
      const Certain certain = checks_[c].constraint->certain(possible_.data());
      if (certain == Certain::unknown) {
        ++in_vain;
        continue;
      }
      in_vain = 0;
      if (certain == Certain::no) return false;
      settled_[c] = depth;
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
    for (std::size_t choice = 0; choice < open_[p].size(); ++choice) {
      if (steps_left_ == 0 || (goal_ == Goal::any && found())) break;
      --steps_left_;
      row_[level.column] = open_[p][choice];
      const Expression* failed_here = failed;
      if (still_possible(depth, choice, failed_here)) descend(depth + 1, failed_here);
    }
    possible_[p] = before;
    for_each_touched(level, [](const Possible& kept, Possible& now) { now = kept; });
  }

  void arrive(const Expression* failed) {
    ++found_;
    if (goal_ == Goal::any) return;
    if (failed) complain(*failed);
    if (found_ > limits_.rows) {
      throw UsageError("parameters " + names_of(rules_, group_) + ", which constraints connect: more than " +
                       std::to_string(limits_.rows) + " valid configurations of them; at most that many expected");
    }
    rows_.insert(rows_.end(), row_.begin(), row_.end());
  }

  [[noreturn]] void complain(const Expression& failed) const {
    Configuration here;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const Parameter& p = rules_.parameters[group_[i]];
      here.values.emplace_back(p.name, p.values[row_[i]]);
    }
    std::set<std::size_t> needed;
    need(failed, needed);
    for (const std::size_t d : needed) {
      here.values.emplace_back(rules_.names[rules_.parameters.size() + d], rules_.derived[d].evaluate(here));
    }
    failed.holds(here);
    throw InternalError("constraint '" + failed.text() + "' failed, and then did not");
  }

  const Rules& rules_;
  const std::vector<std::size_t>& group_;
  const Goal goal_;
  const SearchLimits limits_;
  std::vector<Check> checks_;
  std::vector<Need> derived_;                // those that the checks need, in their order
  std::vector<std::vector<Scalar>> values_;  // of each parameter
  std::vector<std::vector<Possible>> possible_values_;
  std::vector<std::vector<std::uint16_t>> open_;  // places of values that may be part of a row
  std::vector<Scalar> known_;                     // by slot, valid where known
  std::vector<Possible> possible_;                // by slot
  std::vector<Level> levels_;
  std::vector<std::size_t> settled_;  // per check: the level at which it became true for certain
  std::vector<std::uint16_t> row_, rows_;
  std::size_t found_ = 0;
  std::uint64_t steps_left_;
};

// Column after column from the last, each time stable: rows come out in the order of their first columns.
std::vector<std::uint16_t> Search::sorted_rows() && {
  const bool sorted = std::is_sorted(levels_.begin(), levels_.end(),
                                     [](const Level& a, const Level& b) { return a.column < b.column; });
  if (sorted) return std::move(rows_);
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
                                      const std::vector<std::size_t>& constraints, const SearchLimits& limits) {
  Search search(rules, group, constraints, Goal::all, limits);
  if (!search.run()) {
    throw UsageError("parameters " + names_of(rules, group) + ", which constraints connect: no end after trying " +
                     std::to_string(limits.steps) + " values; constraints of fewer parameters each expected");
  }
  return std::move(search).sorted_rows();
}

std::optional<bool> any_valid_row(const Rules& rules, const std::vector<std::size_t>& group,
                                  const std::vector<std::size_t>& constraints) {
  Search search(rules, group, constraints, Goal::any, {.steps = most_steps_of_any});
  if (!search.run()) return std::nullopt;
  return search.found();
}

}  // namespace heddle::core

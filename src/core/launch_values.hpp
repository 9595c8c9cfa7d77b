// What a kernel's symbols, polynomials and functions are in one launch, under ranges of its variables. What cannot be
// computed is nothing, never a guess.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/box.hpp"
#include "core/byte_ranges.hpp"
#include "core/linear.hpp"

namespace heddle::core {

class LaunchValues {
 public:
  // Variables: group ids, local ids (or what is left of them), quotients of split local ids, loop counters.
  static constexpr int group_variable = 0, local_variable = 3, quotient_variable = 6, loop_variable = 9;

  // As BoundKernel has them. The facts must outlive this.
  LaunchValues(const KernelFacts& facts, const Grid& grid, const std::vector<std::vector<std::byte>>& scalars);

  // What the variables can be in a box of groups. Only loops that count the same everywhere have a range here.
  Ranges ranges_of(const Box& groups) const;
  bool counts_the_same_everywhere(int loop) const { return lasts_[static_cast<std::size_t>(loop)].has_value(); }

  // What was found out of functions under some ranges, so that it need not be again while those stay the same.
  struct Memo {
    std::vector<std::optional<std::optional<Linear>>> linears;  // per symbol
    std::vector<std::optional<std::optional<Interval>>> intervals;
  };

  // As a combination of the variables, where it is one at these points.
  std::optional<Linear> linear(const Polynomial& polynomial, const Ranges& ranges, Memo& memo) const;
  std::optional<Interval> interval(const Polynomial& polynomial, const Ranges& ranges, Memo& memo) const;
  std::optional<Linear> linear(const Polynomial& polynomial, const Ranges& ranges) const {
    Memo memo;
    return linear(polynomial, ranges, memo);
  }
  std::optional<Interval> interval(const Polynomial& polynomial, const Ranges& ranges) const {
    Memo memo;
    return interval(polynomial, ranges, memo);
  }

 private:
  std::optional<Linear> value_of(const Symbol& symbol, const std::vector<std::vector<std::byte>>& scalars) const;
  void split_local_ids();
  std::optional<Linear> linear_symbol(int symbol, const Ranges& ranges, Memo& memo) const;
  std::optional<Linear> linear_function(const Function& function, const Ranges& ranges, Memo& memo) const;
  std::optional<Linear> extreme(const Function& function, std::int64_t sign, const Ranges& ranges, Memo& memo) const;
  std::optional<Interval> interval_symbol(int symbol, const Ranges& ranges, Memo& memo) const;
  std::optional<Interval> interval_function(const Function& function, const Ranges& ranges, Memo& memo) const;

  const KernelFacts& facts_;
  const Grid grid_;
  std::vector<std::optional<Linear>> values_;       // of the symbols
  Index split_{0, 0, 0};                            // width by which a local id is split; 0: it is not
  std::vector<std::optional<std::int64_t>> lasts_;  // of loops: their last iteration where it is the same everywhere
};

}  // namespace heddle::core

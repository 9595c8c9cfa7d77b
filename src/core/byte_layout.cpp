// Which bytes, and whether all of them: guards that bind several variables must bind them in the same combination as
// the index does (as i < n with i = group * size + local), which then counts as one variable.
#include "core/byte_layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace heddle::core {

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();  // has no opposite

using Unit = std::vector<std::pair<int, std::int64_t>>;

// How many steps of one lie between the ends.
std::optional<std::int64_t> steps_in(const Interval& range) {
  std::int64_t out = 0;
  if (__builtin_sub_overflow(range.high, range.low, &out)) return std::nullopt;
  return out;
}

// Whether the sum takes every whole value from its least to its largest.
bool is_dense(const Unit& unit, const Ranges& ranges) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // size of step, number of steps
  for (const auto& [variable, coefficient] : unit) {
    const auto& range = ranges[static_cast<std::size_t>(variable)];
    const auto count = range ? steps_in(*range) : std::nullopt;
    if (!count) return false;
    steps.emplace_back(std::abs(coefficient), *count);
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 0;
  for (const auto& [step, count] : steps) {
    const auto more = multiply(step, count);
    const auto sum = more ? add(reach, *more) : std::nullopt;
    if (step - 1 > reach || !sum) return false;
    reach = *sum;
  }
  return true;
}

// Variables that guards and index only know in one combination: `unit` takes every whole value of `range` if `dense`.
struct Compound {
  Unit unit;
  Interval range;
  bool dense = true;
};

// The guards of one index.
class Compounds {
 public:
  Compounds(const Linear& index, int bytes, const Ranges& ranges) : index_(index), bytes_(bytes), ranges_(ranges) {}

  // Takes a guard over several variables into a compound. False if the points within it cannot be told exactly.
  bool take(const Linear& bound) {
    std::int64_t divisor = 0;
    for (const auto& [v, c] : bound.terms) {
      if (c == least || index_.coefficient(v) == least) return false;
      divisor = std::gcd(divisor, c);
    }
    if (bound.terms.size() < 2 || bound.constant == least) return false;
    if (bound.terms.front().second < 0) divisor = -divisor;
    Compound mine;
    for (const auto& [v, c] : bound.terms) mine.unit.emplace_back(v, c / divisor);
    const auto values = interval_by_variables(Linear{0, mine.unit}, ranges_);
    if (!values) return false;
    mine.range = *values;
    mine.dense = is_dense(mine.unit, ranges_);
    // The index must hold all of these variables in the same proportion, or none of them.
    const auto [variable, unit] = mine.unit.front();
    if (index_.coefficient(variable) % unit != 0) return false;
    const std::int64_t factor = index_.coefficient(variable) / unit;
    for (const auto& [v, u] : mine.unit) {
      const auto expected = multiply(factor, u);
      if (!expected || index_.coefficient(v) != *expected) return false;
    }
    Compound* same = nullptr;
    for (Compound& other : all) {
      if (other.unit == mine.unit) same = &other;
      const bool shares = std::any_of(other.unit.begin(), other.unit.end(), [&](const auto& o) {
        return std::any_of(mine.unit.begin(), mine.unit.end(), [&](const auto& m) { return m.first == o.first; });
      });
      if (shares && other.unit != mine.unit) return false;
    }
    if (!same) same = &all.emplace_back(mine);
    // divisor * unit + constant <= 0
    const bool above = divisor < 0;
    const std::int64_t limit =
        above ? -floor_divide(-bound.constant, -divisor) : floor_divide(-bound.constant, divisor);
    if (above)
      same->range.low = std::max(same->range.low, limit);
    else
      same->range.high = std::min(same->range.high, limit);
    if (same->dense) return same->range.low <= same->range.high;
    return cut(mine, factor, limit, above);
  }

  std::vector<Compound> all;
  Interval clip{least, std::numeric_limits<std::int64_t>::max()};  // where an access may begin

 private:
  // Not every value of the compound occurs. If it is all of the index, and points do not reach into each other's bytes,
  // then cutting the bytes is the same as cutting the points.
  bool cut(const Compound& compound, std::int64_t factor, std::int64_t limit, bool above) {
    if (factor == 0 || std::abs(factor) < bytes_ || index_.terms.size() != compound.unit.size()) return false;
    const auto edge = multiply(factor, limit);
    const auto byte = edge ? add(*edge, index_.constant) : std::nullopt;
    if (!byte) return false;
    if (above == (factor > 0))
      clip.low = std::max(clip.low, *byte);
    else
      clip.high = std::min(clip.high, *byte);
    return true;
  }

  const Linear& index_;
  const std::int64_t bytes_;
  const Ranges& ranges_;
};

}  // namespace

void fix(Linear& form, const Ranges& ranges) {
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

ByteRanges lay_out(Linear index, int bytes, const Ranges& ranges, const std::vector<Linear>& open, bool exact) {
  const ByteRanges unknown{Certainty::unknown, {}};
  fix(index, ranges);
  Compounds compounds(index, bytes, ranges);
  for (const Linear& bound : open) {
    if (!compounds.take(bound)) exact = false;
  }
  std::vector<std::pair<std::int64_t, Interval>> steps;  // coefficient, range
  for (const Compound& compound : compounds.all) {
    const auto [variable, unit] = compound.unit.front();
    const std::int64_t factor = index.coefficient(variable) / unit;
    if (!compound.dense || factor == 0) continue;
    steps.emplace_back(factor, compound.range);
    for (const auto& [v, u] : compound.unit)
      std::erase_if(index.terms, [v = v](const auto& term) { return term.first == v; });
  }
  for (const auto& [variable, coefficient] : index.terms)
    steps.emplace_back(coefficient, *ranges[static_cast<std::size_t>(variable)]);

  Run run{index.constant, bytes, {}};
  std::vector<Stride> strides;
  for (const auto& [coefficient, range] : steps) {
    const auto part = multiply(Interval{coefficient, coefficient}, range);
    const auto begin = part ? add(run.begin, part->low) : std::nullopt;
    const auto more = steps_in(range);
    const auto count = more ? add(*more, 1) : std::nullopt;
    if (!begin || !count || coefficient == least) return unknown;
    run.begin = *begin;
    if (*count > 1) strides.push_back({std::abs(coefficient), *count});
  }
  std::sort(strides.begin(), strides.end(), [](const Stride& a, const Stride& b) { return a.step < b.step; });
  std::int64_t all = bytes;  // from the first byte to the last
  for (const Stride& stride : strides) {
    const auto reach = multiply(stride.step, stride.count - 1);
    const auto longer = reach ? add(all, *reach) : std::nullopt;
    if (!longer) return unknown;
    all = *longer;
    if (run.strides.empty() && stride.step <= run.length)
      run.length = all;
    else
      run.strides.push_back(stride);
  }
  if (!add(run.begin, all)) return unknown;
  if (compounds.clip.low != least) run.clip_begin = compounds.clip.low;
  if (compounds.clip.high != std::numeric_limits<std::int64_t>::max()) {
    const auto end = add(compounds.clip.high, bytes);
    if (!end) return unknown;
    run.clip_end = *end;
  }
  return {exact ? Certainty::exact : Certainty::may, {run}};
}

}  // namespace heddle::core

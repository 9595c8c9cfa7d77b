#include "decide/forms.hpp"

#include "core/median.hpp"

namespace heddle::decide {

namespace {

// Work that takes less is mostly its begin and end.
constexpr double long_enough = 0.5e-3;
// Few launches say whether an offset is worth a doubt; more, of each of both forms, which of them is better.
constexpr std::size_t to_doubt = 3, to_decide = 5;
// The first that were seen may be disturbed ones.
constexpr std::size_t to_remember = 9;
// An offset that costs less than this is not worth a build; nor is another form that gains less.
constexpr double slower = 1.08, faster = 0.96;

const std::vector<double>& of(const Forms& forms, Form form) { return forms.costs[static_cast<std::size_t>(form)]; }

}  // namespace

void learn(Forms& forms, Form form, double seconds, double points) {
  std::vector<double>& costs = forms.costs[static_cast<std::size_t>(form)];
  if (seconds < long_enough) return;
  costs.push_back(seconds / points);
  if (costs.size() > to_remember) costs.erase(costs.begin());
}

bool suspects_offset(const Forms& forms) {
  const auto &zero = of(forms, Form::from_zero), &offset = of(forms, Form::offset);
  return zero.size() >= to_doubt && offset.size() >= to_doubt && core::median(offset) > slower * core::median(zero);
}

Form form_of_part(const Forms& forms, bool compared) {
  const auto &offset = of(forms, Form::offset), &box = of(forms, Form::box);
  if (!suspects_offset(forms)) return Form::offset;
  if (offset.size() < to_decide || box.size() < to_decide)
    return compared ? Form::offset : box.size() <= offset.size() ? Form::box : Form::offset;
  return core::median(box) < faster * core::median(offset) ? Form::box : Form::offset;
}

}  // namespace heddle::decide

// Facts first, then all orders in one request.
#include "workloads/schedules.hpp"

#include <algorithm>

#include "core/schedule.hpp"
#include "workloads/analysed.hpp"

namespace heddle::workloads {

core::Result<Schedules> schedules_of(kernel::Compiler& compiler, const Workload& workload, const Instance& instance,
                                     const kernel::Target& target, std::optional<core::Index> tile) {
  const core::Variant& base = workload.variants.front();
  const core::Index points = tile.value_or(base.group);
  auto known = analyse_base(compiler, workload, instance, target, points);
  if (!known) return known.failure();
  Schedules out;
  out.refused = known->facts.nest.refused;
  if (out.refused.empty() && base.footprint.points != base.group) out.refused = "its points are no work-items";
  if (!out.refused.empty()) return out;
  const auto orders = core::orders_of(known->facts.nest);
  const std::string least = core::order_of_least_strides(known->facts, known->grid, known->scalars);
  out.least_strides = static_cast<std::size_t>(std::find(orders.begin(), orders.end(), least) - orders.begin());

  std::vector<std::string> forms;
  for (const std::string& order : orders) forms.push_back(core::form_name({base.entry, order, points}));
  auto rewritten = compiler.analyse({base.source, base.options, target}, forms);
  if (!rewritten) return rewritten.failure();
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const kernel::Form& form = rewritten->forms.at(forms[i]);
    if (!form.refused.empty()) {  // one that cannot be had makes the comparison unfair: none, then
      out.refused = orders[i] + ": " + form.refused;
      out.variants.clear();
      return out;
    }
    out.variants.push_back({.name = orders[i],
                            .source = form.source,
                            .entry = base.entry,
                            .options = rewritten->options,
                            .group = {1, 1, 1},
                            .footprint = {points, base.footprint.guarded},
                            .cut = core::Cut::by_offset});
  }
  return out;
}

}  // namespace heddle::workloads

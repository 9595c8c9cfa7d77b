// Facts first, then all orders in one request.
#include "workloads/schedules.hpp"

#include <algorithm>

#include "core/schedule.hpp"

namespace heddle::workloads {

core::Result<Schedules> schedules_of(kernel::Compiler& compiler, const Workload& workload, const Instance& instance,
                                     const kernel::Target& target, std::optional<core::Index> tile) {
  const core::Variant& base = workload.variants.front();
  const core::Index points = tile.value_or(base.group);
  const kernel::Source source{base.source, base.options, target};
  auto known = compiler.analyse(source);
  if (!known) return known.failure();
  const auto& kernels = known->facts.kernels;
  const auto facts = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.name == base.entry; });
  if (facts == kernels.end()) return core::Failure{core::FailureKind::unsupported, "no facts of " + base.entry, ""};
  Schedules out;
  out.refused = facts->nest.refused;
  if (out.refused.empty() && base.footprint.points != base.group) out.refused = "its points are no work-items";
  if (!out.refused.empty()) return out;

  core::Grid grid;
  grid.local = points;
  std::vector<std::vector<std::byte>> scalars;
  for (const Argument& a : instance.arguments) scalars.push_back(a.scalar ? a.bytes : std::vector<std::byte>{});
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<std::size_t>(d);
    grid.groups[i] = (instance.space.extent(d) + points[i] - 1) / points[i];
    if (instance.space.extent(d) > 1) grid.dimensions = d + 1;
  }
  const auto orders = core::orders_of(facts->nest);
  const std::string least = core::order_of_least_strides(*facts, grid, scalars);
  out.least_strides = static_cast<std::size_t>(std::find(orders.begin(), orders.end(), least) - orders.begin());

  std::vector<std::string> forms;
  for (const std::string& order : orders) forms.push_back(core::form_name({base.entry, order, points}));
  auto rewritten = compiler.analyse(source, forms);
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

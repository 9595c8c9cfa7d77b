// Facts of the entry, and the launch as the facts' evaluators want it.
#include "workloads/analysed.hpp"

#include <algorithm>

namespace heddle::workloads {

core::Result<Analysed> analyse_base(kernel::Compiler& compiler, const Workload& workload, const Instance& instance,
                                    const kernel::Target& target, std::optional<core::Index> group) {
  const core::Variant& base = workload.variants.front();
  const core::Index points = group.value_or(base.group);
  auto known = compiler.analyse({base.source, base.options, target});
  if (!known) return known.failure();
  const auto& kernels = known->facts.kernels;
  const auto facts = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.name == base.entry; });
  if (facts == kernels.end()) return core::Failure{core::FailureKind::unsupported, "no facts of " + base.entry, ""};
  Analysed out;
  out.facts = *facts;
  out.grid.local = points;
  for (const Argument& a : instance.arguments) out.scalars.push_back(a.scalar ? a.bytes : std::vector<std::byte>{});
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<std::size_t>(d);
    out.grid.groups[i] = (instance.space.extent(d) + points[i] - 1) / points[i];
    if (instance.space.extent(d) > 1) out.grid.dimensions = d + 1;
  }
  return out;
}

}  // namespace heddle::workloads

// The table, and the variant whose places come first in what the facts prefer.
#include "workloads/placement.hpp"

#include <algorithm>
#include <optional>

#include "workloads/analysed.hpp"

namespace heddle::workloads {

using enum core::Placement;

const std::vector<Placed>& placements() {
  static const std::vector<Placed> table = {
      {"transpose", "naive", "in", global},
      {"transpose", "tiled", "in", local},
      {"sgemm", "naive", "a", global},
      {"sgemm", "naive", "b", global},
      {"sgemm", "tiled", "a", local},
      {"sgemm", "tiled", "b", local},
      {"spmv_csr", "scalar", "row_start", global},
      {"spmv_csr", "scalar_local", "row_start", local},
      {"stencil", "base", "in", global},
      {"stencil", "tiled", "in", local},
      {"nbody", "base", "body", global},
      {"nbody", "tiled", "body", local},
      {"spmv_jds", "base", "diagonal", global},
      {"spmv_jds", "constant", "diagonal", constant},
      {"spmv_jds", "local", "diagonal", local},
      {"cutcp", "coarse", "atom", global},
      {"cutcp", "tiled_coarse", "atom", local},
      {"kmeans", "base", "centre", global},
      {"kmeans", "constant", "centre", constant},
      {"kmeans", "local", "centre", local},
      {"particle_filter", "base", "cumulative", global},
      {"particle_filter", "local", "cumulative", local},
      {"median_filter", "base", "in", global},
      {"median_filter", "tiled", "in", local},
  };
  return table;
}

core::Result<PlacementChoice> choose_placement(kernel::Compiler& compiler, const Workload& workload,
                                               const Instance& instance, const kernel::Target& target) {
  PlacementChoice out;
  std::vector<Placed> mine;
  for (const Placed& p : placements()) {
    if (p.workload == workload.name) mine.push_back(p);
  }
  if (mine.empty()) return out;
  auto known = analyse_base(compiler, workload, instance, target);
  if (!known) return known.failure();
  // How far behind the first preference a variant's places are, all together; nothing where one of them is no choice.
  const auto behind = [&](const core::Variant& variant) {
    std::optional<std::ptrdiff_t> sum;
    for (const Placed& p : mine) {
      if (p.variant != variant.name) continue;
      const auto argument = std::find_if(instance.arguments.begin(), instance.arguments.end(),
                                         [&](const Argument& a) { return a.name == p.argument; });
      const auto preferred = core::placements_of(known->facts, static_cast<int>(argument - instance.arguments.begin()),
                                                 argument->bytes.size(), known->grid, known->scalars);
      const auto place = std::find(preferred.begin(), preferred.end(), p.where);
      if (place == preferred.end()) return std::optional<std::ptrdiff_t>{};
      sum = sum.value_or(0) + (place - preferred.begin());
    }
    return sum;
  };
  std::optional<std::ptrdiff_t> least;
  for (std::size_t v = 0; v < workload.variants.size(); ++v) {
    const core::Variant& variant = workload.variants[v];
    if (std::none_of(mine.begin(), mine.end(), [&](const Placed& p) { return p.variant == variant.name; })) continue;
    out.variants.push_back(v);
    const auto distance = behind(variant);
    if (distance && (!least || *distance < *least)) least = distance, out.chosen = v;
  }
  return out;
}

}  // namespace heddle::workloads

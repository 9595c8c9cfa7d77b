// Two questions to the facts: is it written, and do work-items of a group meet in it.
#include "core/placement.hpp"

#include <algorithm>
#include <cmath>

#include "core/strides.hpp"

namespace heddle::core {

namespace {

bool is_written(const KernelFacts& facts, int argument) {
  return std::any_of(facts.accesses.begin(), facts.accesses.end(), [&](const AccessFacts& a) {
    return a.kind != AccessKind::read && (a.argument == argument || a.argument < 0);
  });
}

// Both read what the other read a few work-items before, along this dimension.
bool overlap(const Strides& strides, const Polynomial& a, const Polynomial& b, double stride, double work_items) {
  Polynomial apart = a;
  for (const Term& term : b) apart.push_back({-term.coefficient, term.symbols});
  const double steps = strides.constant(apart).value_or(0) / stride;
  return steps != 0 && steps == std::round(steps) && std::abs(steps) < work_items;
}

bool is_shared(const KernelFacts& facts, int argument, const Grid& grid, const Strides& strides) {
  std::vector<const Polynomial*> reads;
  for (const AccessFacts& a : facts.accesses) {
    if (a.kind == AccessKind::read && a.argument == argument && a.index) reads.push_back(&*a.index);
  }
  for (std::size_t d = 0; d < 3; ++d) {
    if (grid.local[d] < 2) continue;
    for (const Polynomial* read : reads) {
      const auto stride = strides.of(*read, LaunchValues::local_variable + static_cast<int>(d));
      if (!stride) continue;
      if (*stride == 0) return true;
      for (const Polynomial* other : reads) {
        if (overlap(strides, *read, *other, *stride, static_cast<double>(grid.local[d]))) return true;
      }
    }
  }
  return false;
}

}  // namespace

const char* to_string(Placement placement) {
  constexpr const char* names[] = {"global", "constant", "local"};
  return names[static_cast<std::size_t>(placement)];
}

std::vector<Placement> placements_of(const KernelFacts& facts, int argument, Bytes size, const Grid& grid,
                                     const std::vector<std::vector<std::byte>>& scalars) {
  std::vector<Placement> out;
  if (!is_written(facts, argument)) {
    if (size <= constant_memory) out.push_back(Placement::constant);
    if (is_shared(facts, argument, grid, Strides(facts, grid, scalars))) out.push_back(Placement::local);
  }
  out.push_back(Placement::global);
  return out;
}

}  // namespace heddle::core

// How far a kernel's addresses move from work-item to work-item and from iteration to iteration, from its facts: what
// choices are made of that do not measure.
#pragma once

#include <optional>
#include <vector>

#include "core/launch_values.hpp"

namespace heddle::core {

// In the launch's first group. This is no proof: what may wrap is taken not to.
class Strides {
 public:
  // As BoundKernel has them. The facts must outlive this.
  Strides(const KernelFacts& facts, const Grid& grid, const std::vector<std::vector<std::byte>>& scalars);

  // Iterations of a loop; where they are data, 32.
  double trips(int loop) const;
  // What a polynomial moves when one variable of LaunchValues makes a step; nothing where that is data.
  std::optional<double> of(const Polynomial& polynomial, int variable) const;
  // Its value where that is the same at all points.
  std::optional<double> constant(const Polynomial& polynomial) const;

 private:
  std::optional<double> of_symbol(int number, int variable) const;

  const KernelFacts& facts_;
  const LaunchValues values_;
  const Ranges ranges_;
};

}  // namespace heddle::core

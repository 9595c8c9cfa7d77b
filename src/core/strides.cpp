// Strides of polynomials, symbol by symbol.
#include "core/strides.hpp"

#include <cmath>

namespace heddle::core {

namespace {

// Rows of sparse matrices and lists of neighbours are some dozens long.
constexpr double unknown_trips = 32;

}  // namespace

Strides::Strides(const KernelFacts& facts, const Grid& grid, const std::vector<std::vector<std::byte>>& scalars)
    : facts_(facts), values_(facts, grid, scalars), ranges_(values_.ranges_of({{0, 0, 0}, {1, 1, 1}})) {}

double Strides::trips(int loop) const {
  const auto& range = ranges_[static_cast<std::size_t>(LaunchValues::loop_variable + loop)];
  return range ? static_cast<double>(range->high) + 1 : unknown_trips;
}

std::optional<double> Strides::constant(const Polynomial& polynomial) const {
  const auto value = values_.linear(polynomial, ranges_);
  return value && value->terms.empty() ? std::optional(static_cast<double>(value->constant)) : std::nullopt;
}

std::optional<double> Strides::of(const Polynomial& polynomial, int variable) const {
  double out = 0;
  for (const Term& term : polynomial) {
    double factor = static_cast<double>(term.coefficient);
    std::optional<double> step = 0;
    int moving = 0;
    for (int s : term.symbols) {
      const auto mine = of_symbol(s, variable);
      if (!mine || *mine != 0) {
        step = mine, ++moving;
        continue;
      }
      factor *= constant({{1, {s}}}).value_or(std::nan(""));
    }
    if (moving == 0) continue;
    if (!step || moving > 1 || std::isnan(factor)) return std::nullopt;
    out += factor * *step;
  }
  return out;
}

std::optional<double> Strides::of_symbol(int number, int variable) const {
  const Symbol& symbol = facts_.symbols[static_cast<std::size_t>(number)];
  if (const auto form = values_.linear({{1, {number}}}, ranges_))
    return static_cast<double>(form->coefficient(variable));
  if (symbol.kind == SymbolKind::opaque) {
    if (!symbol.loaded_from) return std::nullopt;
    for (int s : *symbol.loaded_from) {
      if (of_symbol(s, variable) != 0.0) return std::nullopt;
    }
    return 0;
  }
  if (symbol.kind != SymbolKind::function) return 0;
  const Function& function = facts_.functions[static_cast<std::size_t>(symbol.index)];
  if (function.kind == FunctionKind::wrap_signed || function.kind == FunctionKind::wrap_unsigned)
    return of(function.operands[0], variable);
  for (const Polynomial& operand : function.operands) {
    if (of(operand, variable) != 0.0) return std::nullopt;
  }
  return 0;
}

}  // namespace heddle::core

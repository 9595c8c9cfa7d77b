// The newest observations in a ring, and a model that is fitted anew when enough of them have changed.
#include "engine/pace.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/parameters.hpp"

namespace heddle::engine {

std::string text_of(const std::vector<double>& variables) {
  core::Configuration out;
  for (const double variable : variables) out.values.emplace_back(fmt::format("v{}", out.values.size()), variable);
  return core::to_string(out);
}

std::optional<std::vector<double>> variables_in(const std::string& text) try {
  std::vector<double> out;
  for (const auto& [name, value] : core::parse_configuration(text).values) out.push_back(std::get<double>(value));
  return out;
} catch (const std::exception&) {
  return std::nullopt;
}

namespace {
constexpr std::size_t remembered = 64;
constexpr double as_expected = 0.1;
}  // namespace

bool Pace::add(predict::Observation observation) {
  // What was expected teaches little.
  const bool known =
      model_ && seen_.size() >= remembered / 4 &&
      std::abs(model_->at(observation.variables)(observation.points) / observation.seconds - 1) < as_expected;
  ++since_, unlearnt_ += !known;
  if (seen_.size() < remembered) {
    seen_.push_back(std::move(observation));
  } else {
    seen_[next_] = std::move(observation);
    next_ = (next_ + 1) % remembered;
  }
  return !known;
}

predict::Curve Pace::at(std::span<const double> variables) const {
  // The first ones tell much, later ones little: fitting takes longer than a slice is worth. But when none is left of
  // those that it was made of, it is time: if one that was disturbed has said that parts take as long as all, then all
  // is what there is since, and is as expected.
  if (!model_ || 2 * unlearnt_ >= seen_.size() || since_ >= remembered) {
    model_ = predict::TimeModel::fit(seen_);
    since_ = unlearnt_ = 0;
  }
  return model_ ? model_->at(variables) : predict::line(1, 1);
}

}  // namespace heddle::engine

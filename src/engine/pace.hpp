// How fast a kernel was seen to run on one device, and so how fast it is expected to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "predict/time_model.hpp"

namespace heddle::engine {

// Under which the store has what parts of launches took, whatever the shapes of those; and what they depended on, as
// the store keeps parameters. Empty: that was written by another version.
constexpr const char* pace_shape = "parts";
std::string text_of(const std::vector<double>& variables);
std::optional<std::vector<double>> variables_in(const std::string& text);

class Pace {
 public:
  bool known() const { return !seen_.empty(); }
  std::size_t count() const { return seen_.size(); }
  bool add(predict::Observation observation);                  // whether it taught something
  predict::Curve at(std::span<const double> variables) const;  // of a known one

 private:
  std::vector<predict::Observation> seen_;  // the newest, in no order
  std::size_t next_ = 0;                    // of those to be replaced
  // What follows from it, made when asked for.
  mutable std::optional<predict::TimeModel> model_;
  mutable std::size_t since_ = 0;     // observations since then
  mutable std::size_t unlearnt_ = 0;  // those of them that it did not expect
};

}  // namespace heddle::engine

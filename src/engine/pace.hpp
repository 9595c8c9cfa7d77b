// How fast a kernel was seen to run on one device, and so how fast it is expected to.
#pragma once

#include <span>
#include <vector>

#include "predict/time_model.hpp"

namespace heddle::engine {

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
  mutable std::size_t unlearnt_ = 0;  // observations since then
};

}  // namespace heddle::engine

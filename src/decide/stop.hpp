// When a search has gone on for long enough.
#pragma once

#include "core/expression.hpp"

namespace heddle::decide {

struct Progress {
  std::int64_t evaluations = 0;
  double seconds = 0;
  double best = 0;         // milliseconds; 0: nothing has run yet
  std::int64_t since = 0;  // evaluations since that was found
  double floor = 0;        // milliseconds that any run takes; 0: unknown
};

// An expression over how far the search is: "evaluations >= 400 || seconds >= 60 && since >= 50", "attained >= 0.8".
// Its names: evaluations, seconds, since, best (milliseconds; 1e300 before anything has run), and attained (what of the
// machine's speed: floor / best, 0 where one of them is unknown).
class Stop {
 public:
  explicit Stop(const std::string& text);  // UsageError for what is no such expression
  bool operator()(const Progress& progress) const;
  const std::string& text() const { return when_.text(); }

 private:
  core::Expression when_;
};

}  // namespace heddle::decide

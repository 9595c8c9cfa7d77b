// How long so many points take, from what was measured: the regression of SKMD (section 3.3). The time is
//   fixed + points x h(variables) x (slope + sum of slope_k x ramp_k(points)),
// where ramps, arctangents that go from 0 to 1, let a device that is not full yet take longer than its share, and h is
// a power of one of the variables (sizes of arguments, values of scalars), whichever explains best what was measured.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace heddle::predict {

struct Observation {
  double points = 0;
  std::vector<double> variables;  // of the launch, as many for all; those that are not positive explain nothing
  double seconds = 0;
};

// Seconds for so many points of launches of one kind.
struct Curve {
  struct Ramp {
    double middle = 1;  // points
    double slope = 0;   // seconds per point, once it is reached
    bool operator==(const Ramp&) const = default;
  };
  double fixed = 0;  // seconds
  double slope = 0;  // seconds per point
  std::array<Ramp, 4> ramps{};
  double error = 0;  // by which measurements differed from it, relative, one standard deviation

  double operator()(double points) const;
  Curve& operator*=(double factor);  // all takes so many times as long
  bool operator==(const Curve&) const = default;
};

// Of a rate that is known and nothing else.
Curve line(double points_per_second, double error);

class TimeModel {
 public:
  // None where nothing was measured.
  static std::optional<TimeModel> fit(std::span<const Observation> observations);

  Curve at(std::span<const double> variables) const;

 private:
  struct Power {
    std::size_t variable = 0;
    double exponent = 0;  // 0: the time of a point is always the same
    double usual = 1;     // value of the variable that the slopes are for
    double of(std::span<const double> variables) const;
  };
  struct Fitted {
    Power power;
    Curve curve;  // at the usual value
    double rest;  // sum of squares that it does not explain
  };
  static Fitted fit(std::span<const Observation> observations, const Power& power, std::vector<double>& weights);

  Power power_;
  Curve curve_;
  double least_ = 0, most_ = 0;  // values of that variable that were seen
};

}  // namespace heddle::predict

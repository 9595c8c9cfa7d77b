// A guess at what was not measured, and how sure it is: a Gaussian process over points of the unit cube, made for
// searching, where what is asked stays the same while measurements come one by one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace heddle::predict {

struct Guess {
  float mean, deviation;
};

// Values are given where they are needed: whoever searches scales all of them anew with each that comes. They should
// have mean 0 and variance 1.
class Surrogate {
 public:
  explicit Surrogate(std::size_t features);

  std::size_t observed() const { return observed_.size() / features_; }
  std::size_t watched() const { return variance_.size(); }

  void observe(std::span<const float> point);
  // One whose value is asked for by guesses(); numbered from 0.
  void watch(std::span<const float> point);
  // Of all watched points. One value per observed point.
  std::vector<Guess> guesses(std::span<const double> values) const;
  // How likely these values are under what is assumed of each feature's influence, and a step to better assumptions,
  // by those of the observed points that `judged` names. Afterwards nothing is observed or watched.
  void relearn(std::span<const double> values, std::span<const std::size_t> judged);
  // The last `count` observed points were none: for values that were only assumed.
  void take_back(std::size_t count);

 private:
  struct Assumed {
    std::vector<float> steepness;  // of each feature: one over the length that matters
    double noise = 1e-2;           // variance of a value that is measured again
  };
  static float alike(const Assumed& assumed, const float* a, const float* b);
  double plausibility(const Assumed& assumed, std::span<const double> values,
                      std::span<const std::size_t> judged) const;

  std::size_t features_;
  Assumed assumed_;
  std::vector<float> observed_, watched_;      // points, one after the other
  std::vector<std::vector<double>> root_;      // Cholesky factor of how alike observed points are, row by row
  std::vector<std::vector<float>> explained_;  // per observed point: what it says about each watched one
  std::vector<float> variance_;                // of each watched point, that is left
};

}  // namespace heddle::predict

// Rows of the Cholesky factor and of its product with the watched points are kept, so that a new observation costs as
// much as it has predecessors, times the points that are watched.
#include "predict/surrogate.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"

namespace heddle::predict {

namespace {

// What is assumed before anything is known: a feature's influence changes over two thirds of its range, and measuring
// again changes a tenth of the spread.
constexpr double usual_steepness = 1.5, usual_noise = 1e-2;
constexpr double least_noise = 1e-4, most_noise = 1;

// Matern 5/2: twice differentiable, no smoother.
float matern(float squared_distance) {
  const float a = std::sqrt(5 * squared_distance);
  return (1 + a + a * a / 3) * std::exp(-a);
}

double dot(const double* a, const double* b, std::size_t count) {
  double out = 0;
  for (std::size_t i = 0; i < count; ++i) out += a[i] * b[i];
  return out;
}

// The next row of the factor, of the covariances with all before and with itself.
void factor(std::vector<double>& row, const std::vector<std::vector<double>>& before) {
  for (std::size_t j = 0; j < before.size(); ++j)
    row[j] = (row[j] - dot(row.data(), before[j].data(), j)) / before[j][j];
  const std::size_t n = before.size();
  row[n] = std::sqrt(std::max(row[n] - dot(row.data(), row.data(), n), 1e-9));
}

}  // namespace

Surrogate::Surrogate(std::size_t features) : features_(features) {
  if (features == 0) throw core::InternalError("a surrogate of no features");
  assumed_.steepness.assign(features, 2.0f);
  assumed_.noise = usual_noise;
}

float Surrogate::alike(const Assumed& assumed, const float* a, const float* b) {
  float squared = 0;
  for (std::size_t f = 0; f < assumed.steepness.size(); ++f) {
    const float difference = (a[f] - b[f]) * assumed.steepness[f];
    squared += difference * difference;
  }
  return matern(squared);
}

void Surrogate::observe(std::span<const float> point) {
  const std::size_t n = observed();
  observed_.insert(observed_.end(), point.begin(), point.end());
  const float* added = &observed_[n * features_];
  std::vector<double> row(n + 1);
  for (std::size_t j = 0; j < n; ++j) row[j] = alike(assumed_, added, &observed_[j * features_]);
  row[n] = 1 + assumed_.noise;
  factor(row, root_);
  const std::size_t count = watched();
  std::vector<float> explained(count);
  for (std::size_t w = 0; w < count; ++w) explained[w] = alike(assumed_, &watched_[w * features_], added);
  for (std::size_t j = 0; j < n; ++j) {
    const auto share = static_cast<float>(row[j]);
    const float* other = explained_[j].data();
    float* own = explained.data();
    for (std::size_t w = 0; w < count; ++w) own[w] -= share * other[w];
  }
  const auto scale = static_cast<float>(1 / row[n]);
  for (std::size_t w = 0; w < count; ++w) {
    explained[w] *= scale;
    variance_[w] -= explained[w] * explained[w];
  }
  root_.push_back(std::move(row));
  explained_.push_back(std::move(explained));
}

void Surrogate::watch(std::span<const float> point) {
  watched_.insert(watched_.end(), point.begin(), point.end());
  std::vector<double> own(observed());
  double variance = 1;
  for (std::size_t j = 0; j < own.size(); ++j) {
    const double covariance = alike(assumed_, point.data(), &observed_[j * features_]);
    own[j] = (covariance - dot(own.data(), root_[j].data(), j)) / root_[j][j];
    explained_[j].push_back(static_cast<float>(own[j]));
    variance -= own[j] * own[j];
  }
  variance_.push_back(static_cast<float>(variance));
}

std::vector<Guess> Surrogate::guesses(std::span<const double> values) const {
  std::vector<float> means(watched());
  std::vector<double> weights(observed());
  for (std::size_t j = 0; j < weights.size(); ++j) {
    weights[j] = (values[j] - dot(weights.data(), root_[j].data(), j)) / root_[j][j];
    const auto weight = static_cast<float>(weights[j]);
    const float* explained = explained_[j].data();
    for (std::size_t w = 0; w < means.size(); ++w) means[w] += weight * explained[w];
  }
  std::vector<Guess> out(means.size());
  for (std::size_t w = 0; w < out.size(); ++w) out[w] = {means[w], std::sqrt(std::max(variance_[w], 1e-9f))};
  return out;
}

void Surrogate::take_back(std::size_t count) {
  for (; count > 0; --count) {
    for (std::size_t w = 0; w < watched(); ++w) variance_[w] += explained_.back()[w] * explained_.back()[w];
    root_.pop_back(), explained_.pop_back();
    observed_.resize(observed_.size() - features_);
  }
}

double Surrogate::plausibility(const Assumed& assumed, std::span<const double> values,
                               std::span<const std::size_t> judged) const {
  double out = 0;
  for (const float steepness : assumed.steepness) {
    const double off = std::log(steepness / usual_steepness);
    out -= off * off / 2;
  }
  const double off = std::log(assumed.noise / usual_noise);
  out -= off * off / 8;
  std::vector<std::vector<double>> root;
  std::vector<double> weights;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    std::vector<double> row(i + 1);
    for (std::size_t j = 0; j < i; ++j)
      row[j] = alike(assumed, &observed_[judged[i] * features_], &observed_[judged[j] * features_]);
    row[i] = 1 + assumed.noise;
    factor(row, root);
    weights.push_back((values[judged[i]] - dot(weights.data(), row.data(), i)) / row[i]);
    out -= weights[i] * weights[i] / 2 + std::log(row[i]);
    root.push_back(std::move(row));
  }
  return out;
}

void Surrogate::relearn(std::span<const double> values, std::span<const std::size_t> judged) {
  double best = plausibility(assumed_, values, judged);
  for (std::size_t f = 0; f <= features_; ++f) {  // the last one: noise
    for (const float factor : {0.5f, 2.0f}) {
      Assumed other = assumed_;
      if (f < features_)
        other.steepness[f] *= factor;
      else
        other.noise = std::clamp(other.noise * factor * factor, least_noise, most_noise);
      const double plausible = plausibility(other, values, judged);
      if (plausible <= best) continue;
      best = plausible, assumed_ = std::move(other);
      break;
    }
  }
  observed_.clear(), watched_.clear(), root_.clear(), explained_.clear(), variance_.clear();
}

}  // namespace heddle::predict

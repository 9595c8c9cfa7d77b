// Non-negative least squares on relative errors, for each candidate power of a variable; the best is taken.
#include "predict/time_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <set>

namespace heddle::predict {

namespace {

constexpr std::size_t ramp_count = std::tuple_size_v<decltype(Curve::ramps)>;
constexpr std::size_t terms = 2 + ramp_count;  // slope, ramps, fixed: who comes first explains what several can
using Row = std::array<double, terms>;

// From 0.08 at nothing over a half in the middle to 0.92 at twice that.
double ramp(double points, double middle) { return std::atan(4 * (points / middle - 1)) * std::numbers::inv_pi + 0.5; }

using Square = std::array<Row, terms>;

// Solves for the terms that are `in`, by elimination; the others stay 0. The matrix is positive definite.
Row solve(Square a, Row right, const std::array<bool, terms>& in) {
  for (std::size_t i = 0; i < terms; ++i) {
    for (std::size_t j = i + 1; in[i] && j < terms; ++j) {
      if (!in[j]) continue;
      const double factor = a[j][i] / a[i][i];
      for (std::size_t k = i; k < terms; ++k) a[j][k] -= factor * a[i][k];
      right[j] -= factor * right[i];
    }
  }
  Row x{};
  for (std::size_t i = terms; i-- > 0;) {
    if (!in[i]) continue;
    double sum = right[i];
    for (std::size_t k = i + 1; k < terms; ++k) sum -= in[k] ? a[i][k] * x[k] : 0;
    x[i] = sum / a[i][i];
  }
  return x;
}

// Minimises |A x - b|^2 over x >= 0, from A'A and A'b (Lawson and Hanson's active sets). Who comes first is taken first
// where several would do.
Row non_negative_least_squares(const Square& gram, const Row& right) {
  Row x{};
  std::array<bool, terms> in{};
  for (int turn = 0; turn < 3 * static_cast<int>(terms); ++turn) {
    std::size_t best = terms;
    double steepest = 1e-10;
    for (std::size_t i = 0; i < terms; ++i) {
      double gradient = right[i];
      for (std::size_t j = 0; j < terms; ++j) gradient -= gram[i][j] * x[j];
      gradient /= std::sqrt(gram[i][i]);
      if (!in[i] && gradient > steepest * (1 + 1e-6)) steepest = gradient, best = i;
    }
    if (best == terms) break;
    in[best] = true;
    for (;;) {
      const Row wanted = solve(gram, right, in);
      double way = 1;
      for (std::size_t i = 0; i < terms; ++i) {
        if (in[i] && wanted[i] <= 0) way = std::min(way, x[i] / std::max(x[i] - wanted[i], 1e-300));
      }
      for (std::size_t i = 0; i < terms; ++i) {
        if (!in[i]) continue;
        x[i] += way * (wanted[i] - x[i]);
        if (way < 1 && (x[i] <= 1e-14 || wanted[i] <= 0) && x[i] <= 1e-9) x[i] = 0, in[i] = false;
      }
      if (way >= 1) break;
    }
  }
  return x;
}

}  // namespace

double Curve::operator()(double points) const {
  double per_point = slope;
  for (const Ramp& r : ramps) {
    if (r.slope > 0) per_point += r.slope * ramp(points, r.middle);
  }
  return fixed + points * per_point;
}

Curve& Curve::operator*=(double factor) {
  fixed *= factor, slope *= factor;
  for (Ramp& r : ramps) r.slope *= factor;
  return *this;
}

Curve line(double points_per_second, double error) {
  Curve out;
  out.slope = 1 / points_per_second;
  out.error = error;
  return out;
}

double TimeModel::Power::of(std::span<const double> variables) const {
  if (exponent == 0 || variable >= variables.size() || variables[variable] <= 0) return 1;
  return std::pow(variables[variable] / usual, exponent);
}

TimeModel::Fitted TimeModel::fit(std::span<const Observation> observations, const Power& power,
                                 std::vector<double>& weights) {
  double most = 0;
  for (const Observation& o : observations) most = std::max(most, o.points);
  std::array<double, ramp_count> middles;
  for (std::size_t k = 0; k < ramp_count; ++k) middles[k] = most * std::pow(0.25, static_cast<double>(k + 1));

  // In units of the time at most points, so that terms are of one size; errors relative to each time.
  std::vector<Row> rows;
  Square gram{};
  Row right{};
  double unit = 0;
  for (const Observation& o : observations) unit = std::max(unit, o.seconds);
  for (std::size_t n = 0; n < observations.size(); ++n) {
    const Observation& o = observations[n];
    const double scale = unit / o.seconds, work = o.points / most * power.of(o.variables);
    Row row;
    row.front() = scale * work, row.back() = scale;
    for (std::size_t k = 0; k < ramp_count; ++k) row[1 + k] = scale * work * ramp(o.points, middles[k]);
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) gram[i][j] += weights[n] * row[i] * row[j];
      right[i] += weights[n] * row[i];  // every time is 1 in its own unit
    }
    rows.push_back(row);
  }
  // A little is added so that terms that say the same do no harm: least to the slope, most to the fixed part.
  for (std::size_t i = 0; i < terms; ++i) gram[i][i] *= 1 + (i == 0 ? 1e-8 : i + 1 < terms ? 1e-6 : 1e-4);
  const Row x = non_negative_least_squares(gram, right);

  Fitted out{power, {}, 0};
  out.curve.fixed = x.back() * unit, out.curve.slope = x.front() * unit / most;
  for (std::size_t k = 0; k < ramp_count; ++k) out.curve.ramps[k] = {middles[k], x[1 + k] * unit / most};
  std::vector<double> off;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const double difference = std::inner_product(x.begin(), x.end(), rows[n].begin(), -1.0);
    out.rest += weights[n] * difference * difference;
    off.push_back(std::abs(difference));
  }
  // For another turn, those that a neighbour disturbed count less.
  std::vector<double> sorted = off;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const double usual = std::max(1e-3, 2 * sorted[sorted.size() / 2]);
  for (std::size_t n = 0; n < off.size(); ++n) weights[n] = std::min(1.0, usual / std::max(off[n], 1e-12));
  const auto used = static_cast<double>(std::count_if(x.begin(), x.end(), [](double c) { return c > 0; }));
  const double free = std::max(1.0, static_cast<double>(rows.size()) - used);
  out.curve.error = std::sqrt(out.rest / free);
  return out;
}

std::optional<TimeModel> TimeModel::fit(std::span<const Observation> given) {
  std::vector<Observation> observations;
  std::set<double> amounts;
  for (const Observation& o : given) {
    if (o.points > 0 && o.seconds > 0) observations.push_back(o), amounts.insert(o.points);
  }
  if (observations.empty()) return std::nullopt;

  std::vector<double> even(observations.size(), 1.0), weights = even;
  Fitted best = fit(observations, Power{}, weights);
  const std::size_t variables = observations.front().variables.size();
  for (std::size_t v = 0; v < variables; ++v) {
    double logarithm = 0, least = std::numeric_limits<double>::infinity(), most = 0;
    bool usable = true;
    for (const Observation& o : observations) {
      usable &= o.variables.size() == variables && o.variables[v] > 0;
      if (!usable) break;
      least = std::min(least, o.variables[v]), most = std::max(most, o.variables[v]);
      logarithm += std::log(o.variables[v]);
    }
    if (!usable || most <= least * 1.01) continue;
    const double usual = std::exp(logarithm / static_cast<double>(observations.size()));
    for (double exponent : {-1.0, -0.5, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0}) {
      std::vector<double> own = even;
      Fitted one = fit(observations, Power{v, exponent, usual}, own);
      // Of two that explain as much, the one that assumes less.
      if (one.rest < 0.8 * best.rest - 1e-6 * static_cast<double>(observations.size())) best = one, weights = own;
    }
  }
  for (int again = 0; again < 3; ++again) best = fit(observations, best.power, weights);

  TimeModel out;
  out.power_ = best.power;
  out.curve_ = best.curve;
  // Who has seen one amount of work, or hardly any, knows little of others.
  const auto count = static_cast<double>(observations.size());
  const double few = (amounts.size() == 1 ? 0.3 : 0.1) / std::sqrt(count);
  out.curve_.error = std::hypot(out.curve_.error, few);
  out.least_ = std::numeric_limits<double>::infinity();
  for (const Observation& o : observations) {
    if (best.power.variable >= o.variables.size()) continue;
    out.least_ = std::min(out.least_, o.variables[best.power.variable]);
    out.most_ = std::max(out.most_, o.variables[best.power.variable]);
  }
  return out;
}

Curve TimeModel::at(std::span<const double> variables) const {
  Curve out = curve_;
  const double factor = power_.of(variables);
  out.slope *= factor;
  for (Curve::Ramp& r : out.ramps) r.slope *= factor;
  // Each doubling beyond what was seen adds as much doubt again.
  if (power_.exponent != 0 && power_.variable < variables.size() && variables[power_.variable] > 0) {
    const double x = variables[power_.variable];
    out.error *= 1 + std::max({0.0, std::log2(x / most_), std::log2(least_ / x)});
  }
  return out;
}

}  // namespace heddle::predict

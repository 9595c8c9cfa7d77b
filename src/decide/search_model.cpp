// Model-guided: what was tried becomes a guess at everything else, and what promises the largest improvement is next.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "decide/search.hpp"
#include "predict/surrogate.hpp"

namespace heddle::decide {

namespace {

constexpr std::size_t first_tries = 10;   // by chance
constexpr std::size_t looked_at = 800;    // configurations whose cost is guessed, beside those near the best
constexpr std::size_t good_ones = 20;     // of which all neighbours are looked at
constexpr std::size_t judges = 80;        // by which assumptions are judged
constexpr double between_lessons = 1.25;  // as many more as are tried before the assumptions are judged again
// Every so many is a neighbour of the best, whatever is guessed of the others: a single good one between bad ones is
// not to be guessed.
constexpr int between_neighbours = 3;
// What is far from good teaches nothing about what is good: costs are cut off above the median by so many times its
// distance from the best, as logarithms. So are failures.
constexpr double cut_off = 0.25;

// How a parameter's values become features: the place of a value in their order. Where a number's power of two is
// something else (16, 32, 48, 64), that too: alignment matters to machines. Names are as far from each other as can be.
struct Encoding {
  std::size_t parameter;
  std::vector<float> of_value;
};

void add_encoding(std::vector<Encoding>& to, std::size_t parameter, std::vector<float> of_value) {
  const auto [low, high] = std::minmax_element(of_value.begin(), of_value.end());
  const float least = *low, range = *high - *low;
  if (range <= 0) return;
  for (float& value : of_value) value = (value - least) / range;
  to.push_back({parameter, std::move(of_value)});
}

std::vector<Encoding> encode(const core::ParameterSpace& space) {
  std::vector<Encoding> out;
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    const std::vector<core::Value>& values = space.parameters()[p].values;
    if (values.size() < 2) continue;
    if (std::holds_alternative<std::string>(values.front())) {
      for (std::size_t v = 0; v < values.size(); ++v) {
        Encoding one{p, std::vector<float>(values.size())};
        one.of_value[v] = static_cast<float>(1 / std::numbers::sqrt2);
        out.push_back(std::move(one));
      }
      continue;
    }
    std::vector<float> place(values.size());
    std::iota(place.begin(), place.end(), 0.0f);
    add_encoding(out, p, place);
    if (values.size() <= 3 || !std::holds_alternative<std::int64_t>(values.front())) continue;
    std::vector<float> twos;
    for (const core::Value& value : values) {
      const auto n = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
      twos.push_back(n == 0 ? 0.0f : static_cast<float>(std::countr_zero(n)));
    }
    if (!std::is_sorted(twos.begin(), twos.end()) && !std::is_sorted(twos.rbegin(), twos.rend()))
      add_encoding(out, p, twos);
  }
  return out;
}

// Logarithms of costs, cut off, with mean 0 and variance 1; empty where all failed.
std::vector<double> scaled(const Tried& tried) {
  std::vector<double> good, out;
  for (std::uint64_t number : tried.order()) {
    const double cost = tried.cost(number);
    if (cost != Tried::failed) good.push_back(std::log(std::max(cost, 1e-300)));
    out.push_back(cost == Tried::failed ? Tried::failed : good.back());
  }
  if (good.empty()) return {};
  std::sort(good.begin(), good.end());
  const double median = good[good.size() / 2];
  const double most = median + cut_off * (median - good.front());
  double mean = 0, variance = 0;
  for (double& value : out) mean += value = std::min(value, most);
  mean /= static_cast<double>(out.size());
  for (double& value : out) value -= mean, variance += value * value;
  const double scale = std::sqrt(variance / static_cast<double>(out.size())) + 1e-9;
  for (double& value : out) value /= scale;
  return out;
}

double expected_improvement(const predict::Guess& guess, double best) {
  const double z = (best - guess.mean) / guess.deviation;
  const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return guess.deviation * (z * below + density);
}

class Model {
 public:
  explicit Model(const Searching& s) : s_(s), encodings_(encode(s.space)), surrogate_(encodings_.size()) {}

  // What to try next, as many as are wanted.
  std::vector<std::uint64_t> propose() {
    std::vector<double> values = scaled(s_.tried);
    if (values.empty()) return by_chance();
    std::vector<std::size_t> ranked(values.size());
    std::iota(ranked.begin(), ranked.end(), std::size_t{0});
    std::stable_sort(ranked.begin(), ranked.end(), [&](auto a, auto b) { return cost_at(a) < cost_at(b); });
    if (static_cast<double>(values.size()) >= between_lessons * static_cast<double>(last_lesson_) + 1)
      begin_anew(values, ranked);
    for (std::size_t i = surrogate_.observed(); i < values.size(); ++i) surrogate_.observe(point_of(number_at(i)));
    for (std::size_t r = 0; r < std::min(good_ones, ranked.size()); ++r) look_around(number_at(ranked[r]));

    std::vector<std::uint64_t> out;
    const double best = values[ranked.front()];
    for (int w = 0; w < s_.width; ++w) {
      const std::vector<predict::Guess> guesses = surrogate_.guesses(values);
      std::optional<std::size_t> choice;
      if (++turn_ % between_neighbours == 0) choice = most_promising(guesses, best, out, number_at(ranked.front()));
      if (!choice) choice = most_promising(guesses, best, out, std::nullopt);
      if (!choice) break;
      out.push_back(candidates_[*choice]);
      if (w + 1 == s_.width) break;
      surrogate_.observe(point_of(out.back()));  // as if it were what is guessed, so that the next is another
      values.push_back(guesses[*choice].mean);
    }
    surrogate_.take_back(surrogate_.observed() - ranked.size());
    return out.empty() ? by_chance() : out;
  }

 private:
  // Of those that are neither tried nor proposed; of the neighbours of one, if that is given.
  std::optional<std::size_t> most_promising(const std::vector<predict::Guess>& guesses, double best,
                                            const std::vector<std::uint64_t>& proposed,
                                            std::optional<std::uint64_t> near) const {
    const auto has = [](const std::vector<std::uint64_t>& numbers, std::uint64_t number) {
      return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
    };
    const std::vector<std::uint64_t> around = near ? s_.space.neighbours(*near) : std::vector<std::uint64_t>{};
    std::optional<std::size_t> out;
    double most = 0;
    for (std::size_t c = 0; c < guesses.size(); ++c) {
      const std::uint64_t number = candidates_[c];
      if (s_.tried.contains(number) || has(proposed, number) || (near && !has(around, number))) continue;
      const double promise = expected_improvement(guesses[c], best);
      if (!out || promise > most) out = c, most = promise;
    }
    return out;
  }

  std::uint64_t number_at(std::size_t i) const { return s_.tried.order()[i]; }
  double cost_at(std::size_t i) const { return s_.tried.cost(number_at(i)); }

  std::vector<std::uint64_t> by_chance() const {
    const auto number = untried(s_.space, s_.tried, s_.random);
    return number ? std::vector{*number} : std::vector<std::uint64_t>{};
  }

  std::vector<float> point_of(std::uint64_t number) const {
    const auto places = s_.space.places(number);
    std::vector<float> out;
    out.reserve(encodings_.size());
    for (const Encoding& one : encodings_) out.push_back(one.of_value[places[one.parameter]]);
    return out;
  }

  void look_at(std::uint64_t number) {
    if (s_.tried.contains(number) || !known_.insert(number).second) return;
    candidates_.push_back(number);
    surrogate_.watch(point_of(number));
  }

  void look_around(std::uint64_t number) {
    if (!around_.insert(number).second) return;
    for (std::uint64_t other : s_.space.neighbours(number)) look_at(other);
  }

  // Other assumptions, and other configurations to look at.
  void begin_anew(const std::vector<double>& values, const std::vector<std::size_t>& ranked) {
    last_lesson_ = values.size();
    for (std::size_t i = surrogate_.observed(); i < values.size(); ++i) surrogate_.observe(point_of(number_at(i)));
    std::vector<std::size_t> judged = ranked;  // a third of the best, and others by chance
    if (judged.size() > judges) {
      std::shuffle(judged.begin() + judges / 3, judged.end(), s_.random);
      judged.resize(judges);
    }
    surrogate_.relearn(values, judged);
    candidates_.clear(), known_.clear(), around_.clear();
    // Watched first: what comes then is computed for all of them at once.
    if (s_.space.size() <= looked_at) {
      for (std::uint64_t number = 0; number < s_.space.size(); ++number) look_at(number);
    } else {
      for (std::size_t i = 0; i < looked_at; ++i) look_at(s_.random() % s_.space.size());
    }
    for (std::size_t r = 0; r < std::min(good_ones, ranked.size()); ++r) look_around(number_at(ranked[r]));
  }

  const Searching& s_;
  const std::vector<Encoding> encodings_;
  predict::Surrogate surrogate_;
  std::vector<std::uint64_t> candidates_;  // as the surrogate watches them
  std::unordered_set<std::uint64_t> known_, around_;
  std::size_t last_lesson_ = 0;
  int turn_ = 0;
};

}  // namespace

Proposals propose_by_model(Searching s) {
  std::unordered_set<std::uint64_t> begun;
  while (begun.size() + s.tried.order().size() < first_tries) {
    const auto number = untried(s.space, s.tried, s.random, &begun);
    if (!number) break;
    begun.insert(*number);
  }
  std::vector<std::uint64_t> first(begun.begin(), begun.end());
  std::sort(first.begin(), first.end());
  std::shuffle(first.begin(), first.end(), s.random);
  co_yield first;
  if (s.space.size() <= s.tried.order().size()) co_return;
  Model model(s);
  while (true) co_yield model.propose();
}

}  // namespace heddle::decide

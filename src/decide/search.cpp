// Hands out what a strategy proposes, each configuration once.
#include "decide/search.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "decide/search_strategies.hpp"

namespace heddle::decide {

void Tried::add(std::uint64_t number, double cost) {
  if (std::isnan(cost)) cost = failed;
  if (!costs_.emplace(number, cost).second) return;
  order_.push_back(number);
  if (cost != failed && (!best_ || cost < costs_.at(*best_))) best_ = number;
}

std::optional<std::vector<std::uint64_t>> Proposals::next() {
  if (!handle_ || handle_.done()) return std::nullopt;
  handle_.resume();
  if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
  if (handle_.done()) return std::nullopt;
  return std::move(handle_.promise().batch);
}

const std::vector<Strategy>& strategies() {
  static const std::vector<Strategy> all = {
      {"model", "guesses the whole space from what was tried, and tries what promises most", propose_by_model},
      {"exhaustive", "all of them, in their order", propose_all},
      {"random", "by chance", propose_by_chance},
      {"genetic", "breeds the best; ends after five generations without improvement", propose_by_breeding},
      {"annealing", "walks from one to the next, and takes worse ones the more rarely the longer it walks",
       propose_by_annealing},
      {"evolution", "differences between good ones, added to others", propose_by_evolution},
  };
  return all;
}

const Strategy& find_strategy(std::string_view name) {
  if (name.empty()) return strategies().front();
  std::string known;
  for (const Strategy& one : strategies()) {
    if (one.name == name) return one;
    known += (known.empty() ? "" : ", ") + one.name;
  }
  throw core::UsageError("no strategy '" + std::string(name) + "'; there are: " + known);
}

std::optional<std::uint64_t> untried(const core::ParameterSpace& space, const Tried& tried, std::mt19937_64& random,
                                     const std::unordered_set<std::uint64_t>* but) {
  const auto free = [&](std::uint64_t number) { return !tried.contains(number) && (!but || !but->contains(number)); };
  const std::uint64_t size = space.size();
  std::uint64_t number = 0;
  for (int draw = 0; draw < 64; ++draw) {
    if (free(number = random() % size)) return number;
  }
  for (std::uint64_t i = 0; i < size; ++i) {  // few are left
    if (free(number = (number + 1) % size)) return number;
  }
  return std::nullopt;
}

Search::Search(const core::ParameterSpace& space, const Strategy& strategy, std::uint64_t seed,
               std::vector<std::uint64_t> first, int width)
    : space_(space), random_(seed), proposals_(strategy.begin({space_, tried_, random_, width})) {
  for (std::uint64_t number : first) {
    if (std::find(waiting_.begin(), waiting_.end(), number) == waiting_.end()) waiting_.push_back(number);
  }
}

std::optional<std::uint64_t> Search::next() {
  while (true) {
    if (waiting_.empty() && on_the_way_.empty()) refill();
    if (waiting_.empty()) return std::nullopt;
    const std::uint64_t number = waiting_.front();
    waiting_.pop_front();
    if (tried_.contains(number) || !on_the_way_.insert(number).second) continue;  // told meanwhile
    return number;
  }
}

void Search::tell(std::uint64_t number, double cost) {
  on_the_way_.erase(number);
  tried_.add(number, cost);
}

void Search::refill() {
  constexpr int patience = 200;  // with a strategy that goes round in circles
  for (int turn = 0; waiting_.empty() && !over_; ++turn) {
    if (tried_.order().size() >= space_.size()) {
      over_ = true;
      return;
    }
    if (turn == patience) {
      if (const auto other = untried(space_, tried_, random_)) waiting_.push_back(*other);
      return;
    }
    const auto batch = proposals_.next();
    if (!batch) {
      over_ = true;
      return;
    }
    for (std::uint64_t number : *batch) {
      if (!tried_.contains(number) && std::find(waiting_.begin(), waiting_.end(), number) == waiting_.end())
        waiting_.push_back(number);
    }
  }
}

}  // namespace heddle::decide

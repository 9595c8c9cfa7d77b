// Each strategy as it would be written down: a loop that proposes, and looks at what came of it.
#include "decide/search_strategies.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heddle::decide {

namespace {

using core::Places;

double chance(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::size_t pick(std::mt19937_64& random, std::size_t count) { return random() % count; }

// A configuration that constraints may forbid becomes one that they allow: it takes one value after the other from an
// allowed one.
std::uint64_t allowed(const Searching& s, Places wanted, std::uint64_t instead) {
  const Places given = s.space.places(instead);
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), s.random);
  for (std::size_t parameter : order) {
    if (const auto number = s.space.find(wanted)) return *number;
    wanted[parameter] = given[parameter];
  }
  return instead;
}

std::vector<std::uint64_t> by_chance(const Searching& s, std::size_t count) {
  std::vector<std::uint64_t> out;
  std::unordered_set<std::uint64_t> taken;
  while (out.size() < count) {
    const auto number = untried(s.space, s.tried, s.random, &taken);
    if (!number) break;
    taken.insert(*number);
    out.push_back(*number);
  }
  return out;
}

std::uint64_t neighbour_of(const Searching& s, std::uint64_t number) {
  const std::vector<std::uint64_t> around = s.space.neighbours(number);
  return around.empty() ? s.random() % s.space.size() : around[pick(s.random, around.size())];
}

}  // namespace

Proposals propose_all(Searching s) {
  for (std::uint64_t first = 0; first < s.space.size();) {
    std::vector<std::uint64_t> batch;
    for (; batch.size() < 16 && first < s.space.size(); ++first) batch.push_back(first);
    co_yield batch;
  }
}

Proposals propose_by_chance(Searching s) {
  while (true) co_yield by_chance(s, 16);
}

// One gene per parameter. Two parents, each the better of two drawn; a child takes each gene from one of them, and one
// gene in all changes by itself. The two best of a generation stay.
Proposals propose_by_breeding(Searching s) {
  constexpr std::size_t size = 20, kept = 2;
  constexpr int patience = 5;  // generations without improvement
  std::vector<std::uint64_t> population = by_chance(s, size);
  const auto cost = [&](std::uint64_t number) { return s.tried.cost(number); };
  double best = Tried::failed;
  for (int idle = 0; idle < patience && !population.empty(); ++idle) {
    co_yield population;
    std::stable_sort(population.begin(), population.end(), [&](auto a, auto b) { return cost(a) < cost(b); });
    if (cost(population.front()) < best) best = cost(population.front()), idle = -1;
    const auto parent = [&] {
      const std::size_t a = pick(s.random, population.size()), b = pick(s.random, population.size());
      return population[std::min(a, b)];
    };
    std::vector<std::uint64_t> next(
        population.begin(), population.begin() + static_cast<std::ptrdiff_t>(std::min(kept, population.size())));
    for (int draw = 0; next.size() < population.size() && draw < 1000; ++draw) {
      const std::uint64_t mother = parent(), father = parent();
      Places child = s.space.places(mother);
      const Places other = s.space.places(father);
      for (std::size_t g = 0; g < child.size(); ++g) {
        if (s.random() % 2) child[g] = other[g];
        const std::size_t values = s.space.parameters()[g].values.size();
        if (pick(s.random, child.size()) == 0) child[g] = static_cast<std::uint16_t>(pick(s.random, values));
      }
      const std::uint64_t born = allowed(s, child, mother);
      if (std::find(next.begin(), next.end(), born) == next.end()) next.push_back(born);
    }
    population = std::move(next);
  }
}

// A step to what is worse by a tenth is taken with even odds at first, and hardly ever after some hundred steps; then
// the walk begins anew at the best.
Proposals propose_by_annealing(Searching s) {
  constexpr double hot = 0.15, cold = 0.005, cooling = 0.97;
  auto start = by_chance(s, 5);  // the best of a few
  if (start.empty()) co_return;
  co_yield start;
  std::uint64_t here = s.tried.best().value_or(start.front());
  while (true) {
    for (double heat = hot; heat > cold; heat *= cooling) {
      const std::uint64_t there = neighbour_of(s, here);
      std::vector<std::uint64_t> step(1, there);  // g++ 12 cannot yield a list in braces
      co_yield step;
      if (!s.tried.contains(there)) continue;
      const double now = s.tried.cost(here), then = s.tried.cost(there);
      const bool moves = now == Tried::failed || then <= now ||
                         (then != Tried::failed && chance(s.random) < std::exp(-std::log(then / now) / heat));
      if (moves) here = there;
    }
    here = s.tried.best().value_or(here);
  }
}

// Differential evolution over the places of values.
Proposals propose_by_evolution(Searching s) {
  constexpr std::size_t size = 16;
  constexpr double weight = 0.7, crossing = 0.8;
  std::vector<std::uint64_t> population = by_chance(s, size);
  if (population.empty()) co_return;
  co_yield population;
  while (true) {
    std::vector<std::uint64_t> children;
    const Places best = s.space.places(s.tried.best().value_or(population.front()));
    for (const std::uint64_t parent : population) {
      Places child = s.space.places(parent);
      const Places a = s.space.places(population[pick(s.random, population.size())]),
                   b = s.space.places(population[pick(s.random, population.size())]),
                   base = s.random() % 2 ? best : s.space.places(population[pick(s.random, population.size())]);
      for (std::size_t g = 0; g < child.size(); ++g) {
        if (chance(s.random) >= crossing) continue;
        const double last = static_cast<double>(s.space.parameters()[g].values.size() - 1);
        const double moved = base[g] + weight * (static_cast<double>(a[g]) - b[g]) + chance(s.random) - 0.5;
        child[g] = static_cast<std::uint16_t>(std::lround(std::clamp(moved, 0.0, last)));
      }
      std::uint64_t born = allowed(s, child, parent);
      if (s.tried.contains(born)) born = neighbour_of(s, parent);
      children.push_back(born);
    }
    co_yield children;
    for (std::size_t i = 0; i < population.size(); ++i) {
      if (s.tried.contains(children[i]) && s.tried.cost(children[i]) <= s.tried.cost(population[i]))
        population[i] = children[i];
    }
  }
}

}  // namespace heddle::decide

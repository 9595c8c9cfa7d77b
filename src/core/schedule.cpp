// Orders, and the sum of strides of each.
#include "core/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/strides.hpp"

namespace heddle::core {

namespace {

constexpr const char* dimension_names = "xyz";

// A page: where an address is data, the next one is as far away as any that the machine has to look up anew.
constexpr double unknown_stride = 4096;

// The places in facts.loops of a nest's loops. They are told apart by nothing but their nesting: where a loop is not
// the only one in its place, it and those inside it have none.
std::vector<int> loops_of_nest(const KernelFacts& facts) {
  std::vector<int> out;
  int parent = -1;
  while (static_cast<int>(out.size()) < facts.nest.loops) {
    std::vector<int> inside;
    for (std::size_t l = 0; l < facts.loops.size(); ++l) {
      if (facts.loops[l].parent == parent) inside.push_back(static_cast<int>(l));
    }
    if (inside.size() != 1) break;
    out.push_back(parent = inside.front());
  }
  return out;
}

struct Turn {  // of one loop around an access
  double count = 1;
  std::optional<double> stride;
};

// Bytes that an address moves in all. Where a loop makes a step, those inside of it begin again.
double moved(const std::vector<Turn>& turns) {
  double out = 0, rounds = 1;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    std::optional<double> jump = turns[i].stride;
    for (std::size_t k = i + 1; k < turns.size(); ++k) {
      if (turns[k].count <= 1) continue;
      if (jump && turns[k].stride)
        *jump -= (turns[k].count - 1) * *turns[k].stride;
      else
        jump.reset();
    }
    out += rounds * std::max(turns[i].count - 1, 0.0) * std::abs(jump.value_or(unknown_stride));
    rounds *= turns[i].count;
  }
  return out;
}

}  // namespace

std::vector<std::string> orders_of(const Nest& nest) {
  if (!nest.refused.empty() || nest.dimensions.empty()) return {};
  std::string order;
  for (int loop = 0; loop < nest.loops; ++loop) order += static_cast<char>('0' + loop);
  for (int d : nest.dimensions) order += dimension_names[d];
  std::vector<std::string> out;
  do {  // digits sort before letters, so the first one is there
    std::string loops;
    std::copy_if(order.begin(), order.end(), std::back_inserter(loops), [](char c) { return c >= '0' && c <= '9'; });
    if (std::is_sorted(loops.begin(), loops.end())) out.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return out;
}

std::string form_name(const Schedule& schedule) {
  const Index& t = schedule.tile;
  return "schedule:" + schedule.kernel + ":" + schedule.order + ":" + std::to_string(t[0]) + "x" +
         std::to_string(t[1]) + "x" + std::to_string(t[2]);
}

std::optional<Schedule> schedule_of(const std::string& form) {
  const std::size_t kernel = form.find(':'), order = form.find(':', kernel + 1), tile = form.find(':', order + 1);
  if (form.compare(0, kernel, "schedule") != 0 || tile == std::string::npos) return std::nullopt;
  Schedule out{form.substr(kernel + 1, order - kernel - 1), form.substr(order + 1, tile - order - 1), {1, 1, 1}};
  long long x = 0, y = 0, z = 0;
  int read = 0;
  const std::string extents = form.substr(tile + 1);
  if (std::sscanf(extents.c_str(), "%9lldx%9lldx%9lld%n", &x, &y, &z, &read) != 3 ||
      read != static_cast<int>(extents.size()) || x < 1 || y < 1 || z < 1)
    return std::nullopt;
  out.tile = {x, y, z};
  return out;
}

double sum_of_strides(const KernelFacts& facts, const Grid& grid, const std::vector<std::vector<std::byte>>& scalars,
                      const std::string& order) {
  const Strides strides(facts, grid, scalars);
  const std::vector<int> nested = loops_of_nest(facts);
  double out = 0;
  for (const AccessFacts& access : facts.accesses) {
    std::vector<Turn> turns;
    auto add = [&](double count, int variable) {
      turns.push_back({count, access.index ? strides.of(*access.index, variable) : std::nullopt});
    };
    std::vector<int> others = access.loops;  // inside of all dimensions
    for (char c : order) {
      if (c >= 'x') {
        add(static_cast<double>(grid.local[static_cast<std::size_t>(c - 'x')]), LaunchValues::local_variable + c - 'x');
        continue;
      }
      const auto number = static_cast<std::size_t>(c - '0');
      const auto mine = number < nested.size() ? std::find(others.begin(), others.end(), nested[number]) : others.end();
      if (mine == others.end()) continue;
      add(strides.trips(*mine), LaunchValues::loop_variable + *mine);
      others.erase(mine);
    }
    for (int loop : others) add(strides.trips(loop), LaunchValues::loop_variable + loop);
    out += moved(turns);
  }
  return out;
}

std::string order_of_least_strides(const KernelFacts& facts, const Grid& grid,
                                   const std::vector<std::vector<std::byte>>& scalars) {
  std::string best;
  double least = 0;
  for (const std::string& order : orders_of(facts.nest)) {
    const double sum = sum_of_strides(facts, grid, scalars, order);
    if (best.empty() || sum < least) best = order, least = sum;
  }
  return best;
}

}  // namespace heddle::core

// Orders and their names; sums of strides against a walk through the tile, address by address.
#include "core/schedule.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::core {
namespace {

TEST(Schedule, OrdersKeepLoopsInsideOfEachOther) {
  EXPECT_EQ(orders_of({{0}, 1, ""}), (std::vector<std::string>{"0x", "x0"}));
  EXPECT_EQ(orders_of({{0, 1}, 1, ""}), (std::vector<std::string>{"0xy", "0yx", "x0y", "xy0", "y0x", "yx0"}));
  EXPECT_EQ(orders_of({{0}, 2, ""}), (std::vector<std::string>{"01x", "0x1", "x01"}));
  EXPECT_EQ(orders_of({{1, 2}, 0, ""}), (std::vector<std::string>{"yz", "zy"}));
  EXPECT_EQ(orders_of({{0, 1, 2}, 0, ""}).size(), 6u);
  EXPECT_EQ(orders_of({{0, 1, 2}, 2, ""}).size(), 60u);  // cutcp with two loops, as DySel counts them
  EXPECT_EQ(orders_of({{0, 1, 2}, 3, ""}).size(), 120u);
  EXPECT_TRUE(orders_of({{0}, 1, "a barrier"}).empty());
  EXPECT_TRUE(orders_of({{}, 1, ""}).empty());
}

TEST(Schedule, NamesAreReadAsTheyAreWritten) {
  const Schedule schedule{"sgemm", "y0x", {16, 8, 1}};
  EXPECT_EQ(form_name(schedule), "schedule:sgemm:y0x:16x8x1");
  EXPECT_EQ(schedule_of(form_name(schedule)), schedule);
  for (const char* wrong : {"", "box", "schedule", "schedule:k:x", "schedule:k:x:", "schedule:k:x:4",
                            "schedule:k:x:4x4", "schedule:k:x:4x4x", "schedule:k:x:4x0x1", "schedule:k:x:4x-1x1",
                            "schedule:k:x:4x1x1x1", "schedule:k:x:4x1x1 ", "window:k:x:4x1x1"})
    EXPECT_EQ(schedule_of(wrong), std::nullopt) << wrong;
}

// a[y * k + i] and b[i * n + x] are read in a loop of k, c[y * n + x] is written behind it.
// Symbols: 0, 1 local ids, 2 the loop, 3 n, 4 k.
KernelFacts product() {
  KernelFacts f;
  f.name = "product";
  f.arguments = {{"a", "float*", AddressSpace::global, 0},
                 {"b", "float*", AddressSpace::global, 0},
                 {"c", "float*", AddressSpace::global, 0},
                 {"n", "int", AddressSpace::value, 4},
                 {"k", "int", AddressSpace::value, 4}};
  f.symbols = {{SymbolKind::local_id, 0},
               {SymbolKind::local_id, 1},
               {SymbolKind::loop, 0},
               {SymbolKind::scalar, 3, 0, 4, true},
               {SymbolKind::scalar, 4, 0, 4, true}};
  LoopFacts loop;
  loop.single_exit = true, loop.last = Polynomial{{-1, {}}, {1, {4}}};
  f.loops = {loop};
  auto access = [&](AccessKind kind, int argument, Polynomial index, std::vector<int> loops) {
    AccessFacts a;
    a.kind = kind, a.argument = argument, a.bytes = 4, a.index = std::move(index), a.loops = std::move(loops);
    f.accesses.push_back(a);
  };
  access(AccessKind::read, 0, {{4, {1, 4}}, {4, {2}}}, {0});
  access(AccessKind::read, 1, {{4, {0}}, {4, {2, 3}}}, {0});
  access(AccessKind::write, 2, {{4, {0}}, {4, {1, 3}}}, {});
  f.nest = {{0, 1}, 1, ""};
  return f;
}

std::vector<std::byte> bytes_of(std::int32_t value) {
  std::vector<std::byte> out(4);
  std::memcpy(out.data(), &value, 4);
  return out;
}

std::vector<std::vector<std::byte>> scalars(int n, int k) { return {{}, {}, {}, bytes_of(n), bytes_of(k)}; }

// What `address` moves while it is gone through the loops of `order` that have an extent.
double walk(const std::string& order, std::map<char, std::int64_t> extents,
            const std::function<std::int64_t(std::map<char, std::int64_t>&)>& address) {
  std::map<char, std::int64_t> at;
  std::optional<std::int64_t> last;
  double out = 0;
  std::function<void(std::size_t)> go = [&](std::size_t i) {
    if (i == order.size()) {
      const std::int64_t here = address(at);
      if (last) out += std::abs(static_cast<double>(here - *last));
      last = here;
      return;
    }
    const std::int64_t end = extents.count(order[i]) ? extents[order[i]] : 1;
    for (at[order[i]] = 0; at[order[i]] < end; ++at[order[i]]) go(i + 1);
  };
  go(0);
  return out;
}

TEST(Schedule, SumsAreThoseOfAWalk) {
  const KernelFacts f = product();
  const int n = 40, k = 5;
  const Grid grid{{10, 10, 1}, {4, 3, 1}, {0, 0, 0}, 2};
  for (const std::string& order : orders_of(f.nest)) {
    const std::map<char, std::int64_t> tile = {{'x', 4}, {'y', 3}}, all = {{'x', 4}, {'y', 3}, {'0', k}};
    const double expected = walk(order, all, [&](auto& at) { return 4 * (at['y'] * k + at['0']); }) +
                            walk(order, all, [&](auto& at) { return 4 * (at['0'] * n + at['x']); }) +
                            walk(order, tile, [&](auto& at) { return 4 * (at['y'] * n + at['x']); });
    EXPECT_EQ(sum_of_strides(f, grid, scalars(n, k), order), expected) << order;
  }
}

TEST(Schedule, TheLeastStridesOfAProductGoAlongRows) {
  const Grid grid{{32, 32, 1}, {16, 16, 1}, {0, 0, 0}, 2};
  EXPECT_EQ(order_of_least_strides(product(), grid, scalars(512, 512)), "y0x");
  // With a column-major c, as if b were transposed: along the loop both are read one after the other.
  KernelFacts f = product();
  f.accesses[1].index = Polynomial{{4, {0, 4}}, {4, {2}}};
  EXPECT_EQ(order_of_least_strides(f, grid, scalars(512, 512)), "yx0");
}

// y[x] of a sparse product: values lie from row_start[x] on, or at diagonal[i] + x.
KernelFacts sparse(std::optional<std::vector<int>> loaded_from, Polynomial index) {
  KernelFacts f;
  f.name = "sparse";
  f.arguments = {{"value", "float*", AddressSpace::global, 0}};
  f.symbols = {{SymbolKind::local_id, 0}, {SymbolKind::loop, 0}, {SymbolKind::opaque, 0}};
  f.symbols[2].loaded_from = std::move(loaded_from);
  f.loops = {LoopFacts{}};
  AccessFacts a;
  a.argument = 0, a.bytes = 4, a.index = std::move(index), a.loops = {0};
  f.accesses = {a};
  f.nest = {{0}, 1, ""};
  return f;
}

TEST(Schedule, DataMovesWithWhatItWasLoadedFrom) {
  const Grid grid{{10, 1, 1}, {128, 1, 1}, {0, 0, 0}, 1};
  const KernelFacts rows = sparse(std::vector<int>{0}, {{4, {1}}, {4, {2}}});
  EXPECT_EQ(sum_of_strides(rows, grid, {{}}, "x0"), 127 * 4096 + 128 * 31 * 4);
  EXPECT_EQ(order_of_least_strides(rows, grid, {{}}), "x0");
  const KernelFacts diagonals = sparse(std::vector<int>{1}, {{4, {0}}, {4, {2}}});
  EXPECT_EQ(sum_of_strides(diagonals, grid, {{}}, "0x"), 31 * 4096 + 32 * 127 * 4);
  EXPECT_EQ(order_of_least_strides(diagonals, grid, {{}}), "0x");
  // From nobody knows where: neither way is better, and the first one is taken.
  EXPECT_EQ(order_of_least_strides(sparse(std::nullopt, {{4, {0}}, {4, {2}}}), grid, {{}}), "0x");
}

TEST(Schedule, ADamagedNestIsNoFacts) {
  ProgramFacts program{{product()}};
  EXPECT_EQ(to_json(program_facts_from_json(to_json(program))), to_json(program));
  for (const Nest& wrong : {Nest{{1, 0}, 1, ""}, Nest{{3}, 1, ""}, Nest{{0}, -1, ""}, Nest{{0}, 9, ""}}) {
    program.kernels[0].nest = wrong;
    EXPECT_THROW(program_facts_from_json(to_json(program)), UsageError);
  }
  ProgramFacts circle{{sparse(std::vector<int>{2}, {{4, {2}}})}};
  EXPECT_THROW(program_facts_from_json(to_json(circle)), UsageError);
}

}  // namespace
}  // namespace heddle::core

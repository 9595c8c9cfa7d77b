// Where arrays would be put, for accesses of which that is known.
#include "core/placement.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

using enum Placement;
using Places = std::vector<Placement>;

// Symbols: 0, 1 local ids, 2 the group id along x, 3 a loop, 4 the scalar argument 2, 5 data. Accesses are of argument
// 0; argument 1 is written.
KernelFacts kernel(std::vector<std::optional<Polynomial>> reads) {
  KernelFacts f;
  f.name = "kernel";
  f.arguments = {{"in", "float*", AddressSpace::global, 0},
                 {"out", "float*", AddressSpace::global, 0},
                 {"n", "int", AddressSpace::value, 4}};
  f.symbols = {{SymbolKind::local_id, 0}, {SymbolKind::local_id, 1},           {SymbolKind::group_id, 0},
               {SymbolKind::loop, 0},     {SymbolKind::scalar, 2, 0, 4, true}, {SymbolKind::opaque, 0}};
  f.loops = {LoopFacts{}};
  const auto access = [&](AccessKind kind, int argument, std::optional<Polynomial> index) {
    AccessFacts a;
    a.kind = kind, a.argument = argument, a.bytes = 4, a.index = std::move(index);
    f.accesses.push_back(a);
  };
  for (auto& read : reads) access(AccessKind::read, 0, std::move(read));
  access(AccessKind::write, 1, Polynomial{{4, {0}}});
  return f;
}

constexpr Bytes small = constant_memory, big = constant_memory + 1;

Places places(const KernelFacts& facts, Bytes size, Index local = {128, 1, 1}, int argument = 0) {
  std::vector<std::byte> n(4);
  const std::int32_t value = 1000;
  std::memcpy(n.data(), &value, 4);
  return placements_of(facts, argument, size, {{8, 8, 1}, local, {0, 0, 0}, 2}, {{}, {}, n});
}

const Polynomial own{{4, {0}}, {512, {2}}};  // in[get_global_id(0)]

TEST(Placement, WhatIsReadAndSmallIsConstant) {
  EXPECT_EQ(places(kernel({own}), small), (Places{constant, global}));
  EXPECT_EQ(places(kernel({own}), big), (Places{global}));
  EXPECT_EQ(places(kernel({}), small), (Places{constant, global}));
}

TEST(Placement, WhatIsWrittenStaysGlobal) {
  EXPECT_EQ(places(kernel({own}), small, {128, 1, 1}, 1), (Places{global}));
  for (const AccessKind kind : {AccessKind::write, AccessKind::atomic}) {
    for (const int where : {0, -1}) {  // -1: nobody knows where
      KernelFacts f = kernel({Polynomial{{4, {3}}}});
      f.accesses.push_back(f.accesses.back());
      f.accesses.back().kind = kind, f.accesses.back().argument = where;
      EXPECT_EQ(places(f, small), (Places{global})) << where;
    }
  }
}

TEST(Placement, WhatAllOfAGroupReadIsLocal) {
  const KernelFacts table = kernel({Polynomial{{4, {3}}}});  // in[i] in a loop
  EXPECT_EQ(places(table, big), (Places{local, global}));
  EXPECT_EQ(places(table, small), (Places{constant, local, global}));
  EXPECT_EQ(places(table, big, {1, 1, 1}), (Places{global}));  // nobody to share it with
}

TEST(Placement, WhatARowOfAGroupReadsIsLocal) {
  const KernelFacts row = kernel({Polynomial{{4, {0}}, {4, {3, 4}}}});  // in[i * n + x]
  EXPECT_EQ(places(row, big, {16, 16, 1}), (Places{local, global}));
  EXPECT_EQ(places(row, big, {16, 1, 1}), (Places{global}));
}

TEST(Placement, WhatNeighboursReadIsLocal) {
  Polynomial next = own, far = own, half = own, below = own;
  next.push_back({4, {}}), far.push_back({4 * 128, {}}), half.push_back({2, {}}), below.push_back({4, {4}});
  EXPECT_EQ(places(kernel({own, next}), big), (Places{local, global}));
  EXPECT_EQ(places(kernel({next, own}), big), (Places{local, global}));
  EXPECT_EQ(places(kernel({own, far}), big), (Places{global}));  // the neighbouring group's
  EXPECT_EQ(places(kernel({own, half}), big), (Places{global}));
  // in[x + n * y], and the row below: 1000 elements away, not 128 work-items.
  EXPECT_EQ(places(kernel({own, below}), big), (Places{global}));
  Polynomial plane = own;
  plane.insert(plane.begin() + 1, {4, {1, 4}});
  below = plane, below.push_back({4, {4}});
  EXPECT_EQ(places(kernel({plane, below}), big, {32, 4, 1}), (Places{local, global}));
  EXPECT_EQ(places(kernel({plane, below}), big, {128, 1, 1}), (Places{global}));
}

TEST(Placement, WhereDataSaysWhatIsReadNothingIsKnown) {
  EXPECT_EQ(places(kernel({Polynomial{{4, {5}}}}), big), (Places{global}));
  EXPECT_EQ(places(kernel({std::nullopt}), big), (Places{global}));
  // Unless the data is the same for all: in[table[i]].
  KernelFacts f = kernel({Polynomial{{4, {5}}}});
  f.symbols[5].loaded_from = std::vector<int>{3};
  EXPECT_EQ(places(f, big), (Places{local, global}));
}

}  // namespace
}  // namespace heddle::core

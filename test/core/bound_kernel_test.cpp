// Ranges of small kernels written as facts by hand, compared with what a loop over all work-items touches.
#include <cstring>

#include <gtest/gtest.h>

#include "core/answers.hpp"
#include "core/box_form.hpp"
#include "core/errors.hpp"
#include "core/linear.hpp"
#include "core/wire_text.hpp"

namespace heddle::core {
namespace {

// Symbols: 0 group id, 1 local id, 2 local size, 3 the scalar n, 4 a function.
KernelFacts one_dimension(Polynomial index, std::vector<Guard> guards) {
  KernelFacts k;
  k.name = "k";
  k.arguments = {{"out", "int*", AddressSpace::global, 0}, {"n", "int", AddressSpace::value, 4}};
  k.symbols = {{SymbolKind::group_id, 0},
               {SymbolKind::local_id, 0},
               {SymbolKind::local_size, 0},
               {SymbolKind::scalar, 1, 0, 4, true},
               {SymbolKind::function, 0}};
  k.functions = {{FunctionKind::wrap_signed, 32, {{{1, {0, 2}}, {1, {1}}}}}};
  AccessFacts a;
  a.kind = AccessKind::write;
  a.argument = 0, a.bytes = 4;
  a.index = std::move(index), a.guards = std::move(guards), a.guards_suffice = true;
  k.accesses = {a};
  return k;
}

std::vector<std::vector<std::byte>> with_n(std::int32_t n) {
  std::vector<std::byte> bytes(4);
  std::memcpy(bytes.data(), &n, 4);
  return {{}, bytes};
}

TEST(BoundKernel, AGuardThatBindsTheGlobalIdClipsExactly) {
  const KernelFacts k = one_dimension({{4, {4}}}, {{GuardKind::at_most_zero, {{1, {}}, {-1, {3}}, {1, {4}}}}});
  const BoundKernel bound(k, {{10, 1, 1}, {16, 1, 1}, {0, 0, 0}, 1}, with_n(100));
  EXPECT_EQ(bound.touched({{2, 0, 0}, {4, 1, 1}})[0].written.runs, (std::vector<core::Run>{{128, 128, {}}}));
  const ByteRanges last = bound.touched({{5, 0, 0}, {8, 1, 1}})[0].written;
  EXPECT_EQ(last.certainty, Certainty::exact);
  EXPECT_EQ(spans(last, 4096), (std::vector<Span>{{320, 400}}));
  EXPECT_TRUE(bound.touched({{7, 0, 0}, {8, 1, 1}})[0].written.none());
  EXPECT_EQ(merge_of(bound, 0, {{0, 0, 0}, {5, 1, 1}}), Merge::copy);
  EXPECT_EQ(merge_of(bound, 1, {{0, 0, 0}, {5, 1, 1}}), Merge::nothing);
}

TEST(BoundKernel, WhatWrapsIsNotBelieved) {
  KernelFacts k = one_dimension({{4, {4}}}, {});
  const BoundKernel fits(k, {{1 << 20, 1, 1}, {1024, 1, 1}, {0, 0, 0}, 1}, with_n(0));
  EXPECT_EQ(fits.touched({{0, 0, 0}, {2, 1, 1}})[0].written.certainty, Certainty::exact);
  const BoundKernel wraps(k, {{1 << 22, 1, 1}, {1024, 1, 1}, {0, 0, 0}, 1}, with_n(0));
  const ByteRanges low = wraps.touched({{0, 0, 0}, {2, 1, 1}})[0].written;  // this part of it does not wrap
  EXPECT_EQ(spans(low, 1 << 20), (std::vector<Span>{{0, 8192}}));
  const ByteRanges high = wraps.touched({{(1 << 21) - 1, 0, 0}, {(1 << 21) + 1, 1, 1}})[0].written;
  EXPECT_NE(high.certainty, Certainty::exact);
}

TEST(BoundKernel, UnknownScalarsMakeUnknownRanges) {
  const KernelFacts k = one_dimension({{4, {3}}, {4, {4}}}, {});
  const BoundKernel bound(k, {{4, 1, 1}, {4, 1, 1}, {0, 0, 0}, 1}, {{}, {}});
  EXPECT_EQ(bound.touched({{0, 0, 0}, {1, 1, 1}})[0].written.certainty, Certainty::unknown);
  EXPECT_THROW(BoundKernel(k, {}, {}), UsageError);
}

TEST(BoundKernel, DataGuardsMakeMay) {
  const KernelFacts k = one_dimension({{4, {4}}}, {{GuardKind::data, {}}});
  const BoundKernel bound(k, {{4, 1, 1}, {4, 1, 1}, {0, 0, 0}, 1}, with_n(0));
  EXPECT_EQ(bound.touched({{0, 0, 0}, {1, 1, 1}})[0].written.certainty, Certainty::may);
  EXPECT_EQ(merge_of(bound, 0, {{0, 0, 0}, {1, 1, 1}}), Merge::merge_kernel);
}

// 8 * group + local < n with groups of 4: not every value occurs, so the bytes are cut where the guard ends.
TEST(BoundKernel, CuttingBytesIsOnlyExactWhereAccessesDoNotOverlap) {
  for (int bytes : {4, 16}) {
    KernelFacts k =
        one_dimension({{32, {0}}, {4, {1}}}, {{GuardKind::at_most_zero, {{1, {}}, {8, {0}}, {1, {1}}, {-1, {3}}}}});
    k.accesses[0].bytes = bytes;
    const BoundKernel bound(k, {{4, 1, 1}, {4, 1, 1}, {0, 0, 0}, 1}, with_n(18));
    const ByteRanges written = bound.touched({{0, 0, 0}, {4, 1, 1}})[0].written;
    EXPECT_EQ(written.certainty, bytes == 4 ? Certainty::exact : Certainty::may);
    if (bytes > 4) continue;
    EXPECT_EQ(spans(written, 4096), (std::vector<Span>{{0, 16}, {32, 48}, {64, 72}}));
  }
}

TEST(BoundKernel, NumbersAtTheEdgeOfTheirTypeAreNoAccident) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = -(least + 1);
  const std::int64_t numbers[] = {least, least + 1, -1, 1, 4, most - 1, most};
  for (std::int64_t a : numbers) {
    for (std::int64_t b : numbers) {
      for (std::int64_t c : numbers) {
        const KernelFacts k =
            one_dimension({{c, {}}, {a, {0}}, {b, {1}}}, {{GuardKind::at_most_zero, {{b, {}}, {a, {0}}, {c, {1}}}}});
        for (std::int64_t groups : {std::int64_t{3}, most}) {
          const BoundKernel bound(k, {{groups, 1, 1}, {4, 1, 1}, {0, 0, 0}, 1}, with_n(0));
          const ByteRanges written = bound.touched({{0, 0, 0}, {groups, 1, 1}})[0].written;
          EXPECT_LE(spans(written, 1 << 20, 1000).size(), 1000u);
        }
      }
    }
  }
}

TEST(BoundKernel, AnEmptyBoxTouchesNothing) {
  const KernelFacts k = one_dimension({{4, {4}}}, {});
  const BoundKernel bound(k, {{4, 1, 1}, {4, 1, 1}, {0, 0, 0}, 1}, with_n(0));
  EXPECT_TRUE(bound.touched({})[0].written.none());
}

TEST(Spans, StridesClipsAndMerging) {
  ByteRanges r;
  r.runs = {{8, 4, {{16, 3}}}, {12, 2, {}}, {100, 8, {{8, 4}}, 104, 120}};
  EXPECT_EQ(spans(r, 1000), (std::vector<Span>{{8, 14}, {24, 28}, {40, 44}, {104, 120}}));
  EXPECT_EQ(spans(r, 26), (std::vector<Span>{{8, 14}, {24, 26}}));
  EXPECT_EQ(spans(r, 1000, 2), (std::vector<Span>{{0, 1000}}));
  EXPECT_EQ(spans({Certainty::unknown, {}}, 10), (std::vector<Span>{{0, 10}}));
}

TEST(Linear, NarrowingKeepsEveryPointThatHolds) {
  Ranges ranges;
  ranges.variables = {Interval{0, 9}, Interval{0, 9}};
  const Linear form{-7, {{0, 2}, {1, -1}}};  // 2a - b - 7 <= 0
  Ranges narrowed = ranges;
  ASSERT_TRUE(narrow(form, narrowed));
  for (std::int64_t a = 0; a < 10; ++a) {
    for (std::int64_t b = 0; b < 10; ++b) {
      if (2 * a - b - 7 > 0) continue;
      EXPECT_TRUE(a >= narrowed[0]->low && a <= narrowed[0]->high && b >= narrowed[1]->low && b <= narrowed[1]->high);
    }
  }
  EXPECT_EQ(narrowed[0]->high, 8);
  const Linear never{1, {{0, 1}}};
  EXPECT_FALSE(narrow(never, narrowed));
}

TEST(Linear, OverflowIsNoticed) {
  Ranges ranges;
  ranges.variables = {Interval{0, INT64_MAX}};
  EXPECT_FALSE(interval({0, {{0, 2}}}, ranges));
  EXPECT_EQ(floor_divide(-1, 4), -1);
  EXPECT_EQ(floor_divide(7, 4), 1);
}

TEST(Facts, DamagedTextIsRefused) {
  ProgramFacts facts{{one_dimension({{4, {4}}}, {})}};
  const std::string good = to_json(facts);
  EXPECT_EQ(to_json(program_facts_from_json(good)), good);
  auto with = [&](const std::string& from, const std::string& to) {
    std::string out = good;
    const auto at = out.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return out.replace(at, from.size(), to);
  };
  EXPECT_THROW(program_facts_from_json(""), UsageError);
  EXPECT_THROW(program_facts_from_json("[]"), UsageError);
  EXPECT_THROW(program_facts_from_json(with("\"index\":[[4,[4]]]", "\"index\":[[4,[5]]]")), UsageError);
  EXPECT_THROW(program_facts_from_json(with("\"argument\":0", "\"argument\":2")), UsageError);
  EXPECT_THROW(program_facts_from_json(with("wrap_signed", "wrap_sideways")), UsageError);
  EXPECT_THROW(program_facts_from_json(with("\"kind\":\"local_id\"", "\"kind\":\"loop\"")), UsageError);
}

TEST(BoxForm, SaysWhichBoxAndNothingForPreparing) {
  const Grid grid{{10, 4, 1}, {8, 2, 1}, {3, 0, 0}, 2};
  const BoxLaunch launch = box_launch(grid, {{2, 1, 0}, {5, 4, 1}});
  EXPECT_EQ(launch.range, (NdRange{{0, 0, 0}, {24, 6, 1}, {8, 2, 1}, 2}));
  EXPECT_EQ(launch.arguments.base, (HiddenArgument{2, 1, 0, 0}));
  EXPECT_EQ(launch.arguments.count, (HiddenArgument{3, 3, 1, 0}));
  EXPECT_EQ(launch.arguments.groups, (HiddenArgument{10, 4, 1, 0}));
  EXPECT_EQ(launch.arguments.offset, (HiddenArgument{3, 0, 0, 0}));
  EXPECT_EQ(preparing_launch(grid).arguments.count, (HiddenArgument{0, 0, 0, 0}));
  EXPECT_THROW(box_launch(grid, {{2, 1, 0}, {11, 4, 1}}), InternalError);
  EXPECT_FALSE(fits_box_form({{std::int64_t{1} << 33, 1, 1}, {1, 1, 1}, {0, 0, 0}, 1}));
}

TEST(BoxForm, WindowsHoldWhatIsTouchedInWholeUnitsOfAlignment) {
  EXPECT_TRUE(windowed({.space = AddressSpace::global}));
  EXPECT_FALSE(windowed({.space = AddressSpace::constant}));
  EXPECT_EQ(window_around({300, 700}, 1000), (Span{256, 768}));
  EXPECT_EQ(window_around({256, 768}, 1000), (Span{256, 768}));
  EXPECT_EQ(window_around({300, 900}, 1000), (Span{256, 1000}));
  EXPECT_EQ(window_around({-50, 1}, 1000), (Span{0, 128}));
  EXPECT_EQ(window_around({}, 1000), (Span{0, 128}));
  EXPECT_EQ(window_around({2000, 3000}, 1000), (Span{0, 128}));
  EXPECT_EQ(window_around({}, 40), (Span{0, 40}));
}

TEST(WireText, EveryByteComesBack) {
  std::string all;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  EXPECT_EQ(bytes_of_text(text_of_bytes(all)), all);
  EXPECT_THROW(bytes_of_text("\xE2\x82\xAC"), UsageError);
  EXPECT_THROW(bytes_of_text("\xC3"), UsageError);
}

}  // namespace
}  // namespace heddle::core

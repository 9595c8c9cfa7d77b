// The same for products of sparse matrices, and whether those are what they are said to be.
#include <algorithm>
#include <cmath>
#include <map>

#include "test/workloads/tiny.hpp"

namespace heddle::workloads {
namespace {

TEST(SpmvCsr, HasWellFormedRows) {
  for (const std::string& input : find("spmv_csr").inputs) {
    Instance instance = tiny("spmv_csr", input);
    const int rows = integer(instance, "rows");
    const auto start = argument(instance, "row_start").as<std::int32_t>();
    const auto column = argument(instance, "column").as<std::int32_t>();
    ASSERT_EQ(start.size(), static_cast<std::size_t>(rows) + 1);
    ASSERT_EQ(start.front(), 0);
    ASSERT_EQ(start.back(), static_cast<std::int32_t>(column.size()));
    for (int row = 0; row < rows; ++row) {
      ASSERT_LE(start[row], start[row + 1]);
      for (int i = start[row]; i < start[row + 1]; ++i) {
        ASSERT_GE(column[i], i == start[row] ? 0 : column[i - 1] + 1);
        ASSERT_LT(column[i], rows);
      }
    }
  }
}

TEST(SpmvCsr, FillsOnePerCentAtRandom) {
  Instance instance = tiny("spmv_csr", "random");
  const double rows = integer(instance, "rows");
  const auto start = argument(instance, "row_start").as<std::int32_t>();
  // About 10,000 elements: five standard deviations are 5 %.
  EXPECT_NEAR(start.back(), 0.01 * rows * rows, 0.05 * 0.01 * rows * rows);
  int longest = 0, shortest = 1 << 30;
  for (std::size_t row = 0; row + 1 < start.size(); ++row) {
    longest = std::max(longest, start[row + 1] - start[row]);
    shortest = std::min(shortest, start[row + 1] - start[row]);
  }
  EXPECT_LT(shortest, longest);
}

TEST(SpmvCsr, HasAFewLongRowsUnderThePowerLaw) {
  Instance instance = tiny("spmv_csr", "power_law");
  const auto start = argument(instance, "row_start").as<std::int32_t>();
  std::vector<int> length;
  for (std::size_t row = 0; row + 1 < start.size(); ++row) length.push_back(start[row + 1] - start[row]);
  std::sort(length.begin(), length.end());
  EXPECT_LE(length[length.size() / 2], 8);  // half of them by the definition, give or take
  EXPECT_GE(length.back(), 50);
}

TEST(SpmvCsr, HasShortRowsThenLongOnesWhereThereAreTwoKinds) {
  for (const Size size : {Size::tiny, Size::normal}) {
    Instance instance = make(find("spmv_csr"), size, "two_kinds", seed);
    const auto start = argument(instance, "row_start").as<std::int32_t>();
    const std::size_t rows = start.size() - 1;
    std::map<int, int> lengths;  // of the short ones
    for (std::size_t row = 0; row < rows; ++row) {
      const int length = start[row + 1] - start[row];
      if (row < rows / 8 * 7)
        ++lengths[length];
      else
        ASSERT_EQ(length, 32) << row;
    }
    EXPECT_EQ(lengths.begin()->first, 1);
    EXPECT_EQ(lengths.rbegin()->first, 3);
    // Each of the three lengths as often as any other, give or take five standard deviations.
    const double expected = static_cast<double>(rows) / 8 * 7 / 3;
    for (const auto& [length, count] : lengths) EXPECT_GT(count, expected - 5 * std::sqrt(expected)) << length;
  }
}

TEST(SpmvCsr, AgreesWithAProductComputedByHand) {
  Instance instance = tiny("spmv_csr");
  // 1 0 2
  // 0 0 0
  // 0 3 4
  set<std::int32_t>(instance, "row_start", {0, 2, 2, 4});
  set<std::int32_t>(instance, "column", {0, 2, 1, 2});
  set<float>(instance, "value", {1, 2, 3, 4});
  set<float>(instance, "x", {10, 20, 30});
  set<float>(instance, "y", {0, 0, 0});
  find("spmv_csr").reference(instance);
  expect_values(instance, "y", {70, 0, 180});
}

TEST(SpmvCsr, OfADiagonalIsElementwise) {
  Instance instance = tiny("spmv_csr", "diagonal");
  find("spmv_csr").reference(instance);
  const auto value = floats(instance, "value"), x = floats(instance, "x"), y = floats(instance, "y");
  ASSERT_EQ(value.size(), y.size());
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], value[i] * x[i]);
}

TEST(SpmvCsr, OfOnesIsTheLengthOfTheRow) {
  for (const std::string& input : find("spmv_csr").inputs) {
    Instance instance = tiny("spmv_csr", input);
    for (const char* name : {"value", "x"}) std::ranges::fill(floats(instance, name), 1.0f);
    find("spmv_csr").reference(instance);
    const auto start = argument(instance, "row_start").as<std::int32_t>();
    const auto y = floats(instance, "y");
    for (std::size_t row = 0; row < y.size(); ++row) {
      ASSERT_EQ(y[row], static_cast<float>(start[row + 1] - start[row])) << input;
    }
  }
}

TEST(SpmvJds, HasWellFormedDiagonals) {
  for (const std::string& input : find("spmv_jds").inputs) {
    Instance instance = tiny("spmv_jds", input);
    const int rows = integer(instance, "rows");
    const auto length = argument(instance, "length").as<std::int32_t>();
    const auto diagonal = argument(instance, "diagonal").as<std::int32_t>();
    const auto column = argument(instance, "column").as<std::int32_t>();
    ASSERT_TRUE(std::ranges::is_sorted(length, std::greater<>())) << input;
    ASSERT_EQ(length.front(), static_cast<std::int32_t>(diagonal.size()));
    std::int32_t at = 0;
    for (std::size_t d = 0; d < diagonal.size(); ++d) {
      ASSERT_EQ(diagonal[d], at);
      at += static_cast<std::int32_t>(
          std::ranges::count_if(length, [&](int l) { return l > static_cast<std::int32_t>(d); }));
    }
    ASSERT_EQ(at, static_cast<std::int32_t>(column.size()));
    for (int row = 0; row < rows; ++row) {
      for (int d = 0; d < length[row]; ++d) {
        ASSERT_GE(column[diagonal[d] + row], d == 0 ? 0 : column[diagonal[d - 1] + row] + 1);
        ASSERT_LT(column[diagonal[d] + row], rows);
      }
    }
  }
}

TEST(SpmvJds, AgreesWithAProductComputedByHand) {
  Instance instance = tiny("spmv_jds");
  // Sorted by length: 5 6 7, then 1 0 2, then 0 3 0.
  set<std::int32_t>(instance, "length", {3, 2, 1});
  set<std::int32_t>(instance, "diagonal", {0, 3, 5});
  set<std::int32_t>(instance, "column", {0, 0, 1, 1, 2, 2});
  set<float>(instance, "value", {5, 1, 3, 6, 2, 7});
  set<float>(instance, "x", {10, 20, 30});
  set<float>(instance, "y", {0, 0, 0});
  find("spmv_jds").reference(instance);
  expect_values(instance, "y", {380, 70, 60});
}

// The same matrix by rows: equal numbers everywhere make the order of its elements no matter.
TEST(SpmvJds, OfOnesIsThatOfCompressedRowsSorted) {
  for (const std::string& input : find("spmv_jds").inputs) {
    Instance jagged = tiny("spmv_jds", input), rows = tiny("spmv_csr", input);
    for (Instance* instance : {&jagged, &rows}) std::ranges::fill(floats(*instance, "value"), 1.0f);
    std::ranges::fill(floats(jagged, "x"), 1.0f);
    std::ranges::fill(floats(rows, "x"), 1.0f);
    find("spmv_jds").reference(jagged);
    find("spmv_csr").reference(rows);
    const auto expected = floats(rows, "y");
    std::ranges::sort(expected, std::greater<>());
    ASSERT_TRUE(std::ranges::equal(floats(jagged, "y"), expected)) << input;
  }
}

}  // namespace
}  // namespace heddle::workloads

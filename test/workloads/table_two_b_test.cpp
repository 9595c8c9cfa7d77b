// The references of histogram to bfs, each against a property that does not come from its code, and against values
// computed by hand where properties are blind.
#include <algorithm>
#include <numeric>
#include <random>

#include "test/workloads/tiny.hpp"

namespace heddle::workloads {
namespace {

template <class T>
std::vector<T> values_of(Instance& instance, const std::string& name) {
  const auto all = argument(instance, name).as<T>();
  return {all.begin(), all.end()};
}

TEST(Histogram, AgreesWithCountsMadeByHand) {
  Instance instance = tiny("histogram");
  std::vector<std::uint32_t> in(32'771, 0x00ffffff);  // a row and three numbers of the next
  in[5] = 0x01000000;
  in[32'768] = 0xffffffff, in[32'769] = 0x80000001, in[32'770] = 0x80ffffff;
  set(instance, "in", in);
  set(instance, "counts", std::vector<std::uint32_t>(512, 9));
  find("histogram").reference(instance);
  std::vector<std::uint32_t> expected(512);
  expected[0] = 32'767, expected[1] = 1, expected[256 + 0x80] = 2, expected[256 + 0xff] = 1;
  EXPECT_EQ(values_of<std::uint32_t>(instance, "counts"), expected);
}

TEST(Histogram, CountsEveryNumberOnce) {
  Instance instance = tiny("histogram");
  find("histogram").reference(instance);
  const auto in = values<std::uint32_t>(instance, "in"), counts = values<std::uint32_t>(instance, "counts");
  ASSERT_EQ(counts.size(), 4u * 256);
  std::uint64_t of_bins = 0, of_numbers = 0;
  for (std::size_t row = 0; row < 4; ++row) {
    const auto mine = counts.subspan(256 * row, 256);
    // 100,003 numbers are three rows of 32,768 and 1,699.
    EXPECT_EQ(std::accumulate(mine.begin(), mine.end(), 0u), row < 3 ? 32'768u : 1'699u) << row;
    for (std::size_t bin = 0; bin < 256; ++bin) of_bins += bin * mine[bin];
  }
  for (std::uint32_t v : in) of_numbers += v >> 24;
  EXPECT_EQ(of_bins, of_numbers);
}

TEST(HistogramAtomic, AddsToWhatIsThere) {
  Instance instance = tiny("histogram_atomic");
  set<std::uint32_t>(instance, "in", {0xff000000, 0x00ffffff, 0xfffffffe, 0x01000000, 0xff123456});
  std::vector<std::uint32_t> counts(256, 10);
  set(instance, "counts", counts);
  find("histogram_atomic").reference(instance);
  counts[0] = 11, counts[1] = 11, counts[255] = 13;
  EXPECT_EQ(values_of<std::uint32_t>(instance, "counts"), counts);
}

TEST(HistogramAtomic, IsTheSumOfTheRowsOfHistogram) {
  Instance rows = tiny("histogram"), all = tiny("histogram_atomic");
  argument(all, "in").bytes = argument(rows, "in").bytes;
  std::vector<std::uint32_t> expected = values_of<std::uint32_t>(all, "counts");
  EXPECT_EQ(std::ranges::count(expected, 0u), 0);  // else losing it would not show
  find("histogram").reference(rows);
  find("histogram_atomic").reference(all);
  const auto counts = values<std::uint32_t>(rows, "counts");
  for (std::size_t i = 0; i < counts.size(); ++i) expected[i % 256] += counts[i];
  EXPECT_EQ(values_of<std::uint32_t>(all, "counts"), expected);
}

// Medians of 9 1 8 2 7 3 6 4 5, of the same from the other end of the bytes, of one that is different, and of three
// values: 2 2 2 0 0 0 1 1 1.
TEST(MedianFilter, AgreesWithAPixelComputedByHand) {
  Instance instance = tiny("median_filter");
  set<std::int32_t>(instance, "width", {3});
  set<std::int32_t>(instance, "height", {3});
  const std::vector<std::uint32_t> in = {0x0200f609, 0x0200fe01, 0x0200f708, 0x0000fd02, 0x00fff807,
                                         0x0000fc03, 0x0100f906, 0x0100fb04, 0x0100fa05};
  set(instance, "in", in);
  set(instance, "out", std::vector<std::uint32_t>(9));
  find("median_filter").reference(instance);
  std::vector<std::uint32_t> expected = in;
  expected[4] = 0x0100fa05;
  EXPECT_EQ(values_of<std::uint32_t>(instance, "out"), expected);
}

TEST(MedianFilter, RemovesAPixelThatIsAlone) {
  Instance instance = tiny("median_filter");
  const int width = values<std::int32_t>(instance, "width")[0];
  const auto in = values<std::uint32_t>(instance, "in"), out = values<std::uint32_t>(instance, "out");
  std::ranges::fill(in, 0x10203040u);
  in[5 + width * 6] = 0xff00ff00;
  in[0] = 7;  // on the border, which is copied
  find("median_filter").reference(instance);
  EXPECT_EQ(out[0], 7u);
  EXPECT_EQ(std::ranges::count(out.subspan(1), 0x10203040u), static_cast<std::ptrdiff_t>(out.size()) - 1);
}

// What is below the median of an image is above that of its negative.
TEST(MedianFilter, OfANegativeIsTheNegative) {
  Instance image = tiny("median_filter");
  Instance negative = image;
  for (std::uint32_t& v : values<std::uint32_t>(negative, "in")) v = ~v;
  find("median_filter").reference(image);
  find("median_filter").reference(negative);
  EXPECT_NE(argument(image, "out").bytes, argument(image, "in").bytes);
  const auto out = values<std::uint32_t>(image, "out"), of_negative = values<std::uint32_t>(negative, "out");
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(of_negative[i], ~out[i]) << i;
}

// Neighbours on opposite sides are as far above as below, in each channel along another direction.
TEST(MedianFilter, KeepsSlopes) {
  Instance instance = tiny("median_filter");
  const std::uint32_t width = values<std::int32_t>(instance, "width")[0];
  const auto in = values<std::uint32_t>(instance, "in");
  for (std::uint32_t i = 0; i < in.size(); ++i) {
    const std::uint32_t x = i % width, y = i / width;
    in[i] = x | (y << 8) | ((x + y) << 16) | ((255 - x) << 24);
  }
  find("median_filter").reference(instance);
  EXPECT_EQ(argument(instance, "out").bytes, argument(instance, "in").bytes);
}

template <std::uint32_t row, std::uint32_t mask_b, std::uint32_t mask_c>
void expect_standard_twister(std::uint32_t with_seed) {
  constexpr std::size_t generators = 3, numbers = 200;
  Instance instance = tiny("mersenne_twister");
  set<std::int32_t>(instance, "generators", {generators});
  set<std::int32_t>(instance, "numbers", {numbers});
  set<std::uint32_t>(instance, "parameter", {1, 2, 3, 4, row, mask_b, mask_c, with_seed, 5, 6, 7, 8});
  set(instance, "out", std::vector<std::uint32_t>(generators * numbers));
  find("mersenne_twister").reference(instance);
  std::mersenne_twister_engine<std::uint32_t, 32, 19, 9, 1, row, 12, 0xffffffff, 7, mask_b, 15, mask_c, 18, 1812433253>
      standard(with_seed);
  const auto out = values<std::uint32_t>(instance, "out");
  for (std::size_t i = 0; i < numbers; ++i) ASSERT_EQ(out[i * generators + 1], standard()) << i;
}

TEST(MersenneTwister, IsTheOneOfTheStandardLibrary) {
  expect_standard_twister<0xb9deb9f9, 0x55edfe80, 0xf7d00000>(1);
  expect_standard_twister<0xfe1e5aa6, 0xd777fb80, 0xff788000>(4711);
  expect_standard_twister<0x80000000, 0, 0>(0xffffffff);
}

TEST(MersenneTwister, HasGeneratorsThatDoNotKnowOfEachOther) {
  Instance expected = tiny("mersenne_twister");
  Instance actual = expected;
  find("mersenne_twister").reference(expected);
  for (std::size_t p : {0u, 1u, 2u, 3u}) values<std::uint32_t>(actual, "parameter")[4 * 7 + p] ^= 0x00100000;
  find("mersenne_twister").reference(actual);
  const auto want = values<std::uint32_t>(expected, "out"), got = values<std::uint32_t>(actual, "out");
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(want[i] == got[i], i % 301 != 7) << i;
}

TEST(ScanLargeArrays, AgreesWithSumsComputedByHand) {
  Instance instance = tiny("scan_large_arrays");
  std::vector<float> in(1'027, 1), expected(1'027);
  in[1'024] = 0.5f, in[1'025] = 4, in[1'026] = 2;  // the next block
  std::iota(expected.begin(), expected.begin() + 1'024, 0.0f);
  expected[1'024] = 0, expected[1'025] = 0.5f, expected[1'026] = 4.5f;
  set(instance, "in", in);
  set(instance, "out", std::vector<float>(1'027));
  set(instance, "totals", std::vector<float>(2));
  find("scan_large_arrays").reference(instance);
  EXPECT_EQ(values_of<float>(instance, "out"), expected);
  EXPECT_EQ(values_of<float>(instance, "totals"), (std::vector<float>{1'024, 6.5f}));
}

TEST(ScanLargeArrays, HasTheTotalsOfReduceAndGrowsByEachElement) {
  Instance instance = tiny("scan_large_arrays"), sums = tiny("reduce");
  argument(sums, "in").bytes = argument(instance, "in").bytes;
  find("scan_large_arrays").reference(instance);
  find("reduce").reference(sums);
  EXPECT_EQ(values_of<float>(instance, "totals"), values_of<float>(sums, "partial"));
  const auto in = floats(instance, "in"), out = floats(instance, "out"), totals = floats(instance, "totals");
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool last = i % 1'024 == 1'023 || i + 1 == in.size();
    ASSERT_NEAR(double{last ? totals[i / 1'024] : out[i + 1]} - out[i], in[i], 1e-3) << i;
    if (i % 1'024 == 0) {
      ASSERT_EQ(out[i], 0) << i;
    }
  }
}

TEST(ScanLargeArrays, ShowsEveryMissingTerm) {
  Instance instance = tiny("scan_large_arrays");
  // The least of all in the longest sum, against the tolerance and what rounding may add to it.
  EXPECT_GT(*std::ranges::min_element(floats(instance, "in")), 2 * instance.tolerance.relative * 1'024 * 1.1);
}

// 0 -> 1, 2; 1 -> 3; 2 -> 3, 4; 4 -> 5; 6 -> 2. Those that were found last are 1 and 2.
TEST(Bfs, AgreesWithAStepDoneByHand) {
  Instance instance = tiny("bfs");
  set<std::int32_t>(instance, "row_start", {0, 0, 1, 3, 5, 6, 7, 7});
  set<std::int32_t>(instance, "column", {0, 0, 6, 1, 2, 2, 4});
  set<std::int32_t>(instance, "level_in", {0, 1, 1, -1, -1, -1, -1});
  set<std::int32_t>(instance, "level_out", std::vector<std::int32_t>(7, 9));
  set<std::int32_t>(instance, "depth", {1});
  set<std::int32_t>(instance, "n", {7});
  find("bfs").reference(instance);
  EXPECT_EQ(values_of<std::int32_t>(instance, "level_out"), (std::vector<std::int32_t>{0, 1, 1, 2, 2, -1, -1}));
}

// The other way round: who was found last tells all to whom an edge leads.
TEST(Bfs, FindsWhatPushingFinds) {
  Instance instance = tiny("bfs");
  find("bfs").reference(instance);
  const auto row_start = values<std::int32_t>(instance, "row_start"), column = values<std::int32_t>(instance, "column");
  const std::int32_t depth = values<std::int32_t>(instance, "depth")[0];
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;  // from, to
  for (std::size_t v = 0; v + 1 < row_start.size(); ++v) {
    for (std::int32_t i = row_start[v]; i < row_start[v + 1]; ++i)
      edges.emplace_back(column[i], static_cast<std::int32_t>(v));
  }
  std::ranges::sort(edges);
  std::vector<std::int32_t> expected = values_of<std::int32_t>(instance, "level_in");
  for (const auto& [from, to] : edges) {
    if (values<std::int32_t>(instance, "level_in")[from] == depth && expected[to] < 0) expected[to] = depth + 1;
  }
  EXPECT_EQ(values_of<std::int32_t>(instance, "level_out"), expected);
}

TEST(Bfs, IsTheStepOfASearchThatFindsTheMost) {
  for (Size size : {Size::tiny, Size::normal}) {
    Instance instance = make(find("bfs"), size, "power_law", seed);
    const auto given = values_of<std::int32_t>(instance, "level_in");
    const std::int32_t given_depth = values<std::int32_t>(instance, "depth")[0];
    ASSERT_EQ(std::ranges::count(given, 0), 1);
    for (std::int32_t& level : values<std::int32_t>(instance, "level_in")) level = level == 0 ? 0 : -1;
    std::vector<std::ptrdiff_t> found;
    do {  // the whole search, from its first vertex on
      const auto depth = static_cast<std::int32_t>(found.size());
      if (depth == given_depth) {
        EXPECT_EQ(values_of<std::int32_t>(instance, "level_in"), given);
      }
      values<std::int32_t>(instance, "depth")[0] = depth;
      find("bfs").reference(instance);
      found.push_back(std::ranges::count(values<std::int32_t>(instance, "level_out"), depth + 1));
      argument(instance, "level_in").bytes = argument(instance, "level_out").bytes;
    } while (found.back() > 0);
    ASSERT_LT(static_cast<std::size_t>(given_depth), found.size());
    EXPECT_EQ(found[given_depth], *std::ranges::max_element(found));
    EXPECT_GT(found[given_depth], static_cast<std::ptrdiff_t>(given.size()) / 4);
  }
}

}  // namespace
}  // namespace heddle::workloads

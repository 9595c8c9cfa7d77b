// The references of histogram to histogram_atomic, each against a property that does not come from its code, and
// against values computed by hand where properties are blind.
#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {
namespace {

constexpr std::uint64_t seed = 7;

Argument& argument(Instance& instance, std::string_view name) {
  for (Argument& a : instance.arguments) {
    if (a.name == name) return a;
  }
  throw core::InternalError("no argument " + std::string(name));
}

std::span<std::uint32_t> unsigneds(Instance& instance, std::string_view name) {
  return argument(instance, name).as<std::uint32_t>();
}

Instance tiny(std::string_view name) {
  const Workload& w = find(name);
  return make(w, Size::tiny, w.inputs.front(), seed);
}

// Replaces an array, whatever its size was.
template <class T>
void set(Instance& instance, const std::string& name, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  argument(instance, name).bytes.assign(bytes.begin(), bytes.end());
}

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
  const auto in = unsigneds(instance, "in"), counts = unsigneds(instance, "counts");
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
  const auto counts = unsigneds(rows, "counts");
  for (std::size_t i = 0; i < counts.size(); ++i) expected[i % 256] += counts[i];
  EXPECT_EQ(values_of<std::uint32_t>(all, "counts"), expected);
}

}  // namespace
}  // namespace heddle::workloads

// Holds every workload to what its description promises, and each reference to a property that does not come from it.
#include "workloads/workload.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::workloads {
namespace {

constexpr std::uint64_t seed = 7;

bool is_written(const Argument& a) { return a.access != core::Access::read; }

std::size_t width_of(Element element) { return element == Element::u8 ? 1 : 4; }

bool same_arguments(const Instance& a, const Instance& b) {
  return std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    [](const Argument& x, const Argument& y) { return x.bytes == y.bytes; });
}

Argument& argument(Instance& instance, const std::string& name) {
  for (Argument& a : instance.arguments) {
    if (a.name == name) return a;
  }
  throw core::InternalError("no argument " + name);
}

std::span<float> floats(Instance& instance, const std::string& name) { return argument(instance, name).as<float>(); }

std::int32_t integer(Instance& instance, const std::string& name) {
  return argument(instance, name).as<std::int32_t>()[0];
}

// A tiny instance of the workload's usual input, or of the one named.
Instance tiny(const std::string& name, const std::string& input = "") {
  const Workload& w = find(name);
  return w.make(Size::tiny, input.empty() ? w.inputs.front() : input, seed);
}

struct Case {
  const Workload* workload;
  std::string input;
};

class EveryWorkload : public testing::TestWithParam<Case> {
 protected:
  const Workload& workload() const { return *GetParam().workload; }
  Instance make(std::uint64_t with_seed = seed) const {
    return workload().make(Size::tiny, GetParam().input, with_seed);
  }
  Instance solved() const {
    Instance out = make();
    workload().reference(out);
    return out;
  }
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Workload* w : all()) {
    for (const std::string& input : w->inputs) out.push_back({w, input});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, EveryWorkload, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.workload->name + "_" + one.param.input; });

TEST_P(EveryWorkload, IsTheSameForOneSeedAndAnotherForAnother) {
  EXPECT_TRUE(same_arguments(make(1), make(1)));
  EXPECT_FALSE(same_arguments(make(1), make(2)));
}

TEST_P(EveryWorkload, HasConsistentArguments) {
  const Instance instance = make();
  EXPECT_GT(instance.space.volume(), 0);
  EXPECT_EQ(instance.space.begin, (core::Index{0, 0, 0}));
  double bytes = 0;
  bool writes = false;
  for (const Argument& a : instance.arguments) {
    EXPECT_FALSE(a.name.empty());
    EXPECT_EQ(a.bytes.size() % width_of(a.element), 0u) << a.name;
    EXPECT_GE(a.bytes.size(), width_of(a.element)) << a.name;
    if (a.scalar) {
      EXPECT_EQ(a.bytes.size(), width_of(a.element)) << a.name;
      EXPECT_FALSE(is_written(a)) << a.name;
      continue;
    }
    writes = writes || is_written(a);
    bytes += static_cast<double>(a.bytes.size()) * (a.access == core::Access::read_write ? 2 : 1);
  }
  EXPECT_TRUE(writes);
  // Every workload here touches each array once; the floor counts nothing that is not there (8: rounded terms).
  EXPECT_NEAR(instance.bytes, bytes, 8);
  EXPECT_GE(instance.operations, 0);
}

TEST_P(EveryWorkload, HasVariantsThatADeviceCanRun) {
  ASSERT_FALSE(workload().variants.empty());
  EXPECT_TRUE(workload().variants.front().footprint.guarded) << "the base fills what others leave";
  std::vector<std::string> names;
  for (const core::Variant& v : workload().variants) {
    names.push_back(v.name);
    EXPECT_NE(v.source.find("kernel void " + v.entry + "("), std::string::npos) << v.name;
    for (int d = 0; d < 3; ++d) {
      EXPECT_GE(v.group[d], 1) << v.name;
      EXPECT_GE(v.footprint.points[d], 1) << v.name;
    }
    EXPECT_LE(v.group[0] * v.group[1] * v.group[2], 256) << v.name;
    // A kernel that asks for its group or for sizes is another one under a global offset.
    for (const char* asked : {"get_group_id", "get_num_groups", "get_global_size"}) {
      if (v.cut == core::Cut::by_offset) {
        EXPECT_EQ(v.source.find(asked), std::string::npos) << v.name << " " << asked;
      }
    }
    // Tiny sizes leave room for every variant.
    EXPECT_FALSE(core::align(make().space, v.footprint, make().space).empty()) << v.name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_P(EveryWorkload, CanRunItsBaseOnTheWholeSpace) {
  const Instance instance = make();
  const core::Variant& base = workload().variants.front();
  const core::NdRange range = core::nd_range(base, instance.space, instance.space);
  for (int d = 0; d < 3; ++d) {
    EXPECT_EQ(range.offset[d], 0);
    EXPECT_EQ(range.local[d], base.group[d]);
    EXPECT_GE(range.global[d] / base.group[d] * base.footprint.points[d], instance.space.extent(d));
  }
}

TEST_P(EveryWorkload, AcceptsItsReference) {
  const Instance expected = solved();
  EXPECT_EQ(compare(workload(), expected, expected), std::nullopt);
}

TEST_P(EveryWorkload, IsNotSolvedBeforeItRan) {
  Instance untouched = make();
  poison(untouched);
  EXPECT_NE(compare(workload(), solved(), untouched), std::nullopt);
}

TEST_P(EveryWorkload, IsWrittenCompletelyByItsReference) {
  Instance poisoned = make();
  poison(poisoned);
  workload().reference(poisoned);
  EXPECT_TRUE(same_arguments(solved(), poisoned));
}

TEST_P(EveryWorkload, RejectsOneWrongElement) {
  const Instance expected = solved();
  for (std::size_t k = 0; k < expected.arguments.size(); ++k) {
    if (!is_written(expected.arguments[k])) continue;
    Instance actual = expected;
    ASSERT_EQ(actual.arguments[k].element, Element::f32);
    float& last = actual.arguments[k].as<float>().back();
    const float allowed =
        static_cast<float>(workload().tolerance.absolute + workload().tolerance.relative * std::abs(last));
    last = std::nextafter(last + 2 * allowed, INFINITY);
    const auto wrong = compare(workload(), expected, actual);
    ASSERT_TRUE(wrong.has_value()) << expected.arguments[k].name;
    EXPECT_NE(wrong->find(expected.arguments[k].name), std::string::npos) << *wrong;
  }
}

TEST_P(EveryWorkload, RejectsPoison) {
  const Instance expected = solved();
  for (std::size_t k = 0; k < expected.arguments.size(); ++k) {
    if (expected.arguments[k].access != core::Access::write) continue;
    Instance poisoned = expected, actual = expected;
    poison(poisoned);
    actual.arguments[k] = poisoned.arguments[k];
    EXPECT_NE(compare(workload(), expected, actual), std::nullopt) << expected.arguments[k].name;
  }
}

TEST_P(EveryWorkload, RejectsAChangedInput) {
  const Instance expected = solved();
  for (std::size_t k = 0; k < expected.arguments.size(); ++k) {
    const Argument& a = expected.arguments[k];
    if (a.scalar || is_written(a)) continue;
    Instance actual = expected;
    actual.arguments[k].bytes.back() ^= std::byte{1};
    EXPECT_NE(compare(workload(), expected, actual), std::nullopt) << a.name;
  }
}

TEST(Workloads, AreFoundByName) {
  for (const Workload* w : all()) EXPECT_EQ(&find(w->name), w);
  try {
    find("no_such_workload");
    FAIL() << "UsageError expected";
  } catch (const core::UsageError& e) {
    for (const Workload* w : all()) EXPECT_NE(std::string(e.what()).find(w->name), std::string::npos) << w->name;
  }
}

TEST(Workloads, RefuseAnInputThatTheyDoNotHave) {
  EXPECT_THROW(find("spmv_csr").make(Size::tiny, "no_such_input", seed), core::UsageError);
}

TEST(Workloads, ParseSizesAsTheyArePrinted) {
  for (Size size : {Size::tiny, Size::normal, Size::large}) EXPECT_EQ(parse_size(to_string(size)), size);
  EXPECT_THROW(parse_size("huge"), core::UsageError);
}

// References, each against a property that does not come from its code.

TEST(VectorAdd, OfAVectorAndItsNegativeIsZero) {
  Instance instance = tiny("vector_add");
  const auto a = floats(instance, "a"), b = floats(instance, "b");
  for (std::size_t i = 0; i < a.size(); ++i) b[i] = -a[i];
  find("vector_add").reference(instance);
  for (float c : floats(instance, "c")) ASSERT_EQ(c, 0);
}

TEST(Saxpy, UndoesItself) {
  Instance instance = tiny("saxpy");
  const auto y = floats(instance, "y");
  const std::vector<float> before(y.begin(), y.end());
  find("saxpy").reference(instance);
  EXPECT_NE(before[0], y[0]);
  floats(instance, "a")[0] *= -1;
  find("saxpy").reference(instance);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], before[i], 1e-6);
}

TEST(BlackScholes, KeepsPutCallParity) {
  Instance instance = tiny("black_scholes");
  find("black_scholes").reference(instance);
  const auto price = floats(instance, "price"), strike = floats(instance, "strike"), years = floats(instance, "years");
  const auto call = floats(instance, "call"), put = floats(instance, "put");
  const double rate = floats(instance, "rate")[0];
  for (std::size_t i = 0; i < call.size(); ++i) {
    ASSERT_NEAR(call[i] - put[i], price[i] - strike[i] * std::exp(-rate * years[i]), 2e-5);
    ASSERT_GE(call[i], -1e-5);
    ASSERT_LE(call[i], price[i]);
  }
}

TEST(BlackScholes, AgreesWithATextbook) {  // Hull, "Options, Futures, and Other Derivatives": 4.76 and 0.81
  Instance instance = tiny("black_scholes");
  floats(instance, "price")[0] = 42;
  floats(instance, "strike")[0] = 40;
  floats(instance, "years")[0] = 0.5f;
  floats(instance, "rate")[0] = 0.1f;
  floats(instance, "volatility")[0] = 0.2f;
  find("black_scholes").reference(instance);
  EXPECT_NEAR(floats(instance, "call")[0], 4.76, 0.005);
  EXPECT_NEAR(floats(instance, "put")[0], 0.81, 0.005);
}

TEST(Reduce, KeepsTheTotal) {
  Instance instance = tiny("reduce");
  find("reduce").reference(instance);
  double total = 0, of_partials = 0;
  for (float v : floats(instance, "in")) total += v;
  for (float v : floats(instance, "partial")) of_partials += v;
  EXPECT_NEAR(of_partials, total, 1e-6 * total);
}

TEST(Transpose, TwiceIsTheOriginal) {
  Instance instance = tiny("transpose");
  find("transpose").reference(instance);
  Instance back = instance;
  back.arguments[0].bytes = argument(instance, "out").bytes;
  std::swap(argument(back, "rows").bytes, argument(back, "columns").bytes);
  find("transpose").reference(back);
  EXPECT_NE(argument(instance, "in").bytes, argument(instance, "out").bytes);
  EXPECT_EQ(argument(instance, "in").bytes, argument(back, "out").bytes);
}

TEST(Sgemm, ByTheIdentityIsTheOtherMatrix) {
  Instance instance = tiny("sgemm");
  const int m = integer(instance, "m"), n = integer(instance, "n"), k = integer(instance, "k");
  const auto a = floats(instance, "a"), b = floats(instance, "b"), c = floats(instance, "c");
  for (int row = 0; row < m; ++row) {
    for (int i = 0; i < k; ++i) a[row * k + i] = row == i ? 1.0f : 0.0f;
  }
  find("sgemm").reference(instance);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      ASSERT_EQ(c[row * n + column], row < k ? b[row * n + column] : 0) << row << " " << column;
    }
  }
}

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

TEST(Stencil, OfAConstantFieldIsConstantInside) {
  Instance instance = tiny("stencil");
  std::ranges::fill(floats(instance, "in"), 2.0f);
  floats(instance, "centre")[0] = 0.5f;
  floats(instance, "around")[0] = 0.25f;
  find("stencil").reference(instance);
  const int nx = integer(instance, "nx"), ny = integer(instance, "ny"), nz = integer(instance, "nz");
  const auto out = floats(instance, "out");
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        const bool surface = x == 0 || x == nx - 1 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1;
        ASSERT_EQ(out[x + nx * (y + ny * z)], surface ? 2.0f : 4.0f) << x << " " << y << " " << z;
      }
    }
  }
}

TEST(Stencil, SpreadsOnePointToItsNeighbours) {
  Instance instance = tiny("stencil");
  const int nx = integer(instance, "nx"), ny = integer(instance, "ny");
  const auto in = floats(instance, "in"), out = floats(instance, "out");
  std::ranges::fill(in, 0.0f);
  const int at = 5 + nx * (6 + ny * 7);
  in[at] = 1;
  find("stencil").reference(instance);
  EXPECT_EQ(out[at], floats(instance, "centre")[0]);
  for (int step : {1, nx, nx * ny}) {
    EXPECT_EQ(out[at - step], floats(instance, "around")[0]);
    EXPECT_EQ(out[at + step], floats(instance, "around")[0]);
  }
  EXPECT_EQ(std::ranges::count_if(out, [](float v) { return v != 0; }), 7);
}

TEST(Sobel, SeesSlopesAndNothingElse) {
  Instance instance = tiny("sobel");
  const int width = integer(instance, "width"), height = integer(instance, "height");
  const auto in = floats(instance, "in"), out = floats(instance, "out");
  for (int dx : {0, 3}) {
    for (int dy : {0, 4}) {
      for (int i = 0; i < width * height; ++i) in[i] = static_cast<float>(dx * (i % width) + dy * (i / width));
      find("sobel").reference(instance);
      // Each filter weighs a difference over two pixels four times.
      const float expected = static_cast<float>(8 * std::hypot(dx, dy));
      for (int i = 0; i < width * height; ++i) {
        const int x = i % width, y = i / width;
        const bool border = x == 0 || x == width - 1 || y == 0 || y == height - 1;
        ASSERT_EQ(out[i], border ? 0 : expected) << x << " " << y;
      }
    }
  }
}

TEST(Nbody, KeepsMomentum) {
  Instance instance = tiny("nbody");
  find("nbody").reference(instance);
  const auto body = floats(instance, "body"), before = floats(instance, "velocity"),
             after = floats(instance, "new_velocity");
  for (int k = 0; k < 3; ++k) {
    double gained = 0, exchanged = 0;
    for (std::size_t i = 0; i < body.size(); i += 4) {
      const double change = double{body[i + 3]} * (double{after[i + k]} - before[i + k]);
      gained += change;
      exchanged += std::abs(change);
    }
    EXPECT_GT(exchanged, 1e-3);
    EXPECT_NEAR(gained, 0, 1e-6 * exchanged);
  }
}

TEST(Nbody, MovesEveryBodyByItsNewVelocity) {
  Instance instance = tiny("nbody");
  find("nbody").reference(instance);
  const auto body = floats(instance, "body"), moved = floats(instance, "new_body"),
             velocity = floats(instance, "new_velocity");
  const float step = floats(instance, "step")[0];
  for (std::size_t i = 0; i < body.size(); ++i) {
    ASSERT_NEAR(moved[i], i % 4 == 3 ? body[i] : body[i] + step * velocity[i], 1e-6) << i;
  }
}

}  // namespace
}  // namespace heddle::workloads

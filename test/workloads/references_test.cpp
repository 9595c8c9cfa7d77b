// References, each against a property that does not come from its code, and against values computed by hand where
// properties are blind.
#include <algorithm>
#include <cmath>
#include <utility>

#include "test/workloads/tiny.hpp"

namespace heddle::workloads {
namespace {

TEST(VectorAdd, AgreesWithAValueComputedByHand) {
  Instance instance = tiny("vector_add");
  set<float>(instance, "a", {1.5f, -8});
  set<float>(instance, "b", {2.25f, 0.5f});
  set<float>(instance, "c", {0, 0});
  find("vector_add").reference(instance);
  expect_values(instance, "c", {3.75f, -7.5f});
}

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

TEST(Saxpy, AgreesWithAValueComputedByHand) {
  Instance instance = tiny("saxpy");
  floats(instance, "a")[0] = 2;
  set<float>(instance, "x", {3, -1});
  set<float>(instance, "y", {4, 0.5f});
  find("saxpy").reference(instance);
  expect_values(instance, "y", {10, -1.5f});
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

TEST(BlackScholes, AgreesWithTheErrorFunctionBelowTheStrike) {  // the other branch of the distribution
  Instance instance = tiny("black_scholes");
  floats(instance, "price")[0] = 30;
  floats(instance, "strike")[0] = 40;
  floats(instance, "years")[0] = 0.5f;
  floats(instance, "rate")[0] = 0.1f;
  floats(instance, "volatility")[0] = 0.2f;
  find("black_scholes").reference(instance);
  // By erfc(-d / sqrt(2)) / 2 instead of the polynomial; d1 = -1.60996, d2 = -1.75138.
  EXPECT_NEAR(floats(instance, "call")[0], 0.0914101, 1e-5);
  EXPECT_NEAR(floats(instance, "put")[0], 8.1405871, 1e-5);
}

TEST(Reduce, SumsBlocksInOrder) {
  Instance instance = tiny("reduce");
  const auto in = floats(instance, "in");
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i / 1024);
  find("reduce").reference(instance);
  // Nine whole blocks, and 10,007 - 9 x 1,024 = 791 elements in the last one.
  expect_values(instance, "partial", {0, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192, 791 * 9});
  EXPECT_EQ(floats(instance, "partial").size(), 10u);
}

TEST(Reduce, KeepsTheTotal) {
  Instance instance = tiny("reduce");
  find("reduce").reference(instance);
  double total = 0, of_partials = 0;
  for (float v : floats(instance, "in")) total += v;
  for (float v : floats(instance, "partial")) of_partials += v;
  EXPECT_NEAR(of_partials, total, 1e-6 * total);
}

TEST(Transpose, AgreesWithAMatrixTransposedByHand) {
  Instance instance = tiny("transpose");
  set<std::int32_t>(instance, "rows", {2});
  set<std::int32_t>(instance, "columns", {3});
  set<float>(instance, "in", {1, 2, 3, 4, 5, 6});
  find("transpose").reference(instance);
  expect_values(instance, "out", {1, 4, 2, 5, 3, 6});
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

TEST(Sgemm, AgreesWithAProductComputedByHand) {
  Instance instance = tiny("sgemm");
  set<std::int32_t>(instance, "m", {2});
  set<std::int32_t>(instance, "n", {2});
  set<std::int32_t>(instance, "k", {3});
  set<float>(instance, "a", {1, 2, 3, 4, 5, 6});
  set<float>(instance, "b", {7, 8, 9, 10, 11, 12});
  find("sgemm").reference(instance);
  expect_values(instance, "c", {58, 64, 139, 154});
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

TEST(Sobel, SpreadsOnePixelByItsWeights) {
  Instance instance = tiny("sobel");
  const int width = integer(instance, "width");
  const auto in = floats(instance, "in"), out = floats(instance, "out");
  std::ranges::fill(in, 0.0f);
  const int at = 5 + width * 6;
  in[at] = 3;
  find("sobel").reference(instance);
  EXPECT_EQ(out[at], 0);
  for (int step : {1, width}) {
    EXPECT_EQ(out[at - step], 6);  // weight 2 in one filter, 0 in the other
    EXPECT_EQ(out[at + step], 6);
  }
  for (int step : {width - 1, width + 1}) {
    EXPECT_EQ(out[at - step], std::sqrt(18.0f));  // weight 1 in both
    EXPECT_EQ(out[at + step], std::sqrt(18.0f));
  }
  EXPECT_EQ(std::ranges::count_if(out, [](float v) { return v != 0; }), 8);
}

// (2, 2, 1) apart: a square of 9, with 7 of softening 16, whose root's third power is 64.
TEST(Nbody, AgreesWithTwoBodiesComputedByHand) {
  Instance instance = tiny("nbody");
  set<float>(instance, "body", {0, 0, 0, 16, 2, 2, 1, 32});
  set<float>(instance, "velocity", {1, 0, 0, 0, 0, 0, -1, 0});
  set<float>(instance, "new_body", std::vector<float>(8));
  set<float>(instance, "new_velocity", std::vector<float>(8));
  floats(instance, "step")[0] = 0.5f;
  floats(instance, "softening")[0] = 7;
  find("nbody").reference(instance);
  // The first is drawn to the second by 32 / 64 of the distance, the second back by 16 / 64.
  expect_values(instance, "new_velocity", {1.5f, 0.5f, 0.25f, 0, -0.25f, -0.25f, -1.125f, 0});
  expect_values(instance, "new_body", {0.75f, 0.25f, 0.125f, 16, 1.875f, 1.875f, 0.4375f, 32});
}

TEST(Nbody, ShowsOneBodyOf8192LeftOutOfNearlyEverySum) {
  const Workload& w = find("nbody");
  const std::size_t left_out = 4 * 4000 + 3;
  Instance expected = make(w, Size::normal, w.inputs.front(), seed);
  Instance actual = expected;
  w.reference(expected);
  floats(actual, "body")[left_out] = 0;  // a body without mass pulls as one that is not there
  w.reference(actual);
  const auto want = floats(expected, "new_velocity"), got = floats(actual, "new_velocity");
  std::size_t shown = 0;
  for (std::size_t i = 0; i < want.size(); i += 4) {
    bool right = true;
    for (std::size_t k = i; k < i + 3; ++k) {
      right = right && std::abs(double{got[k]} - want[k]) <=
                           expected.tolerance.absolute + expected.tolerance.relative * std::abs(want[k]);
    }
    shown += right ? 0 : 1;
  }
  EXPECT_GE(shown, want.size() / 4 * 99 / 100);
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

// Atoms 3 and 5 away, of a cut-off of 5; another one that is 4 away along y.
TEST(Cutcp, AgreesWithAPotentialComputedByHand) {
  Instance instance = tiny("cutcp");
  const int nx = integer(instance, "nx"), ny = integer(instance, "ny");
  set<std::int32_t>(instance, "cutoff", {5});
  set<float>(instance, "atom", {7, 10, 10, 2, 15, 10, 10, 1, 10, 14, 10, 3});
  find("cutcp").reference(instance);
  const double expected = 2 / 3.0 * std::pow(1 - 9 / 25.0, 2) + 3 / 4.0 * std::pow(1 - 16 / 25.0, 2);
  EXPECT_FLOAT_EQ(floats(instance, "potential")[10 + nx * (10 + ny * 10)], static_cast<float>(expected));
}

TEST(Cutcp, IsZeroOutOfReachAndTheSameAllAroundAnAtom) {
  Instance instance = tiny("cutcp");
  const int nx = integer(instance, "nx"), ny = integer(instance, "ny"), nz = integer(instance, "nz");
  const int cutoff = integer(instance, "cutoff");
  set<float>(instance, "atom", {18.5f, 10.5f, 9.5f, 1});
  find("cutcp").reference(instance);
  const auto potential = floats(instance, "potential");
  auto at = [&](int x, int y, int z) { return potential[x + nx * (y + ny * z)]; };
  int reached = 0;
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        const double distance = std::hypot(x - 18.5, y - 10.5, z - 9.5);
        ASSERT_EQ(at(x, y, z) > 0, distance < cutoff) << x << " " << y << " " << z;
        reached += distance < cutoff;
        ASSERT_EQ(at(x, y, z), at(37 - x < nx ? 37 - x : x, 21 - y < ny ? 21 - y : y, 19 - z < nz ? 19 - z : z));
      }
    }
  }
  EXPECT_GT(reached, 5000);
  EXPECT_LT(reached, nx * ny * nz);
}

TEST(Cutcp, KeepsEveryAtomInItsBin) {
  Instance instance = tiny("cutcp");
  const auto start = argument(instance, "bin_start").as<std::int32_t>();
  const auto atom = floats(instance, "atom");
  const int bin = integer(instance, "bin");
  const int bins_x = integer(instance, "bins_x"), bins_y = integer(instance, "bins_y");
  const int border = integer(instance, "cutoff") / bin;
  EXPECT_EQ(start.front(), 0);
  EXPECT_EQ(4 * static_cast<std::size_t>(start.back()), atom.size());
  for (std::size_t b = 0; b + 1 < start.size(); ++b) {
    for (int i = start[b]; i < start[b + 1]; ++i) {
      int place[3];
      for (int d = 0; d < 3; ++d) place[d] = border + static_cast<int>(atom[4 * i + d]) / bin;
      ASSERT_EQ(static_cast<std::size_t>(place[0] + bins_x * (place[1] + bins_y * place[2])), b);
    }
  }
}

TEST(Cutcp, ShowsAnAtomLeftOutOfNearlyEverySum) {
  Instance expected = tiny("cutcp");
  Instance actual = expected;
  find("cutcp").reference(expected);
  std::size_t reached = 0, shown = 0;
  for (std::size_t left_out = 3; left_out < floats(actual, "atom").size(); left_out += 40) {
    const float charge = std::exchange(floats(actual, "atom")[left_out], 0.0f);
    find("cutcp").reference(actual);
    floats(actual, "atom")[left_out] = charge;
    const auto want = floats(expected, "potential"), got = floats(actual, "potential");
    for (std::size_t i = 0; i < want.size(); ++i) {
      reached += got[i] != want[i];
      shown += want[i] - got[i] > expected.tolerance.absolute + expected.tolerance.relative * want[i];
    }
  }
  EXPECT_GE(shown, reached * 95 / 100);
}

TEST(Kmeans, AgreesWithPointsAssignedByHand) {
  Instance instance = tiny("kmeans");
  set<std::int32_t>(instance, "points", {4});
  set<std::int32_t>(instance, "features", {2});
  set<std::int32_t>(instance, "centres", {3});
  set<float>(instance, "feature", {0, 9, 5, 1, 0, 9, 5, 8});  // (0, 0), (9, 9), (5, 5), (1, 8)
  set<float>(instance, "centre", {10, 10, 0, 0, 0, 10});
  set<std::int32_t>(instance, "nearest", {-1, -1, -1, -1});
  find("kmeans").reference(instance);
  const auto nearest = argument(instance, "nearest").as<std::int32_t>();
  EXPECT_EQ(std::vector<int>(nearest.begin(), nearest.end()), (std::vector<int>{1, 0, 0, 2}));  // the third by order
}

TEST(Kmeans, FindsEveryCentreAtItself) {
  Instance instance = tiny("kmeans");
  const int points = integer(instance, "points"), features = integer(instance, "features"),
            centres = integer(instance, "centres");
  const auto feature = floats(instance, "feature"), centre = floats(instance, "centre");
  for (int i = 0; i < points; ++i) {
    for (int f = 0; f < features; ++f) feature[f * points + i] = centre[i % centres * features + f];
  }
  find("kmeans").reference(instance);
  const auto nearest = argument(instance, "nearest").as<std::int32_t>();
  for (int i = 0; i < points; ++i) ASSERT_EQ(nearest[i], i % centres);
}

TEST(Kmeans, IsDecidedByEveryFeatureAndEveryCentre) {
  const Workload& w = find("kmeans");
  Instance expected = tiny("kmeans");
  w.reference(expected);
  const int points = integer(expected, "points"), features = integer(expected, "features"),
            centres = integer(expected, "centres");
  for (int f = 0; f < features; ++f) {
    Instance actual = tiny("kmeans");
    std::ranges::fill(floats(actual, "feature").subspan(f * points, points), 0.0f);
    for (int c = 0; c < centres; ++c) floats(actual, "centre")[c * features + f] = 0;
    w.reference(actual);
    EXPECT_NE(argument(actual, "nearest").bytes, argument(expected, "nearest").bytes) << "without feature " << f;
  }
  const auto nearest = argument(expected, "nearest").as<std::int32_t>();
  for (int c = 0; c < centres; ++c) EXPECT_NE(std::ranges::count(nearest, c), 0) << "centre " << c;
}

TEST(ParticleFilter, AgreesWithPlacesFoundByHand) {
  Instance instance = tiny("particle_filter");
  set<float>(instance, "cumulative", {0.25f, 0.25f, 0.75f, 0.875f});
  set<float>(instance, "draw", {0.25f, 0.5f, 0.75f, 1});  // the last one beyond all
  set<float>(instance, "x", {1, 2, 3, 4});
  set<float>(instance, "y", {5, 6, 7, 8});
  for (const char* name : {"new_x", "new_y"}) set<float>(instance, name, std::vector<float>(4));
  find("particle_filter").reference(instance);
  expect_values(instance, "new_x", {1, 3, 3, 4});
  expect_values(instance, "new_y", {5, 7, 7, 8});
}

TEST(ParticleFilter, KeepsParticlesOfEqualWeight) {
  Instance instance = tiny("particle_filter");
  const int n = integer(instance, "n");
  for (int i = 0; i < n; ++i) {
    floats(instance, "cumulative")[i] = static_cast<float>(i + 1) / static_cast<float>(n);
    floats(instance, "draw")[i] = (static_cast<float>(i) + 0.5f) / static_cast<float>(n);
  }
  find("particle_filter").reference(instance);
  EXPECT_EQ(argument(instance, "new_x").bytes, argument(instance, "x").bytes);
  EXPECT_EQ(argument(instance, "new_y").bytes, argument(instance, "y").bytes);
}

TEST(ParticleFilter, HasDrawsAndWeightsThatDoNotFall) {
  for (Size size : {Size::tiny, Size::normal}) {
    Instance instance = make(find("particle_filter"), size, "random", seed);
    for (const char* name : {"cumulative", "draw"}) {
      EXPECT_TRUE(std::ranges::is_sorted(floats(instance, name))) << name;
      EXPECT_LE(floats(instance, name).back(), 1) << name;
    }
  }
}

}  // namespace
}  // namespace heddle::workloads

// Variants that prepare their own inputs: sparse rows as they are against jagged diagonals.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "core/log.hpp"
#include "heddle/heddle.hpp"

namespace heddle {
namespace {

const char* const csr = R"(
kernel void spmv(global const float* values, global const int* columns, global const int* starts,
                 global const float* x, global float* y, int rows) {
  int row = get_global_id(0);
  if (row < rows) {
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
  }
}
)";
// Rows sorted, the longest first; diagonal d holds the d-th element of each row that has one.
const char* const jds = R"(
kernel void jds(global const int* order, global const int* lengths, global const int* diagonals,
                global const int* columns, global const float* values, global const float* x, global float* y,
                int rows) {
  int at = get_global_id(0);
  if (at < rows) {
    float sum = 0;
    for (int d = 0; d < lengths[at]; ++d) sum += values[diagonals[d] + at] * x[columns[diagonals[d] + at]];
    y[order[at]] = sum;
  }
}
)";
// Rows of equal length, padded, as they come: element d of all rows side by side.
const char* const ell = R"(
kernel void ell(global const int* columns, global const float* values, int width, global const float* x,
                global float* y, int rows) {
  int row = get_global_id(0);
  if (row < rows) {
    float sum = 0;
    for (int d = 0; d < width; ++d) sum += values[d * rows + row] * x[columns[d * rows + row]];
    y[row] = sum;
  }
}
)";

Prepared to_diagonals(const Inputs& in) {
  const auto values = in.array<float>(0);
  const auto columns = in.array<int>(1), starts = in.array<int>(2);
  const auto rows = static_cast<std::size_t>(in.value<int>(5));
  std::vector<int> order(rows), lengths, diagonals, own_columns;
  std::vector<float> own_values;
  const auto length = [&](int row) {
    return starts[static_cast<std::size_t>(row) + 1] - starts[static_cast<std::size_t>(row)];
  };
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return length(a) > length(b); });
  for (int row : order) lengths.push_back(length(row));
  for (int d = 0; d < lengths[0]; ++d) {
    diagonals.push_back(static_cast<int>(own_values.size()));
    for (std::size_t at = 0; at < rows && lengths[at] > d; ++at) {
      const auto i = static_cast<std::size_t>(starts[static_cast<std::size_t>(order[at])] + d);
      own_columns.push_back(columns[i]), own_values.push_back(values[i]);
    }
  }
  return prepared(std::move(order), std::move(lengths), std::move(diagonals), std::move(own_columns),
                  std::move(own_values), given(3), given(4), given(5));
}

Prepared to_padded(const Inputs& in) {
  const auto values = in.array<float>(0);
  const auto columns = in.array<int>(1), starts = in.array<int>(2);
  const auto rows = static_cast<std::size_t>(in.points[0]);
  int width = 0;
  for (std::size_t r = 0; r < rows; ++r) width = std::max(width, starts[r + 1] - starts[r]);
  std::vector<int> own_columns(rows * static_cast<std::size_t>(width));
  std::vector<float> own_values(own_columns.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (int i = starts[r]; i < starts[r + 1]; ++i) {
      const std::size_t to = static_cast<std::size_t>(i - starts[r]) * rows + r;
      own_columns[to] = columns[static_cast<std::size_t>(i)], own_values[to] = values[static_cast<std::size_t>(i)];
    }
  }
  return prepared(std::span(own_columns), own_values, width, given(3), given(4), given(5));
}

const Covers by_row{.points = {64}, .group = {64}, .guarded = true};
using When = Selection::When;

struct Warnings {
  Warnings()
      : before(core::set_log_sink([this](core::LogLevel, std::string_view text) { all += std::string(text) + "\n"; })) {
  }
  ~Warnings() { core::set_log_sink(before); }
  std::string all;
  core::LogSink before;
};

class PreparedVariants : public testing::Test {
 protected:
  Runtime rt{Options{.devices = "cpu"}};
  std::atomic<int> calls = 0;

  // Small whole numbers: sums are exact in any order.
  struct Matrix {
    int rows;
    Buffer<float> values;
    Buffer<int> columns, starts;
    Buffer<float> x, y;
  };
  Matrix random_matrix(int rows, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<int> starts = {0}, columns;
    std::vector<float> values, x;
    for (int r = 0; r < rows; ++r) {
      for (unsigned i = random() % (random() % 16 == 0 ? 60 : 9); i > 0; --i) {
        columns.push_back(static_cast<int>(random() % static_cast<unsigned>(rows)));
        values.push_back(static_cast<float>(random() % 9) - 4);
      }
      starts.push_back(static_cast<int>(columns.size()));
      x.push_back(static_cast<float>(random() % 17) - 8);
    }
    const auto n = static_cast<std::size_t>(rows);
    Matrix out{rows,
               rt.buffer<float>(values.size()),
               rt.buffer<int>(columns.size()),
               rt.buffer<int>(n + 1),
               rt.buffer<float>(n),
               rt.buffer<float>(n)};
    out.values.write(values), out.columns.write(columns), out.starts.write(starts), out.x.write(x);
    return out;
  }

  Covers counted(std::function<Prepared(const Inputs&)> prepare, const std::string& entry) {
    Covers out = by_row;
    out.entry = entry;
    out.prepare = [this, prepare = std::move(prepare)](const Inputs& in) {
      ++calls;
      return prepare(in);
    };
    return out;
  }
  Kernel spmv() {
    return rt.kernel("spmv").variant("csr", csr, by_row).variant("jds", jds, counted(to_diagonals, "jds"));
  }

  Launch launch(const Kernel& kernel, Matrix& m, const Selection& how = {}) {
    return rt.launch(kernel, grid(m.rows).select(how), m.values, m.columns, m.starts, m.x, m.y, m.rows);
  }
  void expect_product(const Matrix& m) {
    const auto values = m.values.read(), x = m.x.read(), y = m.y.read();
    const auto columns = m.columns.read(), starts = m.starts.read();
    for (std::size_t r = 0; r < y.size(); ++r) {
      float sum = 0;
      for (auto i = static_cast<std::size_t>(starts[r]); i < static_cast<std::size_t>(starts[r + 1]); ++i)
        sum += values[i] * x[static_cast<std::size_t>(columns[i])];
      ASSERT_EQ(y[r], sum) << r;
    }
  }
  Report run(const Kernel& kernel, Matrix& m, const Selection& how = {}) {
    for (float& v : m.y.host()) v = -1;
    const Report report = launch(kernel, m, how).report();
    expect_product(m);
    return report;
  }
  static std::string told(const Report& report) {
    std::string out;
    for (const std::string& decision : report.decisions) out += decision + "\n";
    return out;
  }
};

TEST_F(PreparedVariants, EitherComputesTheSame) {
  const Kernel kernel = spmv();
  for (unsigned seed = 0; seed < 5; ++seed) {
    Matrix m = random_matrix(static_cast<int>(300 + 977 * seed), seed);
    for (const char* variant : {"csr", "jds"}) {
      const Report report = run(kernel, m, {.when = When::never, .initial = variant});
      ASSERT_EQ(report.slices.size(), 1u);
      EXPECT_EQ(report.slices[0].variant, variant);
    }
  }
  EXPECT_EQ(calls, 5);
}

TEST_F(PreparedVariants, OneIsChosenInWholeLaunches) {
  const Kernel kernel = spmv();
  Matrix m = random_matrix(20'000, 1);
  std::string all;
  bool by_jds = false;
  for (int i = 0; i < 40; ++i) {
    const Report report = run(kernel, m);
    ASSERT_EQ(report.slices.size(), 1u);
    by_jds |= report.slices[0].variant == "jds";
    all += told(report);
  }
  EXPECT_TRUE(by_jds);
  EXPECT_EQ(calls, 1);
  EXPECT_NE(all.find("is best on cpu"), std::string::npos) << all;
  EXPECT_NE(all.find("variant 'jds' prepared its inputs in"), std::string::npos) << all;
  EXPECT_NE(all.find("runs undivided: variant 'jds' prepares its inputs in an order of its own"), std::string::npos)
      << all;
}

TEST_F(PreparedVariants, PreparesAgainWhenInputsChange) {
  const Kernel kernel = spmv();
  const Selection how{.when = When::never, .initial = "jds"};
  Matrix m = random_matrix(1000, 2), other = random_matrix(1000, 3);
  for (int i = 0; i < 10; ++i) run(kernel, m, how);
  EXPECT_EQ(calls, 1);
  run(kernel, other, how);
  run(kernel, m, how);
  EXPECT_EQ(calls, 2);
  // By the program, in place and as a whole.
  for (float& v : m.values.host()) v += 1;
  run(kernel, m, how);
  run(kernel, m, how);
  EXPECT_EQ(calls, 3);
  m.values.write(std::vector<float>(m.values.size(), 2));
  run(kernel, m, how);
  EXPECT_EQ(calls, 4);
  // By another kernel, which nobody waits for.
  const Kernel twice = rt.kernel("twice", "kernel void twice(global float* a) { a[get_global_id(0)] *= 2; }");
  rt.launch(twice, grid(static_cast<std::int64_t>(m.values.size())), m.values);
  run(kernel, m, how);
  EXPECT_EQ(calls, 5);
  // x is passed on, but by default it counts as an input; x and the rest, only if it is said.
  for (float& v : m.x.host()) v += 1;
  run(kernel, m, how);
  EXPECT_EQ(calls, 6);
  for (int i = 0; i < 3; ++i) run(kernel, m, how);
  EXPECT_EQ(calls, 6);
}

TEST_F(PreparedVariants, DependsOnWhatItSays) {
  Covers covers = counted(to_diagonals, "jds");
  covers.reads = {0, 1, 2, 5};
  const Kernel kernel = rt.kernel("spmv").variant("csr", csr, by_row).variant("jds", jds, covers);
  const Selection how{.when = When::never, .initial = "jds"};
  Matrix m = random_matrix(1000, 2);
  for (int i = 0; i < 3; ++i) {
    for (float& v : m.x.host()) v += 1;
    run(kernel, m, how);
  }
  EXPECT_EQ(calls, 1);
  Warnings warnings;
  covers.reads = {0, 1, 5};  // it reads more
  const Kernel wrong = rt.kernel("spmv").variant("csr", csr, by_row).variant("jds", jds, covers);
  EXPECT_EQ(run(wrong, m, how).slices.at(0).variant, "csr");
  EXPECT_NE(warnings.all.find("argument 2 is not among those that the preparation depends on"), std::string::npos)
      << warnings.all;
  covers.reads = {17};
  const Kernel nowhere = rt.kernel("spmv").variant("csr", csr, by_row).variant("jds", jds, covers);
  EXPECT_THROW(launch(nowhere, m), std::invalid_argument);
}

// Launches that nobody waits for, with writes by kernels between them.
TEST_F(PreparedVariants, SeesWhatCameBefore) {
  const Kernel kernel = spmv();
  const Kernel add = rt.kernel("add", "kernel void add(global float* a, float b) { a[get_global_id(0)] += b; }");
  Matrix m = random_matrix(500, 4);
  std::vector<Matrix> results;
  const auto before = m.values.read();
  const std::vector<float> first(before.begin(), before.end());
  for (int i = 0; i < 6; ++i) {
    rt.launch(add, grid(static_cast<std::int64_t>(m.values.size())), m.values, 1.0f);
    Matrix one = m;
    one.y = rt.buffer<float>(m.y.size());
    launch(kernel, one, {.when = When::never, .initial = "jds"});
    launch(kernel, one, {.when = When::never, .initial = "jds"});
    results.push_back(one);
  }
  for (int i = 0; i < 6; ++i) {
    Matrix& one = results[static_cast<std::size_t>(i)];
    one.values = rt.buffer<float>(first.size());
    auto values = one.values.host();
    for (std::size_t k = 0; k < first.size(); ++k) values[k] = first[k] + static_cast<float>(i + 1);
    expect_product(one);
  }
  EXPECT_EQ(calls, 6);
}

TEST_F(PreparedVariants, KeepsAFewAndForgets) {
  Kernel kernel = spmv();
  const Selection how{.when = When::never, .initial = "jds"};
  std::vector<Matrix> all;
  for (unsigned i = 0; i < 5; ++i) all.push_back(random_matrix(200, i));
  for (Matrix& m : all) run(kernel, m, how);
  EXPECT_EQ(calls, 5);
  for (unsigned i = 1; i < 5; ++i) run(kernel, all[i], how);
  EXPECT_EQ(calls, 5);
  run(kernel, all[0], how);  // the fifth was one too many
  EXPECT_EQ(calls, 6);
  kernel.forget();
  run(kernel, all[0], how);
  EXPECT_EQ(calls, 7);
}

// Points that correspond: parts of one launch by either.
TEST_F(PreparedVariants, SamePointsAreShared) {
  Covers covers = counted(to_padded, "ell");
  covers.same_points = true;
  const Kernel kernel = rt.kernel("spmv").variant("csr", csr, by_row).variant("ell", ell, covers);
  Matrix m = random_matrix(200'000, 6);
  bool shared = false;
  for (int i = 0; i < 3; ++i) {
    const Report report = run(kernel, m, {.when = When::always});
    EXPECT_EQ(told(report).find("undivided"), std::string::npos) << told(report);
    const auto by = [&](const char* name) {
      return std::any_of(report.slices.begin(), report.slices.end(), [&](const Slice& s) { return s.variant == name; });
    };
    shared |= by("csr") && by("ell");
  }
  EXPECT_TRUE(shared);
  EXPECT_EQ(calls, 1);
}

TEST_F(PreparedVariants, OneThatCannotPrepareIsLeftOut) {
  const char* const writes = R"(
kernel void jds(global int* order, global float* y) { order[get_global_id(0)] = 0; y[get_global_id(0)] = 0; })";
  struct Case {
    std::function<Prepared(const Inputs&)> prepare;
    const char* source;
    const char* why;
  };
  const std::vector<Case> cases = {
      {[](const Inputs&) -> Prepared { throw std::runtime_error("no such layout"); }, jds, "no such layout"},
      {[](const Inputs&) -> Prepared { throw 1; }, jds, "no exception"},
      {[](const Inputs&) { return prepared(given(0)); }, jds, "1 arguments given, 8 expected"},
      {[](const Inputs& in) {
         Prepared out = to_diagonals(in);
         out.arguments[5] = Given{6};
         return out;
       },
       jds, "gives argument 6 of a launch that has 6"},
      {[](const Inputs& in) {
         Prepared out = to_diagonals(in);
         std::swap(out.arguments[0], out.arguments[7]);
         return out;
       },
       jds, "a value given, a buffer"},
      {[](const Inputs& in) { return prepared(in.value<int>(0)); }, jds, "argument 0 is a buffer, no value"},
      {[](const Inputs& in) { return prepared(in.value<double>(5)); }, jds, "argument 5 has 4 bytes"},
      {[](const Inputs& in) { return prepared(std::vector<int>(static_cast<std::size_t>(in.points[0])), given(4)); },
       writes, "its kernel writes argument 0, which was prepared"},
      {[](const Inputs&) { return prepared(given(3), given(4)); }, writes,
       "it writes argument 3, which 'csr' does not"},
  };
  Matrix m = random_matrix(512, 7);
  for (const Case& one : cases) {
    Warnings warnings;
    calls = 0;
    const Kernel kernel =
        rt.kernel("spmv").variant("csr", csr, by_row).variant("jds", one.source, counted(one.prepare, "jds"));
    for (int i = 0; i < 3; ++i) {
      const Report report = run(kernel, m, {.when = When::never, .initial = "jds"});
      EXPECT_EQ(report.slices.at(0).variant, "csr");
      EXPECT_EQ(told(report).find(one.why) != std::string::npos, i == 0) << one.why << "\n" << told(report);
    }
    run(kernel, m);  // and it is not compared
    EXPECT_EQ(calls, 1) << one.why;
    EXPECT_NE(warnings.all.find("kernel 'spmv': variant 'jds': "), std::string::npos) << warnings.all;
    EXPECT_NE(warnings.all.find(one.why), std::string::npos) << one.why << "\n" << warnings.all;
  }
  // While they are compared, too.
  Warnings warnings;
  const Kernel kernel =
      rt.kernel("spmv").variant("csr", csr, by_row).variant("jds", jds, counted(cases[0].prepare, "jds"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(kernel, m).slices.at(0).variant, "csr");
  EXPECT_NE(warnings.all.find("no such layout"), std::string::npos) << warnings.all;
}

TEST_F(PreparedVariants, TheFirstTakesWhatLaunchesAreGiven) {
  EXPECT_THROW(rt.kernel("spmv").variant("jds", jds, counted(to_diagonals, "jds")), std::invalid_argument);
}

}  // namespace
}  // namespace heddle

// Holds every workload to what its description promises, and each reference to a property that does not come from it.
#include "workloads/workload.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
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

Argument& argument(Instance& instance, std::string_view name) {
  for (Argument& a : instance.arguments) {
    if (a.name == name) return a;
  }
  throw core::InternalError("no argument " + std::string(name));
}

std::span<float> floats(Instance& instance, std::string_view name) { return argument(instance, name).as<float>(); }

std::int32_t integer(Instance& instance, std::string_view name) {
  return argument(instance, name).as<std::int32_t>()[0];
}

// A tiny instance of the workload's usual input, or of the one named.
Instance tiny(std::string_view name, const std::string& input = "") {
  const Workload& w = find(name);
  return make(w, Size::tiny, input.empty() ? w.inputs.front() : input, seed);
}

// The first thing that a kernel asks the device for besides global and local ids. One that asks for its group, the
// offset or for sizes is another kernel under a global offset.
std::string asks_beyond_its_ids(const std::string& source) {
  static const std::regex question(R"(\bget_\w+)");
  for (std::sregex_iterator found(source.begin(), source.end(), question), end; found != end; ++found) {
    if (found->str() != "get_global_id" && found->str() != "get_local_id") return found->str();
  }
  return "";
}

// Replaces an array, whatever its size was.
template <class T>
void set(Instance& instance, const std::string& name, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  argument(instance, name).bytes.assign(bytes.begin(), bytes.end());
}

void expect_values(Instance& instance, const std::string& name, const std::vector<float>& expected) {
  const auto actual = floats(instance, name);
  ASSERT_GE(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]) << name << "[" << i << "]";
}

struct Case {
  const Workload* workload;
  std::string input;
};

class EveryWorkload : public testing::TestWithParam<Case> {
 protected:
  const Workload& workload() const { return *GetParam().workload; }
  Instance make(std::uint64_t with_seed = seed) const {
    return workloads::make(workload(), Size::tiny, GetParam().input, with_seed);
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
  for (const Argument& a : instance.arguments) {
    EXPECT_TRUE(!a.constant || fits_constant(static_cast<std::int64_t>(a.bytes.size() / 4))) << a.name;
    EXPECT_FALSE(a.constant && is_written(a)) << a.name;
  }
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
    if (v.cut == core::Cut::by_offset) {
      EXPECT_EQ(asks_beyond_its_ids(v.source), "") << v.name;
    }
    // Tiny sizes leave room for every variant.
    EXPECT_FALSE(core::align(make().space, v.footprint, make().space).empty()) << v.name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_P(EveryWorkload, HasATunableKernelThatADeviceCanRun) {
  if (!workload().tunable) GTEST_SKIP() << "no tunable kernel";
  const core::Tunable tunable = workload().tunable();
  const Instance instance = make();
  const core::Footprint& base = workload().variants.front().footprint;
  EXPECT_NE(tunable.source.find("kernel void " + tunable.entry + "("), std::string::npos);
  EXPECT_EQ(tunable.cut, core::Cut::by_offset);
  EXPECT_EQ(asks_beyond_its_ids(tunable.source), "");
  std::map<std::string, std::set<std::string>> seen;
  for (std::uint64_t i = 0; i < tunable.space.size(); ++i) {
    const core::Configuration configuration = tunable.space.at(i);
    SCOPED_TRACE(to_string(configuration));
    for (const auto& [name, value] : configuration.values) seen[name].insert(core::to_string(value));
    const core::Variant v = variant_of(tunable, configuration);
    ASSERT_LE(v.group[0] * v.group[1] * v.group[2], 256);
    if (v.footprint.guarded) continue;
    for (int d = 0; d < 3; ++d) ASSERT_EQ(v.footprint.points[d] % base.points[d], 0) << "the base cannot fill the rest";
    ASSERT_FALSE(core::align(instance.space, v.footprint, instance.space).empty());
  }
  for (const core::Parameter& p : tunable.space.parameters()) {
    EXPECT_EQ(seen[p.name].size(), p.values.size()) << "constraints exclude a value of " << p.name;
  }
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
    if (actual.arguments[k].element == Element::f32) {
      float& last = actual.arguments[k].as<float>().back();
      const float allowed =
          static_cast<float>(expected.tolerance.absolute + expected.tolerance.relative * std::abs(last));
      last = std::nextafter(last + 2 * allowed, INFINITY);
    } else {
      actual.arguments[k].bytes.back() ^= std::byte{1};
    }
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
  for (const Workload* w : all()) {
    for (const char* input : {"no_such_input", "", "Random"}) {
      EXPECT_THROW(make(*w, Size::tiny, input, seed), core::UsageError) << w->name << " '" << input << "'";
    }
    try {
      make(*w, Size::tiny, "no_such_input", seed);
    } catch (const core::UsageError& e) {
      for (const std::string& input : w->inputs) EXPECT_NE(std::string(e.what()).find(input), std::string::npos);
    }
  }
}

TEST(Workloads, AreNotAcceptedFromAReferenceThatIsNotFinite) {
  for (float value : {INFINITY, -INFINITY, NAN}) {
    Instance expected = tiny("reduce");
    find("reduce").reference(expected);
    floats(expected, "partial")[2] = value;
    Instance actual = expected;
    for (float got : {value, 3.0f}) {
      floats(actual, "partial")[2] = got;
      const auto wrong = compare(find("reduce"), expected, actual);
      ASSERT_TRUE(wrong.has_value()) << value << " " << got;
      EXPECT_NE(wrong->find("the reference gives "), std::string::npos) << *wrong;
      EXPECT_NE(wrong->find("partial[2]"), std::string::npos) << *wrong;
    }
  }
}

TEST(Workloads, AreKnownToAskForMoreThanTheirIds) {
  EXPECT_EQ(asks_beyond_its_ids("int i = get_global_id(0) + get_local_id(1);"), "");
  for (const char* asked : {"get_group_id", "get_num_groups", "get_global_size", "get_global_offset", "get_local_size",
                            "get_work_dim", "get_global_linear_id"}) {
    EXPECT_EQ(asks_beyond_its_ids(std::string("int i = get_global_id(0) + ") + asked + "(0);"), asked);
  }
}

// FNV-1a over all arguments.
std::uint64_t hash_of(const Instance& instance) {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const Argument& a : instance.arguments) {
    for (std::byte b : a.bytes) out = (out ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  }
  return out;
}

// Taken on Arm with g++ 12; another machine, compiler or option must make the same inputs.
TEST_P(EveryWorkload, IsTheSameOnEveryMachine) {
  const std::map<std::string, std::uint64_t> hashes = {
      {"aes_decrypt random", 0x8fb39ae4603706e2},
      {"aes_encrypt random", 0x6607843c204915ee},
      {"bfs power_law", 0x908106b03b6de9cc},
      {"binomial_option random", 0x7a44d2d92eb7b741},
      {"black_scholes random", 0x89d4a6be925a92a0},
      {"box_muller random", 0x3a57b657ee46d0f5},
      {"cutcp random", 0x4a720f3b394d035c},
      {"fdtd3d random", 0xc160e5c9963f1d9f},
      {"histogram random", 0x33cd3275e83eb434},
      {"histogram_atomic random", 0xcf1fca12699960ce},
      {"kmeans random", 0x13e0a60801b2c9e7},
      {"mandelbrot random", 0x19b4989f03885772},
      {"median_filter random", 0x28dab5ad343ba071},
      {"mersenne_twister random", 0xde70cdd35433d5a6},
      {"nbody random", 0xda97c75549259f48},
      {"particle_filter random", 0x08f53a9f58cd8ede},
      {"reduce random", 0xac461e5c809a0537},
      {"saxpy random", 0x75bb2ece2e2dd4c8},
      {"scan_large_arrays random", 0x8f8fb8922ec44747},
      {"sgemm random", 0xd4478ba64bd84dfa},
      {"sobel random", 0x328a74b87d3f9d3c},
      {"spmv_csr diagonal", 0x1de5d2d30a11eaf3},
      {"spmv_csr power_law", 0x4fbcdadf200b89d7},
      {"spmv_csr random", 0x5c031fa37f1a4b8f},
      {"spmv_csr two_kinds", 0xba2dd24401f317e3},
      {"spmv_jds diagonal", 0x2fffae122e391bbe},
      {"spmv_jds power_law", 0x7c0d517791e964a1},
      {"spmv_jds random", 0x4231d4e3d6ac087d},
      {"stencil random", 0x91a3ed692ae3a516},
      {"transpose random", 0xcfdae00d7d433502},
      {"vector_add random", 0xa15f5e8e9ef0e6bb},
  };
  const std::string name = workload().name + " " + GetParam().input;
  const auto known = hashes.find(name);
  ASSERT_NE(known, hashes.end()) << fmt::format("{{\"{}\", {:#018x}}},", name, hash_of(make()));
  EXPECT_EQ(hash_of(make()), known->second) << name;
}

// A term left out of a sum, even the least one, is more than the tolerance and what rounding may add to it.
void expect_shown(double least_term, double sum, const Instance& instance) {
  EXPECT_GT(least_term, 2 * (instance.tolerance.absolute + instance.tolerance.relative * sum));
}

TEST(Sums, ShowEveryMissingTerm) {
  Instance reduce = tiny("reduce");
  const auto in = floats(reduce, "in");
  expect_shown(*std::ranges::min_element(in), 1024 * 1.1, reduce);

  for (Size size : {Size::tiny, Size::normal}) {
    Instance product = make(find("sgemm"), size, "random", seed);
    const int n = integer(product, "n"), k = integer(product, "k");
    const auto a = floats(product, "a"), b = floats(product, "b");
    for (int column = 0; column < n; ++column) {
      double least = INFINITY, sum = 0;
      for (int i = 0; i < k; ++i) {
        const double term = double{a[i]} * b[i * n + column];
        least = std::min(least, term);
        sum += term;
      }
      expect_shown(least, sum, product);
    }

    Instance sparse = make(find("spmv_csr"), size, "power_law", seed);
    const auto start = argument(sparse, "row_start").as<std::int32_t>();
    const auto at = argument(sparse, "column").as<std::int32_t>();
    const auto value = floats(sparse, "value"), x = floats(sparse, "x");
    for (std::size_t row = 0; row + 1 < start.size(); ++row) {
      double least = INFINITY, sum = 0;
      for (int i = start[row]; i < start[row + 1]; ++i) {
        const double term = double{value[i]} * x[at[i]];
        least = std::min(least, term);
        sum += term;
      }
      expect_shown(least, sum, sparse);
    }
  }
}

TEST(Uniform, StaysBelowItsEnd) {
  for (const auto& [low, high] : std::vector<std::pair<float, float>>{
           {0, 1}, {-1, 1}, {0.5f, 1.5f}, {1, 3}, {5, 30}, {1, 100}, {0.25f, 10}, {-0.1f, 0.1f}, {1, 1.0000002f}}) {
    EXPECT_EQ(uniform(0, low, high), low);
    EXPECT_LT(uniform(~std::uint64_t{0}, low, high), high) << low;
    EXPECT_GT(uniform(~std::uint64_t{0}, low, high), low) << high;
    EXPECT_NEAR(uniform(std::uint64_t{1} << 63, low, high), (low + high) / 2, 1e-6 * high);
  }
}

TEST(Workloads, ParseSizesAsTheyArePrinted) {
  for (Size size : {Size::tiny, Size::normal, Size::medium, Size::large}) EXPECT_EQ(parse_size(to_string(size)), size);
  EXPECT_THROW(parse_size("huge"), core::UsageError);
}

// The tables of workloads/README.md.

// Cells of the rows below the header that begins with `header`, without the spaces around them. An empty first cell
// stands for the one above.
std::vector<std::vector<std::string>> rows_of_table(const std::string& header) {
  std::ifstream file(HEDDLE_TEST_DATA "/../../workloads/README.md");
  std::vector<std::vector<std::string>> out;
  std::string line;
  while (std::getline(file, line) && !line.starts_with(header)) {
  }
  std::getline(file, line);  // the line of dashes
  while (std::getline(file, line) && line.starts_with("|")) {
    std::vector<std::string> cells;
    std::istringstream rest(line.substr(1));
    for (std::string cell; std::getline(rest, cell, '|');) {
      const std::size_t begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
      cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end + 1 - begin));
    }
    if (cells.front().empty() && !out.empty()) cells.front() = out.back().front();
    out.push_back(std::move(cells));
  }
  return out;
}

std::string extents_of(const core::Index& points, const core::Box& space) {
  int last = 2;
  while (last > 0 && space.extent(last) == 1) --last;
  std::string out;
  for (int d = 0; d <= last; ++d) out += (d ? " × " : "") + std::to_string(points[d]);
  return out;
}

TEST(Readme, ListsEveryVariantAsItIs) {
  std::vector<std::string> described;
  for (const Workload* w : all()) {
    const core::Box space = tiny(w->name).space;
    for (const core::Variant& v : w->variants) {
      const std::string name = &v == &w->variants.front() ? "**" + v.name + "**" : v.name;
      described.push_back(fmt::format("`{}` | {} | {} | {} | {} | {}", w->name, name, extents_of(v.group, space),
                                      extents_of(v.footprint.points, space), v.footprint.guarded ? "yes" : "no",
                                      v.cut == core::Cut::by_offset ? "by offset" : "none"));
    }
  }
  std::vector<std::string> written;
  for (auto& cells : rows_of_table("| name | variant | group |")) {
    ASSERT_EQ(cells.size(), 6u) << fmt::format("{}", fmt::join(cells, " | "));
    cells[1] = cells[1].substr(0, cells[1].find(" ("));  // what it does stands in brackets
    for (std::size_t k : {2u, 3u}) std::erase(cells[k], ',');
    cells[5] = cells[5].substr(0, cells[5].find(':'));  // and why it cannot be cut behind a colon
    written.push_back(fmt::format("{}", fmt::join(cells, " | ")));
  }
  EXPECT_EQ(written, described);
}

TEST(Readme, ListsEveryParameter) {
  std::vector<std::string> described, written;
  for (const Workload* w : all()) {
    if (!w->tunable) continue;
    const core::Tunable tunable = w->tunable();
    for (const core::Parameter& p : tunable.space.parameters()) {
      std::vector<std::string> values;
      for (const core::Value& value : p.values) values.push_back(core::to_string(value));
      described.push_back(
          fmt::format("`{}` ({}) | `{}` | {}", w->name, tunable.space.size(), p.name, fmt::join(values, ", ")));
    }
  }
  for (auto& cells : rows_of_table("| name (configurations) | parameter |")) {
    ASSERT_EQ(cells.size(), 4u) << fmt::format("{}", fmt::join(cells, " | "));
    std::erase(cells[0], ',');
    written.push_back(fmt::format("{} | {} | {}", cells[0], cells[1], cells[2]));
  }
  EXPECT_EQ(written, described);
}

TEST(Readme, ListsTheInputsAndTinySizes) {
  std::vector<std::string> described, written;
  for (const Workload* w : all()) {
    for (const std::string& input : w->inputs) {
      Instance instance = tiny(w->name, input);
      const core::Box& space = instance.space;
      described.push_back(fmt::format("`{}` | {} | {}", w->name, input, extents_of(space.end, space)));
      if (w->name == "sgemm") described.back() += fmt::format(" {}", integer(instance, "k"));
    }
  }
  for (auto& cells : rows_of_table("| name | points | inputs |")) {
    ASSERT_EQ(cells.size(), 8u) << fmt::format("{}", fmt::join(cells, " | "));
    cells[2] = cells[2].substr(0, cells[2].find(" ("));
    std::erase(cells[3], ',');
    written.push_back(fmt::format("{} | {} | {}", cells[0], cells[2], cells[3]));
  }
  EXPECT_EQ(written, described);
}

TEST(Readme, NamesTheVariantsThatExist) {
  std::vector<std::string> described, written;
  for (const Workload* w : all()) {
    std::vector<std::string> names;
    for (const core::Variant& v : w->variants) names.push_back(v.name);
    described.push_back(fmt::format("`{}` | {}", w->name, fmt::join(names, ", ")));
  }
  for (const auto& cells : rows_of_table("| name | what it computes |")) {
    if (cells.back() != "planned") written.push_back(cells.front() + " | " + cells.back());
  }
  EXPECT_EQ(written, described);
}

// References, each against a property that does not come from its code, and against values computed by hand where
// properties are blind.

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

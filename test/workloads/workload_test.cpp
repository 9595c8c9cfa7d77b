// Holds every workload to what its description promises.
#include "workloads/workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "test/workloads/tiny.hpp"

namespace heddle::workloads {
namespace {

bool is_written(const Argument& a) { return a.access != core::Access::read; }

std::size_t width_of(Element element) { return element == Element::u8 ? 1 : 4; }

bool same_arguments(const Instance& a, const Instance& b) {
  return std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    [](const Argument& x, const Argument& y) { return x.bytes == y.bytes; });
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

}  // namespace
}  // namespace heddle::workloads

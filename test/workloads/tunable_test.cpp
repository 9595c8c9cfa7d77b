// Configurations of every tunable kernel on the OpenCL device: its corners and a sample, each from poisoned outputs to
// the reference's result.
#include "workloads/tunable.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "test/device/any_device.hpp"
#include "workloads/on_device.hpp"

namespace heddle::workloads {
namespace {

using device::must;

constexpr std::uint64_t seed = 7;

std::vector<const Workload*> with_tunable() {
  std::vector<const Workload*> out;
  for (const Workload* w : all()) {
    if (w->tunable) out.push_back(w);
  }
  return out;
}

class EveryTunable : public testing::TestWithParam<const Workload*> {};
INSTANTIATE_TEST_SUITE_P(All, EveryTunable, testing::ValuesIn(with_tunable()),
                         [](const auto& one) { return one.param->name; });

// For each parameter a configuration with its first and one with its last value, drawn from those that have it, and
// some more: numbers in the space.
std::set<std::uint64_t> corners_and_sample(const core::ParameterSpace& space, std::size_t more) {
  std::mt19937_64 random(seed);
  std::set<std::uint64_t> out;
  for (const core::Parameter& p : space.parameters()) {
    for (const core::Value& value : {p.values.front(), p.values.back()}) {
      const std::uint64_t begin = random() % space.size();
      for (std::uint64_t i = 0; i < space.size(); ++i) {
        const std::uint64_t number = (begin + i) % space.size();
        if (space.at(number).at(p.name) != value) continue;
        out.insert(number);
        break;
      }
    }
  }
  for (std::size_t i = 0; i < more; ++i) out.insert(random() % space.size());
  return out;
}

// The base, then the tunable kernel in these configurations: one workload, so that the base is built once.
Workload in_configurations(const Workload& of, const core::Tunable& tunable,
                           const std::vector<core::Configuration>& configurations) {
  Workload out = of;
  out.variants.resize(1);
  for (const core::Configuration& c : configurations) out.variants.push_back(variant_of(tunable, c));
  return out;
}

// What is wrong with the result of one variant, in `slices` slices from poisoned outputs.
std::optional<std::string> wrong(OnDevice& there, const Workload& w, std::size_t variant, const Instance& expected,
                                 int slices) {
  const auto plan = pieces(w, variant, expected.space, slices);
  if (plan.empty() || plan.front().variant != variant) return "the variant gets nothing to do";
  must(there.reset());
  must(there.run_all(plan));
  return must(there.check(expected));
}

TEST_P(EveryTunable, ComputesWhatTheReferenceDoes) {
  const Workload& of = *GetParam();
  const core::Tunable tunable = of.tunable();
  std::vector<core::Configuration> configurations;
  for (std::uint64_t number : corners_and_sample(tunable.space, 4)) {
    configurations.push_back(tunable.space.at(number));
  }
  const Workload w = in_configurations(of, tunable, configurations);
  const Instance instance = make(w, Size::tiny, w.inputs.front(), seed);
  Instance expected = instance;
  w.reference(expected);
  auto there = must(OnDevice::open(*device::every_device().front(), w, instance));
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    const int slices = i % 4 == 0 ? 3 : 1;  // PoCL compiles again for a launch with an offset
    SCOPED_TRACE(w.name + " " + to_string(configurations[i]) + " in " + std::to_string(slices) + " slices");
    EXPECT_EQ(wrong(*there, w, i + 1, expected, slices), std::nullopt);
  }
}

// A defect put into the source of a tunable kernel shows in the configuration that has it.
struct Defect {
  std::string workload, configuration, from, to;
};

const std::vector<Defect> defects = {
    {"transpose", "TX=32 TY=32 GX=8 GY=8 VW=2 LOCAL=true PAD=1 ALONG_IN=false", "y < columns && x + VW <= rows",
     "x + VW <= rows"},
    {"transpose", "TX=32 TY=32 GX=8 GY=8 VW=2 LOCAL=true PAD=1 ALONG_IN=false", "y + e < columns",
     "y + e + 1 < columns"},
    {"transpose", "TX=32 TY=32 GX=8 GY=4 VW=4 LOCAL=false PAD=0 ALONG_IN=false", "f < min(y + VW, columns)",
     "f < y + VW"},
    {"sgemm", "GX=8 GY=8 WN=4 WM=4 VW=4 KU=4 KT=16 LA=true LB=true", "int end = min(KT, k - k0)", "int end = KT"},
    {"sgemm", "GX=8 GY=8 WN=4 WM=4 VW=4 KU=4 KT=16 LA=false LB=false", "for (; i < end; ++i) ADD_TERM(i)", ""},
    {"stencil", "GX=8 GY=4 GZ=1 WX=2 WY=2 WZ=4 VW=4 Z_INNER=true UNROLL=1", "z_end = min(z0 + WZ, nz)",
     "z_end = z0 + WZ"},
    {"stencil", "GX=8 GY=4 GZ=1 WX=2 WY=2 WZ=4 VW=4 Z_INNER=true UNROLL=1", "x > 0 && x + VW < nx &&", "x > 0 &&"},
};

TEST(TunableKernel, ShowsADefect) {
  for (const Defect& defect : defects) {
    SCOPED_TRACE(defect.workload + ": '" + defect.from + "' -> '" + defect.to + "'");
    const Workload& of = find(defect.workload);
    const core::Tunable tunable = of.tunable();
    const core::Configuration configuration = core::parse_configuration(defect.configuration);
    EXPECT_EQ(tunable.space.at(tunable.space.number_of(configuration)), configuration);  // one of its space
    Workload w = in_configurations(of, tunable, {configuration, configuration});
    std::string& source = w.variants[2].source;
    const std::size_t at = source.find(defect.from);
    ASSERT_NE(at, std::string::npos);
    source.replace(at, defect.from.size(), defect.to);
    const Instance instance = make(w, Size::tiny, w.inputs.front(), seed);
    Instance expected = instance;
    w.reference(expected);
    auto there = must(OnDevice::open(*device::every_device().front(), w, instance));
    EXPECT_EQ(wrong(*there, w, 1, expected, 1), std::nullopt);
    EXPECT_NE(wrong(*there, w, 2, expected, 1), std::nullopt);
  }
}

}  // namespace
}  // namespace heddle::workloads

// The table of places says what the variants' sources do, and the static choice is the one that is written here.
#include "workloads/placement.hpp"

#include <map>

#include <gtest/gtest.h>

#include "test/device/any_device.hpp"
#include "test/kernel/shared_compiler.hpp"

namespace heddle::workloads {
namespace {

using device::must;
using kernel::compiler;

core::KernelFacts facts_of(const core::Variant& variant) {
  for (const core::KernelFacts& k : must(compiler().analyse({variant.source, variant.options, {}})).facts.kernels) {
    if (k.name == variant.entry) return k;
  }
  throw core::InternalError("no facts of " + variant.entry);
}

TEST(Placement, TheTableSaysWhatSourcesDo) {
  for (const Placed& p : placements()) {
    SCOPED_TRACE(std::string(p.workload) + " " + std::string(p.variant) + " " + std::string(p.argument));
    const Workload& w = find(p.workload);
    const auto variant =
        std::find_if(w.variants.begin(), w.variants.end(), [&](const core::Variant& v) { return v.name == p.variant; });
    ASSERT_NE(variant, w.variants.end());
    const core::KernelFacts facts = facts_of(*variant);
    const auto argument = std::find_if(facts.arguments.begin(), facts.arguments.end(),
                                       [&](const auto& a) { return a.name == p.argument; });
    ASSERT_NE(argument, facts.arguments.end());
    EXPECT_EQ(argument->space,
              p.where == core::Placement::constant ? core::AddressSpace::constant : core::AddressSpace::global);
    EXPECT_EQ(facts.local_memory > 0, p.where == core::Placement::local);
    const Instance instance = make(w, Size::tiny, w.inputs.front(), 7);
    const Argument& same = instance.arguments.at(static_cast<std::size_t>(argument - facts.arguments.begin()));
    EXPECT_EQ(same.name, p.argument);
  }
}

TEST(Placement, EveryConstantVariantIsInTheTable) {
  for (const Workload* w : all()) {
    for (const core::Variant& v : w->variants) {
      for (const core::ArgumentFacts& a : facts_of(v).arguments) {
        if (a.space != core::AddressSpace::constant) continue;
        EXPECT_TRUE(std::any_of(
            placements().begin(), placements().end(),
            [&](const Placed& p) { return p.workload == w->name && p.variant == v.name && p.argument == a.name; }))
            << w->name << " " << v.name << " " << a.name;
      }
    }
  }
}

std::string chosen(const std::string& workload, Size size, const std::string& input) {
  const Workload& w = find(workload);
  const PlacementChoice choice = must(choose_placement(compiler(), w, make(w, size, input, 7)));
  return choice.variants.empty() ? "" : w.variants.at(choice.chosen).name;
}

TEST(Placement, IsChosenFromFacts) {
  const std::map<std::string, std::string> expected = {
      {"vector_add", ""},     {"transpose", "naive"},      {"sgemm", "tiled"},       {"spmv_csr", "scalar_local"},
      {"stencil", "tiled"},   {"nbody", "tiled"},          {"spmv_jds", "constant"}, {"cutcp", "tiled_coarse"},
      {"kmeans", "constant"}, {"particle_filter", "local"}};
  for (const auto& [name, variant] : expected) EXPECT_EQ(chosen(name, Size::normal, "random"), variant) << name;
}

// A table of 2,003 weights is small enough to be constant, but no variant puts it there.
TEST(Placement, IsChosenFromWhatThereIs) {
  EXPECT_EQ(chosen("particle_filter", Size::tiny, "random"), "local");
  EXPECT_EQ(chosen("spmv_csr", Size::tiny, "diagonal"), "scalar_local");
}

}  // namespace
}  // namespace heddle::workloads

// Every schedule of every base variant leaves what the reference says, whole and in slices, on poisoned outputs; and
// the static choice among them is the one that is written here.
#include "workloads/schedules.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "engine/target.hpp"
#include "test/device/any_device.hpp"
#include "test/kernel/shared_compiler.hpp"
#include "workloads/on_device.hpp"
#include "workloads/through_library.hpp"

namespace heddle::workloads {
namespace {

using device::must;
using kernel::compiler;

Schedules tiny_schedules(const Workload& w, Size size = Size::tiny) {
  return must(schedules_of(compiler(), w, make(w, size, w.inputs.front(), 7)));
}

// As many as in the DySel paper.
TEST(SchedulesOf, AreAsManyAsOrdersOfDimensionsAndLoops) {
  const std::map<std::string, std::size_t> expected = {{"cutcp", 60},   {"kmeans", 3},   {"sgemm", 6},
                                                       {"spmv_jds", 2}, {"spmv_csr", 2}, {"stencil", 6}};
  for (const auto& [name, count] : expected) EXPECT_EQ(tiny_schedules(find(name)).variants.size(), count) << name;
}

TEST(SchedulesOf, TheLeastStridesAreFoundFromFacts) {
  // A group of stencil is one plane thick, so that z may stand anywhere.
  const std::map<std::string, std::string> expected = {
      {"kmeans", "01x"}, {"sgemm", "0yx"}, {"spmv_jds", "0x"}, {"spmv_csr", "x0"}, {"stencil", "yxz"}};
  for (const auto& [name, order] : expected) {
    const Schedules all = tiny_schedules(find(name), Size::normal);
    EXPECT_EQ(all.variants.at(all.least_strides).name, order) << name;
  }
}

// Tiles of several groups: a thicker one makes the place of z count.
TEST(SchedulesOf, TilesMayBeLargerThanGroups) {
  const Workload& w = find("stencil");
  const Instance instance = make(w, Size::normal, w.inputs.front(), 7);
  const Schedules all = must(schedules_of(compiler(), w, instance, {}, core::Index{32, 4, 8}));
  EXPECT_EQ(all.variants.at(all.least_strides).name, "zyx");
  EXPECT_EQ(all.variants.front().footprint, (core::Footprint{{32, 4, 8}, true}));
  EXPECT_EQ(all.variants.front().group, (core::Index{1, 1, 1}));
}

TEST(SchedulesOf, ThereAreNoneOfKernelsWhoseWorkItemsWorkTogether) {
  EXPECT_EQ(tiny_schedules(find("reduce")).refused, "it asks for get_local_id");
  EXPECT_TRUE(tiny_schedules(find("reduce")).variants.empty());
}

// The workload with its base and the schedules as variants.
Workload with_schedules(const Workload& w, const Schedules& schedules) {
  Workload out = w;
  out.variants.resize(1);
  out.variants.insert(out.variants.end(), schedules.variants.begin(), schedules.variants.end());
  return out;
}

TEST(SchedulesOf, EveryWorkloadAreRight) {
  const std::uint64_t seed = std::random_device{}();
  device::Device* cpu = nullptr;
  for (device::Device* d : device::every_device()) {
    if (!cpu && !device::is_part(d->info())) cpu = d;
  }
  ASSERT_TRUE(cpu);
  int workloads = 0;
  for (const Workload* w : all()) {
    for (const std::string& input : w->inputs) {
      const Instance instance = make(*w, Size::tiny, input, seed);
      const Schedules schedules = must(schedules_of(compiler(), *w, instance, must(engine::target_of(*cpu))));
      if (!schedules.refused.empty()) continue;
      ++workloads;
      const Workload pool = with_schedules(*w, schedules);
      Instance expected = instance;
      w->reference(expected);
      auto there = must(OnDevice::open(*cpu, pool, instance));
      for (std::size_t v = 1; v < pool.variants.size(); ++v) {
        for (int slices : {1, 3}) {
          SCOPED_TRACE(w->name + " " + input + " " + pool.variants[v].name + " in " + std::to_string(slices) +
                       " slices, seed " + std::to_string(seed));
          must(there->reset());
          must(there->run_all(pieces(pool, v, instance.space, slices)));
          EXPECT_EQ(must(there->check(expected)), std::nullopt);
        }
      }
    }
  }
  EXPECT_GE(workloads, 12);
}

// As a program would let them compete: the base and its schedules in one pool.
TEST(SchedulesOf, CompeteInThePoolOfVariants) {
  Runtime runtime(Options{.devices = "cpu"});
  for (const char* name : {"sgemm", "spmv_csr", "stencil"}) {
    const Workload& w = find(name);
    Instance instance = make(w, Size::tiny, w.inputs.front(), 3);
    const Workload pool = with_schedules(w, tiny_schedules(w));
    Instance expected = instance;
    w.reference(expected);
    poison(instance);
    const Kernel kernel = with_variants(runtime, pool);
    for (const core::Variant& v : pool.variants) {
      SCOPED_TRACE(w.name + " from " + v.name);
      InLibrary there(runtime, instance);
      const Launch launch =
          there.launch(kernel, points_of(instance).select({Selection::When::always, Selection::How::as_known, v.name}));
      launch.wait();
      EXPECT_EQ(compare(w, expected, there.result()).value_or("right"), "right");
    }
  }
}

}  // namespace
}  // namespace heddle::workloads

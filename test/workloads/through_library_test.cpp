// Every workload through the library: on the CPU, its halves and all devices, whole and cut.
#include "workloads/through_library.hpp"

#include <random>

#include <gtest/gtest.h>

namespace heddle::workloads {
namespace {

class ThroughLibrary : public testing::TestWithParam<const char*> {};

TEST_P(ThroughLibrary, EveryVariantIsRight) {
  Runtime runtime(Options{.devices = GetParam()});
  const std::uint64_t seed = std::random_device{}();
  int cut = 0;
  for (const Workload* w : all()) {
    for (const std::string& input : w->inputs) {
      const Instance instance = make(*w, Size::tiny, input, seed);
      Instance expected = instance;
      w->reference(expected);
      for (std::size_t v = 0; v < w->variants.size(); ++v) {
        if (!covers_space(w->variants[v], instance.space)) continue;
        for (int tasks : {1, 6}) {
          SCOPED_TRACE(w->name + " " + input + " " + w->variants[v].name + " in " + std::to_string(tasks) +
                       " tasks, seed " + std::to_string(seed));
          Report report;
          EXPECT_EQ(run_through_library(runtime, *w, v, instance, expected, tasks, report).value_or("right"), "right");
          cut += report.slices.size() > 1;
        }
      }
    }
  }
  EXPECT_GE(cut, 10);  // most can be
}

// However the best variant is found, and whichever it begins with.
TEST_P(ThroughLibrary, SelectionIsRightInEveryMode) {
  Runtime runtime(Options{.devices = GetParam()});
  const std::uint64_t seed = std::random_device{}();
  int mixed = 0;
  for (const Workload* w : all()) {
    if (w->variants.size() < 2) continue;
    for (const std::string& input : w->inputs) {
      Instance instance = make(*w, Size::tiny, input, seed);
      Instance expected = instance;
      w->reference(expected);
      poison(instance);
      const Kernel kernel = with_variants(runtime, *w);
      using When = Selection::When;
      using How = Selection::How;
      for (const When when : {When::once, When::always, When::never}) {
        for (const How how : {How::as_known, How::own_parts, How::same_part, How::private_outputs}) {
          for (const core::Variant& v : w->variants) {
            SCOPED_TRACE(w->name + " " + input + " from " + v.name + ", seed " + std::to_string(seed));
            InLibrary there(runtime, instance);
            const bool meanwhile = when == When::always && &v != &w->variants.front() && how != How::private_outputs;
            const Launch launch =
                there.launch(kernel, points_of(instance).select({when, how, v.name, meanwhile}).on_all_devices());
            launch.wait();
            EXPECT_EQ(compare(*w, expected, there.result()).value_or("right"), "right");
            const Report report = launch.report();
            for (const Slice& slice : report.slices) mixed += slice.variant != report.slices.front().variant;
          }
        }
      }
    }
  }
  EXPECT_GT(mixed, 10);
}

INSTANTIATE_TEST_SUITE_P(Sets, ThroughLibrary, testing::Values("cpu", "cpu/2", "all"), [](const auto& set) {
  std::string name = set.param;
  for (char& c : name) c = c == '/' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace heddle::workloads

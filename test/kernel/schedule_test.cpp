// Schedules of every case and every workload compute bit by bit what the original does, whatever the tile; and what
// comes out is a kernel like others, that can be analysed and cut.
#include "core/schedule.hpp"

#include <gtest/gtest.h>

#include "test/kernel/every_case.hpp"

namespace heddle::kernel {
namespace {

using device::Device;

std::int64_t below(std::int64_t end, std::mt19937_64& random) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
}

// A launch of tiles that stays inside of what the case's arguments are made for.
struct TiledLaunch {
  core::Index tile{1, 1, 1}, groups{1, 1, 1}, offset{0, 0, 0};  // offset in tiles
};

TiledLaunch tiled_launch(const Case& c, const core::Nest& nest, std::mt19937_64& random) {
  TiledLaunch out;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t most = c.groups[d] * c.locals.front()[d];
    const bool used = std::count(nest.dimensions.begin(), nest.dimensions.end(), static_cast<int>(d)) > 0;
    if (used) out.tile[d] = 1 + below(std::min<std::int64_t>(most, 7), random);
    out.groups[d] = std::max<std::int64_t>(1, most / out.tile[d] - below(2, random));
    out.offset[d] = below(c.offset[d] / out.tile[d] + 1, random);
  }
  return out;
}

core::NdRange range_of(const TiledLaunch& launch, const core::Index& items, const core::Index& local, int dimensions) {
  core::NdRange out;
  out.dimensions = dimensions;
  for (std::size_t d = 0; d < 3; ++d) {
    out.offset[d] = launch.offset[d] * items[d], out.global[d] = launch.groups[d] * items[d];
    out.local[d] = local[d];
  }
  return out;
}

TEST(Schedules, ComputeWhatTheOriginalDoes) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  Device& device = *whole_devices().at(0);
  int kernels = 0, inside = 0;  // those with dimensions inside of a loop
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name + ", seed " + std::to_string(seed));
    if (c.entry.empty() || c.may_not_build) continue;
    const Source source{c.text, c.options + " -I " HEDDLE_TEST_DATA "/cases", target(device)};
    const Analysis analysis = device::must(compiler().analyse(source));
    for (const core::KernelFacts& facts : analysis.facts.kernels) {
      if (facts.name != c.entry || !facts.obstacles.empty()) continue;
      auto orders = core::orders_of(facts.nest);
      if (orders.empty()) continue;
      std::shuffle(orders.begin(), orders.end(), random);
      if (orders.size() > 4) orders.resize(4);
      const TiledLaunch launch = tiled_launch(c, facts.nest, random);
      std::vector<std::string> forms;
      for (const std::string& order : orders) forms.push_back(core::form_name({facts.name, order, launch.tile}));
      const Analysis scheduled = device::must(compiler().analyse(source, forms));
      CaseOnDevice there(device, c);
      const Memory memory = draw(c, random, true).memory;
      const Memory whole = there.run_source({source.text, source.options},
                                            range_of(launch, launch.tile, launch.tile, c.dimensions), memory);
      for (const std::string& form : forms) {
        SCOPED_TRACE(form);
        const Form& rewritten = scheduled.forms.at(form);
        if (!rewritten.refused.empty()) {
          EXPECT_EQ(c.name, "schedule_lists") << rewritten.refused;  // the only one of which some orders cannot be had
          continue;
        }
        EXPECT_EQ(there.run_source({rewritten.source, scheduled.options},
                                   range_of(launch, {1, 1, 1}, {1, 1, 1}, c.dimensions), memory),
                  whole)
            << rewritten.source;
      }
      ++kernels;
      inside += facts.nest.loops > 0;
    }
  }
  if (std::getenv("HEDDLE_TEST_CASES")) return;
  EXPECT_GE(kernels, 30);
  EXPECT_GE(inside, 15);
}

// Of every base: boxes of the scheduled kernel compute what it does whole, and what it writes is known as exactly as of
// the original.
TEST(Schedules, AreKernelsLikeOthers) {
  std::mt19937_64 random(5);
  Device& device = *whole_devices().at(0);
  int kernels = 0;
  for (const workloads::Workload* w : workloads::all()) {
    const core::Variant& base = w->variants.front();
    const workloads::Instance instance = workloads::make(*w, workloads::Size::tiny, w->inputs.front(), 7);
    const Source source{base.source, base.options, target(device)};
    const Analysis original = device::must(compiler().analyse(source));
    for (const core::KernelFacts& facts : original.facts.kernels) {
      for (const std::string& order : core::orders_of(facts.nest)) {
        if (facts.name != base.entry || (facts.nest.loops > 2 && random() % 8 != 0)) continue;
        const std::string form = core::form_name({facts.name, order, base.footprint.points});
        SCOPED_TRACE(w->name + " " + form);
        const Form scheduled = device::must(compiler().analyse(source, {form})).forms.at(form);
        ASSERT_EQ(scheduled.refused, "");
        Case c;
        c.text = scheduled.source, c.options = original.options, c.entry = base.entry;
        c.locals = {{1, 1, 1}};
        core::Grid grid;
        for (std::size_t d = 0; d < 3; ++d) {
          const std::int64_t tile = base.footprint.points[d];
          c.groups[d] = grid.groups[d] = (instance.space.extent(static_cast<int>(d)) + tile - 1) / tile;
          if (grid.groups[d] * tile > 1) c.dimensions = grid.dimensions = static_cast<int>(d) + 1;
        }
        Memory memory;
        for (const workloads::Argument& a : instance.arguments) {
          CaseArgument argument;
          argument.kind = a.scalar ? CaseArgument::Kind::value : CaseArgument::Kind::buffer;
          c.arguments.push_back(argument);
          memory.push_back(a.bytes);
        }
        const Analysis again =
            device::must(compiler().analyse({c.text, c.options, target(device)}, {"box", "window", "merge"}));
        const auto mine = std::find_if(again.facts.kernels.begin(), again.facts.kernels.end(),
                                       [&](const core::KernelFacts& k) { return k.name == base.entry; });
        ASSERT_NE(mine, again.facts.kernels.end());
        EXPECT_EQ(mine->obstacles, std::vector<std::string>{});
        const core::BoundKernel bound(*mine, grid, scalars_of(c, memory));
        for (std::size_t i = 0; i < memory.size(); ++i) {
          const core::ByteRanges written = bound.touched({{0, 0, 0}, grid.groups})[i].written;
          // Of cutcp's orders some mix bounds checks into conditions on data.
          EXPECT_LE(written.certainty, w->name == "cutcp" ? core::Certainty::may : core::Certainty::exact)
              << instance.arguments[i].name;
        }
        auto there = CaseOnDevice::open(device, c, again);
        ASSERT_TRUE(there);
        std::vector<core::Box> boxes;
        for (std::int64_t z = 0; z < grid.groups[2]; ++z)
          for (std::int64_t y = 0; y < grid.groups[1]; ++y)
            boxes.push_back({{0, y, z}, {grid.groups[0], y + 1, z + 1}});
        EXPECT_EQ(there->run_boxes(grid, boxes, memory), there->run_whole(grid, memory));
        ++kernels;
      }
    }
  }
  EXPECT_GE(kernels, 40);
}

}  // namespace
}  // namespace heddle::kernel

// The two promises, on every case, every variant of every workload and every device: the box form computes bit by bit
// what the whole launch does, and no derived range is wrong.
#include "test/kernel/on_device.hpp"

#include <gtest/gtest.h>

#include "test/kernel/summary.hpp"
#include "workloads/workload.hpp"

namespace heddle::kernel {
namespace {

using device::Device;

Compiler& compiler() {
  static Compiler one(Options{.program = installed_compiler()});
  return one;
}

// Variants on what they can compute without their neighbours' help: whole footprints.
std::vector<Case> workload_cases() {
  std::vector<Case> out;
  for (const workloads::Workload* w : workloads::all()) {
    const workloads::Instance instance = workloads::make(*w, workloads::Size::tiny, w->inputs.front(), 7);
    for (const core::Variant& v : w->variants) {
      Case c;
      c.name = w->name + "_" + v.name;
      c.text = v.source, c.options = v.options, c.entry = v.entry;
      const core::Box box = core::align(instance.space, v.footprint, instance.space);
      if (box.empty() || (v.cut == core::Cut::none && box != instance.space)) continue;
      const core::NdRange range = core::nd_range(v, box, instance.space);
      c.locals = {range.local};
      c.any_grid = false;
      c.dimensions = range.dimensions;
      for (std::size_t d = 0; d < 3; ++d) c.groups[d] = range.global[d] / range.local[d];
      for (const workloads::Argument& a : instance.arguments) {
        CaseArgument argument;
        argument.kind = a.scalar ? CaseArgument::Kind::value : CaseArgument::Kind::buffer;
        argument.fixed = a.bytes;
        // Variants without a guard may read behind the end; what is there must be the same for all.
        if (!a.scalar) argument.fixed.resize(a.bytes.size() + (1 << 18), std::byte{1});
        c.arguments.push_back(argument);
      }
      out.push_back(std::move(c));
    }
  }
  return out;
}

std::vector<Case> all_cases() {
  std::vector<Case> out = cases_in(HEDDLE_TEST_DATA "/cases");
  for (Case& c : workload_cases()) out.push_back(std::move(c));
  return out;
}

struct Opened {
  Analysis analysis;
  const core::KernelFacts* facts = nullptr;  // of the kernel to launch
  std::optional<CaseOnDevice> there;
};

std::unique_ptr<Opened> open(Device& device, const Case& c) {
  auto out = std::make_unique<Opened>();
  out->analysis = device::must(compiler().analyse({c.text, c.options + " -I " HEDDLE_TEST_DATA "/cases", {}}, {"box"}));
  for (const core::KernelFacts& k : out->analysis.facts.kernels) {
    if (k.name == c.entry) out->facts = &k;
  }
  out->there = CaseOnDevice::open(device, c, out->analysis.forms.at("box"), out->analysis.options);
  return out;
}

class OnEveryDevice : public testing::TestWithParam<Device*> {};

std::vector<core::Box> random_cuts(const core::Index& groups, std::mt19937_64& random) {
  core::BoxSet left(core::Box{{0, 0, 0}, groups});
  std::vector<core::Box> out;
  while (!left.empty()) {
    core::Footprint footprint;
    const auto box = left.take(footprint, {{0, 0, 0}, groups}, 1 + static_cast<std::int64_t>(random() % 40),
                               static_cast<int>(random() % 3));
    out.push_back(*box);
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

TEST_P(OnEveryDevice, BoxesComputeWhatTheWholeDoes) {
  std::mt19937_64 random(3);
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    auto opened = open(*GetParam(), c);
    if (!opened->there || !opened->facts || !opened->facts->obstacles.empty()) continue;
    for (int round = 0; round < 2; ++round) {
      const Draw d = draw(c, random, round == 0);
      const Memory whole = opened->there->run_whole(d.grid, d.memory);
      EXPECT_EQ(opened->there->run_boxes(d.grid, random_cuts(d.grid.groups, random), d.memory), whole);
      EXPECT_EQ(opened->there->run_nothing(d.grid, d.memory), d.memory);
    }
  }
}

// Bytes that a run changed, told by two runs on opposite fillings of what is only written.
std::vector<std::vector<bool>> written_bytes(const Memory& before, const Memory& after, const Memory& before2,
                                             const Memory& after2) {
  std::vector<std::vector<bool>> out;
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::vector<bool> changed(before[i].size());
    for (std::size_t b = 0; b < changed.size(); ++b)
      changed[b] = before[i][b] != after[i][b] || before2[i][b] != after2[i][b];
    out.push_back(std::move(changed));
  }
  return out;
}

std::vector<bool> inside(const core::ByteRanges& ranges, std::size_t size) {
  std::vector<bool> out(size);
  for (const core::Span& span : core::spans(ranges, size)) {
    for (std::int64_t b = span.begin; b < span.end; ++b) out[static_cast<std::size_t>(b)] = true;
  }
  return out;
}

void check_ranges(Opened& opened, const Case& c, std::mt19937_64& random, bool fixed) {
  const Draw d = draw(c, random, fixed);
  const core::Box box = random_box(d.grid.groups, random);
  std::vector<std::vector<std::byte>> scalars;
  for (std::size_t i = 0; i < c.arguments.size(); ++i)
    scalars.push_back(c.arguments[i].kind == CaseArgument::Kind::value ? d.memory[i] : std::vector<std::byte>{});
  const core::BoundKernel bound(*opened.facts, d.grid, scalars);
  const auto touched = bound.touched(box);
  SCOPED_TRACE("box " + core::to_string(box) + " of " + core::to_string(core::Box{{0, 0, 0}, d.grid.groups}));

  Memory opposite = d.memory, poisoned = d.memory;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (c.arguments[i].kind != CaseArgument::Kind::buffer) continue;
    const bool in = !touched[i].read.none() || !touched[i].updated.none();
    if (!in) {
      for (std::byte& b : opposite[i]) b = ~b;
    }
    const auto read = inside(touched[i].read, d.memory[i].size()),
               updated = inside(touched[i].updated, d.memory[i].size());
    for (std::size_t b = 0; b < read.size(); ++b) {
      if (!read[b] && !updated[b]) poisoned[i][b] = static_cast<std::byte>(random());
    }
  }
  const Memory after = opened.there->run_boxes(d.grid, {box}, d.memory);
  const Memory after_opposite = opened.there->run_boxes(d.grid, {box}, opposite);
  const Memory after_poisoned = opened.there->run_boxes(d.grid, {box}, poisoned);
  const auto written = written_bytes(d.memory, after, opposite, after_opposite);
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (c.arguments[i].kind != CaseArgument::Kind::buffer) continue;
    const std::size_t size = d.memory[i].size();
    const auto may = inside(touched[i].written, size), updated = inside(touched[i].updated, size);
    const bool only_written = touched[i].read.none() && touched[i].updated.none();
    const bool exact = touched[i].written.certainty == core::Certainty::exact;
    std::size_t missed = 0, over = 0, differs = 0;
    for (std::size_t b = 0; b < size; ++b) {
      missed += written[i][b] && !may[b] && !updated[b];
      over += exact && only_written && may[b] && !written[i][b];
      differs += written[i][b] && after[i][b] != after_poisoned[i][b];
    }
    EXPECT_EQ(missed, 0u) << "bytes of argument " << i << " written outside of its range";
    EXPECT_EQ(over, 0u) << "bytes of argument " << i << " not written, though the range is exact";
    EXPECT_EQ(differs, 0u) << "bytes of argument " << i << " changed with what lies outside of the read ranges";
  }
}

TEST_P(OnEveryDevice, NoRangeIsWrong) {
  std::mt19937_64 random(std::random_device{}());
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    auto opened = open(*GetParam(), c);
    if (!opened->there || !opened->facts) continue;
    for (int round = 0; round < 8 && !HasFailure(); ++round) check_ranges(*opened, c, random, round == 0);
  }
}

// Nine in ten of the written arguments of affine workloads must be exact; here all of them are.
TEST(Workloads, WrittenRangesAreExact) {
  int exact = 0, written = 0;
  std::mt19937_64 random(1);
  for (const Case& c : workload_cases()) {
    const Analysis analysis = device::must(compiler().analyse({c.text, c.options, {}}));
    for (const core::KernelFacts& facts : analysis.facts.kernels) {
      if (facts.name != c.entry) continue;
      const Draw d = draw(c, random, true);
      std::vector<std::vector<std::byte>> scalars;
      for (std::size_t i = 0; i < c.arguments.size(); ++i)
        scalars.push_back(c.arguments[i].kind == CaseArgument::Kind::value ? d.memory[i] : std::vector<std::byte>{});
      const core::BoundKernel bound(facts, d.grid, scalars);
      for (int k = 0; k < 4; ++k) {
        const core::Box box = k == 0 ? core::Box{{0, 0, 0}, d.grid.groups} : random_box(d.grid.groups, random);
        for (const core::Touched& t : bound.touched(box)) {
          if (t.written.none()) continue;
          ++written;
          exact += t.written.certainty == core::Certainty::exact;
          EXPECT_EQ(t.written.certainty, core::Certainty::exact) << c.name << " box " << core::to_string(box);
        }
      }
    }
  }
  EXPECT_GE(written, 60);
  EXPECT_GE(exact * 10, written * 9);
}

INSTANTIATE_TEST_SUITE_P(Kernelc, OnEveryDevice, testing::ValuesIn(device::every_device()), device::device_name);

}  // namespace
}  // namespace heddle::kernel

// The clock form of every case and of every variant of every workload computes bit by bit what the original does, and
// its clock goes forward.
#include <gtest/gtest.h>

#include "core/clock_form.hpp"
#include "test/kernel/every_case.hpp"

namespace heddle::kernel {
namespace {

using device::Device;

class Clocks : public testing::TestWithParam<Device*> {};

constexpr std::byte unset{0xA5};

// The case with the form's argument behind its own.
Case with_clock(Case c, const core::NdRange& range) {
  CaseArgument clock;
  clock.kind = CaseArgument::Kind::buffer;
  clock.fixed.assign(core::clock_slots(range) * sizeof(std::uint64_t), unset);
  c.arguments.push_back(clock);
  return c;
}

std::vector<std::uint64_t> slots_of(const std::vector<std::byte>& bytes) {
  std::vector<std::uint64_t> out(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Every group noted both times, the second not before the first.
void expect_clock(const std::vector<std::byte>& bytes) {
  const auto slots = slots_of(bytes);
  std::uint64_t never;
  std::memset(&never, static_cast<int>(unset), sizeof never);
  std::size_t missing = 0, backwards = 0;
  for (std::size_t i = 0; i + 1 < slots.size(); i += 2) {
    missing += slots[i] == never || slots[i + 1] == never;
    backwards += slots[i + 1] < slots[i];
  }
  EXPECT_EQ(missing, 0u) << "groups of " << slots.size() / 2;
  EXPECT_EQ(backwards, 0u) << "groups of " << slots.size() / 2;
}

TEST_P(Clocks, TheFormComputesWhatTheOriginalDoes) {
  Device& device = *GetParam();
  std::mt19937_64 random(11);
  int kernels = 0;
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    const Source source{c.text, c.options + " -I " HEDDLE_TEST_DATA "/cases", target(device)};
    const Analysis analysis = device::must(compiler().analyse(source, {"clock"}));
    const Form& form = analysis.forms.at("clock");
    EXPECT_EQ(form.refused, "");
    auto original = device.build({source.text, source.options});
    if (!original && c.may_not_build) continue;
    ASSERT_TRUE(original) << original.failure().log;
    auto built = device.build({form.source, analysis.options});
    ASSERT_TRUE(built) << built.failure().what << built.failure().log << form.source;
    const auto facts = std::find_if(analysis.facts.kernels.begin(), analysis.facts.kernels.end(),
                                    [&](const auto& k) { return k.name == c.entry; });
    // What groups leave that learn of each other depends on their order.
    if (facts == analysis.facts.kernels.end() || !facts->obstacles.empty()) continue;
    const auto plain = device::must((*original)->kernel(c.entry)), with = device::must((*built)->kernel(c.entry));
    Draw d = draw(c, random, true);
    const core::NdRange range = range_of(d.grid);
    const Memory expected = CaseOnDevice(device, c).run_kernel(*plain, range, d.memory);
    const Case clocked = with_clock(c, range);
    d.memory.push_back(clocked.arguments.back().fixed);
    Memory computed = CaseOnDevice(device, clocked).run_kernel(*with, range, d.memory);
    expect_clock(computed.back());
    computed.pop_back();
    EXPECT_EQ(computed, expected) << form.source;
    ++kernels;
  }
  if (!std::getenv("HEDDLE_TEST_CASES")) {
    EXPECT_GE(kernels, 90);
  }
}

// A kernel whose work is its last argument. All of it is the last work-item's of each group: the others leave early.
Case spinning() {
  Case c;
  c.entry = "spin";
  c.text =
      "kernel void spin(global float* out, int n) {\n"
      "  float x = get_global_id(0);\n"
      "  if (get_local_id(0) < 63) return;\n"
      "  for (int i = 0; i < n; ++i) x = x * 1.0001f + 0.5f;\n"
      "  out[get_global_id(0)] = x;\n"
      "}\n";
  c.arguments = {{CaseArgument::Kind::buffer, "int", 4096, 0, 0, {}}, {CaseArgument::Kind::value, "int", 4, 0, 0, {}}};
  return c;
}

constexpr core::Grid spinning_grid{.groups = {16, 1, 1}, .local = {64, 1, 1}, .dimensions = 1};

// The least of some launches: another program may take the device away for a while.
std::uint64_t least_ticks(CaseOnDevice& there, device::Kernel& kernel, const core::NdRange& range,
                          const Memory& memory) {
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 7; ++i) {
    const auto slots = slots_of(there.run_kernel(kernel, range, memory).back());
    least = std::min(least, core::clock_ticks(slots));
  }
  return least;
}

// In one group: the ends of others would hide that its own was noted too early.
TEST_P(Clocks, MoreWorkTakesLonger) {
  Device& device = *GetParam();
  const Case c = spinning();
  core::Grid one_group = spinning_grid;
  one_group.groups = {1, 1, 1};
  const core::NdRange range = range_of(one_group);
  const Case clocked = with_clock(c, range);
  const Analysis analysis = device::must(compiler().analyse({c.text, "", target(device)}, {"clock"}));
  const auto built = device::must(device.build({analysis.forms.at("clock").source, analysis.options}));
  const auto kernel = device::must(built->kernel(c.entry));
  CaseOnDevice there(device, clocked);
  std::uint64_t ticks[2];
  for (const int more : {0, 1}) {
    Memory memory = {std::vector<std::byte>(4096), std::vector<std::byte>(4), clocked.arguments.back().fixed};
    const std::int32_t n = more ? 200'000 : 20'000;
    std::memcpy(memory[1].data(), &n, sizeof n);
    ticks[more] = least_ticks(there, *kernel, range, memory);
  }
  EXPECT_GT(ticks[0], 0u);
  EXPECT_GE(ticks[1], 2 * ticks[0]);
}

// Forms are sources, so a part of a launch has a clock as well: slots are those of the groups that were launched.
TEST_P(Clocks, OfABoxForm) {
  Device& device = *GetParam();
  const Case c = spinning();
  const Analysis box = device::must(compiler().analyse({c.text, "", target(device)}, {"box"}));
  const Analysis both =
      device::must(compiler().analyse({box.forms.at("box").source, box.options, target(device)}, {"clock"}));
  ASSERT_EQ(both.forms.at("clock").refused, "");
  const core::BoxLaunch launch = core::box_launch(spinning_grid, {{3, 0, 0}, {8, 1, 1}});
  Case boxed = c;
  Memory memory = {std::vector<std::byte>(4096, unset), std::vector<std::byte>(4)};
  for (const core::HiddenArgument& a :
       {launch.arguments.base, launch.arguments.count, launch.arguments.groups, launch.arguments.offset}) {
    CaseArgument argument;
    argument.fixed.resize(sizeof a);
    std::memcpy(argument.fixed.data(), a.data(), sizeof a);
    boxed.arguments.push_back(argument);
    memory.push_back(argument.fixed);
  }
  const Case clocked = with_clock(boxed, launch.range);
  memory.push_back(clocked.arguments.back().fixed);
  EXPECT_EQ(memory.back().size(), 5 * 16u);
  CaseOnDevice there(device, clocked);
  const Memory after = there.run_source({both.forms.at("clock").source, both.options}, launch.range, memory);
  expect_clock(after.back());
  for (int group = 0; group < 16; ++group) {
    float x, untouched;
    std::memcpy(&x, after[0].data() + (group * 64 + 63) * sizeof x, sizeof x);
    std::memset(&untouched, static_cast<int>(unset), sizeof untouched);
    EXPECT_EQ(x, group >= 3 && group < 8 ? static_cast<float>(group * 64 + 63) : untouched) << group;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernelc, Clocks, testing::ValuesIn(whole_devices()), device::device_name);

}  // namespace
}  // namespace heddle::kernel

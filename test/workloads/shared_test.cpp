// Every workload on devices with different memories, again and again: in parts as told, and as is found out meanwhile.
#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "kernel/compiler.hpp"
#include "test/device/any_device.hpp"
#include "workloads/through_library.hpp"

namespace heddle::workloads {
namespace {

// The CPU in halves, one of which is treated as if it had memory of its own; and all there is, where that has devices
// with memory of their own.
std::vector<device::Machine> machines() {
  std::vector<device::Machine> out;
  core::Settings settings = device::test_settings("cpu/2");
  settings.apart = "cpu.0";
  out.push_back(device::open_machine(settings, device::process_environment));
  auto all = device::open_machine(device::test_settings("all"), device::process_environment);
  const auto own = [](const auto& device) { return device->info().space != device::host_memory; };
  if (all.devices.size() > 1 && std::any_of(all.devices.begin(), all.devices.end(), own)) out.push_back(std::move(all));
  return out;
}

struct Counts {
  int launches = 0, shared = 0, elsewhere = 0;  // on several devices; on another than the first alone
};

// Its first variant, or all of them, of which each device may choose.
void run(engine::Engine& engine, const Workload& workload, bool all_variants, const std::string& input,
         Counts& counts) {
  const core::Variant& variant = workload.variants.front();
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(workload.name + " " + input + (all_variants ? " all" : "") + ", seed " + std::to_string(seed));
  std::vector<engine::VariantSource> sources;
  for (const core::Variant& v : workload.variants)
    sources.push_back({v.name, {v.entry, v.source, v.options}, v.group, v.footprint});
  std::shared_ptr<engine::Kernel> kernel;
  std::shared_ptr<engine::Pool> pool;
  if (all_variants) {
    auto made = engine.make_pool(workload.name, sources);
    ASSERT_TRUE(made) << made.failure().what;
    pool = *made, kernel = pool->variants.front().kernel;
  } else {
    auto made = engine.make_kernel(sources.front().source);
    ASSERT_TRUE(made) << made.failure().what;
    kernel = *made;
  }
  std::vector<std::shared_ptr<engine::Memory>> memories;
  int patience = 12;
  for (std::uint64_t i = 0; i < (all_variants ? 30 : 18); ++i) {
    Instance instance = make(workload, Size::tiny, input, seed + i);
    if (!covers_space(variant, instance.space)) return;
    Instance expected = instance;
    workload.reference(expected);
    poison(instance);
    const core::NdRange range = core::nd_range(variant, instance.space, instance.space);
    engine::Request request{.kernel = kernel, .items = range.global, .group = range.local, .offset = range.offset};
    if (pool) request = {.kernel = kernel, .pool = pool, .items = instance.space.end};
    request.dimensions = 3;
    std::size_t next = 0;
    for (const Argument& a : instance.arguments) {
      if (a.scalar) {
        request.arguments.emplace_back(device::Scalar(a.bytes.begin(), a.bytes.end()));
        continue;
      }
      // Inputs may have another size each time; page-locked now and then.
      if (next == memories.size() || memories[next]->size() != a.bytes.size()) {
        memories.resize(next);
        memories.push_back(engine.make_memory(a.bytes.size(), i % 2 == 0));
      }
      ASSERT_TRUE(engine.to_host(memories[next], true));
      std::copy(a.bytes.begin(), a.bytes.end(), memories[next]->host().bytes.begin());
      request.arguments.emplace_back(engine::View{memories[next], 0, a.bytes.size()});
      ++next;
    }
    if (i % 3 != 0) {
      std::mt19937_64 random(seed + i);
      for (std::size_t d = 0; d < engine.devices().size(); ++d)
        request.wishes.parts.push_back(static_cast<double>(random() % 100));
    }
    const auto launch = engine.submit(request);
    const auto status = engine.wait(launch);
    ASSERT_TRUE(status) << status.failure().what;
    next = 0;
    for (Argument& a : instance.arguments) {
      if (a.scalar) continue;
      ASSERT_TRUE(engine.to_host(memories[next], false));
      const auto host = memories[next++]->host().bytes;
      a.bytes.assign(host.begin(), host.end());
    }
    EXPECT_EQ(compare(workload, expected, instance).value_or("right"), "right") << i;
    std::set<std::string> worked;
    for (const engine::SliceReport& slice : engine.report(*launch).slices) worked.insert(slice.device);
    // Others build meanwhile, some for long.
    if (i < 2 && worked.size() == 1 && patience-- > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (i == 1) --i;
      continue;
    }
    ++counts.launches, counts.shared += worked.size() > 1;
    counts.elsewhere += worked.size() == 1 && *worked.begin() != engine.devices().front()->info().id;
  }
}

void run_all(bool all_variants, int launches, int shared) {
  for (device::Machine& machine : machines()) {
    std::vector<device::Device*> devices;
    for (const auto& device : machine.devices) devices.push_back(device.get());
    kernel::Compiler compiler(kernel::options_of(device::test_settings("all")));
    engine::Options options{
        .analyse = [&](const auto& asked, const auto& forms) { return compiler.analyse(asked, forms); }};
    options.shortest_slice = core::Nanoseconds(1);  // nothing is too short to be tried
    engine::Engine engine(devices, options);
    Counts counts;
    for (const Workload* workload : all()) {
      for (const std::string& input : workload->inputs) run(engine, *workload, all_variants, input, counts);
    }
    std::printf("%d launches, %d on several devices, %d on another than the first\n", counts.launches, counts.shared,
                counts.elsewhere);
    EXPECT_GT(counts.launches, launches);
    EXPECT_GT(counts.shared, shared);
  }
}

// All bytes after a launch in these parts.
std::vector<std::byte> bytes_after(engine::Engine& engine, const std::shared_ptr<engine::Kernel>& kernel,
                                   const core::Variant& variant, Instance instance, const std::vector<double>& parts,
                                   std::size_t& devices) {
  poison(instance);
  const core::NdRange range = core::nd_range(variant, instance.space, instance.space);
  engine::Request request{.kernel = kernel, .items = range.global, .group = range.local, .offset = range.offset};
  request.dimensions = 3;
  request.wishes.parts = parts;
  std::vector<std::shared_ptr<engine::Memory>> memories;
  for (const Argument& a : instance.arguments) {
    if (a.scalar) {
      request.arguments.emplace_back(device::Scalar(a.bytes.begin(), a.bytes.end()));
      continue;
    }
    memories.push_back(engine.make_memory(a.bytes.size()));
    std::copy(a.bytes.begin(), a.bytes.end(), memories.back()->host().bytes.begin());
    request.arguments.emplace_back(engine::View{memories.back(), 0, a.bytes.size()});
  }
  const auto launch = engine.submit(request);
  EXPECT_TRUE(engine.wait(launch));
  std::set<std::string> worked;
  for (const engine::SliceReport& slice : engine.report(*launch).slices) worked.insert(slice.device);
  devices = worked.size();
  std::vector<std::byte> out;
  for (const auto& memory : memories) {
    EXPECT_TRUE(engine.to_host(memory, false));
    out.insert(out.end(), memory->host().bytes.begin(), memory->host().bytes.end());
  }
  return out;
}

// Equal parts of a CPU are alike: together they compute what one of them does, to the last bit.
TEST(Shared, EqualDevicesAreExact) {
  const int units =
      device::open_machine(device::test_settings("cpu/1"), device::process_environment).devices.front()->info().units;
  if (units < 2) GTEST_SKIP() << "one core only";
  core::Settings settings = device::test_settings("cpu/" + std::to_string(units % 2 == 0 ? 2 : units));
  settings.exactness = "exact";
  const device::Machine machine = device::open_machine(settings, device::process_environment);
  ASSERT_GE(machine.devices.size(), 2u);
  kernel::Compiler compiler(kernel::options_of(device::test_settings("all")));
  engine::Options options{
      .analyse = [&](const auto& asked, const auto& forms) { return compiler.analyse(asked, forms); }};
  engine::Engine engine({machine.devices[0].get(), machine.devices[1].get()}, options);
  int compared = 0;
  for (const Workload* workload : all()) {
    for (const std::string& input : workload->inputs) {
      const std::uint64_t seed = std::random_device{}();
      SCOPED_TRACE(workload->name + " " + input + ", seed " + std::to_string(seed));
      const core::Variant& variant = workload->variants.front();
      const Instance instance = make(*workload, Size::tiny, input, seed);
      if (!covers_space(variant, instance.space)) continue;
      auto kernel = engine.make_kernel({variant.entry, variant.source, variant.options});
      ASSERT_TRUE(kernel);
      std::size_t devices = 0;
      const auto alone = bytes_after(engine, *kernel, variant, instance, {1, 0}, devices);
      for (int i = 0; i < 10 && devices < 2; ++i) {
        EXPECT_EQ(bytes_after(engine, *kernel, variant, instance, {1, 1.5}, devices), alone);
        if (devices < 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the other builds
      }
      compared += devices > 1;
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(Shared, EveryWorkloadIsRight) { run_all(false, 400, 100); }
TEST(Shared, EveryWorkloadWithAllItsVariantsIsRight) { run_all(true, 600, 100); }

}  // namespace
}  // namespace heddle::workloads

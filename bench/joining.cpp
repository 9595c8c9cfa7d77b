// How fast what several memories have written is joined: by differences, by sums, and by a merge kernel.
#include "bench/joining.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "core/box_form.hpp"
#include "engine/engine.hpp"
#include "engine/target.hpp"
#include "kernel/compiler.hpp"

namespace heddle::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* joining_name = "joining";

// By a merge kernel, on the first device that works in the host's memory.
std::vector<Case> merging(Context& context, const std::function<double(const std::function<void()>&)>& rate,
                          std::size_t size) {
  const auto& devices = context.machine.devices;
  const auto at = std::find_if(devices.begin(), devices.end(),
                               [](const auto& device) { return device->info().space == device::host_memory; });
  if (at == devices.end()) return {};
  device::Device& device = **at;
  struct Merger {
    std::unique_ptr<device::Program> program;
    std::unique_ptr<device::Kernel> kernel;
    std::unique_ptr<device::Queue> queue;
    std::vector<engine::HostBlock> blocks;
    std::vector<std::unique_ptr<device::Buffer>> buffers;  // which, to, and what another memory holds of both
  };
  const auto merger = std::make_shared<Merger>();
  kernel::Compiler compiler(kernel::options_of(context.settings));
  const auto analysis = take(
      compiler.analyse({"kernel void k(global const uint* which, global uint* to) { const size_t i = get_global_id(0); "
                        "if (which[i]) to[i] = 2; }",
                        "", take(engine::target_of(device))},
                       {"merge"}));
  merger->program = take(device.build({analysis.forms.at("merge").source, analysis.options}));
  merger->kernel = take(merger->program->kernel("k"));
  merger->queue = take(device.open_queue());
  for (int b = 0; b < 3; ++b) {
    merger->blocks.push_back(engine::allocate_host(size));
    std::memset(merger->blocks.back().bytes.data(), b, size);
    merger->buffers.push_back(take(device.wrap(merger->blocks.back().bytes)));
  }
  const auto words = static_cast<std::int64_t>(size / 4);
  const core::Grid grid{{words / 256, 1, 1}, {256, 1, 1}};
  const core::BoxLaunch boxed = core::box_launch(grid, {{0, 0, 0}, grid.groups});
  std::vector<device::Argument> arguments = {device::BufferArgument{merger->buffers[0].get()},
                                             device::BufferArgument{merger->buffers[1].get()}};
  const auto& [base, count, groups, offset] = boxed.arguments;
  for (const core::HiddenArgument& hidden : {base, count, groups, offset}) arguments.push_back(device::scalar(hidden));
  for (int b : {0, 2}) {
    arguments.push_back(device::BufferArgument{merger->buffers[static_cast<std::size_t>(b)].get()});
    arguments.push_back(device::scalar(std::uint64_t{b == 2 ? size : 0}));
  }
  std::vector<Case> out;
  for (const std::size_t every : {4096, 64, 1}) {  // words
    out.push_back(
        {fmt::format("{}, by a merge kernel, one word of {} written", joining_name, every), "GB/s", [=] {
           const auto which = merger->blocks[0].bytes;
           std::memset(which.data(), 0, which.size());
           for (std::size_t w = 0; w < size; w += 4 * every) which[w] = std::byte{1};
           return rate([&] { take(take(merger->queue->launch({*merger->kernel, arguments, boxed.range}))->wait()); });
         }});
  }
  return out;
}

}  // namespace

std::vector<Row> joining(Context& context) {
  constexpr std::size_t size = std::size_t{64} << 20;
  engine::Join join{.memory = std::make_shared<engine::Memory>(engine::allocate_host(size)), .width = 4};
  std::memset(join.memory->host().bytes.data(), 1, size);
  join.bytes = core::SpanSet(join.memory->all());
  join.keep();
  const auto rate = [](const auto& act) {
    const auto begin = Clock::now();
    act();
    return 1e-9 * size / std::chrono::duration<double>(Clock::now() - begin).count();
  };
  std::vector<Case> cases;
  const engine::HostBlock copy = engine::allocate_host(size);
  cases.push_back({joining_name + std::string(", a copy of as many bytes"), "GB/s",
                   [&] { return rate([&] { std::memcpy(copy.bytes.data(), join.before.bytes.data(), size); }); }});
  for (const std::string atomics : {"", "add"}) {
    for (const std::size_t every : {4096, 64, 1}) {  // words
      const engine::HostBlock after = engine::allocate_host(size);
      std::memcpy(after.bytes.data(), join.before.bytes.data(), size);
      for (std::size_t at = 0; at < size; at += 4 * every) after.bytes[at] = std::byte{2};
      cases.push_back({fmt::format("{}, {}, one word of {} changed", joining_name,
                                   atomics.empty() ? "by differences" : "by sums", every),
                       "GB/s", [&, after, atomics] {
                         join.atomics = atomics;
                         return rate([&] { join.take(after, join.bytes); });
                       }});
    }
  }
  for (Case& one : merging(context, rate, size)) cases.push_back(std::move(one));
  for (Case& one : cases) one.once();  // what is compiled, and touched, for the first time
  return context.interleave("", cases, context.options.quick ? 3 : 15);
}

}  // namespace heddle::bench

// Arguments to buffers and values, one launch, and back.
#include "workloads/through_library.hpp"

namespace heddle::workloads {

bool covers_space(const core::Variant& variant, const core::Box& space) {
  return core::align(space, variant.footprint, space) == space;
}

std::optional<std::string> run_through_library(Runtime& runtime, const Workload& workload, std::size_t variant,
                                               Instance instance, const Instance& expected, int tasks, Report& report) {
  const core::Variant& v = workload.variants[variant];
  poison(instance);
  std::vector<Buffer<std::byte>> buffers;
  std::vector<detail::Argument> arguments;
  for (const Argument& a : instance.arguments) {
    if (a.scalar) {
      arguments.emplace_back(a.bytes);
      continue;
    }
    buffers.push_back(runtime.buffer<std::byte>(a.bytes.size()));
    buffers.back().write(a.bytes);
    arguments.emplace_back(buffers.back().argument());
  }
  const core::NdRange range = core::nd_range(v, instance.space, instance.space);
  Grid grid;
  grid.items = range.global, grid.group_size = range.local, grid.offset = range.offset;
  grid.dimensions = 1;
  for (int d = 1; d < 3; ++d) {
    if (range.global[static_cast<std::size_t>(d)] > 1) grid.dimensions = d + 1;
  }
  if (range.dimensions > 0) grid.dimensions = range.dimensions;
  grid.task_count = tasks, grid.everywhere = true;
  const Launch launch = runtime.launch_all(runtime.kernel(v.entry, v.source, v.options), grid, std::move(arguments));
  launch.wait();
  report = launch.report();
  std::size_t next = 0;
  for (Argument& a : instance.arguments) {
    if (a.scalar) continue;
    const auto bytes = buffers[next++].read();
    a.bytes.assign(bytes.begin(), bytes.end());
  }
  return compare(workload, expected, instance);
}

}  // namespace heddle::workloads

// Arguments to buffers and values, one launch, and back.
#include "workloads/through_library.hpp"

namespace heddle::workloads {

InLibrary::InLibrary(Runtime& runtime, Instance instance) : runtime_(runtime), instance_(std::move(instance)) {
  for (Argument& a : instance_.arguments) {
    if (a.scalar) {
      arguments_.emplace_back(a.bytes);
      continue;
    }
    buffers_.push_back(runtime.buffer<std::byte>(a.bytes.size()));
    buffers_.back().write(a.bytes);
    arguments_.emplace_back(buffers_.back().argument());
    std::vector<std::byte>().swap(a.bytes);
  }
}

Instance InLibrary::result() {
  Instance out = instance_;
  std::size_t next = 0;
  for (Argument& a : out.arguments) {
    if (a.scalar) continue;
    const auto bytes = buffers_[next++].read();
    a.bytes.assign(bytes.begin(), bytes.end());
  }
  return out;
}

Kernel with_variants(Runtime& runtime, const Workload& workload) {
  Kernel out = runtime.kernel(workload.name);
  for (const core::Variant& v : workload.variants) {
    out.variant(v.name, v.source,
                {.points = v.footprint.points,
                 .group = v.group,
                 .guarded = v.footprint.guarded,
                 .options = v.options,
                 .entry = v.entry});
  }
  return out;
}

Grid points_of(const Instance& instance) {
  Grid out;
  for (int d = 0; d < 3; ++d) {
    out.items[static_cast<std::size_t>(d)] = instance.space.extent(d);
    if (instance.space.extent(d) > 1) out.dimensions = d + 1;
  }
  return out;
}

bool covers_space(const core::Variant& variant, const core::Box& space) {
  return core::align(space, variant.footprint, space) == space;
}

std::optional<std::string> run_through_library(Runtime& runtime, const Workload& workload, std::size_t variant,
                                               Instance instance, const Instance& expected, int tasks, Report& report) {
  const core::Variant& v = workload.variants[variant];
  poison(instance);
  InLibrary there(runtime, instance);
  const core::NdRange range = core::nd_range(v, instance.space, instance.space);
  Grid grid;
  grid.items = range.global, grid.group_size = range.local, grid.offset = range.offset;
  grid.dimensions = 1;
  for (int d = 1; d < 3; ++d) {
    if (range.global[static_cast<std::size_t>(d)] > 1) grid.dimensions = d + 1;
  }
  if (range.dimensions > 0) grid.dimensions = range.dimensions;
  grid.task_count = tasks, grid.everywhere = true;
  const Launch launch = there.launch(runtime.kernel(v.entry, v.source, v.options), grid);
  launch.wait();
  report = launch.report();
  return compare(workload, expected, there.result());
}

}  // namespace heddle::workloads

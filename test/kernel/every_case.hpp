// What the promises are held to: the .cl files, and the variants of all workloads.
#pragma once

#include <cstdlib>

#include "engine/target.hpp"
#include "test/kernel/on_device.hpp"
#include "test/kernel/shared_compiler.hpp"
#include "workloads/workload.hpp"

namespace heddle::kernel {

// Variants on what they can compute without their neighbours' help: whole footprints.
inline std::vector<Case> workload_cases() {
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
        if (!a.scalar)
          argument.fixed.resize(a.bytes.size() + (a.constant ? workloads::constant_tail_bytes : 1 << 18), std::byte{1});
        c.arguments.push_back(argument);
      }
      out.push_back(std::move(c));
    }
  }
  return out;
}

inline std::vector<Case> all_cases() {
  if (const char* folder = std::getenv("HEDDLE_TEST_CASES")) return cases_in(folder);  // one's own instead
  std::vector<Case> out = cases_in(HEDDLE_TEST_DATA "/cases");
  for (Case& c : workload_cases()) out.push_back(std::move(c));
  return out;
}

// Halves of a CPU compile alike, and everything here compiles.
inline std::vector<device::Device*> whole_devices() {
  std::vector<device::Device*> out;
  for (device::Device* d : device::every_device()) {
    if (!device::is_part(d->info())) out.push_back(d);
  }
  return out;
}

// As its compiler has it, so that the form takes the same ways through #if as the original.
inline const Target& target(device::Device& device) {
  static std::map<const device::Device*, Target> known;
  const auto [at, fresh] = known.try_emplace(&device);
  if (fresh) at->second = device::must(engine::target_of(device));
  return at->second;
}

}  // namespace heddle::kernel

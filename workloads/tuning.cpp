// An instance's arguments in the form that tuning takes.
#include "workloads/tuning.hpp"

#include "core/errors.hpp"

namespace heddle::workloads {

core::Tunable tunable_of(const Workload& workload) {
  if (workload.tunable) return workload.tunable();
  std::string known;
  for (const Workload* other : all()) {
    if (other->tunable) known += (known.empty() ? "" : ", ") + other->name;
  }
  throw core::UsageError("workload '" + workload.name + "' has no parameters; these have: " + known);
}

ToTune to_tune(const Workload& workload, const Instance& instance, const Instance& expected) {
  ToTune out{tunable_of(workload), instance.space, {}, workload.variants.front()};
  for (std::size_t a = 0; a < instance.arguments.size(); ++a) {
    const Argument& argument = instance.arguments[a];
    engine::TuningArgument& to = out.arguments.emplace_back();
    to.access = argument.access;
    if (argument.element == Element::f32) to.element = engine::TuningArgument::Element::f32;
    if (argument.scalar) {
      to.given = argument.bytes;
      continue;
    }
    to.given = std::span<const std::byte>(argument.bytes);
    if (argument.access != core::Access::read) to.expected = expected.arguments[a].bytes;
  }
  return out;
}

}  // namespace heddle::workloads

// What the facts of a case come to at its largest launch, in lines that .cl files can ask for.
#pragma once

#include "core/answers.hpp"
#include "core/schedule.hpp"
#include "test/kernel/case.hpp"

namespace heddle::kernel {

inline std::vector<std::string> summary(const Case& c, const core::KernelFacts& facts) {
  const std::string who = facts.name + ": ";
  std::vector<std::string> out;
  for (const std::string& obstacle : facts.obstacles) out.push_back(who + "obstacle " + obstacle);
  out.push_back(who + (core::uniform_work(facts) ? "uniform" : "not uniform"));
  out.push_back(who + (core::offset_is_enough(facts) ? "offset is enough" : "box form needed"));
  const auto orders = core::orders_of(facts.nest);
  out.push_back(
      who + (orders.empty() ? "no schedules: " + facts.nest.refused : std::to_string(orders.size()) + " schedules"));
  for (const std::string& effect : core::side_effects(facts)) out.push_back(who + "effect " + effect);
  if (c.entry != facts.name || c.arguments.size() != facts.arguments.size()) {
    // Without a launch: the certainty with scalars unknown.
    for (const core::AccessFacts& a : facts.accesses)
      out.push_back(who +
                    (a.kind == core::AccessKind::read    ? "read "
                     : a.kind == core::AccessKind::write ? "written "
                                                         : "updated ") +
                    (a.argument < 0 ? "?" : facts.arguments[static_cast<std::size_t>(a.argument)].name));
    return out;
  }
  core::Grid grid{c.groups, c.locals.front(), c.offset, c.dimensions};
  std::vector<std::vector<std::byte>> scalars;
  std::mt19937_64 random(1);
  for (CaseArgument a : c.arguments) {
    a.low = a.high;  // the largest value
    scalars.push_back(a.kind == CaseArgument::Kind::value ? fill(a, random) : std::vector<std::byte>{});
  }
  const core::BoundKernel bound(facts, grid, scalars);
  const core::Box all{{0, 0, 0}, grid.groups};
  const auto touched = bound.touched(all);
  for (std::size_t i = 0; i < touched.size(); ++i) {
    const std::string& name = facts.arguments[i].name;
    auto say = [&](const char* what, const core::ByteRanges& r) {
      if (!r.none()) out.push_back(who + what + " " + name + " " + to_string(r.certainty));
    };
    say("read", touched[i].read);
    say("written", touched[i].written);
    say("updated", touched[i].updated);
    const core::Merge merge = core::merge_of(bound, i, all);
    if (merge != core::Merge::nothing) out.push_back(who + "merge " + name + ": " + to_string(merge));
  }
  if (const auto axis = core::best_axis(bound, all)) out.push_back(who + "axis " + std::to_string(*axis));
  if (const auto axis = core::best_axis(bound, all, core::BytesAre::shared))
    out.push_back(who + "axis on host " + std::to_string(*axis));
  if (!orders.empty()) out.push_back(who + "least strides " + core::order_of_least_strides(facts, grid, scalars));
  if (core::contiguous(bound, all)) out.push_back(who + "contiguous");
  return out;
}

}  // namespace heddle::kernel

// Suite "forms": what it costs a CPU to compute part of a launch, by the form of the kernel that does it. A driver may
// compile each form apart, and how its code happens to lie may make it a third slower.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/suites.hpp"
#include "core/box_form.hpp"
#include "engine/target.hpp"
#include "kernel/compiler.hpp"
#include "workloads/on_device.hpp"

namespace heddle::bench {

namespace {

using device::Device;
using workloads::Size;

constexpr device::Clock by_events{.source = device::Clock::Source::event};
constexpr const char *offset_name = "with an offset, against none", *box_name = "as a box, against none";

// All of a space but the first groups, and as many points from the beginning.
struct Parts {
  core::Box first, later;
};

Parts parts_of(const core::Box& space, const core::Variant& variant) {
  int axis = 2;  // the slowest dimension that has any extent
  while (axis > 0 && space.extent(axis) == 1) --axis;
  const auto d = static_cast<std::size_t>(axis);
  const std::int64_t step = variant.footprint.points[d], groups = space.extent(axis) / step - 1;
  Parts out{space, space};
  out.first.end[d] = groups * step;
  out.later.begin[d] = step, out.later.end[d] = step + groups * step;
  return out;
}

// The variant in box form, which computes that part whatever it is asked for, as long as it is as many points.
void make_box_form(Context& context, Device& device, workloads::Workload& workload, workloads::Instance& instance,
                   const core::Box& part) {
  core::Variant& variant = workload.variants.front();
  kernel::Compiler compiler(kernel::options_of(context.settings));
  const auto analysis =
      take(compiler.analyse({variant.source, variant.options, take(engine::target_of(device))}, {"box"}));
  const kernel::Form& form = analysis.forms.at("box");
  if (!form.refused.empty()) throw Failed{{core::FailureKind::unsupported, form.refused, ""}};
  core::Grid whole;
  core::Box groups;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t one = variant.footprint.points[d];
    whole.local[d] = variant.group[d], whole.groups[d] = (instance.space.end[d] + one - 1) / one;
    groups.begin[d] = part.begin[d] / one, groups.end[d] = (part.end[d] + one - 1) / one;
    if (whole.groups[d] * whole.local[d] > 1) whole.dimensions = static_cast<int>(d) + 1;
  }
  const core::BoxLaunch launch = core::box_launch(whole, groups);
  for (const auto& hidden :
       {launch.arguments.base, launch.arguments.count, launch.arguments.groups, launch.arguments.offset}) {
    workloads::Argument argument{.name = "hidden", .scalar = true};
    const auto bytes = std::as_bytes(std::span(hidden));
    argument.bytes.assign(bytes.begin(), bytes.end());
    instance.arguments.push_back(std::move(argument));
  }
  variant.source = form.source, variant.options = analysis.options;
}

std::vector<Row> compare_forms(Context& context, Device& device, const workloads::Workload& its, std::size_t v) {
  workloads::Workload plain = its;
  plain.variants = {its.variants[v]};
  workloads::Workload boxed = plain;
  const workloads::Instance instance = workloads::make(its, Size::normal, its.inputs.front(), 1);
  const Parts parts = parts_of(instance.space, plain.variants.front());
  workloads::Instance hidden = instance;
  make_box_form(context, device, boxed, hidden, parts.later);
  const auto there = take(workloads::OnDevice::open(device, plain, instance));
  const auto there_boxed = take(workloads::OnDevice::open(device, boxed, std::move(hidden)));
  std::vector<double> none, offset, box;
  const auto timed = [](workloads::OnDevice& on, const core::Box& part, std::vector<double>& to) {
    return [&on, part, &to] {
      return to.emplace_back(1e3 * core::seconds(take(on.run({0, part}, by_events)).duration));
    };
  };
  const std::string prefix = fmt::format("{} {}, ", its.name, plain.variants.front().name);
  const std::vector<Case> cases = {{prefix + "none", "ms", timed(*there, parts.first, none)},
                                   {prefix + "offset", "ms", timed(*there, parts.later, offset)},
                                   {prefix + "box", "ms", timed(*there_boxed, parts.first, box)}};
  for (const Case& c : cases) c.once();
  none.clear(), offset.clear(), box.clear();
  std::vector<Row> rows = context.interleave(device.info().id, cases, context.options.quick ? 7 : 15);
  const auto against_none = [&](const char* name, const std::vector<double>& form) {
    std::vector<double> ratios;  // of neighbours in time
    for (std::size_t i = 0; i < std::min(none.size(), form.size()); ++i) ratios.push_back(form[i] / none[i]);
    rows.push_back(summarise(prefix + name, device.info().id, "", ratios));
  };
  against_none(offset_name, offset);
  against_none(box_name, box);
  return rows;
}

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out;
  for (const auto& device : context.machine.devices) {
    if (device->info().kind != device::Kind::cpu) continue;
    for (const workloads::Workload* workload : workloads::all()) {
      for (std::size_t v = 0; v < workload->variants.size(); ++v) {
        if (workload->variants[v].cut == core::Cut::none) continue;
        out.push_back({fmt::format("{} {} {}", device->info().id, workload->name, workload->variants[v].name),
                       [d = device.get(), workload, v](Context& c) { return compare_forms(c, *d, *workload, v); }});
      }
    }
  }
  return out;
}

// How many are more than a tenth slower so, and the worst of them.
nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, key] : {std::pair(offset_name, "offset"), std::pair(box_name, "box")}) {
    int slow = 0, all = 0;
    double worst = 0;
    for (const Row& row : rows) {
      if (row.name.find(name) == std::string::npos) continue;
      ++all, slow += row.median > 1.1, worst = std::max(worst, row.median);
    }
    if (all > 0) out[key] = {{"kernels", all}, {"slower_by_a_tenth", slow}, {"worst_pct", 100 * (worst - 1)}};
  }
  return out;
}

}  // namespace

Suite forms_suite() {
  return {"forms", "what part of a launch costs a CPU by an offset and as a box, against one that begins at zero",
          shards, summary};
}

}  // namespace heddle::bench

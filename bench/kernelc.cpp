// Suite "kernelc": what analysing kernels costs, what asking the facts costs, and what the box form costs against the
// original.
#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "bench/hundred_lines.hpp"
#include "bench/suites.hpp"
#include "core/box_form.hpp"
#include "core/byte_ranges.hpp"
#include "kernel/compiler.hpp"
#include "workloads/workload.hpp"

namespace heddle::bench {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

const core::Variant& variant(std::string_view workload, std::string_view name) {
  for (const core::Variant& v : workloads::find(workload).variants) {
    if (v.name == name) return v;
  }
  throw core::InternalError(fmt::format("bench kernelc: {} has no variant {}", workload, name));
}

kernel::Options no_cache(const Context& context, bool resident) {
  kernel::Options options = kernel::options_of(context.settings);
  options.cache.clear();
  options.resident = resident;
  return options;
}

std::vector<Row> analysis(Context& context) {
  kernel::Compiler cold(no_cache(context, false)), warm(no_cache(context, true));
  // A macro that is new each time, so that nothing could have been kept.
  int number = static_cast<int>(std::random_device{}() % 1'000'000);
  auto once = [&](kernel::Compiler& compiler) {
    const std::string options = fmt::format("-DNEW={}", ++number);
    const auto begin = Clock::now();
    take(compiler.analyse({hundred_lines, options, {}}, {"box"}));
    return milliseconds_since(begin);
  };
  once(cold);
  auto in_a_row = [&] {  // a process that is at work: the first request after another program's pays for its caches
    once(warm), once(warm);
    return (once(warm) + once(warm) + once(warm)) / 3;
  };
  return context.interleave("",
                            {{"facts, box form of 100 lines, cold", "ms", [&] { return once(cold); }},
                             {"facts, box form of 100 lines, warm", "ms", in_a_row}},
                            context.options.quick ? 11 : 41);
}

// A variant's launch at the usual size, with its facts.
struct Bound {
  core::KernelFacts facts;
  core::Grid grid;
  std::vector<std::vector<std::byte>> scalars;
};

core::Grid grid_of(const core::Variant& v, const core::Box& space) {
  const core::NdRange range = core::nd_range(v, core::align(space, v.footprint, space), space);
  core::Grid out{{}, range.local, {0, 0, 0}, range.dimensions};
  for (std::size_t d = 0; d < 3; ++d) out.groups[d] = range.global[d] / range.local[d];
  return out;
}

std::vector<Row> evaluation(Context& context) {
  kernel::Compiler compiler(no_cache(context, true));
  std::vector<Case> cases;
  for (const workloads::Workload* w : workloads::all()) {
    const workloads::Instance instance = workloads::make(*w, workloads::Size::tiny, w->inputs.front(), 1);
    for (const core::Variant& v : w->variants) {
      if (v.cut == core::Cut::none && core::align(instance.space, v.footprint, instance.space) != instance.space)
        continue;
      auto bound = std::make_shared<Bound>();
      bound->grid = grid_of(v, instance.space);
      for (const workloads::Argument& a : instance.arguments)
        bound->scalars.push_back(a.scalar ? a.bytes : std::vector<std::byte>{});
      const auto answer = take(compiler.analyse({v.source, v.options, {}}));
      for (const core::KernelFacts& k : answer.facts.kernels) {
        if (k.name == v.entry) bound->facts = k;
      }
      auto kernel = std::make_shared<core::BoundKernel>(bound->facts, bound->grid, bound->scalars);
      cases.push_back({fmt::format("ranges of a box, {} {}", w->name, v.name), "us", [bound, kernel] {
                         constexpr int calls = 200;
                         core::Box half{{0, 0, 0}, bound->grid.groups};
                         for (auto& end : half.end) end = std::max<std::int64_t>(1, end / 2);
                         const auto begin = Clock::now();
                         for (int i = 0; i < calls; ++i) kernel->touched(half);
                         return 1e3 * milliseconds_since(begin) / calls;
                       }});
    }
  }
  return context.interleave("", cases, context.options.quick ? 11 : 41);
}

// One variant on a device, as the program has it and in box form.
class Pair {
 public:
  Pair(device::Device& device, const workloads::Workload& w, const core::Variant& v, const kernel::Analysis& analysis)
      : device_(device) {
    const workloads::Instance instance = workloads::make(w, workloads::Size::normal, w.inputs.front(), 1);
    const core::Grid grid = grid_of(v, instance.space);
    queue_ = take(device.open_queue(device::Device::Timing::off));
    original_ = take(device.build({v.source, v.options}));
    form_ = take(device.build({analysis.forms.at("box").source, analysis.options}));
    counted_form_ =
        take(device.build({analysis.forms.at("box").source, analysis.options + " " + core::counted_option}));
    whole_ = take(original_->kernel(v.entry));
    box_ = take(form_->kernel(v.entry));
    counted_ = take(counted_form_->kernel(v.entry));
    for (const workloads::Argument& a : instance.arguments) {
      if (a.scalar) {
        arguments_.push_back(device::Scalar(a.bytes));
        continue;
      }
      buffers_.push_back(take(device.allocate(a.bytes.size() + (1 << 18))));
      take(take(queue_->copy_in(*buffers_.back(), 0, a.bytes))->wait());
      arguments_.push_back(device::BufferArgument{buffers_.back().get(), core::Access::read_write});
    }
    range_ = core::nd_range(v, core::align(instance.space, v.footprint, instance.space), instance.space);
    const core::BoxLaunch launch = core::box_launch(grid, {{0, 0, 0}, grid.groups});
    boxed_ = arguments_;
    for (const core::HiddenArgument& hidden :
         {launch.arguments.base, launch.arguments.count, launch.arguments.groups, launch.arguments.offset})
      boxed_.push_back(device::scalar(hidden));
    for (int i = 0; i < 3; ++i) original(), box(), counted();  // compiles, and touches the memory
  }

  double original() { return once({*whole_, arguments_, range_}); }
  double box() { return once({*box_, boxed_, range_}); }
  double counted() { return once({*counted_, boxed_, range_}); }

 private:
  double once(const device::Run& run) {
    const core::Nanoseconds begin = device_.now();
    take(take(queue_->launch(run))->wait());
    return core::seconds(device_.now() - begin);
  }

  device::Device& device_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Program> original_, form_, counted_form_;
  std::unique_ptr<device::Kernel> whole_, box_, counted_;
  std::vector<std::unique_ptr<device::Buffer>> buffers_;
  std::vector<device::Argument> arguments_, boxed_;
  core::NdRange range_;
};

std::vector<Row> box_form(Context& context, device::Device& device) {
  kernel::Compiler compiler(no_cache(context, true));
  std::vector<Case> cases;
  const std::pair<const char*, const char*> which[] = {
      {"transpose", "naive"}, {"transpose", "tiled"}, {"stencil", "base"}, {"stencil", "coarse_z"}};
  for (const auto& [workload, name] : which) {
    const core::Variant& v = variant(workload, name);
    auto pair = std::make_shared<Pair>(device, workloads::find(workload), v,
                                       take(compiler.analyse({v.source, v.options, {}}, {"box"})));
    // Both in turn, and the ratio of the shortest of each: what is left when nothing disturbs.
    auto against = [pair](double (Pair::*form)()) {
      double whole = 1e9, box = 1e9;
      for (int i = 0; i < 7; ++i) whole = std::min(whole, pair->original()), box = std::min(box, (*pair.*form)());
      return 100 * (box / whole - 1);
    };
    cases.push_back({fmt::format("box form, {} {}", workload, name), "%", [=] { return against(&Pair::box); }});
    cases.push_back(
        {fmt::format("box form counted, {} {}", workload, name), "%", [=] { return against(&Pair::counted); }});
  }
  return context.interleave(device.info().id, cases, context.options.quick ? 7 : 21);
}

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out = {{"analysis", analysis}, {"evaluation", evaluation}};
  for (const auto& device : context.machine.devices)
    out.push_back({device->info().id + " box form", [d = device.get()](Context& c) { return box_form(c, *d); }});
  return out;
}

nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out = {{"eval_us", 0.0},
                        {"box_overhead_pct", nlohmann::json::object()},
                        {"box_overhead_counted_pct", nlohmann::json::object()}};
  for (const Row& row : rows) {
    if (row.name.ends_with("cold")) out["cold_ms"] = row.median;
    if (row.name.ends_with("warm")) out["warm_ms"] = row.median;
    if (row.name.starts_with("ranges of a box")) out["eval_us"] = std::max(out["eval_us"].get<double>(), row.median);
    for (const auto& [rows_named, key] :
         {std::pair("box form, ", "box_overhead_pct"), std::pair("box form counted, ", "box_overhead_counted_pct")}) {
      if (!row.name.starts_with(rows_named)) continue;
      auto& worst = out[key][row.device];
      worst = worst.is_null() ? row.median : std::max(worst.get<double>(), row.median);
    }
  }
  return out;
}

}  // namespace

Suite kernelc_suite() {
  return {"kernelc", "analysing kernels, evaluating their ranges, and the box form against the original", shards,
          summary};
}

}  // namespace heddle::bench

// Suite "kernelc": what analysing kernels costs, what asking the facts costs, and what the box form costs against the
// original.
#include <algorithm>
#include <random>

#include <fmt/format.h>

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

// A kernel of a hundred lines: a step of a lattice Boltzmann method in two dimensions.
const char* const hundred_lines = R"(
kernel void lattice(global const float* in, global float* out, global const uchar* wall, float rate, float force, int nx,
                    int ny) {
  const int x = get_global_id(0);
  const int y = get_global_id(1);
  if (x >= nx || y >= ny) {
    return;
  }
  const int cells = nx * ny;
  const int here = y * nx + x;
  const int west = x > 0 ? x - 1 : nx - 1;
  const int east = x < nx - 1 ? x + 1 : 0;
  const int south = y > 0 ? y - 1 : ny - 1;
  const int north = y < ny - 1 ? y + 1 : 0;
  // Each direction comes from the neighbour it left.
  float f0 = in[0 * cells + y * nx + x];
  float f1 = in[1 * cells + y * nx + west];
  float f2 = in[2 * cells + south * nx + x];
  float f3 = in[3 * cells + y * nx + east];
  float f4 = in[4 * cells + north * nx + x];
  float f5 = in[5 * cells + south * nx + west];
  float f6 = in[6 * cells + south * nx + east];
  float f7 = in[7 * cells + north * nx + east];
  float f8 = in[8 * cells + north * nx + west];
  if (wall[here]) {
    // Bounce back.
    out[0 * cells + here] = f0;
    out[1 * cells + here] = f3;
    out[2 * cells + here] = f4;
    out[3 * cells + here] = f1;
    out[4 * cells + here] = f2;
    out[5 * cells + here] = f7;
    out[6 * cells + here] = f8;
    out[7 * cells + here] = f5;
    out[8 * cells + here] = f6;
    return;
  }
  float density = f0;
  density += f1;
  density += f2;
  density += f3;
  density += f4;
  density += f5;
  density += f6;
  density += f7;
  density += f8;
  float ux = 0.0f;
  ux += f1;
  ux -= f3;
  ux += f5;
  ux -= f6;
  ux -= f7;
  ux += f8;
  float uy = 0.0f;
  uy += f2;
  uy -= f4;
  uy += f5;
  uy += f6;
  uy -= f7;
  uy -= f8;
  ux = ux / density + force / rate;
  uy = uy / density;
  const float square = 1.5f * (ux * ux + uy * uy);
  const float c0 = 0.0f;
  const float c1 = ux;
  const float c2 = uy;
  const float c3 = -ux;
  const float c4 = -uy;
  const float c5 = ux + uy;
  const float c6 = -ux + uy;
  const float c7 = -ux - uy;
  const float c8 = ux - uy;
  const float e0 = density * 4.0f / 9.0f * (1.0f + 3.0f * c0 + 4.5f * c0 * c0 - square);
  const float e1 = density * 1.0f / 9.0f * (1.0f + 3.0f * c1 + 4.5f * c1 * c1 - square);
  const float e2 = density * 1.0f / 9.0f * (1.0f + 3.0f * c2 + 4.5f * c2 * c2 - square);
  const float e3 = density * 1.0f / 9.0f * (1.0f + 3.0f * c3 + 4.5f * c3 * c3 - square);
  const float e4 = density * 1.0f / 9.0f * (1.0f + 3.0f * c4 + 4.5f * c4 * c4 - square);
  const float e5 = density * 1.0f / 36.0f * (1.0f + 3.0f * c5 + 4.5f * c5 * c5 - square);
  const float e6 = density * 1.0f / 36.0f * (1.0f + 3.0f * c6 + 4.5f * c6 * c6 - square);
  const float e7 = density * 1.0f / 36.0f * (1.0f + 3.0f * c7 + 4.5f * c7 * c7 - square);
  const float e8 = density * 1.0f / 36.0f * (1.0f + 3.0f * c8 + 4.5f * c8 * c8 - square);
  f0 += rate * (e0 - f0);
  f1 += rate * (e1 - f1);
  f2 += rate * (e2 - f2);
  f3 += rate * (e3 - f3);
  f4 += rate * (e4 - f4);
  f5 += rate * (e5 - f5);
  f6 += rate * (e6 - f6);
  f7 += rate * (e7 - f7);
  f8 += rate * (e8 - f8);
  out[0 * cells + here] = f0;
  out[1 * cells + here] = f1;
  out[2 * cells + here] = f2;
  out[3 * cells + here] = f3;
  out[4 * cells + here] = f4;
  out[5 * cells + here] = f5;
  out[6 * cells + here] = f6;
  out[7 * cells + here] = f7;
  out[8 * cells + here] = f8;
}
)";

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
    uncounted_form_ =
        take(device.build({analysis.forms.at("box").source, analysis.options + " " + core::uncounted_option}));
    whole_ = take(original_->kernel(v.entry));
    box_ = take(form_->kernel(v.entry));
    uncounted_ = take(uncounted_form_->kernel(v.entry));
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
    for (int i = 0; i < 3; ++i) original(), box(), uncounted();  // compiles, and touches the memory
  }

  double original() { return once({*whole_, arguments_, range_}); }
  double box() { return once({*box_, boxed_, range_}); }
  double uncounted() { return once({*uncounted_, boxed_, range_}); }

 private:
  double once(const device::Run& run) {
    const core::Nanoseconds begin = device_.now();
    take(take(queue_->launch(run))->wait());
    return core::seconds(device_.now() - begin);
  }

  device::Device& device_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Program> original_, form_, uncounted_form_;
  std::unique_ptr<device::Kernel> whole_, box_, uncounted_;
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
        {fmt::format("box form uncounted, {} {}", workload, name), "%", [=] { return against(&Pair::uncounted); }});
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
                        {"box_overhead_uncounted_pct", nlohmann::json::object()}};
  for (const Row& row : rows) {
    if (row.name.ends_with("cold")) out["cold_ms"] = row.median;
    if (row.name.ends_with("warm")) out["warm_ms"] = row.median;
    if (row.name.starts_with("ranges of a box")) out["eval_us"] = std::max(out["eval_us"].get<double>(), row.median);
    for (const auto& [rows_named, key] : {std::pair("box form, ", "box_overhead_pct"),
                                          std::pair("box form uncounted, ", "box_overhead_uncounted_pct")}) {
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

// Suite "split": one launch on all devices, against each of them alone, shares in proportion to rates, and the best
// shares that were found by trying.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/joining.hpp"
#include "bench/plain.hpp"
#include "bench/suites.hpp"
#include "core/median.hpp"
#include "core/trace.hpp"
#include "device/facts.hpp"
#include "engine/engine.hpp"
#include "kernel/compiler.hpp"
#include "workloads/on_device.hpp"
#include "workloads/through_library.hpp"

namespace heddle::bench {

namespace {

using Clock = std::chrono::steady_clock;
using Parts = std::vector<double>;  // of a launch, per device

constexpr const char *ours_name = "Heddle", *oracle_name = "best shares tried", *linear_name = "in proportion to rates",
                     *whole_name = "undivided CPU", *alone_name = "alone on ", *plan_name = "plan of shares",
                     *prediction_name = "prediction of ", *breakdown_name = "breakdown, ";

std::vector<device::Device*> all_of(const device::Machine& machine) {
  std::vector<device::Device*> out;
  for (const auto& device : machine.devices) out.push_back(device.get());
  return out;
}

// Some device has a memory of its own: there the host's is page-locked, as programs have it who care for copies.
bool apart(const device::Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const auto& device) { return device->info().space != device::host_memory; });
}

// An engine on several devices, with one variant of a workload in its memory.
class There {
 public:
  There(Context& context, device::Machine& machine, const workloads::Instance& instance)
      : compiler_(kernel::options_of(context.settings)), engine_(all_of(machine), options()), instance_(instance) {
    for (const workloads::Argument& a : instance.arguments) {
      if (a.scalar) {
        arguments_.emplace_back(device::Scalar(a.bytes.begin(), a.bytes.end()));
        continue;
      }
      memories_.push_back(engine_.make_memory(a.bytes.size(), apart(machine)));
      std::copy(a.bytes.begin(), a.bytes.end(), memories_.back()->host().bytes.begin());
      arguments_.emplace_back(engine::View{memories_.back(), 0, a.bytes.size()});
      written_.push_back(a.access != core::Access::read);
      read_.push_back(a.access != core::Access::write);
    }
  }

  // False where it does not cover the space by itself.
  bool use(const core::Variant& variant) {
    if (!workloads::covers_space(variant, instance_.space)) return false;
    const core::NdRange range = core::nd_range(variant, instance_.space, instance_.space);
    request_ = {};
    request_.kernel = take(engine_.make_kernel({variant.entry, variant.source, variant.options}));
    request_.items = range.global, request_.group = range.local, request_.offset = range.offset;
    request_.dimensions = 3;
    request_.arguments = arguments_;
    return true;
  }

  // Milliseconds from inputs on the host to results there. Without parts: as Heddle decides. Whoever has a part must
  // have done something, and nobody else: devices that are still building have not.
  double run(const Parts& parts = {}) {
    for (int tries = 0; tries < 30; ++tries) {
      const double time = run_once(parts);
      if (parts.empty()) return time;
      std::set<std::string> meant;
      for (std::size_t d = 0; d < parts.size(); ++d) {
        if (parts[d] > 0) meant.insert(engine_.devices()[d]->info().id);
      }
      if (worked() == meant) return time;
      if (!last_->undivided.empty())
        throw Failed{{core::FailureKind::unsupported, "cannot be cut: " + last_->undivided, ""}};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::numeric_limits<double>::infinity();
  }

  // Who did something of the last launch.
  std::set<std::string> worked() {
    std::set<std::string> out;
    for (const engine::SliceReport& s : engine_.report(*last_).slices) out.insert(s.device);
    return out;
  }

  // What each device did of the last launch.
  std::string shares() {
    std::map<std::string, std::int64_t> points;
    for (const engine::SliceReport& s : engine_.report(*last_).slices) points[s.device] += s.box.volume();
    std::string out;
    for (const auto& [device, count] : points)
      out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", device,
                         100.0 * static_cast<double>(count) / static_cast<double>(last_->space.volume()));
    return out;
  }

 private:
  double run_once(const Parts& parts) {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      if (read_[i]) take(engine_.to_host(memories_[i], true));
    }
    request_.wishes.parts = parts;
    const auto begin = Clock::now();
    last_ = engine_.submit(request_);
    take(engine_.wait(last_));
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      if (written_[i]) take(engine_.to_host(memories_[i], false));
    }
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  engine::Options options() {
    return {.analyse = [this](const auto& asked, const auto& forms) { return compiler_.analyse(asked, forms); }};
  }

  kernel::Compiler compiler_;
  engine::Engine engine_;
  const workloads::Instance& instance_;
  std::vector<std::shared_ptr<engine::Memory>> memories_;
  std::vector<bool> written_, read_;  // per memory
  std::vector<engine::Argument> arguments_;
  engine::Request request_;
  std::shared_ptr<engine::Launch> last_;
};

double least_of(int times, const std::function<double()>& once) {
  double out = once();
  for (int i = 1; i < times; ++i) out = std::min(out, once());
  return out;
}

Parts only(std::size_t device, std::size_t count) {
  Parts out(count, 0);
  out[device] = 1;
  return out;
}

// Every division into eighths; then around the best, in steps of half the size, down to a 32nd. But for those in which
// one device would need twice as long for its part as the best so far for everything. `alone`: milliseconds of each.
Parts search_shares(There& there, const std::vector<double>& alone, bool quick) {
  const std::size_t devices = alone.size();
  std::map<Parts, double> tried;
  double least = *std::min_element(alone.begin(), alone.end());
  const auto time = [&](const Parts& parts) {
    for (std::size_t d = 0; d < devices; ++d) {
      if (parts[d] < 1 && parts[d] * alone[d] > 2 * least) return;
    }
    if (tried.count(parts) == 0) tried[parts] = least_of(quick ? 1 : 3, [&] { return there.run(parts); });
    least = std::min(least, tried[parts]);
  };
  const int coarse = devices <= 2 ? 8 : 4;
  std::vector<int> counts(devices, 0);
  const auto visit = [&](const auto& self, std::size_t d, int left) -> void {
    counts[d] = left;
    if (d + 1 == devices) {
      Parts parts;
      for (int n : counts) parts.push_back(static_cast<double>(n) / coarse);
      time(parts);
      return;
    }
    for (int n = 0; n <= left; ++n) counts[d] = n, self(self, d + 1, left - n);
  };
  visit(visit, 0, coarse);
  const auto best = [&] {
    return std::min_element(tried.begin(), tried.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  };
  for (double step = 0.5 / coarse; step >= 1.0 / 32; step /= 2) {
    const Parts around = best();
    for (std::size_t from = 0; from < devices; ++from) {
      for (std::size_t to = 0; to < devices; ++to) {
        if (from == to || around[from] < step) continue;
        Parts parts = around;
        parts[from] -= step, parts[to] += step;
        time(parts);
      }
    }
  }
  return best();
}

// What happens in a launch, on whatever thread.
class Collector : public core::TraceSink {
 public:
  void add(core::TraceEvent event) override {
    const std::lock_guard hold(mutex_);
    events_.push_back(std::move(event));
  }
  std::vector<core::TraceEvent> take_all() {
    const std::lock_guard hold(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<core::TraceEvent> events_;
};

// Seconds in which at least one of them was under way.
double busy(std::vector<std::pair<core::Nanoseconds, core::Nanoseconds>> spans) {
  std::sort(spans.begin(), spans.end());
  core::Nanoseconds out{0}, until{0};
  for (const auto& [begin, end] : spans) {
    if (end <= until) continue;
    out += end - std::max(begin, until);
    until = end;
  }
  return core::seconds(out);
}

// As SKMD's figure 11: for how long each device copies and computes in one launch, which may be at the same time; and
// how fast results come back.
std::vector<Row> breakdown(There& there, const std::string& prefix) {
  static Collector collector;  // a thread of the engine's may still be about to add something
  core::TraceSink* before = core::set_trace_sink(&collector);
  there.run();
  core::set_trace_sink(before);
  struct Part {
    std::vector<std::pair<core::Nanoseconds, core::Nanoseconds>> spans;
    double bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Part> parts;  // by device and what it did
  for (const core::TraceEvent& event : collector.take_all()) {
    const bool copy = event.kind == core::TraceKind::transfer;
    if (!copy && event.kind != core::TraceKind::slice) continue;
    Part& part = parts[{event.track, !copy ? "computes" : event.name == "copy in" ? "copies in" : "copies back"}];
    part.spans.emplace_back(event.start, event.start + event.duration);
    if (copy) part.bytes += std::strtod(event.detail.c_str(), nullptr);
  }
  std::vector<Row> out;
  for (const auto& [what, part] : parts) {
    const double seconds = busy(part.spans);
    const std::string name = prefix + breakdown_name + what.first + " " + what.second;
    out.push_back(summarise(name, "", "ms", {1e3 * seconds}));
    if (what.second == "copies back" && seconds > 0)
      out.push_back(summarise(name + ", rate", "", "GB/s", {1e-9 * part.bytes / seconds}));
  }
  return out;
}

std::vector<Row> measure(Context& context, const workloads::Workload& workload, const std::string& input) {
  const bool quick = context.options.quick;
  const auto& devices = context.machine.devices;
  const workloads::Instance instance = workloads::make(workload,
                                                       quick                    ? workloads::Size::tiny
                                                       : apart(context.machine) ? workloads::Size::medium
                                                                                : workloads::Size::normal,
                                                       input, 1);
  There there(context, context.machine, instance);
  // The variant that is best on the first device.
  const core::Variant* variant = nullptr;
  double least = 0;
  for (const core::Variant& v : workload.variants) {
    if (!there.use(v)) continue;
    there.run(only(0, devices.size()));  // builds
    const double time = least_of(2, [&] { return there.run(only(0, devices.size())); });
    if (!variant || time < least) variant = &v, least = time;
  }
  if (!variant) throw Failed{{core::FailureKind::unsupported, "no variant covers all of it", ""}};
  there.use(*variant);

  const std::string prefix = workload.name + (workload.inputs.size() > 1 ? " " + input : "") + ": ";
  std::vector<Case> cases;
  std::vector<double> alone;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const Parts parts = only(d, devices.size());
    there.run(parts);
    alone.push_back(least_of(3, [&] { return there.run(parts); }));
  }
  Parts rates;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    // Who is far behind is not looked at as often.
    const bool far = alone[d] > 3 * *std::min_element(alone.begin(), alone.end());
    rates.push_back(1 / alone[d]);
    cases.push_back({prefix + alone_name + devices[d]->info().id, "ms",
                     [&there, parts = only(d, devices.size())] { return there.run(parts); }, far ? 3 : 0});
  }
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (double& rate : rates) rate /= all;
  cases.push_back({prefix + linear_name, "ms", [&] { return there.run(rates); }, 15});
  const Parts oracle = search_shares(there, alone, quick);
  cases.push_back({prefix + oracle_name + fmt::format(", {:.3g}", fmt::join(oracle, " ")), "ms",
                   [&] { return there.run(oracle); }});
  for (int i = 0; i < (apart(context.machine) ? 30 : 12); ++i) there.run();  // finds out, and settles
  const std::string shares = there.shares();
  int launches = 0, on_several = 0;
  cases.push_back({prefix + ours_name + ", " + shares, "ms", [&] {
                     const double time = there.run();
                     ++launches, on_several += there.worked().size() > 1;
                     return time;
                   }});

  // Halves of a CPU against the CPU itself.
  std::optional<device::Machine> whole_machine;
  std::optional<There> whole;
  const auto on_host = [](const auto& device) { return device->info().space == device::host_memory; };
  if (devices.size() > 1 && std::all_of(devices.begin(), devices.end(), on_host)) {
    core::Settings settings = context.settings;
    settings.devices = "cpu";
    whole_machine.emplace(device::open_machine(settings, from_environment));
    whole.emplace(context, *whole_machine, instance);
    whole->use(*variant);
    for (int i = 0; i < 3; ++i) whole->run();
    cases.push_back({prefix + whole_name, "ms", [&] { return whole->run(); }});
  }
  // Short launches differ by some percent, and cost little.
  const bool is_short = *std::min_element(alone.begin(), alone.end()) < 10;
  std::vector<Row> out = context.interleave("", cases, quick ? 3 : is_short ? 201 : 15);
  // It may change its mind.
  out.push_back(summarise(prefix + "launches that Heddle shared", "", "%", {100.0 * on_several / launches}));
  for (Row& row : breakdown(there, prefix)) out.push_back(std::move(row));
  return out;
}

std::vector<Row> planning(Context& context) {
  decide::Job job{std::int64_t{1} << 26, 64, {}};
  for (int w = 0; w < 4; ++w) {
    decide::Worker& worker = job.workers.emplace_back();
    worker.compute = predict::line(1e9 * (w + 1), 0.05);
    worker.compute.fixed = 1e-5, worker.compute.ramps[0] = {1e5, 1e-10}, worker.compute.ramps[1] = {1e6, 1e-10};
    worker.space = w, worker.in = 1e-10 * w, worker.tasks = 8;
  }
  std::vector<double> samples;
  double sum = 0;
  for (int i = 0; i < (context.options.quick ? 5 : 101); ++i) {
    constexpr int calls = 20;
    const auto begin = Clock::now();
    for (int k = 0; k < calls; ++k) sum += decide::split(job).seconds;
    samples.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls);
  }
  if (!(sum > 0)) throw Failed{{core::FailureKind::unsupported, "no plan", ""}};
  return {summarise(plan_name + std::string(", a million groups on 4 devices"), "", "us", samples)};
}

// What a launch's time may depend on: as the engine has it.
std::vector<double> variables_of(const workloads::Instance& instance, const core::Variant& variant) {
  const core::NdRange range = core::nd_range(variant, instance.space, instance.space);
  std::vector<double> out{1};
  for (std::size_t d = 0; d < 3; ++d) out[0] *= static_cast<double>(range.global[d] / range.local[d]);
  for (const workloads::Argument& a : instance.arguments) {
    if (!a.scalar)
      out.push_back(static_cast<double>(a.bytes.size()));
    else if (a.element == workloads::Element::i32)
      out.push_back(a.as<std::int32_t>()[0]);
    else if (a.element == workloads::Element::u32)
      out.push_back(a.as<std::uint32_t>()[0]);
    else
      out.push_back(0);
  }
  return out;
}

// The first so many of a launch's groups, along its slowest dimension; in 64ths.
core::Box first_of(const core::Box& space, const core::Variant& variant, int of_64) {
  core::Box out = space;
  int slowest = 0;
  for (int d = 0; d < 3; ++d) slowest = space.extent(d) > 1 ? d : slowest;
  const auto at = static_cast<std::size_t>(slowest);
  const std::int64_t step = variant.footprint.points[at], steps = (space.extent(slowest) + step - 1) / step;
  out.end[at] = std::min(space.end[at], space.begin[at] + step * std::max<std::int64_t>(1, steps * of_64 / 64));
  return out;
}

// SKMD's section 4.3: profiled at two sizes, in 16 parts each, then random parts of a third size.
std::vector<Row> prediction(Context& context, const workloads::Workload& workload) {
  using workloads::Size;
  std::vector<Row> out;
  const auto variant = std::find_if(workload.variants.begin(), workload.variants.end(),
                                    [](const core::Variant& v) { return v.cut == core::Cut::by_offset; });
  if (variant == workload.variants.end()) return out;
  const auto number = static_cast<std::size_t>(variant - workload.variants.begin());
  for (const auto& device : context.machine.devices) {
    const device::Clock clock = take(device::facts_of(*device, context.settings.cache)).clock;
    const auto seconds = [&](workloads::OnDevice& there, const core::Box& box, int times) {
      return least_of(times, [&] { return core::seconds(take(there.run({number, box}, clock)).duration); });
    };
    std::vector<predict::Observation> seen;
    const bool quick = context.options.quick;
    for (const Size size : {quick ? Size::tiny : Size::normal, quick ? Size::normal : Size::medium}) {
      const workloads::Instance instance = workloads::make(workload, size, workload.inputs.front(), 1);
      const auto there = take(workloads::OnDevice::open(*device, workload, instance));
      take(there->reset());
      take(there->prepare({number, instance.space}));
      for (int part = 4; part <= 64; part += 4) {
        const core::Box box = first_of(instance.space, *variant, part);
        double time = seconds(*there, box, 1);
        if (time < 0.1) time = std::min(time, seconds(*there, box, 1));
        seen.push_back({static_cast<double>(box.volume()), variables_of(instance, *variant), time});
      }
    }
    const auto model = predict::TimeModel::fit(seen);
    if (!model) continue;
    const workloads::Instance instance =
        workloads::make(workload, quick ? Size::normal : Size::large, workload.inputs.front(), 1);
    const auto there = take(workloads::OnDevice::open(*device, workload, instance));
    take(there->reset());
    take(there->prepare({number, instance.space}));
    const predict::Curve curve = model->at(variables_of(instance, *variant));
    std::mt19937 random(1);
    std::vector<double> errors;
    double squares = 0;
    const auto begin = Clock::now();
    // As often as in the paper, if that does not take too long here; and no parts that would.
    const double most = std::clamp(64 * 0.5 / curve(static_cast<double>(instance.space.volume())), 1.0, 64.0);
    while (errors.size() < 128 && (errors.size() < 8 || microseconds_since(begin) < 5e6)) {
      const core::Box box =
          first_of(instance.space, *variant, 1 + static_cast<int>(random() % static_cast<unsigned>(most)));
      const double real = seconds(*there, box, 1), guess = curve(static_cast<double>(box.volume()));
      errors.push_back(100 * std::abs(guess / real - 1));
      squares += (guess - real) * (guess - real);
    }
    const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
    const double norm = 1e3 * std::sqrt(squares / static_cast<double>(errors.size()));
    out.push_back(summarise(prediction_name + workload.name + ", mean error", device->info().id, "%", {mean}));
    out.push_back(
        summarise(prediction_name + workload.name + ", root of mean square", device->info().id, "ms", {norm}));
  }
  return out;
}

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out{{"plan", planning}, {"joining", joining}};
  // Those of the paper.
  static const std::set<std::string> profiled = {
      "aes_encrypt", "aes_decrypt", "binomial_option", "black_scholes",    "box_muller", "fdtd3d", "histogram",
      "sgemm",       "transpose",   "median_filter",   "mersenne_twister", "nbody",      "reduce", "scan_large_arrays",
      "sobel",       "vector_add"};
  for (const workloads::Workload* workload : workloads::all()) {
    if (profiled.count(workload->name))
      out.push_back({"prediction " + workload->name, [workload](Context& c) { return prediction(c, *workload); }});
  }
  if (context.machine.devices.size() < 2) return out;
  for (const workloads::Workload* workload : workloads::all()) {
    for (const std::string& input : workload->inputs)
      out.push_back({"shares of " + workload->name + " " + input,
                     [workload, input](Context& c) { return measure(c, *workload, input); }});
  }
  return out;
}

nlohmann::json summary(const std::vector<Row>& rows) {
  struct Times {
    double single = 0, ours = 0, oracle = 0, linear = 0, whole = 0;
  };
  std::map<std::string, Times> times;
  nlohmann::json out;
  std::vector<double> errors;
  for (const Row& row : rows) {
    if (row.name.starts_with(prediction_name)) {
      if (row.unit == "%") errors.push_back(row.median);
      continue;
    }
    if (row.name.starts_with(plan_name)) out["plan_us"] = row.median;
    const auto colon = row.name.find(": ");
    if (colon == row.name.npos) continue;
    Times& t = times[row.name.substr(0, colon)];
    const std::string what = row.name.substr(colon + 2);
    if (what.starts_with(alone_name)) t.single = t.single == 0 ? row.median : std::min(t.single, row.median);
    if (what.starts_with(ours_name)) t.ours = row.median;
    if (what.starts_with(oracle_name)) t.oracle = row.median;
    if (what.starts_with(linear_name)) t.linear = row.median;
    if (what.starts_with(whole_name)) t.whole = row.median;
  }
  if (!errors.empty())
    out["mean_prediction_error_pct"] =
        std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  double speedup = 0, efficiency = 0, linear = 0, worst = -100, whole = -100;
  int count = 0;
  for (const auto& [name, t] : times) {
    if (t.ours == 0 || t.single == 0) continue;
    ++count;
    speedup += std::log(t.single / t.ours), linear += std::log(t.single / t.linear);
    // The best that is known, whoever found it.
    efficiency += std::min({t.oracle, t.single, t.ours}) / t.ours;
    worst = std::max(worst, 100 * (t.ours / t.single - 1));
    if (t.whole > 0) whole = std::max(whole, 100 * (t.ours / t.whole - 1));
  }
  if (count == 0) return out;
  out["mean_speedup"] = std::exp(speedup / count), out["mean_linear_speedup"] = std::exp(linear / count);
  out["mean_efficiency"] = efficiency / count, out["worst_vs_single_pct"] = worst;
  if (whole > -100) out["worst_vs_undivided_cpu_pct"] = whole;
  return out;
}

}  // namespace

Suite split_suite() {
  return {"split",
          "one launch on all devices, against each alone and the best shares tried (HEDDLE_DEVICES says which)", shards,
          summary};
}

}  // namespace heddle::bench

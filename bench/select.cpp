// Suite "select": what it costs to find the best variant of a kernel on the launch itself, against knowing it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "bench/suites.hpp"
#include "kernel/compiler.hpp"
#include "workloads/schedules.hpp"
#include "workloads/through_library.hpp"

namespace heddle::bench {

namespace {

using Clock = std::chrono::steady_clock;
using When = Selection::When;

constexpr const char *overhead_name = "overhead", *each_name = "overhead, each launch", *right_name = "right choices";
constexpr double tie = 1.03;  // as good as the best

// The variant that computed most of a launch.
std::string picked(const Report& report) {
  std::map<std::string, std::int64_t> points;
  for (const Slice& s : report.slices)
    points[s.variant] += (s.end[0] - s.begin[0]) * (s.end[1] - s.begin[1]) * (s.end[2] - s.begin[2]);
  const auto most = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto at = std::max_element(points.begin(), points.end(), most);
  return at == points.end() ? "" : at->first;
}

// Launches of one workload; of short ones as many as fill a tenth of a second.
class Runs {
 public:
  Runs(Runtime& runtime, const workloads::Workload& workload, const std::string& input)
      : instance_(workloads::make(workload, workloads::Size::normal, input, 1)),
        there_(runtime, instance_),
        kernel_(workloads::with_variants(runtime, workload)) {}

  // Milliseconds per launch, and what became of the last. With `once` the first finds out, or begins to, what the
  // others use.
  std::pair<double, Report> run(const Selection& how, int times) {
    kernel_.forget();
    const auto begin = Clock::now();
    Launch launch;
    for (int i = 0; i < times; ++i) {
      launch = there_.launch(kernel_, workloads::points_of(instance_).select(how));
      launch.wait();
    }
    return {std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / times, launch.report()};
  }

 private:
  const workloads::Instance instance_;
  const workloads::InLibrary there_;
  Kernel kernel_;
};

int times_of(double ms_per_launch) {
  return ms_per_launch < 20 ? static_cast<int>(std::ceil(100 / std::max(0.01, ms_per_launch))) : 1;
}

// Every variant alone, and Heddle: finding out first, finding out meanwhile from the best or the worst variant, and, if
// launches are so short that several are timed together, finding out at each.
std::vector<Row> compare_variants(Context& context, const workloads::Workload& workload, const std::string& input,
                                  const std::string& device) {
  const std::string prefix = workload.name + (workload.inputs.size() > 1 ? " " + input : "") + ", ";
  Runtime runtime(heddle::Options{.devices = device});
  Runs runs(runtime, workload, input);
  const auto begin_builds = Clock::now();
  std::vector<Case> cases;
  std::vector<double> first_look;
  for (const core::Variant& v : workload.variants) {
    const Selection alone{.when = When::never, .initial = v.name};
    runs.run(alone, 2);  // builds, and touches all memory
    const double ms = runs.run(alone, 1).first;
    first_look.push_back(ms);
    cases.push_back(
        {prefix + "pure " + v.name, "ms", [&runs, alone, n = times_of(ms)] { return runs.run(alone, n).first; }});
  }
  const auto name_at = [&](auto place) {
    return workload.variants[static_cast<std::size_t>(place - first_look.begin())].name;
  };
  const auto best = std::min_element(first_look.begin(), first_look.end());
  const auto worst = std::max_element(first_look.begin(), first_look.end());
  const int times = times_of(*best);
  runs.run({.when = When::once}, times);
  const double build_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin_builds).count();
  const std::size_t variants = cases.size();
  std::vector<std::string> choices;
  cases.push_back({prefix + "Heddle", "ms", [&] {
                     auto [ms, report] = runs.run({.when = When::once}, times);
                     choices.push_back(picked(report));
                     return ms;
                   }});
  for (const auto& [name, initial] : {std::pair("best", name_at(best)), std::pair("worst", name_at(worst))}) {
    const Selection meanwhile{.when = When::once, .initial = initial, .meanwhile = true};
    cases.push_back({prefix + "Heddle meanwhile, from the " + name, "ms",
                     [&runs, meanwhile, times] { return runs.run(meanwhile, times).first; }});
  }
  if (times > 1)
    cases.push_back({prefix + "Heddle, each launch", "ms",
                     [&runs, times] { return runs.run({.when = When::always}, times).first; }});
  std::vector<Row> rows = context.interleave(device, cases, context.options.quick ? 7 : 21);
  double oracle = rows[0].median;
  for (std::size_t v = 0; v < variants; ++v) oracle = std::min(oracle, rows[v].median);
  int right = 0;
  for (const std::string& choice : choices) {
    for (std::size_t v = 0; v < variants; ++v) {
      if (workload.variants[v].name == choice && rows[v].median <= tie * oracle) ++right;
    }
  }
  rows.front().build_ms = build_ms;
  const auto overhead = [&](const char* name, Row row) {
    for (double* ms : {&row.median, &row.low, &row.high}) *ms = 100 * (*ms / oracle - 1);
    row.name = prefix + name, row.unit = "%";
    rows.push_back(row);
  };
  overhead(overhead_name, rows[variants]);
  overhead(each_name, times > 1 ? rows[variants + 3] : rows[variants]);
  const double share = 100.0 * right / static_cast<double>(std::max<std::size_t>(1, choices.size()));
  rows.push_back({prefix + right_name, device, "%", share, share, share, static_cast<int>(choices.size()), 0});
  return rows;
}

// The orders in which a CPU may go through work-items and the loops of a kernel, as variants; and what a compiler would
// choose that does not measure.
std::vector<Row> compare_schedules(Context& context, const workloads::Workload& workload, const std::string& input,
                                   const std::string& device) {
  kernel::Compiler compiler(kernel::options_of(context.settings));
  const auto instance = workloads::make(workload, workloads::Size::normal, input, 1);
  const auto found = take(workloads::schedules_of(compiler, workload, instance));
  if (!found.refused.empty()) throw Failed{{core::FailureKind::unsupported, "no schedules: " + found.refused, ""}};
  workloads::Workload scheduled = workload;
  scheduled.name += " schedules", scheduled.variants = found.variants;
  std::vector<Row> rows = compare_variants(context, scheduled, input, device);
  double oracle = rows[0].median;
  for (std::size_t v = 0; v < found.variants.size(); ++v) oracle = std::min(oracle, rows[v].median);
  Row chosen = rows[found.least_strides];
  for (double* ms : {&chosen.median, &chosen.low, &chosen.high}) *ms = 100 * (*ms / oracle - 1);
  chosen.name = scheduled.name + (workload.inputs.size() > 1 ? " " + input : "") + ", least strides";
  chosen.unit = "%", chosen.build_ms = 0;
  rows.push_back(chosen);
  return rows;
}

// As in DySel's first case study; cutcp is not among them, as its base has 120 orders, which take minutes to build.
constexpr const char* with_schedules[] = {"sgemm", "kmeans", "spmv_csr", "spmv_jds", "stencil"};

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out;
  for (const auto& device : context.machine.devices) {
    for (const workloads::Workload* w : workloads::all()) {
      if (w->variants.size() < 2) continue;
      const bool scheduled =
          device->info().kind == device::Kind::cpu &&
          std::find(std::begin(with_schedules), std::end(with_schedules), w->name) != std::end(with_schedules);
      for (const std::string& input : w->inputs) {
        if (scheduled)
          out.push_back(
              {fmt::format("{} {} schedules on {}", w->name, input, device->info().id),
               [w, input, id = device->info().id](Context& c) { return compare_schedules(c, *w, input, id); }});
        out.push_back({fmt::format("{} {} on {}", w->name, input, device->info().id),
                       [w, input, id = device->info().id](Context& c) { return compare_variants(c, *w, input, id); }});
      }
    }
  }
  return out;
}

nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out;
  std::map<std::string, std::vector<double>> overheads, each, rights;  // by device
  for (const Row& row : rows) {
    if (row.name.ends_with(overhead_name)) overheads[row.device].push_back(row.median);
    if (row.name.ends_with(each_name)) each[row.device].push_back(row.median);
    if (row.name.ends_with(right_name)) rights[row.device].push_back(row.median);
  }
  const auto mean = [](const std::vector<double>& all) {
    return all.empty() ? 0 : std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  for (const auto& [device, all] : overheads) {
    out[device]["worst_overhead_pct"] = *std::max_element(all.begin(), all.end());
    out[device]["mean_overhead_pct"] = mean(all);
    out[device]["right_pct"] = mean(rights[device]);
    out[device]["worst_overhead_always_pct"] = *std::max_element(each[device].begin(), each[device].end());
  }
  return out;
}

}  // namespace

Suite select_suite() {
  return {"select", "finding the best variant of each workload on its first launch, against knowing it", shards,
          summary};
}

}  // namespace heddle::bench

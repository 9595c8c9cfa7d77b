// Suite "select": what it costs to find the best variant of a kernel on the launch itself, against knowing it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bench/suites.hpp"
#include "workloads/through_library.hpp"

namespace heddle::bench {

namespace {

using Clock = std::chrono::steady_clock;
using When = Selection::When;

constexpr const char* pure_prefix = "pure ";
constexpr const char *heddle_name = "Heddle", *overhead_name = "overhead", *right_name = "right choices";
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

std::vector<Row> compare_variants(Context& context, const workloads::Workload& workload, const std::string& input,
                                  const std::string& device) {
  const std::string prefix = workload.name + (workload.inputs.size() > 1 ? " " + input : "") + ", ";
  Runtime runtime(heddle::Options{.devices = device});
  const workloads::Instance instance = workloads::make(workload, workloads::Size::normal, input, 1);
  workloads::InLibrary there(runtime, instance);
  const Kernel kernel = workloads::with_variants(runtime, workload);
  const Grid points = workloads::points_of(instance);
  // Launches as often as they fill a tenth of a second: the first finds out, or begins to, what the others use.
  int times = 1;
  const auto run = [&](Selection how) {
    const auto begin = Clock::now();
    Launch launch;
    for (int i = 0; i < times; ++i) {
      launch = there.launch(kernel, points.select(how));
      launch.wait();
      if (how.when == When::always) how.when = When::once;
    }
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    return std::pair(ms / times, launch.report());
  };
  const auto begin_builds = Clock::now();
  std::vector<Case> cases;
  for (const core::Variant& v : workload.variants) {
    run({When::never, {}, v.name}), run({When::never, {}, v.name});  // builds, and touches all memory
    cases.push_back({prefix + pure_prefix + v.name, "ms", [&, v] { return run({When::never, {}, v.name}).first; }});
  }
  const double base_ms = run({When::never, {}, workload.variants[0].name}).first;
  if (base_ms < 20) times = static_cast<int>(std::ceil(100 / base_ms));
  run({When::always, {}, ""});
  const double build_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin_builds).count();
  std::vector<std::string> choices;
  cases.push_back({prefix + heddle_name, "ms", [&] {
                     auto [ms, report] = run({When::always, {}, ""});
                     choices.push_back(picked(report));
                     return ms;
                   }});
  std::vector<Row> rows = context.interleave(device, cases, context.options.quick ? 7 : 21);
  const std::size_t variants = workload.variants.size();
  double oracle = rows[0].median;
  for (std::size_t v = 0; v < variants; ++v) oracle = std::min(oracle, rows[v].median);
  int right = 0;
  for (const std::string& choice : choices) {
    for (std::size_t v = 0; v < variants; ++v) {
      if (workload.variants[v].name == choice && rows[v].median <= tie * oracle) ++right;
    }
  }
  rows.front().build_ms = build_ms;
  const Row& ours = rows[variants];
  const auto percent = [&](double ms) { return 100 * (ms / oracle - 1); };
  rows.push_back({prefix + overhead_name, device, "%", percent(ours.median), percent(ours.low), percent(ours.high),
                  ours.samples, 0});
  const double share = 100.0 * right / static_cast<double>(std::max<std::size_t>(1, choices.size()));
  rows.push_back({prefix + right_name, device, "%", share, share, share, static_cast<int>(choices.size()), 0});
  return rows;
}

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out;
  for (const auto& device : context.machine.devices) {
    for (const workloads::Workload* w : workloads::all()) {
      if (w->variants.size() < 2) continue;
      for (const std::string& input : w->inputs) {
        out.push_back({fmt::format("{} {} on {}", w->name, input, device->info().id),
                       [w, input, id = device->info().id](Context& c) { return compare_variants(c, *w, input, id); }});
      }
    }
  }
  return out;
}

nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out;
  std::map<std::string, std::vector<double>> overheads, rights;  // by device
  for (const Row& row : rows) {
    if (row.name.ends_with(overhead_name)) overheads[row.device].push_back(row.median);
    if (row.name.ends_with(right_name)) rights[row.device].push_back(row.median);
  }
  const auto mean = [](const std::vector<double>& all) {
    double sum = 0;
    for (double one : all) sum += one;
    return all.empty() ? 0 : sum / static_cast<double>(all.size());
  };
  for (const auto& [device, all] : overheads) {
    out[device]["worst_overhead_pct"] = *std::max_element(all.begin(), all.end());
    out[device]["mean_overhead_pct"] = mean(all);
    out[device]["right_pct"] = mean(rights[device]);
  }
  return out;
}

}  // namespace

Suite select_suite() {
  return {"select", "finding the best variant of each workload on its first launch, against knowing it", shards,
          summary};
}

}  // namespace heddle::bench

// Search: all strategies on recorded spaces, what a proposal costs, and the default one on this machine's devices
// against trying everything.
#include <chrono>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "bench/suites.hpp"
#include "decide/replay.hpp"
#include "device/facts.hpp"
#include "profile/recorded.hpp"
#include "workloads/tuning.hpp"

namespace heddle::bench {

namespace {

constexpr int budget = 400;
constexpr const char* to_5 = "evaluations to 5 %";
constexpr const char* runs_failed = "runs that failed";

Row figure(std::string name, std::string device, std::string unit, double value, int samples = 1) {
  return {std::move(name), std::move(device), std::move(unit), value, value, value, samples};
}

std::vector<std::filesystem::path> recorded_in(const std::string& folder) {
  std::vector<std::filesystem::path> out;
  if (folder.empty()) return out;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".json") || name.ends_with(".json.gz")) out.push_back(entry.path());
  }
  if (failed) throw core::UsageError(folder + ": " + failed.message());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Row> replay_all(const std::filesystem::path& path, bool quick) {
  const profile::RecordedSpace recorded = profile::space_of(profile::read_recorded(path.string()));
  std::string name = path.filename().string();
  name = name.substr(0, name.find('.'));
  std::vector<Row> rows;
  for (const decide::Strategy& strategy : decide::strategies()) {
    if (strategy.name == "exhaustive") continue;
    const int runs = quick ? 10 : 50;
    std::vector<decide::Replay> replays;
    for (int run = 1; run <= runs; ++run)
      replays.push_back(
          decide::replay(recorded.space, recorded.times, strategy, static_cast<std::uint64_t>(run), budget));
    const decide::Replays all = decide::summarise(replays);
    const std::string prefix = name + ", " + strategy.name + ": ";
    rows.push_back(figure(prefix + to_5, "", "", all.median_to_5, runs));
    rows.push_back(figure(prefix + "evaluations to 1 %", "", "", all.median_to_1, runs));
    rows.push_back(figure(prefix + runs_failed, "", "", all.failed, runs));
    for (std::size_t l = 0; l < decide::looks.size(); ++l)
      rows.push_back(
          figure(fmt::format("{}of the best after {}", prefix, decide::looks[l]), "", "%", 100 * all.reached[l], runs));
  }
  return rows;
}

// 20,000 valid configurations of 40,000.
std::vector<Row> proposal_cost(bool quick) {
  std::vector<core::Parameter> parameters;
  for (int p = 0; p < 4; ++p) {
    core::Parameter& one = parameters.emplace_back();
    one.name = fmt::format("P{}", p);
    for (std::int64_t v = 1; v <= (p == 0 ? 40 : 10); ++v) one.values.emplace_back(v * 8);
  }
  const core::ParameterSpace space(parameters, {}, {"(P0 + P1 + P2 + P3) % 16 == 0"});
  std::vector<double> samples;
  for (std::uint64_t seed = 1; seed <= (quick ? 2u : 9u); ++seed) {
    decide::Search search(space, decide::find_strategy(""), seed);
    std::chrono::duration<double, std::milli> spent{0};
    for (int i = 0; i < budget; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const auto number = search.next();
      spent += std::chrono::steady_clock::now() - begin;
      double time = 1;
      for (const auto& [parameter, value] : space.at(*number).values)
        time += std::abs(std::log2(static_cast<double>(std::get<std::int64_t>(value)) / 64));
      search.tell(*number, time);
    }
    samples.push_back(spent.count() / budget);
  }
  return {summarise(fmt::format("own cost of a proposal, {} valid configurations", space.size()), "", "ms", samples)};
}

// 10^9 raw points, of which about 10^5 are valid, by constraints over all of nine parameters.
std::vector<Row> building_a_space(bool quick) {
  std::vector<core::Parameter> parameters;
  std::string product, sum;
  for (int p = 0; p < 9; ++p) {
    core::Parameter& one = parameters.emplace_back();
    one.name = fmt::format("P{}", p);
    for (std::int64_t v = 1; v <= 10; ++v) one.values.emplace_back(v);
    product += (p ? " * " : "") + one.name, sum += (p ? " + " : "") + one.name;
  }
  const std::vector<std::string> constraints = {product + " <= 300", "(" + sum + ") % 3 == 0"};
  std::uint64_t valid = 0;
  std::vector<double> samples;
  for (int i = 0; i < (quick ? 2 : 9); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    valid = core::ParameterSpace(parameters, {}, constraints).size();
    samples.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return {summarise(fmt::format("{} valid configurations of 10^9 found", valid), "", "s", samples)};
}

constexpr const char* found_name = "search's best over the best of all";
constexpr const char* share_name = "evaluations of all";

std::vector<Row> live(Context& context, device::Device& device, const workloads::Workload& workload) {
  const bool quick = context.options.quick;
  const workloads::Instance instance = workloads::make(workload, workloads::Size::normal, workload.inputs.front(), 1);
  workloads::Instance expected = instance;
  workload.reference(expected);
  const workloads::ToTune what = workloads::to_tune(workload, instance, expected);
  engine::TuningOptions options{.relative = instance.tolerance.relative, .absolute = instance.tolerance.absolute};
  options.clock = take(device::facts_of(device, context.settings.cache)).clock;
  device::BuildWorker worker(device.info(), context.settings);
  options.worker = &worker;
  const auto tune = [&](const char* strategy, std::uint64_t evaluations) {
    options.strategy = strategy;
    options.until = fmt::format("evaluations >= {}", evaluations);
    std::uint64_t done = 0;
    options.heard = [&](const engine::Trial&, const decide::Progress&) {
      if (++done % 10 == 0 && context.options.progress)
        context.options.progress(static_cast<double>(done) / static_cast<double>(evaluations),
                                 fmt::format("{} {}", workload.name, options.strategy));
      return true;
    };
    return take(engine::tune(device, what.tunable, what.space, what.arguments, what.base, options));
  };
  const std::uint64_t all = quick ? std::min<std::uint64_t>(60, what.tunable.space.size()) : what.tunable.space.size();
  const engine::Tuned everything = tune(quick ? "random" : "exhaustive", all);
  const engine::Tuned found = tune("", all / 10);
  if (!everything.best || !found.best) throw Failed{{core::FailureKind::launch, "nothing runs", ""}};
  const auto times = take(engine::compare(device, what.tunable, what.space, what.arguments, what.base,
                                          {*everything.best, *found.best}, quick ? 3 : 15, options));
  const std::string prefix = workload.name + ": ";
  const std::string& id = device.info().id;
  return {figure(prefix + "best of all, " + to_string(*everything.best), id, "ms", *times[0]),
          figure(prefix + "search's best, " + to_string(*found.best), id, "ms", *times[1]),
          figure(prefix + found_name, id, "%", 100 * (*times[1] / *times[0] - 1)),
          figure(prefix + share_name, id, "%",
                 100.0 * static_cast<double>(found.trials.size()) / static_cast<double>(everything.trials.size())),
          figure(prefix + "trying everything", id, "s", everything.seconds),
          figure(prefix + "search", id, "s", found.seconds)};
}

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out;
  for (const auto& path : recorded_in(context.options.spaces)) {
    out.push_back(
        {"replay " + path.filename().string(), [path](Context& c) { return replay_all(path, c.options.quick); }});
  }
  out.push_back({"cost of a proposal", [](Context& c) { return proposal_cost(c.options.quick); }});
  out.push_back({"building a space", [](Context& c) { return building_a_space(c.options.quick); }});
  for (const auto& device : context.machine.devices) {
    for (const workloads::Workload* workload : workloads::all()) {
      if (!workload->tunable) continue;
      out.push_back({workload->name + " on " + device->info().id,
                     [workload, d = device.get()](Context& c) { return live(c, *d, *workload); }});
    }
  }
  return out;
}

nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out;
  const std::string usual = ", " + decide::strategies().front().name + ": ";
  double logs = 0, failed = 0, worst = -100, share = 0;
  int spaces = 0, lives = 0;
  for (const Row& row : rows) {
    if (row.name.ends_with(usual + to_5)) logs += std::log(row.median), ++spaces;
    if (row.name.ends_with(usual + runs_failed)) failed = std::max(failed, row.median);
    if (row.name.ends_with(found_name)) worst = std::max(worst, row.median), ++lives;
    if (row.name.ends_with(share_name)) share = std::max(share, row.median);
    if (row.name.starts_with("own cost")) out["proposal_ms"] = row.median;
  }
  if (spaces > 0) out["geometric_mean_to_5pct"] = std::exp(logs / spaces), out["most_failed_runs"] = failed;
  if (lives > 0) out["worst_live_pct"] = worst, out["live_evaluations_pct"] = share;
  return out;
}

}  // namespace

Suite search_suite() {
  return {"search", "strategies on recorded spaces (--spaces FOLDER), and live against trying everything", shards,
          summary};
}

}  // namespace heddle::bench

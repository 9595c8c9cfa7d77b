// `heddle demo`: the main job on every device, checked; it grows with every part of Heddle.
#include <iostream>

#include <fmt/format.h>

#include "core/log.hpp"
#include "device/facts.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/devices.hpp"
#include "profile/store.hpp"
#include "workloads/on_device.hpp"
#include "workloads/through_library.hpp"
#include "workloads/tuning.hpp"

namespace heddle::front::cli {

namespace {

double milliseconds(core::Nanoseconds t) { return core::seconds(t) * 1e3; }

// "0.12 ms", or why there is no time; `wrong` collects what the reference disagrees with.
std::string run_checked(workloads::OnDevice& there, const std::vector<workloads::Piece>& pieces,
                        const workloads::Instance& expected, std::vector<std::string>& wrong) {
  if (pieces.empty()) return "-";
  auto run = [&]() -> core::Result<core::Nanoseconds> {
    if (auto ready = there.reset(); !ready) return ready.failure();
    return there.run_all(pieces);
  };
  auto first = run();  // touches memory; the second one counts
  auto took = first ? run() : std::move(first);
  if (!took) {
    wrong.push_back(took.failure().what + (took.failure().log.empty() ? "" : "\n" + took.failure().log));
    return "failed";
  }
  auto verdict = there.check(expected);
  if (!verdict) wrong.push_back(verdict.failure().what);
  if (verdict && *verdict) wrong.push_back(**verdict);
  if (!verdict || *verdict) return "wrong";
  return fmt::format("{:.2f}", milliseconds(*took));
}

// Times the launch in one piece and keeps the sample: what the next run of anything can start from. Counts what was
// kept, and what was not because another program disturbed it.
struct Remembered {
  int kept = 0, disturbed = 0;
};
void remember(Remembered& count, profile::Store& store, workloads::OnDevice& there, const workloads::Workload& workload,
              const workloads::Instance& instance, std::size_t v, const device::Info& device,
              const device::Clock& clock) {
  const auto pieces = workloads::pieces(workload, v, instance.space, 1);
  if (pieces.size() != 1) return;  // the base variant helped at the edges, so the time is not this variant's alone
  const core::Launch launch = workloads::launch_of(instance, workload.variants[v]);
  const core::SampleKey key{launch.kernel, workload.variants[v].name, "", device.fingerprint, shape_of(launch)};
  // Three times: after a pause the first one often finds both threads on one core (seen: half the speed, ratio 0.5).
  int trusted = 0;
  for (int repetition = 0; repetition < 3; ++repetition) {
    auto sample = there.run(pieces.front(), clock);
    if (!sample) {
      store.add_failure(key, sample.failure().kind);
      return;
    }
    store.add(key, *sample);
    trusted += sample->contention >= core::trusted_contention;
    if (core::log_enabled(core::LogLevel::debug)) {
      core::log(core::LogLevel::debug,
                fmt::format("{} {} on {}: {:.3f} ms, contention ratio {:.2f}", workload.name, key.variant, device.id,
                            milliseconds(sample->duration), sample->contention));
    }
  }
  ++(trusted ? count.kept : count.disturbed);
  store.name(launch.kernel, workload.name);
  store.name(device.fingerprint, device.name);
}

// Every workload's base variant as a program would run it: in slices, on all devices. Returns how many are wrong.
int through_library(const std::vector<const workloads::Workload*>& chosen, const std::string& size, std::uint64_t seed,
                    int slices, const core::Settings& settings) {
  Runtime runtime(Options{.devices = settings.devices});
  int wrong = 0, cut = 0;
  for (const workloads::Workload* w : chosen) {
    const workloads::Instance instance = workloads::make(*w, workloads::parse_size(size), w->inputs.front(), seed);
    workloads::Instance expected = instance;
    w->reference(expected);
    Report report;
    std::optional<std::string> problem;
    try {
      problem = workloads::run_through_library(runtime, *w, 0, instance, expected, slices, report);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (problem) std::cout << fmt::format("    {}: {}\n", w->name, *problem);
    wrong += problem ? 1 : 0;
    cut += report.slices.size() > 1;
  }
  std::cout << fmt::format("Through the library, on all devices at once: {} of {} right, {} of them in slices.\n",
                           chosen.size() - static_cast<std::size_t>(wrong), chosen.size(), cut);
  return wrong;
}

// A short search for the best parameters of those that have any, on the first device. Returns the number of those of
// which nothing computed what is right.
int tuned(const std::vector<const workloads::Workload*>& chosen, const std::string& size, std::uint64_t seed,
          device::Device& device, const device::Clock& clock, const core::Settings& settings) {
  constexpr int evaluations = 12;
  int failures = 0;
  device::BuildWorker worker(device.info(), settings);
  for (const workloads::Workload* w : chosen) {
    if (!w->tunable) continue;
    const workloads::Instance instance = workloads::make(*w, workloads::parse_size(size), w->inputs.front(), seed);
    workloads::Instance expected = instance;
    w->reference(expected);
    const workloads::ToTune what = workloads::to_tune(*w, instance, expected);
    engine::TuningOptions options{.until = fmt::format("evaluations >= {}", evaluations)};
    options.relative = instance.tolerance.relative, options.absolute = instance.tolerance.absolute;
    options.clock = clock, options.worker = &worker;
    auto found = engine::tune(device, what.tunable, what.space, what.arguments, what.base, options);
    int wrong = 0;
    for (std::size_t t = 0; found && t < found->trials.size(); ++t) wrong += found->trials[t].failure == "correctness";
    if (!found || !found->best || wrong > 0) {
      std::cout << fmt::format("Tuning {} on {}: {}\n", w->name, device.info().id,
                               !found      ? found.failure().what
                               : wrong > 0 ? fmt::format("{} configurations computed WRONG results", wrong)
                                           : "nothing runs");
      ++failures;
      continue;
    }
    std::cout << fmt::format("Tuning {} on {}: {:.2f} ms by {}, the best of {} tried.\n", w->name, device.info().id,
                             found->ms, to_string(*found->best), found->trials.size())
              << std::flush;
  }
  return failures;
}

struct Choice {
  std::string size = "default";
  int slices = 8;
  std::uint64_t seed = 1;
  std::vector<std::string> workloads;
};

// Returns the number of runs that failed.
int demonstrate(const Choice& choice, device::Machine& machine, const MeasuredFacts& facts,
                const core::Settings& settings) {
  profile::Store store(settings.store);
  std::vector<const workloads::Workload*> chosen;
  for (const std::string& name : choice.workloads) chosen.push_back(&workloads::find(name));
  if (chosen.empty()) chosen = workloads::all();
  int failures = 0, runs = 0;
  Remembered remembered;
  std::cout << fmt::format("{:<17} {:<11} {:<17} {:<8} {:>10} {:>12}  {}\n", "workload", "input", "variant", "device",
                           "whole ms", fmt::format("{} slices", choice.slices), "result");
  for (const workloads::Workload* w : chosen) {
    for (const std::string& input : w->inputs) {
      const workloads::Instance instance = workloads::make(*w, workloads::parse_size(choice.size), input, choice.seed);
      workloads::Instance expected = instance;
      w->reference(expected);
      for (std::size_t i = 0; i < facts.size(); ++i) {
        device::Device* d = machine.devices[i].get();
        auto there = workloads::OnDevice::open(*d, *w, instance);
        if (!there) {
          std::cout << fmt::format("{:<17} {:<11} {:<17} {:<8} {}\n", w->name, input, "", d->info().id,
                                   there.failure().what);
          ++failures, ++runs;
          continue;
        }
        for (std::size_t v = 0; v < w->variants.size(); ++v) {
          std::vector<std::string> wrong;
          const std::string whole = run_checked(**there, workloads::pieces(*w, v, instance.space, 1), expected, wrong);
          const std::string sliced =
              run_checked(**there, workloads::pieces(*w, v, instance.space, choice.slices), expected, wrong);
          const char* result = !wrong.empty() ? "WRONG" : whole == "-" && sliced == "-" ? "does not fit" : "right";
          std::cout << fmt::format("{:<17} {:<11} {:<17} {:<8} {:>10} {:>12}  {}\n", w->name, input,
                                   w->variants[v].name, d->info().id, whole, sliced, result)
                    << std::flush;
          for (const std::string& line : wrong) std::cout << "    " << line << "\n";
          failures += wrong.empty() ? 0 : 1;
          if (wrong.empty()) {
            remember(remembered, store, **there, *w, instance, v, d->info(),
                     facts[i] ? facts[i].value().clock : device::Clock{});
          }
          ++runs;
        }
      }
    }
  }
  std::cout << fmt::format("\n{} of {} runs agree with the host reference.\n", runs - failures, runs);
  failures += through_library(chosen, choice.size, choice.seed, choice.slices, settings);
  failures += tuned(chosen, choice.size, choice.seed, *machine.devices.front(),
                    facts.front() ? facts.front().value().clock : device::Clock{}, settings);
  if (!settings.store.empty() && store.flush()) {
    std::cout << fmt::format(
        "Times kept for later runs: {} (heddle profile list).{}\n", remembered.kept,
        remembered.disturbed ? fmt::format(" {} were not: the CPU was busy otherwise.", remembered.disturbed) : "");
  }
  return failures;
}

}  // namespace

void add_demo_command(CLI::App& app, const Environment& environment) {
  CLI::App* command =
      app.add_subcommand("demo", "Run the workloads on every device, whole and in slices, and check them");
  command->footer(
      "Each variant of each workload runs as one launch and as several, on fresh poisoned outputs, and is compared "
      "with\n"
      "the host reference. '-': that variant cannot be cut yet, or does not fit that size. At the end the example\n"
      "programs run on the driver below alone and by `heddle run`.");
  auto choice = std::make_shared<Choice>();
  command->add_option("workloads", choice->workloads, "Only these workloads (default: all)");
  command->add_option("--size", choice->size, "tiny, default, medium or large")->capture_default_str();
  command->add_option("--slices", choice->slices, "Slices of a launch")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--seed", choice->seed, "Seed of the inputs")->capture_default_str();
  command->callback([=] {
    workloads::parse_size(choice->size);  // bad input is told before the devices are opened
    for (const std::string& name : choice->workloads) workloads::find(name);
    device::Machine machine = device::open_machine(environment.settings, environment.lookup);
    if (machine.devices.empty()) {
      complain_of_no_device(machine);
      environment.exit_code = 1;
      return;
    }
    const MeasuredFacts facts = facts_of_all(machine, environment.settings);
    std::cout << device_table(machine, facts) << "\n";
    if (demonstrate(*choice, machine, facts, environment.settings) > 0) environment.exit_code = 1;
    if (choice->workloads.empty() && run_examples(machine) > 0) environment.exit_code = 1;
  });
}

}  // namespace heddle::front::cli

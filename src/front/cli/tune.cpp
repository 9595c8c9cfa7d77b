// `heddle tune`: finds the best parameters of a kernel on a device, or replays a search on a recorded space.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bench/interrupt.hpp"
#include "core/errors.hpp"
#include "core/fingerprint.hpp"
#include "decide/replay.hpp"
#include "device/facts.hpp"
#include "device/machine.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/devices.hpp"
#include "front/cli/tune_arguments.hpp"
#include "kernel/compiler.hpp"
#include "profile/progress.hpp"
#include "profile/recorded.hpp"
#include "profile/store.hpp"
#include "profile/t4.hpp"
#include "workloads/tuning.hpp"

namespace heddle::front::cli {

namespace {

struct Asked {
  std::string what;  // a workload or a file
  std::string size = "default", input, device;
  std::string kernel, options, grid, group, points;
  std::vector<std::string> parameters, derived, constraints, arguments;
  bool guarded = false;
  std::string strategy, until, json, replay;
  std::uint64_t seed = 1;
  int budget = 0, runs = 50;
  double seconds = 0, floor_ms = 0, relative = 1e-4, absolute = 1e-6;
  bool resume = false;
};

// ---- Replay ---------------------------------------------------------------------------------------------------------

std::string evaluations(double count) { return count == decide::Tried::failed ? "never" : fmt::format("{:g}", count); }

void replay(const Asked& asked) {
  const decide::Strategy& strategy = decide::find_strategy(asked.strategy);
  if (asked.runs <= 0) throw core::UsageError("--runs: a positive number expected");
  const int budget = asked.budget > 0 ? asked.budget : 400;
  const profile::Recorded recorded = profile::read_recorded(asked.replay);
  for (const std::string& line : recorded.skipped) std::cerr << "heddle: " << asked.replay << ": " << line << "\n";
  if (recorded.skipped_count > recorded.skipped.size())
    std::cerr << fmt::format("heddle: {}: and {} more\n", asked.replay,
                             recorded.skipped_count - recorded.skipped.size());
  const profile::RecordedSpace space = profile::space_of(recorded);
  std::vector<decide::Replay> runs;
  for (int run = 0; run < asked.runs; ++run) {
    runs.push_back(
        decide::replay(space.space, space.times, strategy, asked.seed + static_cast<std::uint64_t>(run), budget));
    if (isatty(STDERR_FILENO)) std::cerr << fmt::format("\r{} of {} runs", run + 1, asked.runs) << std::flush;
  }
  if (isatty(STDERR_FILENO)) std::cerr << "\r\033[K";
  const decide::Replays all = decide::summarise(runs);
  const auto failing = std::count_if(space.times.begin(), space.times.end(), [](double t) { return std::isnan(t); });
  double best = decide::Tried::failed;
  for (double time : space.times) best = std::isnan(time) ? best : std::min(best, time);
  std::cout << fmt::format("{}{}: {} configurations, {} of which fail; the best takes {:.6g} ms\n",
                           recorded.kernel.empty() ? asked.replay : recorded.kernel,
                           recorded.device.empty() ? "" : " on " + recorded.device, space.space.size(), failing, best);
  std::cout << fmt::format("strategy {}, {} runs of at most {} evaluations, seeds from {}\n\n", strategy.name,
                           asked.runs, budget, asked.seed);
  std::cout << fmt::format("evaluations to within 5 % of the best, median  {}\n", evaluations(all.median_to_5));
  std::cout << fmt::format("evaluations to within 1 % of the best, median  {}\n", evaluations(all.median_to_1));
  std::cout << fmt::format("runs that did not come within 5 %              {}\n", all.failed);
  for (std::size_t l = 0; l < decide::looks.size(); ++l)
    std::cout << fmt::format("fraction of the best after {:>3} evaluations     {:.3f}\n", decide::looks[l],
                             all.reached[l]);
  if (asked.json.empty()) return;
  const auto number = [](double value) {
    return value == decide::Tried::failed ? nlohmann::json() : nlohmann::json(value);
  };
  nlohmann::json out{{"strategy", strategy.name},
                     {"runs", asked.runs},
                     {"budget", budget},
                     {"seed", asked.seed},
                     {"configurations", space.space.size()},
                     {"median_to_5pct", number(all.median_to_5)},
                     {"median_to_1pct", number(all.median_to_1)},
                     {"failed_runs", all.failed}};
  for (std::size_t l = 0; l < decide::looks.size(); ++l)
    out["fraction_after"][std::to_string(decide::looks[l])] = all.reached[l];
  write_file(asked.json, out.dump(2) + "\n");
}

// ---- Live -----------------------------------------------------------------------------------------------------------

// All that is tuned for. It owns what the arguments point to.
struct Job {
  core::Tunable tunable;
  core::Box space;
  std::vector<engine::TuningArgument> arguments;
  std::optional<core::Variant> base;
  std::string problem;  // for a person
  double bytes = 0;     // least memory traffic; 0: unknown
  double relative, absolute;

  workloads::Instance instance, expected;
  std::vector<ArgumentWord> words;
};

std::unique_ptr<Job> workload_job(const Asked& asked) {
  const workloads::Workload& workload = workloads::find(asked.what);
  for (const auto& [given, option] :
       {std::pair(!asked.kernel.empty(), "--kernel"), std::pair(!asked.parameters.empty(), "--param"),
        std::pair(!asked.arguments.empty(), "--arg"), std::pair(!asked.grid.empty(), "--grid")}) {
    if (given) throw core::UsageError(fmt::format("{} is for kernel files; '{}' is a workload", option, asked.what));
  }
  auto out = std::make_unique<Job>();
  const workloads::Size size = workloads::parse_size(asked.size);
  const std::string input = asked.input.empty() ? workload.inputs.front() : asked.input;
  out->tunable = workloads::tunable_of(workload);
  out->tunable.name = workload.name;
  out->instance = workloads::make(workload, size, input, asked.seed);
  out->expected = out->instance;
  workload.reference(out->expected);
  workloads::ToTune made = workloads::to_tune(workload, out->instance, out->expected);
  out->space = made.space, out->arguments = std::move(made.arguments), out->base = std::move(made.base);
  out->problem = fmt::format("{}, {}", asked.size, input);
  out->bytes = out->instance.bytes;
  out->relative = out->instance.tolerance.relative, out->absolute = out->instance.tolerance.absolute;
  return out;
}

std::array<std::string, 3> extents(const std::string& text) {
  std::array<std::string, 3> out{"1", "1", "1"};
  std::size_t begin = 0, depth = 0, d = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')' && depth > 0) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (d == 3) throw core::UsageError("'" + text + "': at most three extents");
    out[d++] = text.substr(begin, i - begin);
    begin = i + 1;
  }
  return out;
}

std::pair<std::string, std::string> named(const char* option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    throw core::UsageError(fmt::format("{} '{}': NAME=... expected", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::unique_ptr<Job> file_job(const Asked& asked, const core::Settings& settings) {
  std::ifstream in(asked.what);
  if (!in) throw core::UsageError("'" + asked.what + "' is neither a workload nor a file that can be read");
  std::ostringstream text;
  text << in.rdbuf();
  auto out = std::make_unique<Job>();
  std::vector<core::Parameter> parameters;
  std::vector<core::Derived> derived;
  std::vector<std::string> constraints;
  if (auto read = core::read_tunable(text.str())) {
    parameters = read->space.parameters(), derived = read->space.derived(), constraints = read->space.constraints();
    out->tunable = std::move(*read);
  }
  for (const std::string& word : asked.parameters) {
    auto [name, values] = named("--param", word);
    const auto same = [&name = name](const core::Parameter& p) { return p.name == name; };
    std::erase_if(parameters, same);  // the command line has the last word
    parameters.push_back({name, core::parse_values(values)});
  }
  for (const std::string& word : asked.derived) {
    auto [name, value] = named("--derive", word);
    derived.push_back({name, value});
  }
  constraints.insert(constraints.end(), asked.constraints.begin(), asked.constraints.end());
  if (parameters.empty())
    throw core::UsageError("no parameters: give --param NAME=VALUES, or `#pragma heddle tune NAME VALUES` in the file");
  out->tunable.source = text.str(), out->tunable.options = asked.options;
  out->tunable.space = core::ParameterSpace(parameters, derived, constraints);
  if (!asked.group.empty()) out->tunable.group = extents(asked.group);
  if (!asked.points.empty()) out->tunable.points = extents(asked.points);
  if (asked.points.empty() && !asked.group.empty()) out->tunable.points = out->tunable.group;
  out->tunable.guarded |= asked.guarded;
  if (asked.grid.empty()) throw core::UsageError("--grid X[,Y[,Z]]: how many points does the launch have?");
  const core::Index grid = parse_extents("--grid", asked.grid);
  out->space = core::box_of(grid[0], grid[1], grid[2]);
  for (std::size_t a = 0; a < asked.arguments.size(); ++a)
    out->words.push_back(parse_argument(asked.arguments[a], asked.seed + a));
  out->arguments = tuning_arguments(out->words);
  out->problem = asked.grid;
  out->relative = asked.relative, out->absolute = asked.absolute;

  // Facts of any one configuration: they differ in numbers, not in what is read and written.
  out->tunable.entry = asked.kernel;
  const core::Variant any = core::variant_of(out->tunable, out->tunable.space.at(0));
  kernel::Compiler compiler(kernel::options_of(settings));
  auto analysis = compiler.analyse({any.source, any.options, {}});
  if (!analysis && analysis.failure().kind == core::FailureKind::build)
    throw core::UsageError(
        fmt::format("{} does not compile with {}:\n{}", asked.what, any.name, analysis.failure().log));
  std::string known;
  const core::KernelFacts* facts = nullptr;
  if (analysis) {
    for (const core::KernelFacts& one : analysis->facts.kernels) {
      known += (known.empty() ? "" : ", ") + one.name;
      if (one.name == asked.kernel || (asked.kernel.empty() && analysis->facts.kernels.size() == 1)) facts = &one;
    }
    if (!facts)
      throw core::UsageError(
          asked.kernel.empty() ? "--kernel: which of " + known + "?"
                               : fmt::format("{} has no kernel '{}'; there are: {}", asked.what, asked.kernel, known));
    out->tunable.entry = facts->name;
    engine::describe(*facts, out->arguments);
    out->tunable.cut = engine::cut_of(*facts);
    for (std::size_t a = 0; a < out->words.size(); ++a) {
      const core::AddressSpace space = facts->arguments[a].space;
      using Kind = ArgumentWord::Kind;
      const Kind wanted = space == core::AddressSpace::value   ? Kind::value
                          : space == core::AddressSpace::local ? Kind::local
                                                               : Kind::array;
      const char* words[] = {"an array", "a value", "local memory"};
      if (wanted != out->words[a].kind)
        throw core::UsageError(fmt::format("argument '{}' for '{}': {} expected", asked.arguments[a],
                                           facts->arguments[a].name, words[static_cast<int>(wanted)]));
      const std::string& type = facts->arguments[a].type;
      const bool real = type.find("float") != type.npos || type.find("double") != type.npos;
      if (wanted == Kind::value &&
          (facts->arguments[a].size != out->words[a].bytes.size() || real != out->words[a].real))
        throw core::UsageError(fmt::format("argument '{}' for '{}': a value of type {} expected", asked.arguments[a],
                                           facts->arguments[a].name, facts->arguments[a].type));
    }
  } else if (asked.kernel.empty()) {
    throw core::UsageError("--kernel NAME: which function of " + asked.what + "?");
  }
  out->tunable.name = out->tunable.entry;
  return out;
}

device::Device& device_of(const device::Machine& machine, const std::string& id) {
  device::Device* out = nullptr;
  std::string known;
  for (const auto& device : machine.devices) {
    known += (known.empty() ? "" : ", ") + device->info().id;
    if (id.empty() ? !out || device::comes_before(device->info(), out->info()) : device->info().id == id)
      out = device.get();
  }
  if (!out) throw core::UsageError(fmt::format("no device '{}'; there are: {}", id, known));
  return *out;
}

std::string rule_of(const Asked& asked) {
  std::vector<std::string> rules;
  if (!asked.until.empty()) rules.push_back("(" + asked.until + ")");
  if (asked.budget > 0) rules.push_back(fmt::format("evaluations >= {}", asked.budget));
  if (asked.seconds > 0) rules.push_back(fmt::format("seconds >= {}", asked.seconds));
  if (rules.empty()) return asked.strategy == "exhaustive" ? "false" : engine::TuningOptions{}.until;
  return fmt::format("{}", fmt::join(rules, " || "));
}

// A line that is redrawn on a terminal; elsewhere one for each improvement.
class Reporter {
 public:
  Reporter(const Asked& asked, const core::ParameterSpace& space) : asked_(asked), all_(space.size()) {}

  void hear(const engine::Trial& trial, const decide::Progress& progress) {
    if (!trial.ms) ++failed_;
    const bool better = trial.ms && progress.since == 0;
    if (better) best_ = to_string(trial.configuration);
    if (!terminal_) {
      if (better)
        std::cerr << fmt::format("{:>5} {:>9.4g} ms  {}\n", progress.evaluations, progress.best, best_) << std::flush;
      return;
    }
    std::string line =
        fmt::format("{}{} tried, {} failed, {:.0f} s{}", progress.evaluations,
                    all_ < 1'000'000 ? fmt::format(" of {}", all_) : "", failed_, progress.seconds, left(progress));
    if (progress.best > 0) line += fmt::format("; best {:.4g} ms: {}", progress.best, best_);
    std::cerr << "\r\033[K" << line.substr(0, 100) << std::flush;
  }
  ~Reporter() {
    if (terminal_) std::cerr << "\r\033[K" << std::flush;
  }

 private:
  std::string left(const decide::Progress& progress) const {
    double seconds = decide::Tried::failed;
    const double each = progress.seconds / static_cast<double>(progress.evaluations);
    const double most = std::min(asked_.budget > 0 ? asked_.budget : 1e300, static_cast<double>(all_));
    if (asked_.budget > 0 || asked_.strategy == "exhaustive")
      seconds = each * (most - static_cast<double>(progress.evaluations));
    if (asked_.seconds > 0) seconds = std::min(seconds, asked_.seconds - progress.seconds);
    return std::isfinite(seconds) ? fmt::format(", about {:.0f} s left", std::max(0.0, seconds)) : "";
  }

  const Asked& asked_;
  const std::uint64_t all_;
  const bool terminal_ = isatty(STDERR_FILENO);
  std::string best_;
  int failed_ = 0;
};

profile::Tried kept(const engine::Trial& trial) {
  profile::Tried out{.configuration = trial.configuration, .failure = trial.failure, .why = trial.why};
  if (trial.ms) out.ms = *trial.ms;
  out.build_ms = core::seconds(trial.build) * 1e3;
  out.seconds_since_epoch =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return out;
}

engine::Trial trial_of(const profile::Tried& tried) {
  engine::Trial out{.configuration = tried.configuration, .failure = tried.failure, .why = tried.why};
  if (tried.failure.empty()) out.ms = tried.ms;
  return out;
}

void print(const Job& job, const engine::Tuned& tuned, const device::Info& device, double floor_ms) {
  std::map<std::string, int> failures;
  std::map<std::string, std::string> example;
  for (const engine::Trial& trial : tuned.trials) {
    if (trial.ms) continue;
    ++failures[trial.failure];
    example.emplace(trial.failure, to_string(trial.configuration) + ": " + trial.why.substr(0, trial.why.find('\n')));
  }
  std::cout << fmt::format("{} ({}) on {}: {} of {} configurations tried in {:.1f} s; stopped: {}\n", job.tunable.name,
                           job.problem, device.id, tuned.trials.size(), job.tunable.space.size(), tuned.seconds,
                           tuned.stopped);
  for (const auto& [failure, count] : failures)
    std::cout << fmt::format("  {} failed ({}), such as {}\n", count, failure, example[failure]);
  if (!tuned.best) {
    std::cout << "nothing runs\n";
    return;
  }
  std::cout << fmt::format(
      "best: {}\n      {:.4g} ms{}\n", to_string(*tuned.best), tuned.ms,
      floor_ms > 0 ? fmt::format(", {:.0f} % of what the memory's speed allows", 100 * floor_ms / tuned.ms) : "");
  std::cout << fmt::format("build options:{}\n", core::build_options(job.tunable.space.with_derived(*tuned.best)));
}

// All that a trial's outcome depends on: a run that is resumed must be the same.
std::string identity(const Job& job, const device::Info& device) {
  const core::SampleKey key = engine::key_of(job.tunable, {}, device, job.space, job.arguments);
  std::string rest = fmt::format("{} {} {}", job.relative, job.absolute, job.base ? job.base->name : "");
  for (const engine::TuningArgument& argument : job.arguments) {
    if (const auto* bytes = std::get_if<std::span<const std::byte>>(&argument.given))
      rest.append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    if (const auto* scalar = std::get_if<device::Scalar>(&argument.given))
      rest.append(reinterpret_cast<const char*>(scalar->data()), scalar->size());
  }
  return fmt::format("{} {} {} {}", key.kernel, key.device, key.shape, core::Fingerprint().add(rest).hex());
}

void tune(const Asked& asked, const Environment& environment) {
  (void)decide::find_strategy(asked.strategy);
  const decide::Stop rule(rule_of(asked));
  if (std::filesystem::is_directory(asked.json)) throw core::UsageError(asked.json + " is a folder; a file expected");
  if (asked.resume && asked.json.empty()) throw core::UsageError("--resume needs --json FILE");
  const auto known = workloads::all();
  const bool is_workload =
      std::any_of(known.begin(), known.end(), [&](const auto* w) { return w->name == asked.what; });
  const std::unique_ptr<Job> job = is_workload ? workload_job(asked) : file_job(asked, environment.settings);
  device::Machine machine = device::open_machine(environment.settings, environment.lookup);
  if (machine.devices.empty()) {
    complain_of_no_device(machine);
    environment.exit_code = 1;
    return;
  }
  device::Device& device = device_of(machine, asked.device);

  engine::TuningOptions options{.strategy = asked.strategy, .seed = asked.seed, .until = rule.text()};
  options.relative = job->relative, options.absolute = job->absolute;
  options.floor_ms = asked.floor_ms;
  if (auto facts = device::facts_of(device, environment.settings.cache)) {
    options.clock = facts->clock;
    if (options.floor_ms == 0 && facts->memory_rate > 0) options.floor_ms = 1e3 * job->bytes / facts->memory_rate;
  }
  profile::Store store(environment.settings.store);
  options.store = &store;
  device::BuildWorker worker(device.info(), environment.settings);
  options.worker = &worker;
  std::optional<profile::ProgressFile> progress;
  const std::string partial = asked.json + ".partial";
  if (!asked.json.empty()) {
    progress.emplace(partial, identity(*job, device.info()));
    if (!asked.resume && !progress->earlier().empty())
      throw core::UsageError(partial +
                             " holds results of an interrupted run: --resume goes on with them; or remove it");
    for (const profile::Tried& tried : progress->earlier()) options.known.push_back(trial_of(tried));
    for (const std::string& line : progress->skipped()) std::cerr << "heddle: " << partial << ": " << line << "\n";
  }
  core::Result<engine::Tuned> tuned = [&] {
    bench::CatchInterrupt catching;
    Reporter reporter(asked, job->tunable.space);
    options.heard = [&](const engine::Trial& trial, const decide::Progress& so_far) {
      try {
        if (progress && !trial.remembered) progress->append(kept(trial));
      } catch (const core::UsageError& error) {  // the disk is full: what is found is not lost for that
        std::cerr << "heddle: " << error.what() << "\n";
        progress.reset();
      }
      reporter.hear(trial, so_far);
      return !bench::stop_asked;
    };
    return engine::tune(device, job->tunable, job->space, job->arguments, job->base, options);
  }();
  if (!tuned) {
    std::cerr << fmt::format("heddle: {}\n{}", tuned.failure().what, tuned.failure().log);
    environment.exit_code = 1;
    return;
  }
  print(*job, *tuned, device.info(), options.floor_ms);
  if (!store.flush() && !environment.settings.store.empty())
    std::cerr << "heddle: the store could not be written; what was found is not remembered\n";
  if (!asked.json.empty()) {
    std::vector<profile::Tried> all;
    for (const engine::Trial& trial : tuned->trials) all.push_back(kept(trial));
    write_file(asked.json, profile::t4_text({job->tunable.name, device.info().name, job->problem}, all));
    progress.reset();
    std::error_code ignored;
    if (tuned->stopped != "interrupted") std::filesystem::remove(partial, ignored);
  }
  if (!tuned->best) environment.exit_code = 1;
  if (tuned->stopped == "interrupted") environment.exit_code = 130;
}

}  // namespace

void add_tune_command(CLI::App& app, const Environment& environment) {
  CLI::App* command = app.add_subcommand("tune", "Find the best parameters of a kernel on a device");
  auto asked = std::make_shared<Asked>();
  std::string footer = "Strategies:\n";
  for (const decide::Strategy& one : decide::strategies()) footer += fmt::format("  {:<10} {}\n", one.name, one.what);
  footer +=
      "The first is the default. A search stops when one of --budget, --seconds and --until is met; without any, "
      "after\n"
      "400 evaluations, or after a minute when the last 50 found nothing better. Ctrl-C stops it, too, and keeps what "
      "was\n"
      "found. What was measured is remembered, and tried first the next time.\n\n"
      "heddle tune sgemm --budget 100\n"
      "heddle tune filter.cl --kernel blur --param BX=8,16,32 --param TILE=1..8 --constraint 'BX*TILE<=256' \\\n"
      "    --group BX,8 --points BX*TILE,8 --grid 4096,4096 --arg 'float[4096*4096]' --arg 'float[4096*4096]' --arg "
      "int=4096\n"
      "heddle tune --replay cache.json --strategy genetic --runs 50 --budget 400";
  command->footer(footer);
  command->add_option("what", asked->what, "A workload that has parameters, or a file of OpenCL C");
  command->add_option("--strategy", asked->strategy, "How to search");
  command->add_option("--seed", asked->seed, "Of whatever is left to chance")->capture_default_str();
  command->add_option("--budget", asked->budget, "Stop after so many evaluations")->check(CLI::PositiveNumber);
  command->add_option("--seconds", asked->seconds, "Stop after so long")->check(CLI::PositiveNumber);
  command->add_option(
      "--until", asked->until,
      "Stop when this holds; names: evaluations, seconds, since (evaluations since the best was found), "
      "best (ms), attained (floor / best)");
  command->add_option("--floor", asked->floor_ms, "What any run takes at least, for `attained`")->type_name("MS");
  command->add_option("--device", asked->device, "Id of the device, as `heddle devices` lists them");
  command->add_option("--json", asked->json, "Write all results to this file, in the T4 format");
  command->add_flag("--resume", asked->resume, "Go on with what an interrupted run with the same --json has found");
  const char* workload = "Workloads";
  command->add_option("--size", asked->size, "tiny, default, medium, large")->group(workload)->capture_default_str();
  command->add_option("--input", asked->input, "Of the workload's inputs")->group(workload);
  const char* file = "Kernel files";
  command->add_option("--kernel", asked->kernel, "Which function, if there are several")->group(file);
  command->add_option("--options", asked->options, "For the compiler")->group(file);
  command->add_option("--param", asked->parameters, "NAME=8,16,32 or NAME=1..16 or NAME='8..64 times 2'")
      ->group(file)
      ->allow_extra_args(false);
  command->add_option("--derive", asked->derived, "NAME=EXPRESSION: another macro, computed of parameters")
      ->group(file)
      ->allow_extra_args(false);
  command->add_option("--constraint", asked->constraints, "An expression that must hold")
      ->group(file)
      ->allow_extra_args(false);
  command->add_option("--group", asked->group, "Work-items of a group: X[,Y[,Z]], expressions")->group(file);
  command->add_option("--points", asked->points, "Points of the launch that a group computes; as --group if left out")
      ->group(file);
  command->add_flag("--guarded", asked->guarded, "The kernel checks bounds: groups may reach over the end")
      ->group(file);
  command->add_option("--grid", asked->grid, "Points of the launch: X[,Y[,Z]]")->group(file);
  command
      ->add_option("--arg", asked->arguments,
                   "One for each argument: float[COUNT], int[COUNT]=zero|random|ramp, int=VALUE, local[BYTES]")
      ->group(file)
      ->allow_extra_args(false);
  command->add_option("--relative", asked->relative, "By how much results may differ from the first configuration's")
      ->group(file)
      ->capture_default_str();
  command->add_option("--absolute", asked->absolute, "The same, not relative")->group(file)->capture_default_str();
  const char* recorded = "Recorded spaces";
  command->add_option("--replay", asked->replay, "A Kernel Tuner cache or T4 results, perhaps .gz: no device is used")
      ->group(recorded);
  command->add_option("--runs", asked->runs, "How often")->group(recorded)->capture_default_str();
  command->callback([=] {
    if (asked->replay.empty() == asked->what.empty())
      throw core::UsageError("either a workload, or a file of OpenCL C, or --replay FILE expected");
    if (asked->replay.empty())
      tune(*asked, environment);
    else
      replay(*asked);
  });
}

}  // namespace heddle::front::cli

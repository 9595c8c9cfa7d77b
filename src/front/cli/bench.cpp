// `heddle bench SUITE`: runs a suite of the bench frame, shows progress and writes the result.
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/frame.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/devices.hpp"

namespace heddle::front::cli {

namespace {

// Only on a terminal: a bar that is redrawn in place.
std::function<void(double, const std::string&)> progress_bar() {
  if (!isatty(STDERR_FILENO)) return {};
  return [](double share, const std::string& what) {
    const int width = 30, full = static_cast<int>(share * width);
    std::cerr << fmt::format("\r[{:<{}}] {:>3.0f} % {:<40.40}", std::string(static_cast<std::size_t>(full), '#'), width,
                             share * 100, what)
              << (share >= 1 ? "\r\033[K" : "") << std::flush;
  };
}

void run_suite(const std::string& name, bench::Options options, const Environment& environment) {
  const bench::Suite& suite = bench::find_suite(name);
  // Whatever is wrong with where the result goes is told before a long measurement, not after it.
  if (std::filesystem::is_directory(options.json))
    throw core::UsageError(options.json + " is a folder; a file expected");
  if (options.resume && options.json.empty() && environment.settings.cache.empty()) {
    throw core::UsageError("--resume needs --json FILE or a cache folder");
  }
  options.progress = progress_bar();
  device::Machine machine = device::open_machine(environment.settings, environment.lookup);
  if (machine.devices.empty()) {
    complain_of_no_device(machine);
    environment.exit_code = 1;
    return;
  }
  if (!options.json.empty()) {
    options.partial = options.json + ".partial";
    if (!std::ofstream(options.partial, std::ios::app)) throw core::UsageError(options.json + " cannot be written");
    std::error_code ignored;
    if (std::filesystem::is_empty(options.partial, ignored)) std::filesystem::remove(options.partial, ignored);
  } else if (!environment.settings.cache.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(environment.settings.cache, ignored);
    options.partial = environment.settings.cache + "/bench-" + name + ".partial";
  }
  bench::Context context{machine, environment.settings, options};
  const bench::Outcome outcome = bench::run(suite, context);
  std::cout << bench::table(outcome);
  for (const std::string& problem : outcome.problems) std::cerr << "heddle: bench " << problem << "\n";
  if (outcome.interrupted) {
    std::cerr << "heddle: interrupted"
              << (options.partial.empty() ? "" : "; the same command with --resume goes on from here") << "\n";
    environment.exit_code = 130;
    return;
  }
  if (!options.json.empty()) write_file(options.json, outcome.document.dump(2) + "\n");
  std::error_code ignored;
  if (!options.partial.empty() && !outcome.others_kept)
    std::filesystem::remove(options.partial, ignored);  // all of it is in the result now
  if (!outcome.problems.empty()) environment.exit_code = 1;
}

}  // namespace

void add_bench_command(CLI::App& app, const Environment& environment) {
  CLI::App* command = app.add_subcommand("bench", "Measure: interleaved repetitions, median and confidence interval");
  std::string footer = "Suites:\n";
  for (const bench::Suite& suite : bench::suites()) footer += fmt::format("  {:<10} {}\n", suite.name, suite.what);
  command->footer(footer + "Build times stand in a column of their own (ms) and in no other figure.");
  auto name = std::make_shared<std::string>();
  auto options = std::make_shared<bench::Options>();
  command->add_option("suite", *name, "Which suite")->required();
  command->add_option("--json", options->json, "Write the result to this file");
  command->add_flag("--quick", options->quick, "Fewer repetitions: about a minute on two cores");
  command->add_option("--repetitions", options->repetitions, "Of each measurement, at most; else as the suite wants")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command->add_option("--only", options->only, "Only parts of the suite with this text in their names")
      ->type_name("TEXT");
  command->add_option("--spaces", options->spaces, "Recorded tuning spaces for the suite `search`")
      ->type_name("FOLDER");
  command->add_flag("--resume", options->resume, "Go on with an interrupted run of the same suite on the same devices");
  command->callback([=] { run_suite(*name, *options, environment); });
}

}  // namespace heddle::front::cli

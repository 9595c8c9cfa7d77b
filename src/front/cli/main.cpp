// The program `heddle`: settings from the environment, one command, and the one place where errors become exit codes.
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "device/machine.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/profile.hpp"
#include "front/report/trace_file.hpp"

extern char** environ;

namespace {

using namespace heddle;

std::optional<std::string> from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (!value) return std::nullopt;
  return value;
}

std::string settings_help() {
  std::string out = "Settings (environment variables):\n";
  for (const core::SettingLine& line : core::setting_lines()) {
    out += fmt::format("  {:<20} {}{}\n", line.variable, line.help,
                       *line.fallback ? fmt::format(" (default: {})", line.fallback) : "");
  }
  return out + "In a source checkout, `./heddle test` builds everything and runs the tests (`./heddle test --help`).";
}

int run(int argc, char** argv) {
  CLI::App app{
      "Heddle runs data-parallel kernels on all devices of a machine, and finds out while they run what is fastest.",
      "heddle"};
  app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
  app.require_subcommand(1);
  app.footer(settings_help());

  const core::Lookup lookup = from_environment;
  core::Settings settings;  // filled before any command runs, after --help had its chance
  int exit_code = 0;
  const front::cli::Environment environment{settings, lookup, exit_code};
  // Driver callbacks may come until the process ends, so an open trace is closed but never destroyed.
  struct Trace {
    front::report::TraceFile* file = nullptr;
    ~Trace() {
      if (file) file->close();
    }
  } trace;
  app.parse_complete_callback([&] {
    settings = core::read_settings(lookup);
    core::set_log_level(settings.log);
    device::parse_selectors(
        settings.devices);  // a bad value is told by every command, not only by those that open devices
    std::vector<std::string> names;
    for (char** entry = environ; *entry; ++entry) names.emplace_back(*entry, std::string_view(*entry).find('='));
    for (const std::string& line : core::misspelt_settings(names)) core::log(core::LogLevel::warn, line);
    if (settings.trace.empty() || app.got_subcommand("run")) return;  // a program that is run has a trace of its own
    trace.file = new front::report::TraceFile(settings.trace);
    core::set_trace_sink(trace.file);
  });
  std::vector<std::string> program;  // what `run` starts
  front::cli::add_devices_command(app, environment);
  front::cli::add_run_command(app, environment, program);
  front::cli::add_demo_command(app, environment);
  front::cli::add_analyze_command(app, environment);
  front::cli::add_tune_command(app, environment);
  front::cli::add_bench_command(app, environment);
  front::cli::add_profile_command(app, settings, exit_code);
  front::cli::add_calibrate_command(*app.get_subcommand("profile"), environment);

  program = front::cli::cut_program(app, argc, argv);
  if (argc > 1 && argv[1][0] != '-') {  // CLI11 itself would only say that a command is missing
    std::string known;
    bool found = false;
    for (const CLI::App* command : app.get_subcommands({})) {
      known += command->get_name() + ", ";
      found = found || command->get_name() == argv[1];
    }
    if (std::string(argv[1]) == "test")
      throw core::UsageError("the tests are run from a source checkout: ./heddle test");
    if (!found) throw core::UsageError(fmt::format("no command '{}'; there are: {}test", argv[1], known));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (std::cout.flush() && std::fflush(stdout) == 0) return code;
    std::cerr << "heddle: standard output could not be written\n";
    return 1;
  } catch (const heddle::core::UsageError& error) {
    std::cerr << "heddle: " << error.what() << "\n";
    return 2;
  } catch (const heddle::core::InternalError& error) {
    std::cerr << "heddle: internal error, please report it: " << error.what() << "\n";
    return 3;
  } catch (const std::exception& error) {
    std::cerr << "heddle: " << error.what() << "\n";
    return 1;
  }
}

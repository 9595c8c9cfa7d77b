// The commands of the program, each in the file of its name. A command adds itself to the command line; what it does
// runs when it was chosen, and sets the exit code.
#pragma once

#include <CLI/CLI.hpp>

#include "core/settings.hpp"
#include "device/machine.hpp"

namespace heddle::front::cli {

// What every command is given. Exit codes: 0 all right, 1 something failed, 2 the caller's mistake.
struct Environment {
  const core::Settings& settings;
  const core::Lookup& lookup;
  int& exit_code;
};

void add_devices_command(CLI::App& app, const Environment& environment);
void add_demo_command(CLI::App& app, const Environment& environment);
// Runs the example programs, where they were built, and prints what Heddle gains. Returns how many were wrong.
int run_examples(const device::Machine& machine);
// Under `heddle profile`.
void add_calibrate_command(CLI::App& profile, const Environment& environment);
void add_analyze_command(CLI::App& app, const Environment& environment);
// `program` is read when the command runs: the words that cut_program took off the command line.
void add_run_command(CLI::App& app, const Environment& environment, const std::vector<std::string>& program);
std::vector<std::string> cut_program(const CLI::App& app, int& argc, char** argv);
void add_bench_command(CLI::App& app, const Environment& environment);
void add_tune_command(CLI::App& app, const Environment& environment);

// Writes a file as a whole or not at all. A file that is replaced keeps its mode, a new one gets `mode` less the umask;
// what a link points to is replaced, not the link. UsageError where that cannot be done.
void write_file(const std::string& path, const std::string& content, unsigned mode = 0644);

}  // namespace heddle::front::cli

// `heddle run PROGRAM`: the program itself takes the place of this process, with Heddle as its only OpenCL driver.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "device/machine.hpp"
#include "device/own_driver.hpp"
#include "front/cli/commands.hpp"

namespace heddle::front::cli {

namespace {

struct Wishes {
  std::string devices, trace;
  bool show = false, no_split = false, no_variants = false;
};

// Loaders read these three. What the user had in them is kept for the drivers below, also where one `heddle run` starts
// another. ocl-icd takes the folder; some of the Khronos loader's versions take it with a slash at its end only (CUDA's
// does), others do not know it, but know the library's name.
void point_loaders_at(const device::OwnDriver& driver) {
  const std::pair<const char*, std::string> variables[] = {
      {"OCL_ICD_VENDORS", driver.folder + "/"}, {"OCL_ICD_FILENAMES", driver.library}, {"OPENCL_VENDOR_PATH", ""}};
  for (const auto& [name, ours] : variables) {
    const char* value = std::getenv(name);
    const std::string kept = core::inner_prefix + name;
    const bool changed = value && value != ours;  // by the user, also within another run
    if (changed || !std::getenv(kept.c_str())) setenv(kept.c_str(), value ? value : "", 1);
    ours.empty() ? unsetenv(name) : setenv(name, ours.c_str(), 1);
  }
}

void run(const std::vector<std::string>& words, const Wishes& wishes, const Environment& environment) {
  if (words.empty()) throw core::UsageError("run: which program? heddle run [OPTIONS] PROGRAM [ARGUMENTS...]");
  if (!wishes.devices.empty()) {
    device::parse_selectors(wishes.devices);
    setenv("HEDDLE_DEVICES", wishes.devices.c_str(), 1);
  }
  if (wishes.no_split) setenv("HEDDLE_SPLIT", "off", 1);
  if (wishes.no_variants) setenv("HEDDLE_VARIANTS", "off", 1);
  if (wishes.show) setenv("HEDDLE_REPORT", "on", 1);
  if (!wishes.trace.empty()) {  // the program may change its folder before it uses a device
    setenv("HEDDLE_TRACE", std::filesystem::absolute(wishes.trace).c_str(), 1);
  }
  point_loaders_at(device::own_driver());
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::cout.flush();
  execvp(arguments[0], arguments.data());
  // As a shell says it: 127 for what is not there, 126 for what cannot be run.
  const int error = errno;
  std::cerr << fmt::format("heddle: {} cannot be run: {}\n", words[0], std::strerror(error));
  environment.exit_code = error == ENOENT ? 127 : 126;
}

}  // namespace

// CLI11 would look for our options and commands among the program's words, so it never sees them.
std::vector<std::string> cut_program(const CLI::App& app, int& argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "run") return {};
  const CLI::App* command = app.get_subcommand("run");
  int at = 2;
  for (; at < argc && argv[at][0] == '-' && std::string(argv[at]) != "--"; ++at) {
    const CLI::Option* option = command->get_option_no_throw(argv[at]);
    if (option && option->get_items_expected_max() > 0) ++at;  // its value
  }
  if (at >= argc) return {};
  const int first = std::string(argv[at]) == "--" ? at + 1 : at;
  const std::vector<std::string> words(argv + first, argv + argc);
  argc = at;
  return words;
}

void add_run_command(CLI::App& app, const Environment& environment, const std::vector<std::string>& program) {
  CLI::App* command = app.add_subcommand(
      "run", "Run an OpenCL program, unchanged, on Heddle: heddle run [OPTIONS] PROGRAM [ARGUMENTS...]");
  auto wishes = std::make_shared<Wishes>();
  command->add_option("--devices", wishes->devices, "Devices to use, as HEDDLE_DEVICES");
  command->add_flag("--no-split", wishes->no_split, "Leave every command to one device, as HEDDLE_SPLIT=off");
  command->add_flag("--no-variants", wishes->no_variants,
                    "Leave sizes of groups to the driver below where the program does, as HEDDLE_VARIANTS=off");
  command->add_flag("--show", wishes->show, "Say on standard error, when the program ends, what ran where");
  command->add_option("--trace", wishes->trace,
                      "Write a timeline that Perfetto opens; %p in the name becomes the process number");
  command->footer(
      "Exit code, signals and standard streams are the program's own. A program that uses no OpenCL runs as ever, and\n"
      "--show has nothing to say of it.");
  command->callback([=, &program] { run(program, *wishes, environment); });
}

}  // namespace heddle::front::cli

// The examples as anybody would run them, on the driver below and through `heddle run`.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <stdlib.h>

#include "core/median.hpp"
#include "front/cli/commands.hpp"

namespace heddle::front::cli {

namespace {

namespace fs = std::filesystem;

// Milliseconds as the program tells them; `each` is what the others took that came after the first.
struct Told {
  double first = 0, each = 0;
  bool right = false;
};

Told run(const std::string& command) {
  Told out;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
  std::array<char, 512> line;
  while (pipe && std::fgets(line.data(), line.size(), pipe.get())) {
    std::sscanf(line.data(), "first %*s %lf ms, then %lf ms each", &out.first, &out.each);
    out.right |= std::string(line.data()) == "the device agrees with the host\n";
  }
  return out;
}

}  // namespace

int run_examples(const device::Machine& machine) {
  const fs::path self = fs::read_symlink("/proc/self/exe"), programs = self.parent_path().parent_path() / "programs";
  if (!fs::exists(programs / "filters")) return 0;  // not installed with the program
  const device::Info* primary = &machine.devices[0]->info();
  for (const auto& device : machine.devices) {
    if (device::comes_before(device->info(), *primary)) primary = &device->info();
  }
  // Where several drivers are installed, a program takes any of them; here, the one that Heddle would.
  std::string folder = (fs::temp_directory_path() / "heddle-driver-XXXXXX").string();
  if (!mkdtemp(folder.data())) return 0;
  std::ofstream(folder + "/only.icd") << primary->library << "\n";
  // Loaders differ in what they listen to.
  const std::string alone = fmt::format("OCL_ICD_VENDORS='{}/' OCL_ICD_FILENAMES='{}' ", folder, primary->library),
                    with = fmt::format("'{}' run ", self.string());
  std::cout << fmt::format("\nUnchanged programs on the driver of {} alone, and by `heddle run`, ms:\n", primary->id);
  int wrong = 0;
  for (const char* words : {"filters 1024 1024 20", "solver 512 200", "options 1048576 20"}) {
    const std::string program = fmt::format("'{}'/{}", programs.string(), words);
    std::vector<double> first[2], each[2];
    bool right = true;
    for (int i = 0; i < 3; ++i) {
      for (int w = 0; w < 2; ++w) {
        const Told told = run((w == 0 ? alone : with) + program);
        first[w].push_back(told.first), each[w].push_back(told.each);
        right &= told.right;
      }
    }
    const double before = core::median(each[0]), now = core::median(each[1]);
    std::cout << fmt::format("  {:<22} {:>8.2f} alone (first {:.1f}), {:>8.2f} with Heddle (first {:.1f}): {}\n", words,
                             before, core::median(first[0]), now, core::median(first[1]),
                             !right                ? "WRONG"
                             : now > 1.03 * before ? fmt::format("{:.2f} x slower", now / before)
                             : before > 1.03 * now ? fmt::format("{:.2f} x faster", before / now)
                                                   : "nothing gained, nothing lost")
              << std::flush;
    wrong += !right;
  }
  fs::remove_all(folder);
  return wrong;
}

}  // namespace heddle::front::cli

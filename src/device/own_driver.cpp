// The driver is found from the program's own place, so that a build folder and an installation need no configuration.
#include "device/own_driver.hpp"

#include <filesystem>
#include <fstream>

#include "core/errors.hpp"

namespace heddle::device {

OwnDriver own_driver() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = program.parent_path().parent_path() / HEDDLE_RUN_VENDORS;
  OwnDriver driver{folder.string(), ""};
  std::getline(std::ifstream(folder / "heddle.icd"), driver.library);
  if (driver.library.empty()) {
    throw core::UsageError("Heddle's OpenCL driver is not there: " + (folder / "heddle.icd").string() + " expected");
  }
  return driver;
}

}  // namespace heddle::device

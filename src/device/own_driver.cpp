// The driver is found from the program's own place, so that a build folder and an installation need no configuration.
#include "device/own_driver.hpp"

#include <filesystem>

#include "core/errors.hpp"

namespace heddle::device {

std::string own_driver_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = program.parent_path().parent_path() / HEDDLE_RUN_VENDORS;
  if (error || !fs::exists(folder / "heddle.icd", error)) {
    throw core::UsageError("Heddle's OpenCL driver is not there: " + (folder / "heddle.icd").string() + " expected");
  }
  return folder.string();
}

}  // namespace heddle::device

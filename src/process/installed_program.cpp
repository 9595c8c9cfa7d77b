// They are found from the place of this code, so that a build folder and an installation need no configuration.
#include "process/installed_program.hpp"

#include <filesystem>

#include <dlfcn.h>
#include <unistd.h>

namespace heddle::process {

namespace fs = std::filesystem;

std::string installed_program(const std::string& name) {
  Dl_info here{};
  if (!::dladdr(reinterpret_cast<const void*>(&installed_program), &here) || !here.dli_fname) return "";
  std::error_code error;
  fs::path folder = fs::canonical(here.dli_fname, error).parent_path();
  if (error) folder = fs::read_symlink("/proc/self/exe", error).parent_path();  // a program started by a bare name
  // PREFIX/bin/heddle, PREFIX/lib/libheddle-icd.so, PREFIX/lib/TRIPLET/libheddle-icd.so
  for (int up = 0; up < 3 && folder.has_parent_path(); ++up) {
    folder = folder.parent_path();
    const fs::path program = folder / HEDDLE_LIBEXEC / "heddle" / name;
    if (::access(program.c_str(), X_OK) == 0) return program.string();
  }
  return "";
}

}  // namespace heddle::process

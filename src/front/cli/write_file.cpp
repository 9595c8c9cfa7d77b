// Results are written aside and renamed: an interrupted or failed run leaves the earlier file as it was.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "core/errors.hpp"
#include "front/cli/commands.hpp"

namespace heddle::front::cli {

void write_file(const std::string& path, const std::string& content) {
  const std::string aside = path + ".new";
  std::ofstream out(aside, std::ios::binary);
  out << content;
  out.close();
  if (!out || std::rename(aside.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(aside.c_str());
    throw core::UsageError(path + " cannot be written: " + reason);
  }
}

}  // namespace heddle::front::cli

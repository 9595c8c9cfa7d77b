// Results are written aside and renamed: an interrupted or failed run leaves the earlier file as it was.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "front/cli/commands.hpp"

namespace heddle::front::cli {

namespace {

// A link stays a link, also one to a file that is not there yet: what it points to is written.
std::string target_of(const std::string& given) {
  constexpr int most_links = 40;  // as many as Linux follows
  std::filesystem::path path = given;
  std::error_code none;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path, none); ++i) {
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  }
  return path.string();
}

// 0, or the error.
int write_all(int file, const std::string& content) {
  for (std::size_t written = 0; written < content.size();) {
    const ssize_t n = ::write(file, content.data() + written, content.size() - written);
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
  return 0;
}

// A new file beside the target, which another process cannot have chosen and a crashed one cannot have left.
int open_aside(const std::string& target, unsigned mode, std::string& aside) {
  for (int number = 0;; ++number) {
    aside = fmt::format("{}.{}-{}.new", target, ::getpid(), number);
    const int file = ::open(aside.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, mode);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

int replace(const std::string& target, const std::string& content, unsigned mode) {
  struct stat before {};
  const bool exists = ::stat(target.c_str(), &before) == 0;
  if (exists && S_ISDIR(before.st_mode)) return EISDIR;
  if (exists && !S_ISREG(before.st_mode)) {  // a pipe or a terminal cannot be replaced
    const int file = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return errno;
    const int error = write_all(file, content);
    return ::close(file) != 0 && !error ? errno : error;
  }
  if (exists && ::access(target.c_str(), W_OK) != 0) return errno;
  std::string aside;
  const int file = open_aside(target, exists ? 0600 : mode, aside);
  if (file < 0) return errno;
  int error = write_all(file, content);
  if (!error && exists && ::fchmod(file, before.st_mode & 0777) != 0) error = errno;
  if (!error && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && !error) error = errno;
  if (!error && std::rename(aside.c_str(), target.c_str()) != 0) error = errno;
  if (error) ::unlink(aside.c_str());
  return error;
}

}  // namespace

void write_file(const std::string& path, const std::string& content, unsigned mode) {
  if (const int error = replace(target_of(path), content, mode)) {
    throw core::UsageError(fmt::format("{} cannot be written: {}", path, std::strerror(error)));
  }
}

}  // namespace heddle::front::cli

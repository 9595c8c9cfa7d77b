// Files are written aside and renamed, so that a reader sees all of one or nothing.
#include "cache/file_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fingerprint.hpp"
#include "core/log.hpp"

namespace heddle::cache {

namespace fs = std::filesystem;

namespace {

// A file begins with these two lines: what it is, and the checksum of what follows.
std::string header(const std::string& what, std::string_view content) {
  return "heddle-" + what + "-1\n" + core::Fingerprint().add(content).hex() + "\n";
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

// A write beyond the limit on the size of files would end the host program by a signal.
bool may_write(std::size_t size) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

struct OpenFile {
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  const int descriptor;
};

// All of a file, or nothing where it is none, cannot be read or is larger than any that was kept.
std::optional<std::string> read_all(int file, core::Bytes limit) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<core::Bytes>(status.st_size);
  if (size > limit) return std::nullopt;
  std::string out(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::read(file, out.data() + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    have += static_cast<std::size_t>(got);
  }
  return out;
}

}  // namespace

FileCache::FileCache(std::string what, std::string folder, core::Bytes limit)
    : what_(std::move(what)), folder_(std::move(folder)), limit_(limit) {}

std::optional<std::string> FileCache::load(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  try {
    const std::string file = folder_ + "/" + key;
    // O_NONBLOCK: something else under that name, such as a pipe, is not to be waited for.
    const OpenFile in{::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (in.descriptor < 0) return std::nullopt;
    const std::string all = read_all(in.descriptor, limit_).value_or("");
    const std::size_t size = std::min(header(what_, "").size(), all.size());  // that of every header
    const std::string_view content = std::string_view(all).substr(size);
    if (content.empty() || all.compare(0, size, header(what_, content)) != 0) {
      core::log(core::LogLevel::info, what_ + " cache: " + file + " is damaged and will be replaced");
      return std::nullopt;
    }
    ::futimens(in.descriptor, nullptr);
    return std::string(content);
  } catch (const std::exception&) {  // no memory for it
    return std::nullopt;
  }
}

void FileCache::store(const std::string& key, std::string_view content) const {
  if (folder_.empty()) return;
  try {
    const std::string first = header(what_, content);
    if (first.size() + content.size() > limit_) return;
    std::error_code error;
    fs::create_directories(folder_, error);
    ::chmod(folder_.c_str(), 0700);
    std::string aside = folder_ + "/.new-XXXXXX";
    const int file = may_write(first.size() + content.size()) ? ::mkostemp(aside.data(), O_CLOEXEC) : -1;  // mode 0600
    const bool written = file >= 0 && write_all(file, first) && write_all(file, content);
    const bool closed = file >= 0 && ::close(file) == 0;
    if (!written || !closed || ::rename(aside.c_str(), (folder_ + "/" + key).c_str()) != 0) {
      if (file >= 0) ::unlink(aside.c_str());
      core::log_once(core::LogLevel::info, what_ + " cache: cannot write to " + folder_);
      return;
    }
    trim();
  } catch (const std::exception&) {  // no memory for it; what was left aside is trimmed some day
  }
}

void FileCache::trim() const {
  struct File {
    fs::path path;
    fs::file_time_type used;
    core::Bytes size;
  };
  std::vector<File> files;
  core::Bytes total = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone, no_size;  // another process may be trimming too
    File file{entry->path(), entry->last_write_time(gone), entry->file_size(no_size)};
    if (gone || no_size) continue;
    total += file.size;
    files.push_back(std::move(file));
  }
  if (total <= limit_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= limit_) break;
    fs::remove(file.path, error);
    total -= file.size;
  }
}

}  // namespace heddle::cache

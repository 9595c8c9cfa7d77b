// Files are written aside and renamed, so that a reader sees all of one or nothing.
#include "cache/file_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <stdlib.h>
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
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

FileCache::FileCache(std::string what, std::string folder, core::Bytes limit)
    : what_(std::move(what)), folder_(std::move(folder)), limit_(limit) {}

std::optional<std::string> FileCache::load(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path file = fs::path(folder_) / key;
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string all(std::istreambuf_iterator<char>(in), {});
  const std::size_t size = std::min(header(what_, "").size(), all.size());  // that of every header
  const std::string_view content = std::string_view(all).substr(size);
  if (content.empty() || all.compare(0, size, header(what_, content)) != 0) {
    core::log(core::LogLevel::info, what_ + " cache: " + file.string() + " is damaged and will be replaced");
    return std::nullopt;
  }
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  return std::string(content);
}

void FileCache::store(const std::string& key, std::string_view content) const {
  const std::string first = header(what_, content);
  if (folder_.empty() || first.size() + content.size() > limit_) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  ::chmod(folder_.c_str(), 0700);
  std::string aside = folder_ + "/.new-XXXXXX";
  const int file = ::mkstemp(aside.data());  // mode 0600
  const bool written = file >= 0 && write_all(file, first) && write_all(file, content);
  const bool closed = file >= 0 && ::close(file) == 0;
  if (!written || !closed || ::rename(aside.c_str(), (folder_ + "/" + key).c_str()) != 0) {
    if (file >= 0) ::unlink(aside.c_str());
    core::log_once(core::LogLevel::info, what_ + " cache: cannot write to " + folder_);
    return;
  }
  trim();
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
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    std::error_code gone;  // another process may be trimming too
    File file{entry.path(), entry.last_write_time(gone), entry.file_size(gone)};
    if (gone) continue;
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

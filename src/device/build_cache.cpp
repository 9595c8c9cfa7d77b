// Files are written aside and renamed, so that a reader sees all of one or nothing.
#include "device/build_cache.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "core/fingerprint.hpp"
#include "core/log.hpp"

namespace heddle::device {

namespace fs = std::filesystem;

namespace {

constexpr char magic[] = "heddle-build-1\n";  // then 32 digits of checksum, a line end, and the binary
constexpr std::size_t header_size = sizeof magic - 1 + 32 + 1;

std::string checksum(const char* data, std::size_t size) { return core::Fingerprint().add({data, size}).hex(); }

}  // namespace

BuildCache::BuildCache(std::string folder, core::Bytes limit) : folder_(std::move(folder)), limit_(limit) {}

std::optional<std::vector<std::byte>> BuildCache::load(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path file = fs::path(folder_) / key;
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string all(std::istreambuf_iterator<char>(in), {});
  const std::size_t size = all.size() < header_size ? 0 : all.size() - header_size;
  if (size == 0 || all.compare(0, sizeof magic - 1, magic) != 0 ||
      all.compare(sizeof magic - 1, 32, checksum(all.data() + header_size, size)) != 0) {
    core::log(core::LogLevel::info, "build cache: " + file.string() + " is damaged and will be replaced");
    return std::nullopt;
  }
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  std::vector<std::byte> out(size);
  std::memcpy(out.data(), all.data() + header_size, size);
  return out;
}

void BuildCache::store(const std::string& key, const std::vector<std::byte>& binary) const {
  if (folder_.empty() || binary.size() + header_size > limit_) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  ::chmod(folder_.c_str(), 0700);
  std::string aside = folder_ + "/.new-XXXXXX";
  const int fd = ::mkstemp(aside.data());  // mode 0600
  if (fd < 0) {
    core::log_once(core::LogLevel::info, "build cache: cannot write to " + folder_);
    return;
  }
  const auto* data = reinterpret_cast<const char*>(binary.data());
  const std::string head = magic + checksum(data, binary.size()) + "\n";
  auto write_all = [fd](const char* p, std::size_t n) {
    while (n > 0) {
      const ssize_t done = ::write(fd, p, n);
      if (done <= 0) return false;
      p += done, n -= static_cast<std::size_t>(done);
    }
    return true;
  };
  const bool written = write_all(head.data(), head.size()) && write_all(data, binary.size());
  if (::close(fd) != 0 || !written || ::rename(aside.c_str(), (folder_ + "/" + key).c_str()) != 0) {
    ::unlink(aside.c_str());
    core::log_once(core::LogLevel::info, "build cache: cannot write to " + folder_);
    return;
  }
  trim();
}

void BuildCache::trim() const {
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

}  // namespace heddle::device

// Files are written aside and renamed.
#include "kernel/answer_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fingerprint.hpp"
#include "core/log.hpp"

namespace heddle::kernel {

namespace fs = std::filesystem;

namespace {

const std::string magic = "heddle-kernel-1\n";  // then 32 digits of checksum, a line end, and the answer
constexpr std::size_t checksum_size = 32;

}  // namespace

AnswerCache::AnswerCache(std::string folder, core::Bytes limit) : folder_(std::move(folder)), limit_(limit) {}

std::optional<std::string> AnswerCache::load(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path file = fs::path(folder_) / key;
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string all(std::istreambuf_iterator<char>(in), {});
  const std::size_t head = magic.size() + checksum_size + 1;
  if (all.size() < head || all.compare(0, magic.size(), magic) != 0 ||
      all.compare(magic.size(), checksum_size, core::Fingerprint().add(std::string_view(all).substr(head)).hex()) !=
          0) {
    core::log(core::LogLevel::info, "kernel cache: " + file.string() + " is damaged and will be replaced");
    return std::nullopt;
  }
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  return all.substr(head);
}

void AnswerCache::store(const std::string& key, const std::string& answer) const {
  if (folder_.empty() || answer.size() > limit_) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  ::chmod(folder_.c_str(), 0700);
  std::string aside = folder_ + "/.new-XXXXXX";
  const int file = ::mkstemp(aside.data());
  const std::string all = magic + core::Fingerprint().add(answer).hex() + "\n" + answer;
  std::size_t done = 0;
  while (file >= 0 && done < all.size()) {
    const ssize_t put = ::write(file, all.data() + done, all.size() - done);
    if (put <= 0) break;
    done += static_cast<std::size_t>(put);
  }
  const bool written = file >= 0 && ::close(file) == 0 && done == all.size();
  if (!written || ::rename(aside.c_str(), (folder_ + "/" + key).c_str()) != 0) {
    if (file >= 0) ::unlink(aside.c_str());
    core::log_once(core::LogLevel::info, "kernel cache: cannot write to " + folder_);
    return;
  }
  trim();
}

void AnswerCache::trim() const {
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

}  // namespace heddle::kernel

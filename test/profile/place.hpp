// A folder, a listener to the log and a child process: what the tests of the store share.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.hpp"
#include "profile/store.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::profile {

// A temporary folder, and what is in it.
class Folder {
 public:
  std::string at(const std::string& name) const { return path + "/" + name; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path)) out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  TemporaryFolder own_;

 public:
  const std::string path = own_.path();
};

// Hears warnings while it lives.
class Listener {
 public:
  Listener() {
    before_ = core::set_log_sink([this](core::LogLevel level, std::string_view text) {
      if (level != core::LogLevel::warn) return;
      std::lock_guard lock(mutex_);
      heard_.emplace_back(text);
    });
  }
  ~Listener() { core::set_log_sink(before_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::vector<std::string> warnings() const {
    std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  core::LogSink before_;
  mutable std::mutex mutex_;
  std::vector<std::string> heard_;
};

// Runs `body` in a child, which ends with what it returns; -1 where it died otherwise. Only while no store is open, or
// to test exactly that.
inline pid_t start_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    ::_exit(code);
  }
  return child;
}

inline int wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Root may write everywhere; the tests of missing permissions need somebody who may not.
constexpr int cannot_become_nobody = 98;
inline void become_nobody() {
  constexpr uid_t nobody = 65534;
  if (::geteuid() == 0 && (::setresgid(nobody, nobody, nobody) != 0 || ::setresuid(nobody, nobody, nobody) != 0)) {
    ::_exit(cannot_become_nobody);
  }
}

inline core::SampleKey key(const std::string& kernel, const std::string& variant = "base",
                           const std::string& device = "dev0") {
  return {kernel, variant, "BX=8", device, "1024x1x1/64x1x1"};
}

inline core::Sample sample(std::int64_t nanoseconds, std::int64_t points = 1) {
  return {points, core::Nanoseconds(nanoseconds), 4096, 512, 1.0};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace heddle::profile

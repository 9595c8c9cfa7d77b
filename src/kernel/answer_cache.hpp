// Answers of the kernel compiler on disk, so that a kernel is analysed once per machine.
#pragma once

#include <optional>
#include <string>

#include "core/units.hpp"

namespace heddle::kernel {

// A folder of files named by key. Any number of processes may use it at once: files appear whole or not at all, and
// what is damaged counts as missing.
class AnswerCache {
 public:
  AnswerCache(std::string folder, core::Bytes limit);  // an empty folder: nothing is kept

  std::optional<std::string> load(const std::string& key) const;
  void store(const std::string& key, const std::string& answer) const;

 private:
  void trim() const;

  std::string folder_;
  core::Bytes limit_;
};

}  // namespace heddle::kernel

// What was computed once and is kept on disk: built kernels, answers of the kernel compiler.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/units.hpp"

namespace heddle::cache {

// A folder of files, one per key, each with a checksum: drivers are known to crash on damaged binaries. Any number of
// processes may use it at once: files appear whole or not at all. What goes wrong here only makes programs compute
// again, so nothing is reported but in the log, and nothing is thrown.
class FileCache {
 public:
  // `what` is kept there, and names files of this cache; an empty folder: nothing is kept.
  FileCache(std::string what, std::string folder, core::Bytes limit);

  bool enabled() const { return !folder_.empty(); }
  std::optional<std::string> load(const std::string& key) const;  // and marks it as used now
  void store(const std::string& key, std::string_view content) const;

 private:
  void trim() const;  // oldest first, until all is within the limit

  std::string what_, folder_;
  core::Bytes limit_;
};

}  // namespace heddle::cache

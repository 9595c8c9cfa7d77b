// Built kernels on disk, so that the second run of a program does not compile again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"

namespace heddle::device {

// A folder of files, one per key, each with a checksum: drivers are known to crash on damaged binaries. Any number of
// processes may use it at once. What goes wrong here only makes programs compile again, so nothing is reported but in
// the log.
class BuildCache {
 public:
  BuildCache(std::string folder, core::Bytes limit);  // an empty folder: no cache

  bool enabled() const { return !folder_.empty(); }
  std::optional<std::vector<std::byte>> load(const std::string& key) const;  // and marks it as used now
  void store(const std::string& key, const std::vector<std::byte>& binary) const;

 private:
  void trim() const;  // oldest first, until all is within the limit
  std::string folder_;
  core::Bytes limit_;
};

}  // namespace heddle::device

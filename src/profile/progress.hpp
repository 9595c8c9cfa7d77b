// What a tuning run has tried so far, on disk while it runs: a run that ends early, by a crash or by hand, goes on from
// there.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/parameters.hpp"

namespace heddle::profile {

struct Tried {
  core::Configuration configuration;
  double ms = std::numeric_limits<double>::quiet_NaN();  // NaN: it failed
  std::string failure;                                   // one of failure_words; empty where it did not fail
  std::string why;                                       // in words, for people
  double build_ms = 0;
  std::int64_t seconds_since_epoch = 0;
};

// A file of JSON lines: a header with an id, then one line for each configuration tried. While it is open, no other
// process can open it.
class ProgressFile {
 public:
  // Makes the file, or reads and goes on with the one that is there. The id says what is tuned: kernel, device, shape.
  // A last line that a crash cut off is removed. UsageError: the file is no progress file or of another id, is in use,
  // or cannot be read or written.
  ProgressFile(const std::string& path, const std::string& id);
  ~ProgressFile();
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;

  const std::vector<Tried>& earlier() const { return earlier_; }        // what was there when it was opened
  const std::vector<std::string>& skipped() const { return skipped_; }  // lines that could not be read, in words

  // On disk as far as a crash of this process is concerned when it returns. UsageError where that is not possible; the
  // file is then as before.
  void append(const Tried& tried);

 private:
  void read(const std::string& id);
  void write(const std::string& line);

  std::string path_;
  int file_ = -1;
  std::vector<Tried> earlier_;
  std::vector<std::string> skipped_;
};

}  // namespace heddle::profile

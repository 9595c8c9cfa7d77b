// Writes trace events as a file that Perfetto and Chrome's tracing page open.
#pragma once

#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/trace.hpp"

namespace heddle::front::report {

// Events are kept in memory and written in batches, so that adding one costs a lock and a move. A file cut short by a
// crash still opens: the array form of the format needs no end.
class TraceFile : public core::TraceSink {
 public:
  explicit TraceFile(const std::string& path);  // UsageError where it cannot be created
  ~TraceFile() override { close(); }

  // Writes what is left; later events are dropped. A driver's callback may still come, so whoever cannot rule that out
  // closes the file and leaves the object alive.
  void close();

  void add(core::TraceEvent event) override;

 private:
  void write_out();  // the mutex is held

  std::mutex mutex_;
  std::FILE* file_;
  std::string path_;
  std::vector<core::TraceEvent> events_;
  std::map<std::string, int> tracks_;
  bool first_ = true;
  core::Nanoseconds written_{0};
};

}  // namespace heddle::front::report

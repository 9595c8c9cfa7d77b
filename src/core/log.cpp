// The sink is process-wide on purpose: drivers, stores and devices of one process speak to one reader.
#include "core/log.hpp"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace heddle::core {

namespace {

void to_standard_error(LogLevel level, std::string_view message) {
  const char* prefix = level == LogLevel::warn ? "warning: " : "";
  std::fprintf(stderr, "heddle: %s%.*s\n", prefix, static_cast<int>(message.size()), message.data());
}

struct State {
  std::mutex mutex;  // guards the two below; never held while a sink runs
  LogSink sink = to_standard_error;
  std::set<std::string, std::less<>> said;
  std::atomic<LogLevel> level{LogLevel::warn};
};

// Leaked on purpose: static destructors of the host program may still log.
State& state() {
  static State* s = new State;
  return *s;
}

}  // namespace

const char* to_string(LogLevel level) {
  return level == LogLevel::warn ? "warn" : level == LogLevel::info ? "info" : "debug";
}

LogSink set_log_sink(LogSink sink) {
  std::lock_guard lock(state().mutex);
  std::swap(state().sink, sink);
  return sink;
}

void set_log_level(LogLevel level) { state().level = level; }

bool log_enabled(LogLevel level) { return level <= state().level.load(std::memory_order_relaxed); }

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  LogSink sink;
  {
    std::lock_guard lock(state().mutex);
    sink = state().sink;
  }
  if (sink) sink(level, message);
}

void log_once(LogLevel level, std::string_view message) {
  {
    std::lock_guard lock(state().mutex);
    if (!state().said.emplace(message).second) return;
  }
  log(level, message);
}

}  // namespace heddle::core

// The trace event format's JSON array: one object a line, times in microseconds.
#include "front/report/trace_file.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/log.hpp"

namespace heddle::front::report {

namespace {

constexpr std::size_t batch = 16'384;  // about 4 MB of events

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double microseconds(core::Nanoseconds t) { return static_cast<double>(t.count()) / 1e3; }

}  // namespace

TraceFile::TraceFile(const std::string& path) : file_(std::fopen(path.c_str(), "w")), path_(path) {
  if (!file_) throw core::UsageError("trace file " + path + " cannot be created: " + std::strerror(errno));
  events_.reserve(batch);
  std::fputs("[\n", file_);
}

void TraceFile::close() {
  std::lock_guard lock(mutex_);
  if (!file_) return;
  write_out();
  std::fputs("\n]\n", file_);
  const bool failed = std::ferror(file_);
  if (std::fclose(file_) != 0 || failed)
    core::log(core::LogLevel::warn, "trace file " + path_ + " could not be written");
  file_ = nullptr;
}

void TraceFile::add(core::TraceEvent event) {
  std::lock_guard lock(mutex_);
  if (!file_) return;
  events_.push_back(std::move(event));
  if (events_.size() >= batch) write_out();
}

int TraceFile::track_number(const std::string& track) {
  const auto [found, fresh] = tracks_.emplace(track, static_cast<int>(tracks_.size()) + 1);
  if (fresh) {
    fmt::print(file_, R"({}{{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
               first_ ? "" : ",\n", found->second, quoted(track));
    first_ = false;
  }
  return found->second;
}

void TraceFile::write_out() {
  for (const core::TraceEvent& e : events_) {
    const int track = track_number(e.track);
    const bool instant = e.duration.count() == 0;
    fmt::print(file_, R"({}{{"ph":"{}","pid":1,"tid":{},"ts":{:.3f},{}"cat":"{}","name":{},"args":{{"detail":{}}}}})",
               first_ ? "" : ",\n", instant ? "i" : "X", track, microseconds(e.start),
               instant ? std::string(R"("s":"t",)") : fmt::format(R"("dur":{:.3f},)", microseconds(e.duration)),
               to_string(e.kind), quoted(e.name), quoted(e.detail));
    first_ = false;
  }
  events_.clear();
  std::fflush(file_);
}

}  // namespace heddle::front::report

// The trace event format's JSON array: one object a line, times in microseconds.
#include "front/report/trace_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/log.hpp"

namespace heddle::front::report {

namespace {

constexpr std::size_t batch = 16'384;  // about 4 MB of events

// Appends a JSON string. Names and details are plain text nearly always, so the careful way is taken only where it is
// needed.
void append_quoted(fmt::memory_buffer& out, const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](unsigned char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; });
  if (!plain) {
    const std::string escaped = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(escaped);
    return;
  }
  out.push_back('"');
  out.append(text);
  out.push_back('"');
}

// Microseconds with three digits after the point, by integers: formatting a double takes longer than all the rest.
void append_microseconds(fmt::memory_buffer& out, core::Nanoseconds t) {
  fmt::format_to(std::back_inserter(out), "{}.{:03}", t.count() / 1000, t.count() % 1000);
}

}  // namespace

TraceFile::TraceFile(const std::string& path) : file_(std::fopen(path.c_str(), "w")), path_(path) {
  if (!file_) throw core::UsageError("trace file " + path + " cannot be created: " + std::strerror(errno));
  events_.reserve(batch);
  std::fputs("[\n", file_);
  std::fflush(file_);  // or a forked child would write it once more
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
  // Once a second at the latest, by the events' own times: a program that is killed leaves a trace of all but its end.
  const bool late = event.start > written_ + std::chrono::seconds(1);
  if (late) written_ = event.start;
  events_.push_back(std::move(event));
  if (late || events_.size() >= batch) write_out();
}

void TraceFile::write_out() {
  using namespace std::string_view_literals;
  fmt::memory_buffer out;
  auto begin_object = [&] {
    out.append(first_ ? "{"sv : ",\n{"sv);
    first_ = false;
  };
  for (const core::TraceEvent& e : events_) {
    const auto [track, fresh] = tracks_.emplace(e.track, static_cast<int>(tracks_.size()) + 1);
    if (fresh) {
      begin_object();
      fmt::format_to(std::back_inserter(out), R"("ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":)",
                     track->second);
      append_quoted(out, e.track);
      out.append("}}"sv);
    }
    begin_object();
    const bool instant = e.duration.count() == 0;
    fmt::format_to(std::back_inserter(out), R"("ph":"{}","pid":1,"tid":{},"cat":"{}","ts":)", instant ? "i" : "X",
                   track->second, to_string(e.kind));
    append_microseconds(out, e.start);
    if (instant) {
      out.append(R"(,"s":"t")"sv);
    } else {
      out.append(R"(,"dur":)"sv);
      append_microseconds(out, e.duration);
    }
    out.append(R"(,"name":)"sv);
    append_quoted(out, e.name);
    out.append(R"(,"args":{"detail":)"sv);
    append_quoted(out, e.detail);
    out.append("}}"sv);
  }
  events_.clear();
  std::fwrite(out.data(), 1, out.size(), file_);
  std::fflush(file_);
}

}  // namespace heddle::front::report

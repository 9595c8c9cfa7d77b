// Each line is written by one call, so that a crash leaves whole lines and at most one torn one at the end.
#include "profile/progress.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "profile/json_parts.hpp"
#include "profile/printable.hpp"
#include "profile/recorded.hpp"
#include "profile/tuning_json.hpp"

namespace heddle::profile {

namespace {

using core::UsageError;

constexpr std::size_t columns = 100;  // of a message's quotation

std::string shown(std::string_view text) { return cut(printable(std::string(text.substr(0, 4 * columns))), columns); }

std::string header_line(const std::string& id) { return to_line({{"heddle_progress", 1}, {"id", valid_utf8(id)}}); }

// Nothing where the line is no header.
std::optional<std::string> id_in(std::string_view line) {
  std::optional<std::string> id;
  bool is_header = false;
  Parts members(line);
  for (Part member; members.next(member);) {
    if (member.name == "heddle_progress") is_header = member.text == "1";
    if (member.name == "id") id = word(member.text);
  }
  return is_header ? id : std::nullopt;
}

std::string line_of(const Tried& tried) {
  check(tried);
  return to_line({{"configuration", as_json(tried.configuration)},
                  {"ms", tried.failure.empty() ? OrderedJson(tried.ms) : OrderedJson(nullptr)},
                  {"failure", tried.failure},
                  {"why", tried.why},
                  {"build_ms", tried.build_ms},
                  {"seconds_since_epoch", tried.seconds_since_epoch}});
}

// False for a line that no line_of has written.
bool read_line(std::string_view line, Tried& out) {
  bool has_configuration = false, has_time = false;
  Parts members(line);
  for (Part member; members.next(member);) {
    if (member.name == "configuration") {
      Parts values(member.text);
      for (Part part; values.next(part);) {
        auto value = scalar(part.text);
        if (!value) return false;
        out.configuration.values.emplace_back(part.name, std::move(*value));
      }
      has_configuration = values.closed();
    }
    if (member.name == "ms") {
      has_time = true;
      out.ms = number(member.text).value_or(std::numeric_limits<double>::quiet_NaN());
    }
    if (member.name == "failure") out.failure = word(member.text).value_or("?");
    if (member.name == "why") out.why = word(member.text).value_or("");
    if (member.name == "build_ms") out.build_ms = number(member.text).value_or(0);
    if (member.name == "seconds_since_epoch") {
      const auto seconds = scalar(member.text);
      const auto* whole = seconds ? std::get_if<std::int64_t>(&*seconds) : nullptr;
      out.seconds_since_epoch = whole ? *whole : 0;
    }
  }
  const bool failed = is_failure_word(out.failure);
  const bool measured = out.failure.empty() && out.ms > 0 && std::isfinite(out.ms);
  return members.closed() && has_configuration && has_time && (failed || measured);
}

std::string read_all(int file, const std::string& path) {
  std::string text;
  char piece[65536];
  for (;;) {
    const ssize_t n = ::read(file, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw UsageError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
    if (n == 0) return text;
    text.append(piece, static_cast<std::size_t>(n));
  }
}

}  // namespace

ProgressFile::ProgressFile(const std::string& path, const std::string& id) : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);  // a pipe must not block
  if (file_ < 0) throw UsageError(fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  try {
    struct stat status {};
    if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode))
      throw UsageError(fmt::format("{}: a plain file expected", path));
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      throw UsageError(fmt::format("{} is in use by another run", path));
    read(id);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

ProgressFile::~ProgressFile() { ::close(file_); }

void ProgressFile::read(const std::string& id) {
  const std::string header = header_line(id);
  const std::string text = read_all(file_, path_);
  const auto refuse = [&](std::string_view begin) {
    throw UsageError(fmt::format("{} is no progress file of a tuning run: it begins with '{}'", path_, shown(begin)));
  };
  const auto whole = text.rfind('\n') + 1;  // 0 without any line
  // Somebody else's file is never shortened: without a whole line, it has to be the beginning of our header.
  if (whole == 0 && header.compare(0, text.size(), text) != 0) refuse(text);
  std::size_t number = 0;
  for (std::size_t at = 0; at < whole; ++number) {
    const auto end = text.find('\n', at);
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (number == 0) {
      const auto theirs = id_in(line);
      if (!theirs) refuse(line);
      if (*theirs == valid_utf8(id)) continue;
      throw UsageError(
          fmt::format("{} is of another tuning run: of '{}', not of '{}'", path_, shown(*theirs), shown(id)));
    }
    Tried tried;
    if (read_line(line, tried)) {
      earlier_.push_back(std::move(tried));
    } else if (skipped_.size() < most_skipped) {
      skipped_.push_back(fmt::format("line {}: '{}'", number + 1, shown(line)));
    }
  }
  if (whole < text.size() && ::ftruncate(file_, static_cast<off_t>(whole)) != 0)
    throw UsageError(fmt::format("{} cannot be written: {}", path_, std::strerror(errno)));
  if (whole == 0) write(header);
}

void ProgressFile::write(const std::string& line) {
  struct stat before {};
  int error = ::fstat(file_, &before) == 0 ? 0 : errno;
  for (std::size_t written = 0; written < line.size() && !error;) {
    const ssize_t n = ::write(file_, line.data() + written, line.size() - written);
    if (n < 0 && errno != EINTR) error = errno;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
  if (!error) return;
  if (::ftruncate(file_, before.st_size) != 0) {
    // The torn line stays; whoever opens the file next removes it.
  }
  throw UsageError(fmt::format("{} cannot be written: {}", path_, std::strerror(error)));
}

void ProgressFile::append(const Tried& tried) { write(line_of(tried)); }

}  // namespace heddle::profile

// The one way in which the library speaks: a replaceable sink with three levels.
#pragma once

#include <functional>
#include <string_view>

namespace heddle::core {

enum class LogLevel { warn, info, debug };

const char* to_string(LogLevel);

using LogSink = std::function<void(LogLevel, std::string_view)>;

// Replaces the sink and returns the one before. Without a call, warnings go to standard error as "heddle: warning:
// ...".
LogSink set_log_sink(LogSink sink);
void set_log_level(LogLevel level);  // what is less important than this is not even formatted
bool log_enabled(LogLevel level);

void log(LogLevel level, std::string_view message);
// At most once per process for each text: for what would otherwise repeat at every launch.
void log_once(LogLevel level, std::string_view message);

}  // namespace heddle::core

// The place where the trace sink hangs; the file format lives in front/report.
#include "core/trace.hpp"

#include "core/errors.hpp"

namespace heddle::core {

std::atomic<TraceSink*> current_trace_sink{nullptr};

const char* to_string(TraceKind kind) {
  switch (kind) {
    case TraceKind::slice:
      return "slice";
    case TraceKind::transfer:
      return "transfer";
    case TraceKind::build:
      return "build";
    case TraceKind::decision:
      return "decision";
  }
  throw InternalError("TraceKind out of range");
}

TraceSink* set_trace_sink(TraceSink* sink) { return current_trace_sink.exchange(sink); }

}  // namespace heddle::core

// What happened when, for a person to look at: events go to a sink that may be there or not.
#pragma once

#include <atomic>
#include <string>

#include "core/units.hpp"

namespace heddle::core {

enum class TraceKind { slice, transfer, build, decision };

const char* to_string(TraceKind);

struct TraceEvent {
  TraceKind kind = TraceKind::slice;
  std::string track;        // where it happened: a device's name, or "host"
  std::string name;         // what: a kernel, "copy in", a decision
  std::string detail;       // sizes, boxes; for a decision its reason
  Nanoseconds start{0};     // on the host's steady clock
  Nanoseconds duration{0};  // zero: an instant
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void add(TraceEvent event) = 0;  // from any thread
};

// Installs a sink, which must outlive its use, and returns the one before; nullptr switches tracing off.
TraceSink* set_trace_sink(TraceSink* sink);

// The sink or nullptr: callers build an event only where there is somebody to read it.
extern std::atomic<TraceSink*> current_trace_sink;
inline TraceSink* trace() { return current_trace_sink.load(std::memory_order_acquire); }

}  // namespace heddle::core

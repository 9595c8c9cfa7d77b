// How long a launch really took, and whether the answer can be trusted.
#pragma once

#include "core/slice.hpp"
#include "device/device.hpp"

namespace heddle::device {

// Which clock to believe on a device, and how far. Measured once per device (facts.hpp).
struct Clock {
  enum class Source { event, host };
  Source source = Source::host;
  Nanoseconds resolution{1};  // smallest step seen
  Nanoseconds noise{0};       // median deviation over repeated launches of one short kernel
};

// CPU time against wall time on a CPU device: what another program took away shows as a low ratio.
class CpuWatch {
 public:
  explicit CpuWatch(Device& device);
  // CPU time of this process since then / (`busy` x units that `groups` groups can fill), at most 1; 1 for other
  // devices.
  double ratio(Nanoseconds busy, std::int64_t groups) const;
  // What the device would have taken for that with all of its units at work all the time; `busy`, where it took no
  // longer, or nobody knows. Of a launch that ends when the last unit does, and began when the last had come, that is
  // what it computed.
  Nanoseconds worked(Nanoseconds busy) const;

 private:
  Device& device_;
  std::optional<Nanoseconds> begin_;
};

// When one of several commands began that are a single group each; `all` of a CPU's, in the order in which they were
// queued. Drivers that compute several at once (Info::overlaps) note a start when a thread takes a command off the
// list, but it goes on with groups of older ones first (PoCL): whoever waits there reads up to twice as long.
Nanoseconds began(std::span<const Event> all, const Event& one, int units);

// Launches a prepared run, waits for it and times it by the clock. `points` is what the sample says it computed.
Result<core::Sample> timed(Device& device, Queue& queue, const Run& run, std::int64_t points, const Clock& clock);

}  // namespace heddle::device

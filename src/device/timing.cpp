// Event or host clock around one launch, with the contention ratio beside it.
#include "device/timing.hpp"

#include <algorithm>

namespace heddle::device {

CpuWatch::CpuWatch(Device& device) : device_(device), begin_(device.cpu_time()) {}

double CpuWatch::ratio(Nanoseconds busy, std::int64_t groups) const {
  const auto now = device_.cpu_time();
  if (!begin_ || !now || busy.count() <= 0) return 1;
  const double filled = static_cast<double>(std::clamp<std::int64_t>(groups, 1, device_.info().units));
  return std::min(1.0, core::seconds(*now - *begin_) / (core::seconds(busy) * filled));
}

Nanoseconds CpuWatch::worked(Nanoseconds busy) const {
  const auto now = device_.cpu_time();
  return begin_ && now ? std::min(busy, (*now - *begin_) / device_.info().units) : busy;
}

Nanoseconds began(std::span<const Event> all, const Event& one, int units) {
  // Each gets the core that is free first.
  std::vector<Nanoseconds> free(static_cast<std::size_t>(units), Nanoseconds::min());
  for (const Event& event : all) {
    const auto core = std::min_element(free.begin(), free.end());
    Result<Times> times = event->done() ? event->times() : Times{.end = Nanoseconds::max()};
    if (!times) continue;  // it failed
    if (event == one) return *core < times->end ? std::max(*core, times->start) : times->start;
    *core = times->end;
  }
  return one->times()->start;
}

Result<core::Sample> timed(Device& device, Queue& queue, const Run& run, std::int64_t points, const Clock& clock) {
  const CpuWatch watch(device);
  const Nanoseconds begin = device.now();
  auto event = queue.launch(run);
  if (!event) return event.failure();
  if (auto waited = (*event)->wait(); !waited) return waited.failure();
  const Nanoseconds end = device.now();
  core::Sample sample;
  sample.points = points;
  sample.duration = end - begin;
  if (clock.source == Clock::Source::event) {
    auto times = (*event)->times();
    if (!times) return times.failure();
    sample.duration = times->duration();
  }
  std::int64_t groups = 1;
  for (int d = 0; d < 3; ++d) groups *= run.range.global[d] / std::max<std::int64_t>(1, run.range.local[d]);
  sample.contention = watch.ratio(sample.duration, groups);
  return sample;
}

}  // namespace heddle::device

// What `heddle run --show` and `--trace` see of a program. Where neither is on, all of it is one look at a flag.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

#include "core/settings.hpp"
#include "core/units.hpp"
#include "engine/launch.hpp"
#include "front/icd/objects.hpp"

namespace heddle::front::icd {

// What one command does.
struct Work {
  enum class Kind { kernel, in, out, within, none } kind = Kind::none;  // `within`: a copy or fill on the device
  std::string_view name;                                                // of the kernel or the copy
  std::size_t bytes = 0;
};
constexpr Work nothing{};  // markers, barriers: no work of their own

extern std::atomic<bool> observing_now;
inline bool observing() { return observing_now.load(std::memory_order_relaxed); }
core::Nanoseconds now();  // the host's steady clock

void start_observing(const core::Settings& settings, const Device& primary);

// A command that was queued at `begin`. Takes over the inner event, or where it is `shared` with the program's own
// event a reference to it.
void observe(const Queue& queue, const Work& work, core::Nanoseconds begin, cl_event inner, bool shared);
// Commands that the engine ran.
void observe_launch(const std::string& name, const engine::Report& report);
// A launch that the engine was not given.
void observe_direct(const Device& device, const std::string& name, std::string_view why);
// What groups its launches have instead of the driver's.
void observe_groups(const Device& device, const std::string& name, const std::string& groups);
void observe_copy(Work::Kind kind, std::size_t bytes, core::Nanoseconds time);
void observe_build(core::Nanoseconds begin);

// Reads the times of commands that are done, after the program has waited for something.
void collect();

// The process ends: writes the report and the trace from what is known, without a look at the drivers below.
void finish_observing();

}  // namespace heddle::front::icd

// Keeps the inner events of a program's commands until they are done, and adds up their times.
#include "front/icd/observe.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "core/trace.hpp"
#include "front/report/trace_file.hpp"

namespace heddle::front::icd {

std::atomic<bool> observing_now{false};

namespace {

using core::Nanoseconds;

// A command that is not known to be done.
struct Pending {
  cl_event inner;
  const Device* device;
  Work::Kind kind;
  std::string name;
  std::size_t bytes;
  Nanoseconds begin;
};

struct Tally {
  std::size_t times = 0, bytes = 0, untimed = 0;  // untimed: failed, or not done when the program ended
  Nanoseconds time{0};
  std::string why;     // launches were not given to the engine
  std::string groups;  // not of the driver's choice; of the last shape for which that was found
};

// What one device did.
struct Tallies {
  std::map<std::string, Tally> kernels;  // by name
  Tally in, out, within;

  Tally* of(Work::Kind kind, const std::string& name) {
    switch (kind) {
      case Work::Kind::kernel:
        return &kernels[name];
      case Work::Kind::in:
        return &in;
      case Work::Kind::out:
        return &out;
      case Work::Kind::within:
        return &within;
      case Work::Kind::none:
        return nullptr;
    }
    return nullptr;
  }
};

// Launches of one kernel that the engine ran.
struct Shared {
  std::size_t launches = 0, split = 0;
  core::Bytes in = 0, out = 0;
  Nanoseconds time{0}, alone{0};         // alone: as the fastest of its devices would have taken, at its pace
  std::map<std::string, double> points;  // by device
  std::string why;                       // the last note of why it was not cut
};

struct Observer {
  bool report = false;
  report::TraceFile* trace = nullptr;
  std::mutex mutex;  // never held while an inner driver runs
  std::vector<Pending> pending;
  std::map<const Device*, Tallies> devices;
  Tally builds;
  std::map<std::string, Shared> shared;  // by kernel
  Tally staged_in, staged_out;           // copies by way of locked memory
};

Observer& observer() {
  static auto* const the = new Observer;  // leaked, like all of the driver's state
  return *the;
}

std::string with_process_number(std::string path) {
  for (auto at = path.find("%p"); at != std::string::npos; at = path.find("%p", at)) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  return path;
}

Nanoseconds profiled(cl_event inner, cl_profiling_info what, cl_int& code) {
  cl_ulong time = 0;
  if (code == CL_SUCCESS) code = pass<&Slots::clGetEventProfilingInfo>(inner, what, sizeof time, &time, nullptr);
  return Nanoseconds(static_cast<Nanoseconds::rep>(time));
}

// Adds a command that is done to the tallies and the trace. The clock of its device and the host's are one moment when
// the command was queued.
void add(const Pending& p) {
  Observer& o = observer();
  cl_int code = CL_SUCCESS;
  const Nanoseconds queued = profiled(p.inner, CL_PROFILING_COMMAND_QUEUED, code),
                    start = profiled(p.inner, CL_PROFILING_COMMAND_START, code),
                    end = profiled(p.inner, CL_PROFILING_COMMAND_END, code);
  const bool timed = code == CL_SUCCESS && end >= start && start >= queued;
  if (core::TraceSink* sink = core::trace(); sink && timed && p.kind != Work::Kind::none) {
    sink->add({p.kind == Work::Kind::kernel ? core::TraceKind::slice : core::TraceKind::transfer, p.device->info.id,
               p.name, p.bytes ? fmt::format("{} bytes", p.bytes) : "", p.begin + (start - queued), end - start});
  }
  std::lock_guard lock(o.mutex);
  if (Tally* tally = o.devices[p.device].of(p.kind, p.name)) {
    ++tally->times;
    tally->bytes += p.bytes;
    if (timed) {
      tally->time += end - start;
    } else {
      ++tally->untimed;
    }
  }
}

double milliseconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

std::string transfers(const char* what, const Tally& t) {
  if (t.times == 0) return "";
  const double seconds = static_cast<double>(t.time.count()) / 1e9, bytes = static_cast<double>(t.bytes);
  return fmt::format("  {:<32} {:>10} {:>12.3f} {:>12.3f} {:>9.2f}\n", what, t.times, milliseconds(t.time), bytes / 1e6,
                     seconds > 0 ? bytes / 1e9 / seconds : 0.0);
}

std::string shared_text(const std::map<std::string, Shared>& all) {
  if (all.empty()) return "";
  std::string text = fmt::format("  {:<32} {:>10} {:>12} {:>12} {:>9} {:>9}  {}\n", "kernel of the engine", "launches",
                                 "total ms", "one device*", "MB in", "MB out", "shared");
  std::vector<std::pair<std::string, Shared>> kernels(all.begin(), all.end());
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  for (const auto& [name, s] : kernels) {
    double points = 0;
    for (const auto& [device, done] : s.points) points += done;
    std::string shares;
    for (const auto& [device, done] : s.points)
      shares += fmt::format("{}{} {:.1f} %", shares.empty() ? "" : ", ", device, 100 * done / std::max(points, 1.0));
    text +=
        fmt::format("  {:<32} {:>10} {:>12.3f} {:>12.3f} {:>9.1f} {:>9.1f}  {} of {}: {}{}\n", name, s.launches,
                    milliseconds(s.time), milliseconds(s.alone), static_cast<double>(s.in) / 1e6,
                    static_cast<double>(s.out) / 1e6, s.split, s.launches, shares, s.why.empty() ? "" : "; " + s.why);
  }
  return text +
         "  * estimated: ms that the fastest of its devices would have taken for all, at the pace of its share\n";
}

std::string report_text(const Device& device, const Tallies& of) {
  const device::Info& info = device.info;
  std::string text =
      fmt::format("heddle: process {} ran on {}: {} ({})\n", getpid(), info.id, device.name, info.driver);
  std::vector<std::pair<std::string, Tally>> kernels(of.kernels.begin(), of.kernels.end());
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  std::size_t untimed = of.in.untimed + of.out.untimed + of.within.untimed;
  text += fmt::format("  {:<32} {:>10} {:>12} {:>12}\n", "kernel", "launches", "total ms", "mean us");
  for (const auto& [name, t] : kernels) {
    const std::size_t timed = t.times - t.untimed;
    untimed += t.untimed;
    text += fmt::format("  {:<32} {:>10} {:>12.3f} {:>12.1f}{}{}{}{}\n", name, t.times, milliseconds(t.time),
                        timed ? 1e3 * milliseconds(t.time) / static_cast<double>(timed) : 0.0,
                        t.why.empty() ? "" : "  ", t.why, t.groups.empty() ? "" : "  ", t.groups);
  }
  if (kernels.empty()) text += "  none\n";
  const std::string moved = transfers("host to device", of.in) + transfers("device to host", of.out) +
                            transfers("within the device", of.within);
  if (!moved.empty()) {
    text +=
        fmt::format("  {:<32} {:>10} {:>12} {:>12} {:>9}\n", "transfer", "commands", "total ms", "MB", "GB/s") + moved;
  }
  if (untimed)
    text += fmt::format("  {} commands failed or were not done at the end, so their time is unknown\n", untimed);
  return text;
}

}  // namespace

Nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

void start_observing(const core::Settings& settings, const Device& primary) {
  Observer& o = observer();
  o.report = settings.report;
  o.devices[&primary];  // it is named even if nothing runs on it
  if (!settings.trace.empty()) {
    try {
      o.trace = new report::TraceFile(with_process_number(settings.trace));
      core::set_trace_sink(o.trace);
    } catch (const core::UsageError& error) {
      core::log_once(core::LogLevel::warn, error.what());
    }
  }
  observing_now = o.report || o.trace;
}

void observe(const Queue& queue, const Work& work, Nanoseconds begin, cl_event inner, bool shared) {
  if (!inner) return;  // queued before observing began
  if (shared) pass<&Slots::clRetainEvent>(inner);
  Observer& o = observer();
  bool many = false;
  {
    std::lock_guard lock(o.mutex);
    o.pending.push_back({inner, &queue.device, work.kind, std::string(work.name), work.bytes, begin});
    many = o.pending.size() % 1024 == 0;
  }
  if (many) collect();
}

void observe_launch(const std::string& name, const engine::Report& report) {
  if (!observing()) return;
  Observer& o = observer();
  std::lock_guard lock(o.mutex);
  Shared& to = o.shared[name];
  ++to.launches;
  to.in += report.bytes_in, to.out += report.bytes_out;
  struct Part {
    double points = 0;
    Nanoseconds begin = Nanoseconds::max(), end{0};
  };
  std::map<std::string, Part> parts;
  Part all;
  for (const engine::SliceReport& slice : report.slices) {
    for (Part* part : {&all, &parts[slice.device]}) {
      if (!slice.repeat) part->points += static_cast<double>(slice.box.volume());
      part->begin = std::min(part->begin, slice.begin), part->end = std::max(part->end, slice.end);
    }
  }
  if (parts.empty()) return;  // it failed
  to.time += all.end - all.begin;
  double alone = 0;
  for (const auto& [device, part] : parts) {
    to.points[device] += part.points;
    const double mine = static_cast<double>((part.end - part.begin).count()) * all.points / std::max(part.points, 1.0);
    alone = alone == 0 ? mine : std::min(alone, mine);
  }
  to.alone += Nanoseconds(static_cast<Nanoseconds::rep>(alone));
  to.split += parts.size() > 1;
  for (const std::string& why : report.notes) to.why = why;
}

void observe_direct(const Device& device, const std::string& name, std::string_view why) {
  Observer& o = observer();
  std::lock_guard lock(o.mutex);
  o.devices[&device].kernels[name].why = why;
}

void observe_groups(const Device& device, const std::string& name, const std::string& groups) {
  if (!observing()) return;
  Observer& o = observer();
  std::lock_guard lock(o.mutex);
  o.devices[&device].kernels[name].groups = groups;
}

void observe_copy(Work::Kind kind, std::size_t bytes, Nanoseconds time) {
  if (!observing()) return;
  Observer& o = observer();
  std::lock_guard lock(o.mutex);
  Tally& tally = kind == Work::Kind::in ? o.staged_in : o.staged_out;
  ++tally.times, tally.bytes += bytes, tally.time += time;
}

void observe_build(Nanoseconds begin) {
  if (!observing()) return;
  const Nanoseconds time = now() - begin;
  if (core::TraceSink* sink = core::trace()) sink->add({core::TraceKind::build, "host", "build", "", begin, time});
  Observer& o = observer();
  std::lock_guard lock(o.mutex);
  ++o.builds.times;
  o.builds.time += time;
}

void collect() {
  Observer& o = observer();
  std::vector<Pending> looked_at;
  {
    std::lock_guard lock(o.mutex);
    looked_at.swap(o.pending);
  }
  std::erase_if(looked_at, [](const Pending& p) {
    cl_int status = CL_QUEUED;
    pass<&Slots::clGetEventInfo>(p.inner, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    if (status > CL_COMPLETE) return false;
    add(p);
    pass<&Slots::clReleaseEvent>(p.inner);
    return true;
  });
  std::lock_guard lock(o.mutex);
  o.pending.insert(o.pending.begin(), looked_at.begin(), looked_at.end());
}

void finish_observing() {
  if (!observing()) return;
  observing_now = false;
  Observer& o = observer();
  if (o.trace) o.trace->close();
  std::lock_guard lock(o.mutex);
  if (!o.report) return;
  for (const Pending& p : o.pending) {
    if (Tally* tally = o.devices[p.device].of(p.kind, p.name))
      ++tally->times, ++tally->untimed, tally->bytes += p.bytes;
  }
  std::string text;
  for (const auto& [device, tallies] : o.devices) text += report_text(*device, tallies);
  text += shared_text(o.shared);
  const std::string moved = transfers("host to devices", o.staged_in) + transfers("devices to host", o.staged_out);
  if (!moved.empty())
    text += fmt::format("  {:<32} {:>10} {:>12} {:>12} {:>9}\n", "transfer by several cores", "commands", "total ms",
                        "MB", "GB/s") +
            moved;
  text += fmt::format("  builds: {}, {:.3f} ms\n", o.builds.times, milliseconds(o.builds.time));
  std::fputs(text.c_str(), stderr);
}

}  // namespace heddle::front::icd

// Devices that exist only as a text: they compute on real memory with host functions, take the time that the text says
// on a virtual clock, and fail where it says, so that every policy is tested without hardware, exactly and at any
// scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/parameters.hpp"
#include "device/device.hpp"

namespace heddle::device {

// One work-item as OpenCL numbers it: the global id includes the offset, the group id does not.
struct WorkItem {
  core::Index global_id{}, local_id{}, group_id{};
  core::Index global_size{}, local_size{}, num_groups{}, global_offset{};
};

// The arguments of one launch. A wrong number or type is the body's mistake (UsageError).
class FakeArguments {
 public:
  using Entry = std::variant<std::span<std::byte>, Scalar, LocalMemory>;
  FakeArguments(std::vector<Entry> entries, const std::string& options, const Info& device)
      : entries_(std::move(entries)), options_(options), device_(device) {}

  std::size_t size() const { return entries_.size(); }
  // The buffer's own memory, as many whole elements as it holds. Not in a cost function: the data is not there yet.
  template <class T>
  std::span<T> buffer(std::size_t number) const {
    const std::span<std::byte> bytes = buffer_bytes(number);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  T scalar(std::size_t number) const {
    T value;
    std::memcpy(&value, scalar_bytes(number, sizeof value).data(), sizeof value);
    return value;
  }
  Bytes local_size(std::size_t number) const;

  const std::string& options() const { return options_; }  // of the build
  // The value that the build options give to a macro: 8 for "BX" after "-DBX=8".
  std::optional<core::Value> definition(const std::string& macro) const;
  const Info& device() const { return device_; }

 private:
  const Entry& entry(std::size_t number) const;
  std::span<std::byte> buffer_bytes(std::size_t number) const;
  const Scalar& scalar_bytes(std::size_t number, std::size_t size) const;

  std::vector<Entry> entries_;
  const std::string& options_;
  const Info& device_;
};

// A kernel as host functions; all of them are optional.
struct FakeKernel {
  // What one work-item does; without it a launch only takes time. Called when the launch ends, one item after the
  // other (groups in order), on the thread that advances the clock. An exception makes the launch fail.
  std::function<void(const WorkItem&, FakeArguments&)> body = {};
  // Weight of one work-item where not every item weighs 1. Called for every item while the launch is being queued.
  std::function<double(const WorkItem&, const FakeArguments&)> cost = {};
  // Weight of a whole launch, instead of `cost`, where asking every item would take too long.
  std::function<double(const core::NdRange&, const FakeArguments&)> launch_cost = {};
  // Nanoseconds of one unit for groups from the first to before the second, counted from where the range begins, from a
  // time on: instead of all these where launches overlap.
  std::function<double(const core::NdRange&, std::int64_t first, std::int64_t last, std::size_t unit, double when)>
      on_unit = {};
  // Without it: the device's largest group, and any number of arguments.
  std::optional<KernelLimits> limits = {};
};

// Several fake devices and the one virtual clock that they share. The description has one block per device, one item
// per line, and comments after '#':
//
//   device gpu0 gpu                # id and kind (cpu, gpu, accelerator); begins a block
//   rate 2e9                       # work-items of weight 1 per second; the only line that a block must have
//   rate saxpy 4e9                 # the same for one kernel
//   name Fictional 9000            # default "fake ID"; devices alike in name, units and memory share a fingerprint
//   units 80                       # default 1
//   overlap                        # launches of all its queues are at work at once, each group on one unit
//   memory 16G largest 4G          # of the device, and its largest buffer; default 1G, and all of the memory
//   local 48K                      # local memory; default 32K
//   group 256                      # largest group; default 1024
//   space own                      # or host: works on the host's memory; default own for all but cpu
//   launch 10us                    # latency of each launch; default 0. Units: ns, us, ms, s
//   copy in 12e9 out 13e9 within 500e9 latency 8us engines 2
//                                  # bytes per second to, from and inside the device (copy and fill); a rate that is
//                                  # left out: no time but the latency, as for wrapped memory copied onto
//                                  # itself. 1 engine (default): in and out take turns
//   build 50ms                     # what Program::build_time says; default 0. build() itself moves no clock
//   noise 0.05 seed 7              # every duration times a factor within 1 +- 0.05; the seed's default is 1
//   fail build 1                   # the first call of build() fails; or allocation (allocate, wrap), launch, write
//   fail read 2 late               # (copy_in), read (copy_out). late: it is queued, and fails when it would end
//   lost at launch 7               # this launch and whatever is pending or comes later fails; late: when it would end
//   hang at launch 4               # never ends and keeps the device's computing engine
//   slow 10 from launch 3          # launches take ten times as long as said; without "from": all of them
//
// Failures count from 1 per device and kind; a call refused for its arguments does not count. What prepare() launches
// and allocates counts like anything else.
//
// Time. A launch takes latency + weight / rate, a copy latency + bytes / rate, rounded to nanoseconds, then slow and
// noise. A command is ready when the one before it in its queue and all that it waits for are done. A device has one
// engine for launches, copies inside the device and fills, and one or two for other copies. Each runs one command at a
// time, and takes next the one that was ready first (of several, the one queued first). Where launches overlap, units
// that are free take groups of the one that was ready first, as PoCL's threads do: of what is left their part and one
// more, 32 for each unit at most. A group takes its part of the launch's time, on one unit as many times as there are
// units; a launch begins with its first group and ends with its last; the process has used as much CPU time as units
// were at work for what has ended; and a launch beside another form of its kernel is an InternalError, as it ends the
// process in PoCL. A command that waits for a failed one fails with the same kind; the order in a queue alone passes no
// failure on.
//
// The clock moves only in wait(), finish() and the advance functions, from one end of a command to the next. There, and
// never while something is being queued, a command's effect on memory happens, then its callbacks are called with no
// lock held; they may queue more, but not wait. Ends at the same time are taken in the order of queuing. Where a
// command will never end, an unlimited wait returns a failure of kind hang at once, and the clock stays.
//
// The same description and calls give the same times on every machine. Several threads may use a world; times are exact
// as long as the order of their calls is. A world must outlive all that its devices made.
class FakeWorld {
 public:
  explicit FakeWorld(std::string_view description);  // UsageError "line 3: ..."
  static FakeWorld from_file(const std::string& path);
  FakeWorld(FakeWorld&&) noexcept;
  ~FakeWorld();

  // Programs need no text: a program has every kernel that its world has. UsageError for a name that is taken.
  void add_kernel(const std::string& name, FakeKernel kernel);

  std::vector<Device*> devices() const;  // in the order of the description
  Device& device(std::string_view id) const;

  Nanoseconds now() const;
  void advance(Nanoseconds duration);
  // Advances to the next end of a command, or begin of one that overlaps with others, and takes all that end then;
  // false where nothing pending will ever end.
  bool advance_to_next_completion();
  // An event that is done this much later: for builds, arrivals and whatever else a test lets take time.
  Event timer(Nanoseconds after);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace heddle::device

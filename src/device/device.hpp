// What Heddle asks of a device: memory, programs, queues, events. OpenCL devices and the fake device stand behind it
// alike.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/errors.hpp"
#include "core/launch.hpp"
#include "core/units.hpp"
#include "core/variant.hpp"

namespace heddle::device {

using core::Bytes;
using core::Nanoseconds;
using core::Result;
using core::Status;

enum class Kind { cpu, gpu, accelerator };

const char* to_string(Kind);

// Memory that devices may share. The host's is number 0; every device with memory of its own has another number.
using MemorySpace = int;
constexpr MemorySpace host_memory = 0;

// What is known of a device without running anything on it.
struct Info {
  std::string
      id;  // "cpu", "gpu", "cpu.1" for the second sub-device, "gpu2" for the third GPU: unique among all devices
  std::string name;     // as the driver says
  std::string vendor;   // as the driver says
  std::string driver;   // platform name and driver version
  std::string library;  // of the driver, as its .icd file spells it; empty: none (a fake device)
  Kind kind = Kind::cpu;
  int units = 1;  // compute units
  Bytes memory = 0;
  Bytes largest_buffer = 0;
  Bytes part_alignment = 1;  // where a part of a buffer may begin
  Bytes local_memory = 0;
  Bytes cache = 0;                       // of the device's memory; 0: not known
  std::int64_t largest_group = 1;        // work-items
  core::Index largest_extents{1, 1, 1};  // work-items of a group per dimension
  MemorySpace space = host_memory;
  bool fp64 = false;
  std::string extensions;  // as the driver says
  int address_bits = 64;
  bool one_queue = false;  // two kernels at work at once are too many for its driver
  // Kernels of several queues are at work at once, each on no more units than it has groups. Not in two forms of one.
  bool overlaps = false;
  bool prompt = true;  // events call back when they are done; elsewhere up to 20 ms later, and looking is quicker
  std::string parent;  // fingerprint of the device it was cut from; empty for a whole device
  std::string
      fingerprint;  // of vendor, name, driver version, units, memory (not a CPU's) and parent; equal parts share one
};

// Whether it is one of several parts of a device.
bool is_part(const Info& info);

// Which of two devices runs what is not to be divided: a GPU before an accelerator before a CPU, and of one kind the
// one with more units.
bool comes_before(const Info& a, const Info& b);

// Times of one command on the host's steady clock (the virtual clock of a fake device), in the order in which they
// pass.
struct Times {
  Nanoseconds queued{0}, start{0}, end{0};
  Nanoseconds duration() const { return end - start; }
};

// A command on its way. Failures after it was queued show up here.
class EventState {
 public:
  virtual ~EventState() = default;
  // Blocks until it is done; a failure of kind `hang` if that takes longer than `limit`, and then it may still be
  // running.
  virtual Status wait(Nanoseconds limit) = 0;
  Status wait() { return wait(Nanoseconds::max()); }
  virtual bool done() = 0;            // finished or failed
  virtual Result<Times> times() = 0;  // once it is done
  // Calls back once, when it is done, from a thread of the driver's or, if it is done already, at once. No lock is
  // held.
  virtual void notify(std::function<void()> callback) = 0;
  // Whether it is at work, or was. Where drivers tell, they call back once when that begins; who asks too late is not
  // called.
  virtual bool begun() { return done(); }
  virtual void notify_begun(std::function<void()>) {}
};
// Shared: the one who waits, the wait lists of later commands and the driver's callback all hold it.
using Event = std::shared_ptr<EventState>;
using Waits = std::span<const Event>;

// Memory that kernels work on.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Bytes size() const { return size_; }

 protected:
  explicit Buffer(Bytes size) : size_(size) {}

 private:
  Bytes size_;
};

// Page-locked host memory: an end of a copy, never a kernel's argument.
class LockedMemory {
 public:
  virtual ~LockedMemory() = default;
  std::span<std::byte> bytes() const { return bytes_; }

 protected:
  std::span<std::byte> bytes_;
};

struct Source {
  std::string text;     // OpenCL C
  std::string options;  // for the compiler
};

// Limits of one kernel on one device.
struct KernelLimits {
  std::int64_t group = 1;      // largest work-group
  std::int64_t preferred = 1;  // its size should be a multiple of this
  Bytes local_memory = 0;      // that it uses itself
  int arguments = 0;
};

// What drivers compile apart at a kernel's first launch (seen on PoCL): the group size, a global offset or none, and a
// grid below or from 65,536 items in its longest dimension.
struct Form {
  core::Index local{1, 1, 1};
  bool shifted = false, wide = false;

  bool operator==(const Form&) const = default;
};
constexpr std::int64_t wide_grid = 65'536;
Form form_of(const core::NdRange& range);

// A kernel and its prepared forms. Not for two threads at once: arguments are set at each launch.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual KernelLimits limits() const = 0;
  const std::string& name() const { return name_; }
  std::vector<Form> prepared;  // launched before, so that nothing is left to compile (prepare.hpp)
  bool is_prepared(const core::NdRange& range) const;

 protected:
  explicit Kernel(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

class Program {
 public:
  virtual ~Program() = default;
  virtual Result<std::unique_ptr<Kernel>> kernel(const std::string& name) = 0;
  std::string log;  // what the compiler said, also when it succeeded
  Nanoseconds build_time{0};
  bool from_cache = false;
};

struct LocalMemory {
  Bytes size;
};
struct BufferArgument {
  Buffer* buffer;
  core::Access access = core::Access::read_write;  // what the kernel does to it, where known
};
using Scalar = std::vector<std::byte>;
using Argument = std::variant<BufferArgument, Scalar, LocalMemory>;

template <class T>
Argument scalar(const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  return Scalar(bytes, bytes + sizeof value);
}

struct Run {
  Kernel& kernel;
  std::span<const Argument> arguments;
  core::NdRange range;
};

// Commands of one queue run in order; commands of different queues of a device may overlap. Ranges outside a buffer are
// the caller's mistake (UsageError). Host memory of a copy must stay as it is until the event is done.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual Result<Event> launch(const Run& run, Waits waits = {}) = 0;
  virtual Result<Event> copy_in(Buffer& to, Bytes at, std::span<const std::byte> from, Waits waits = {}) = 0;
  virtual Result<Event> copy_out(std::span<std::byte> to, Buffer& from, Bytes at, Waits waits = {}) = 0;
  virtual Result<Event> copy(Buffer& to, Bytes to_at, Buffer& from, Bytes from_at, Bytes size, Waits waits = {}) = 0;
  virtual Result<Event> fill(Buffer& to, Bytes at, Bytes size, std::byte value, Waits waits = {}) = 0;
  virtual Status flush() = 0;   // whatever was queued starts soon; needed before commands of other queues wait for it
  virtual Status finish() = 0;  // and is done when this returns
};

// Safe to use from several threads; so are its queues, one at a time each.
class Device {
 public:
  virtual ~Device() = default;
  const Info& info() const { return info_; }

  virtual Result<std::unique_ptr<Buffer>> allocate(Bytes size) = 0;
  // Host memory itself as a buffer, without a copy; only where info().space is the host's. It must outlive the buffer.
  virtual Result<std::unique_ptr<Buffer>> wrap(std::span<std::byte> memory) = 0;
  // A part of a buffer as a buffer of its own: the same memory. `begin` must be a multiple of info().part_alignment.
  virtual Result<std::unique_ptr<Buffer>> part(Buffer& whole, Bytes begin, Bytes size) = 0;
  virtual Result<std::unique_ptr<LockedMemory>> lock(Bytes size) = 0;
  virtual Result<std::unique_ptr<Program>> build(const Source& source) = 0;
  // Commands of an untimed queue cost less (H200: 7 instead of 14 us per launch), but their events know only when the
  // host saw them end.
  enum class Timing { on, off };
  virtual Result<std::unique_ptr<Queue>> open_queue(Timing timing = Timing::on) = 0;
  virtual Nanoseconds now() = 0;  // the clock that Times are on
  // CPU time that this process has used so far; only where the device computes with it (timing.hpp makes the contention
  // ratio of it).
  virtual std::optional<Nanoseconds> cpu_time() { return std::nullopt; }

 protected:
  Info info_;
};

}  // namespace heddle::device

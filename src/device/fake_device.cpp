// The fake devices: a small discrete-event simulation.
#include "device/fake_device.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/fingerprint.hpp"
#include "core/settings.hpp"
#include "device/fake_description.hpp"

namespace heddle::device {

using core::Failure;
using core::FailureKind;
using core::InternalError;
using core::UsageError;

namespace {

// ---- Memory ---------------------------------------------------------------------------------------------------------

// Bytes of a buffer. They come into being, poisoned, when first touched, so that buffers that only take part in a
// timing cost nothing at any size; only the thread that advances the clock touches them.
class Memory {
 public:
  Memory(Bytes size, std::atomic<Bytes>& in_use) : size_(size), in_use_(&in_use) { *in_use_ += size; }
  explicit Memory(std::span<std::byte> wrapped) : size_(wrapped.size()), bytes_(wrapped.data()) {}
  Memory(std::shared_ptr<Memory> whole, Bytes begin, Bytes size)
      : size_(size), whole_(std::move(whole)), begin_(begin) {}
  Memory(const Memory&) = delete;
  ~Memory() {
    if (!in_use_) return;
    *in_use_ -= size_;
    ::operator delete(bytes_, alignment);
  }

  bool touched() const { return whole_ ? whole_->touched() : bytes_ != nullptr; }
  bool wraps(const std::byte* host, Bytes at) const {
    return whole_ ? whole_->wraps(host, begin_ + at) : !in_use_ && bytes_ + at == host;
  }
  std::span<std::byte> bytes() {
    if (whole_) return whole_->bytes().subspan(begin_, size_);
    if (!touched()) {
      bytes_ = static_cast<std::byte*>(::operator new(size_, alignment));
      std::memset(bytes_, 0xA5, size_);
    }
    return {bytes_, size_};
  }

 private:
  static constexpr std::align_val_t alignment{128};  // OpenCL aligns buffers to its largest type, long16

  Bytes size_;
  std::byte* bytes_ = nullptr;
  std::shared_ptr<Memory> whole_;  // of which this is a part
  Bytes begin_ = 0;
  std::atomic<Bytes>* in_use_ = nullptr;  // null where the memory is the host's
};

class FakeDevice;

class FakeBuffer : public Buffer {
 public:
  FakeBuffer(FakeDevice& owner, Bytes size, std::shared_ptr<Memory> content)
      : Buffer(size), device(owner), memory(std::move(content)) {}

  FakeDevice& device;
  std::shared_ptr<Memory> memory;  // shared with pending commands: the buffer may go before they have run
};

class FakeLockedMemory : public LockedMemory {
 public:
  explicit FakeLockedMemory(Bytes size) : content_(size, std::byte{0xA5}) { bytes_ = content_; }

 private:
  std::vector<std::byte> content_;
};

// ---- Commands -------------------------------------------------------------------------------------------------------

class Command;

// By time, then in the order of queuing.
using Agenda = std::map<std::pair<Nanoseconds, std::uint64_t>, Command*>;

// Runs one command at a time.
struct Engine {
  Command* running = nullptr;
  Agenda ready;  // by the time since when
};

// All its members belong to the world's lock, but for what is set before it is queued.
class Command : public EventState {
 public:
  enum class Stage {
    waiting,    // for other commands
    ready,      // in its engine's agenda
    running,    // on its engine; in the world's agenda unless it hangs
    finishing,  // its effect is happening
    done
  };

  explicit Command(FakeWorld::State& in) : world(in) {}

  using EventState::wait;
  Status wait(Nanoseconds limit) override;
  bool done() override;
  Result<Times> times() override;
  void notify(std::function<void()> callback) override;

  Status outcome() const { return failure ? Status(*failure) : Status(core::Done{}); }
  // It will fail as soon as nothing is missing, as OpenCL has it for wait lists.
  void fail_with(const Failure& dependency) {
    failure = Failure{dependency.kind, "dependency failed: " + dependency.what, ""};
    engine = nullptr;
    duration = Nanoseconds(0);
    hangs = loses_device = false;
  }

  FakeWorld::State& world;
  FakeDevice* device = nullptr;  // null for a timer
  Engine* engine = nullptr;      // null where none is needed: a timer, a failed dependency, a lost device
  Nanoseconds duration{0};
  bool hangs = false, loses_device = false;
  std::function<void()> effect;
  std::vector<std::shared_ptr<Memory>> memory;  // that the effect touches

  std::uint64_t number = 0;
  Stage stage = Stage::waiting;
  int missing = 0;  // commands that it still waits for
  Times passed;
  std::optional<Failure> failure;                                     // set before it is done: what it will fail with
  std::vector<std::pair<std::shared_ptr<Command>, bool>> dependents;  // true: named in its wait list
  std::vector<std::function<void()>> callbacks;
  std::list<std::shared_ptr<Command>>::iterator place;  // among the unfinished
};

// Far beyond any test, and small enough that sums of many do not overflow: three years.
constexpr Nanoseconds longest{100'000'000'000'000'000};

// Only products and integer sums, so that no compiler can fuse them into something that rounds otherwise.
double as_number(Nanoseconds t) { return static_cast<double>(t.count()); }
Nanoseconds to_time(double nanoseconds) { return Nanoseconds(std::llround(std::min(nanoseconds, as_number(longest)))); }

}  // namespace

// ---- World ----------------------------------------------------------------------------------------------------------

struct FakeWorld::State {
  explicit State(std::string_view description);
  ~State();

  void enqueue(const std::shared_ptr<Command>& command, std::span<const std::shared_ptr<Command>> waits,
               const std::shared_ptr<Command>& before);
  void lose(FakeDevice& device);

  // Takes the ends up to `limit`, in order, but none after the time when `until` is done. Only in one's turn.
  void run(std::unique_lock<std::mutex>& lock, Nanoseconds limit, const Command* until);

  // One thread at a time advances the clock. Waits for that, or until the command is done; taken and left with the
  // lock.
  class Turn {
   public:
    Turn(State& state, std::unique_lock<std::mutex>& lock, const Command* until);
    ~Turn();
    Turn(const Turn&) = delete;

   private:
    State& state_;
  };

  std::mutex mutex;                 // never held while a kernel's function or a callback runs
  std::condition_variable changed;  // a command is done, or nobody advances any more
  std::optional<std::thread::id> advancing;
  Nanoseconds now{0};
  std::uint64_t queued = 0;
  std::list<std::shared_ptr<Command>> unfinished;  // shared with those who hold events
  Agenda ends;
  std::map<std::string, FakeKernel> kernels;  // none is ever removed: pending launches point at them
  std::vector<std::unique_ptr<FakeDevice>> devices;

 private:
  void become_ready(Command& command);
  void start(Command& command);
  void start_next(Engine& engine);
  void end_at(Command& command, Nanoseconds end);
  void complete(Command& command);
};

namespace {

// ---- Device ---------------------------------------------------------------------------------------------------------

class FakeDevice : public Device {
 public:
  FakeDevice(FakeWorld::State& in, Description said) : world(in), description(std::move(said)) {
    info_ = description.info;
    random = description.seed;
  }

  Result<std::unique_ptr<Buffer>> allocate(Bytes size) override;
  Result<std::unique_ptr<Buffer>> wrap(std::span<std::byte> memory) override;
  Result<std::unique_ptr<Buffer>> part(Buffer& whole, Bytes begin, Bytes size) override;
  Result<std::unique_ptr<LockedMemory>> lock(Bytes size) override;
  Result<std::unique_ptr<Program>> build(const Source& source) override;
  Result<std::unique_ptr<Queue>> open_queue(Timing) override;
  Nanoseconds now() override {
    std::lock_guard hold(world.mutex);
    return world.now;
  }

  Failure loss() const { return {FailureKind::lost, fmt::format("device {} is lost", info_.id), ""}; }

  // With the lock held: counts a call and says what goes wrong with it.
  std::optional<Mishap> count(Call call) {
    const auto index = static_cast<std::size_t>(call);
    const auto found = description.mishaps[index].find(++counts[index]);
    return found == description.mishaps[index].end() ? std::nullopt : std::optional(found->second);
  }
  Failure scripted(FailureKind kind, Call call) const {
    const auto index = static_cast<std::size_t>(call);
    return {kind, fmt::format("{} {} on {} fails as described", call_names[index], counts[index], info_.id), ""};
  }
  double slowness() const {  // of the launch counted last
    const auto after = description.slow.upper_bound(counts[static_cast<std::size_t>(Call::launch)]);
    return after == description.slow.begin() ? 1 : std::prev(after)->second;
  }
  Nanoseconds with_noise(Nanoseconds t);

  FakeWorld::State& world;
  const Description description;
  // From here on: the world's lock.
  bool lost = false;
  std::int64_t counts[calls] = {};
  std::uint64_t random;
  std::atomic<Bytes> in_use{0};  // atomic: memory may be given back under the lock or outside
  Engine compute, copies[2];
};

class LoadedKernel : public Kernel {
 public:
  LoadedKernel(const std::string& name, FakeDevice& on, const FakeKernel& what, std::shared_ptr<const std::string> with)
      : Kernel(name), device(on), functions(what), options(std::move(with)) {
    const auto own = on.description.kernel_rates.find(name);
    rate = own == on.description.kernel_rates.end() ? on.description.rate : own->second;
  }
  KernelLimits limits() const override {
    return functions.limits.value_or(KernelLimits{.group = device.info().largest_group});
  }

  FakeDevice& device;
  const FakeKernel& functions;
  std::shared_ptr<const std::string> options;  // shared with pending launches: the kernel may go before they have run
  double rate;
};

class FakeProgram : public Program {
 public:
  FakeProgram(FakeDevice& on, const Source& source)
      : device_(on), options_(std::make_shared<const std::string>(source.options)) {
    build_time = on.description.build;
  }
  Result<std::unique_ptr<Kernel>> kernel(const std::string& name) override {
    std::lock_guard hold(device_.world.mutex);
    if (device_.lost) return device_.loss();
    const auto found = device_.world.kernels.find(name);
    if (found == device_.world.kernels.end()) {
      return Failure{FailureKind::build, fmt::format("no kernel {} in this fake world", name), ""};
    }
    return std::unique_ptr<Kernel>(std::make_unique<LoadedKernel>(name, device_, found->second, options_));
  }

 private:
  FakeDevice& device_;
  std::shared_ptr<const std::string> options_;  // shared with kernels, which may outlive the program
};

class FakeQueue : public Queue {
 public:
  explicit FakeQueue(FakeDevice& on) : device_(on) {}

  Result<Event> launch(const Run& run, Waits waits) override;
  Result<Event> copy_in(Buffer& to, Bytes at, std::span<const std::byte> from, Waits waits) override;
  Result<Event> copy_out(std::span<std::byte> to, Buffer& from, Bytes at, Waits waits) override;
  Result<Event> copy(Buffer& to, Bytes to_at, Buffer& from, Bytes from_at, Bytes size, Waits waits) override;
  Result<Event> fill(Buffer& to, Bytes at, Bytes size, std::byte value, Waits waits) override;
  Status flush() override;
  Status finish() override;

 private:
  Nanoseconds copy_time(Bytes size, double rate) const {
    return device_.description.copy + to_time(static_cast<double>(size) * 1e9 / rate);
  }
  FakeBuffer& mine(Buffer& buffer) const;
  FakeBuffer& mine(Buffer& buffer, Bytes at, Bytes size) const;
  std::vector<std::shared_ptr<Command>> mine(Waits waits) const;
  Result<Event> enqueue(std::shared_ptr<Command> command, Waits waits, std::optional<Call> call);

  FakeDevice& device_;
  std::shared_ptr<Command> last_;
};

Nanoseconds FakeDevice::with_noise(Nanoseconds t) {
  if (description.noise == 0) return t;
  random += 0x9e3779b97f4a7c15ULL;  // splitmix64
  std::uint64_t z = random;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  const double part = static_cast<double>(static_cast<std::int64_t>(z) >> 11) * 0x1p-52;  // in [-1, 1)
  return t + Nanoseconds(std::llround(as_number(t) * description.noise * part));
}

Result<std::unique_ptr<Buffer>> FakeDevice::allocate(Bytes size) {
  std::lock_guard hold(world.mutex);
  if (lost) return loss();
  if (count(Call::allocation)) return scripted(FailureKind::allocation, Call::allocation);
  if (size == 0 || size > info_.largest_buffer || size > info_.memory - in_use) {
    return Failure{FailureKind::allocation,
                   fmt::format("a buffer of {} bytes on {}: {} of {} bytes are in use, and no buffer is larger than {}",
                               size, info_.id, in_use.load(), info_.memory, info_.largest_buffer),
                   ""};
  }
  return std::unique_ptr<Buffer>(std::make_unique<FakeBuffer>(*this, size, std::make_shared<Memory>(size, in_use)));
}

Result<std::unique_ptr<Buffer>> FakeDevice::wrap(std::span<std::byte> memory) {
  std::lock_guard hold(world.mutex);
  if (lost) return loss();
  if (info_.space != host_memory) {
    return Failure{FailureKind::unsupported, fmt::format("{} does not work on the host's memory", info_.id), ""};
  }
  if (count(Call::allocation)) return scripted(FailureKind::allocation, Call::allocation);
  if (memory.empty()) return Failure{FailureKind::allocation, "a buffer of 0 bytes on " + info_.id, ""};
  return std::unique_ptr<Buffer>(std::make_unique<FakeBuffer>(*this, memory.size(), std::make_shared<Memory>(memory)));
}

Result<std::unique_ptr<Buffer>> FakeDevice::part(Buffer& whole, Bytes begin, Bytes size) {
  std::lock_guard hold(world.mutex);
  if (lost) return loss();
  auto& buffer = static_cast<FakeBuffer&>(whole);
  if (size == 0 || begin > whole.size() || size > whole.size() - begin) {
    return Failure{FailureKind::allocation,
                   fmt::format("{} bytes from {} of a buffer of {} on {}", size, begin, whole.size(), info_.id), ""};
  }
  return std::unique_ptr<Buffer>(
      std::make_unique<FakeBuffer>(*this, size, std::make_shared<Memory>(buffer.memory, begin, size)));
}

Result<std::unique_ptr<LockedMemory>> FakeDevice::lock(Bytes size) {
  std::lock_guard hold(world.mutex);
  if (lost) return loss();
  return std::unique_ptr<LockedMemory>(std::make_unique<FakeLockedMemory>(size));
}

Result<std::unique_ptr<Program>> FakeDevice::build(const Source& source) {
  std::lock_guard hold(world.mutex);
  if (lost) return loss();
  if (count(Call::build)) return scripted(FailureKind::build, Call::build);
  return std::unique_ptr<Program>(std::make_unique<FakeProgram>(*this, source));
}

Result<std::unique_ptr<Queue>> FakeDevice::open_queue(Timing) {
  std::lock_guard hold(world.mutex);
  if (lost) return loss();
  return std::unique_ptr<Queue>(std::make_unique<FakeQueue>(*this));
}

// ---- Queue ----------------------------------------------------------------------------------------------------------

FakeBuffer& FakeQueue::mine(Buffer& buffer) const {
  auto* fake = dynamic_cast<FakeBuffer*>(&buffer);
  if (!fake || &fake->device != &device_) {
    throw InternalError(fmt::format("a buffer of {} in a queue of {}",
                                    fake ? fake->device.info().id : "another backend", device_.info().id));
  }
  return *fake;
}

FakeBuffer& FakeQueue::mine(Buffer& buffer, Bytes at, Bytes size) const {
  FakeBuffer& fake = mine(buffer);
  if (at > fake.size() || size > fake.size() - at) {
    throw UsageError(fmt::format("{} bytes from {} of a buffer of {} bytes", size, at, fake.size()));
  }
  return fake;
}

std::vector<std::shared_ptr<Command>> FakeQueue::mine(Waits waits) const {
  std::vector<std::shared_ptr<Command>> commands;
  commands.reserve(waits.size());
  for (const Event& event : waits) {
    commands.push_back(std::dynamic_pointer_cast<Command>(event));
    if (!commands.back() || &commands.back()->world != &device_.world) {
      throw InternalError(event ? "a wait for an event of another world" : "a wait for no event");
    }
  }
  return commands;
}

// Calls of a scripted kind go wrong as the description says; `call` is empty for those that never do.
Result<Event> FakeQueue::enqueue(std::shared_ptr<Command> command, Waits waits, std::optional<Call> call) {
  const auto commands = mine(waits);
  command->device = &device_;
  std::lock_guard hold(device_.world.mutex);
  if (device_.lost) return device_.loss();
  const std::optional<Mishap> mishap = call ? device_.count(*call) : std::nullopt;
  const FailureKind kind = call == Call::launch ? FailureKind::launch : FailureKind::transfer;
  if (mishap == Mishap::fail) return device_.scripted(kind, *call);
  if (mishap == Mishap::lost) {
    device_.world.lose(device_);
    return device_.loss();
  }
  if (mishap == Mishap::fail_late) command->failure = device_.scripted(kind, *call);
  if (mishap == Mishap::lost_late) command->failure = device_.loss(), command->loses_device = true;
  command->hangs = mishap == Mishap::hang;
  if (call == Call::launch) command->duration = to_time(as_number(command->duration) * device_.slowness());
  command->duration = device_.with_noise(command->duration);
  device_.world.enqueue(command, commands, last_);
  last_ = command;
  return Event(std::move(command));
}

// Calls `each` with every work-item, groups in order and items in order inside them.
template <class Each>
void for_each_item(const core::NdRange& range, Each&& each) {
  WorkItem item;
  item.global_size = range.global;
  item.local_size = range.local;
  item.global_offset = range.offset;
  for (int axis = 0; axis < 3; ++axis) item.num_groups[axis] = range.global[axis] / range.local[axis];
  core::Index &group = item.group_id, &local = item.local_id;
  for (group[2] = 0; group[2] < item.num_groups[2]; ++group[2]) {
    for (group[1] = 0; group[1] < item.num_groups[1]; ++group[1]) {
      for (group[0] = 0; group[0] < item.num_groups[0]; ++group[0]) {
        for (local[2] = 0; local[2] < range.local[2]; ++local[2]) {
          for (local[1] = 0; local[1] < range.local[1]; ++local[1]) {
            for (local[0] = 0; local[0] < range.local[0]; ++local[0]) {
              for (int axis = 0; axis < 3; ++axis) {
                item.global_id[axis] = range.offset[axis] + group[axis] * range.local[axis] + local[axis];
              }
              each(std::as_const(item));
            }
          }
        }
      }
    }
  }
}

double weight(const FakeKernel& kernel, const core::NdRange& range, const FakeArguments& arguments) {
  double sum = 0;
  if (kernel.launch_cost) {
    sum = kernel.launch_cost(range, arguments);
  } else if (kernel.cost) {
    for_each_item(range, [&](const WorkItem& item) { sum += kernel.cost(item, arguments); });
  } else {
    sum = static_cast<double>(range.global[0]) * static_cast<double>(range.global[1]) *
          static_cast<double>(range.global[2]);
  }
  if (!(sum >= 0 && std::isfinite(sum))) throw UsageError(fmt::format("a launch of cost {}; 0 or more expected", sum));
  return sum;
}

// What a real device would refuse, in its words; empty where the launch fits.
std::string misfit(const LoadedKernel& kernel, const core::NdRange& range, Bytes local_memory) {
  const KernelLimits limits = kernel.limits();
  const Info& info = kernel.device.info();
  std::int64_t group = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (range.global[axis] % range.local[axis] != 0) {
      return fmt::format("global size {} is no multiple of local size {}", range.global[axis], range.local[axis]);
    }
    if (range.local[axis] > info.largest_extents[axis]) {
      return fmt::format("local size {} is above {}", range.local[axis], info.largest_extents[axis]);
    }
    group *= range.local[axis];
  }
  if (group > limits.group) return fmt::format("a group of {} work-items is above {}", group, limits.group);
  if (limits.local_memory + local_memory > info.local_memory) {
    return fmt::format("{} bytes of local memory, of {}", limits.local_memory + local_memory, info.local_memory);
  }
  return "";
}

Result<Event> FakeQueue::launch(const Run& run, Waits waits) {
  auto* kernel = dynamic_cast<LoadedKernel*>(&run.kernel);
  if (!kernel || &kernel->device != &device_) {
    throw InternalError(fmt::format("kernel {} is not of device {}", run.kernel.name(), device_.info().id));
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (run.range.global[axis] < 0 || run.range.local[axis] < 1 || run.range.offset[axis] < 0) {
      throw UsageError(fmt::format("launch of {} with offset {}, global size {}, local size {} in dimension {}",
                                   kernel->name(), run.range.offset[axis], run.range.global[axis],
                                   run.range.local[axis], axis));
    }
  }
  const int expected = kernel->limits().arguments;
  if (expected > 0 && run.arguments.size() != static_cast<std::size_t>(expected)) {
    throw UsageError(
        fmt::format("kernel {}: {} arguments given, {} expected", kernel->name(), run.arguments.size(), expected));
  }
  auto command = std::make_shared<Command>(device_.world);
  const FakeKernel& functions = kernel->functions;
  std::vector<FakeArguments::Entry> entries(run.arguments.size());  // a buffer's bytes are filled in when it runs
  std::vector<std::pair<std::size_t, Memory*>> buffers;
  Bytes local_memory = 0;
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    if (const auto* argument = std::get_if<BufferArgument>(&run.arguments[i])) {
      if (!argument->buffer) throw UsageError(fmt::format("argument {} of {} is no buffer", i, kernel->name()));
      command->memory.push_back(mine(*argument->buffer).memory);
      buffers.emplace_back(i, command->memory.back().get());
    } else if (const auto* bytes = std::get_if<Scalar>(&run.arguments[i])) {
      entries[i] = *bytes;
    } else {
      const auto& local = std::get<LocalMemory>(run.arguments[i]);
      entries[i] = local;
      local_memory += local.size;
    }
  }
  if (const std::string reason = misfit(*kernel, run.range, local_memory); !reason.empty()) {
    return Failure{FailureKind::launch,
                   fmt::format("launch of {} on {}: {}", kernel->name(), device_.info().id, reason), ""};
  }
  FakeArguments arguments(entries, *kernel->options, device_.info());
  command->engine = &device_.compute;
  command->duration =
      device_.description.launch + to_time(weight(functions, run.range, arguments) * 1e9 / kernel->rate);
  if (functions.body) {
    command->effect = [&functions, range = run.range, entries = std::move(entries), buffers = std::move(buffers),
                       options = kernel->options, &info = device_.info()]() mutable {
      for (const auto& [number, memory] : buffers) entries[number] = memory->bytes();
      FakeArguments real(std::move(entries), *options, info);
      for_each_item(range, [&](const WorkItem& item) { functions.body(item, real); });
    };
  }
  return enqueue(std::move(command), waits, Call::launch);
}

Result<Event> FakeQueue::copy_in(Buffer& to, Bytes at, std::span<const std::byte> from, Waits waits) {
  Memory* memory = mine(to, at, from.size()).memory.get();
  auto command = std::make_shared<Command>(device_.world);
  command->memory = {mine(to).memory};
  command->engine = &device_.copies[0];
  command->duration = copy_time(from.size(), memory->wraps(from.data(), at) ? at_once : device_.description.copy_in);
  command->effect = [=] {
    if (!from.empty()) std::memmove(memory->bytes().data() + at, from.data(), from.size());  // wrapped: may be the same
  };
  return enqueue(std::move(command), waits, Call::write);
}

Result<Event> FakeQueue::copy_out(std::span<std::byte> to, Buffer& from, Bytes at, Waits waits) {
  Memory* memory = mine(from, at, to.size()).memory.get();
  auto command = std::make_shared<Command>(device_.world);
  command->memory = {mine(from).memory};
  command->engine = &device_.copies[device_.description.copy_engines - 1];
  command->duration = copy_time(to.size(), memory->wraps(to.data(), at) ? at_once : device_.description.copy_out);
  command->effect = [=] {
    if (!to.empty()) std::memmove(to.data(), memory->bytes().data() + at, to.size());
  };
  return enqueue(std::move(command), waits, Call::read);
}

Result<Event> FakeQueue::copy(Buffer& to, Bytes to_at, Buffer& from, Bytes from_at, Bytes size, Waits waits) {
  Memory* target = mine(to, to_at, size).memory.get();
  Memory* source = mine(from, from_at, size).memory.get();
  if (target == source && to_at < from_at + size && from_at < to_at + size) {
    return Failure{FailureKind::transfer,
                   fmt::format("copy of {} bytes from {} to {} of the same buffer: they overlap", size, from_at, to_at),
                   ""};
  }
  auto command = std::make_shared<Command>(device_.world);
  command->memory = {mine(to).memory, mine(from).memory};
  command->engine = &device_.compute;
  command->duration = copy_time(size, device_.description.copy_within);
  command->effect = [=] {
    if (!target->touched() && !source->touched()) return;  // poison to poison
    std::memmove(target->bytes().data() + to_at, source->bytes().data() + from_at, size);
  };
  return enqueue(std::move(command), waits, std::nullopt);
}

Result<Event> FakeQueue::fill(Buffer& to, Bytes at, Bytes size, std::byte value, Waits waits) {
  Memory* memory = mine(to, at, size).memory.get();
  auto command = std::make_shared<Command>(device_.world);
  command->memory = {mine(to).memory};
  command->engine = &device_.compute;
  command->duration = copy_time(size, device_.description.copy_within);
  command->effect = [=] { std::memset(memory->bytes().data() + at, std::to_integer<int>(value), size); };
  return enqueue(std::move(command), waits, std::nullopt);
}

Status FakeQueue::flush() {
  std::lock_guard hold(device_.world.mutex);
  return device_.lost ? Status(device_.loss()) : Status(core::Done{});
}

// How single commands ended is in their events; here only a hang or the loss of the device shows.
Status FakeQueue::finish() {
  if (last_) {
    Status status = last_->wait();
    if (!status && !last_->done()) return status;
  }
  return flush();
}

// ---- Commands as events ---------------------------------------------------------------------------------------------

Status Command::wait(Nanoseconds limit) {
  std::unique_lock lock(world.mutex);
  const bool forever = limit > longest;
  const Nanoseconds deadline = forever ? Nanoseconds::max() : world.now + std::max(limit, Nanoseconds(0));
  if (stage == Stage::done) return outcome();
  FakeWorld::State::Turn turn(world, lock, this);
  if (stage != Stage::done) world.run(lock, deadline, this);
  if (stage == Stage::done) return outcome();
  if (!forever) world.now = std::max(world.now, deadline);
  return Failure{FailureKind::hang,
                 forever ? fmt::format("command {} will never end", number)
                         : fmt::format("command {} is not done after {} ns", number, limit.count()),
                 ""};
}

bool Command::done() {
  std::lock_guard hold(world.mutex);
  return stage == Stage::done;
}

Result<Times> Command::times() {
  std::lock_guard hold(world.mutex);
  if (stage != Stage::done) throw InternalError(fmt::format("times of command {}, which is not done", number));
  if (failure) return *failure;
  return passed;
}

void Command::notify(std::function<void()> callback) {
  {
    std::lock_guard hold(world.mutex);
    if (stage != Stage::done) {
      callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

}  // namespace

// ---- Simulation -----------------------------------------------------------------------------------------------------

FakeWorld::State::State(std::string_view description) {
  for (Description& said : parse_description(description))
    devices.push_back(std::make_unique<FakeDevice>(*this, std::move(said)));
}

FakeWorld::State::~State() {
  for (const auto& command : unfinished) command->dependents.clear();  // or a long chain would be destroyed recursively
  unfinished.clear();  // before the devices, to which commands give their memory back
}

void FakeWorld::State::enqueue(const std::shared_ptr<Command>& command, std::span<const std::shared_ptr<Command>> waits,
                               const std::shared_ptr<Command>& before) {
  command->number = ++queued;
  command->passed.queued = now;
  command->place = unfinished.insert(unfinished.end(), command);
  if (before && before->stage != Command::Stage::done) {
    before->dependents.emplace_back(command, false);
    ++command->missing;
  }
  for (const auto& other : waits) {
    if (other->stage != Command::Stage::done) {
      other->dependents.emplace_back(command, true);
      ++command->missing;
    } else if (other->failure) {
      command->fail_with(*other->failure);
    }
  }
  if (command->missing == 0) become_ready(*command);
}

void FakeWorld::State::become_ready(Command& command) {
  if (!command.engine) {
    start(command);
    return;
  }
  command.stage = Command::Stage::ready;
  command.engine->ready.emplace(std::pair(now, command.number), &command);
  start_next(*command.engine);
}

void FakeWorld::State::start_next(Engine& engine) {
  if (engine.running || engine.ready.empty()) return;
  engine.running = engine.ready.begin()->second;
  engine.ready.erase(engine.ready.begin());
  start(*engine.running);
}

void FakeWorld::State::start(Command& command) {
  command.stage = Command::Stage::running;
  command.passed.start = now;
  if (!command.hangs) end_at(command, now + command.duration);
}

void FakeWorld::State::end_at(Command& command, Nanoseconds end) {
  command.passed.end = end;
  ends.emplace(std::pair(end, command.number), &command);
}

void FakeWorld::State::lose(FakeDevice& device) {
  device.lost = true;
  for (Engine* engine : {&device.compute, &device.copies[0], &device.copies[1]}) *engine = Engine{};
  for (const auto& command : unfinished) {
    if (command->device != &device || command->stage == Command::Stage::finishing) continue;
    ends.erase(std::pair(command->passed.end, command->number));
    command->engine = nullptr;
    command->failure = device.loss();
    command->stage = Command::Stage::running;
    end_at(*command, now);
  }
}

void FakeWorld::State::complete(Command& command) {
  command.stage = Command::Stage::done;
  command.effect = nullptr;
  command.memory.clear();
  if (command.loses_device && !command.device->lost) lose(*command.device);
  for (const auto& [dependent, named] : std::exchange(command.dependents, {})) {
    if (dependent->stage != Command::Stage::waiting) continue;  // its device was lost meanwhile
    if (named && command.failure) dependent->fail_with(*command.failure);
    if (--dependent->missing == 0) become_ready(*dependent);
  }
  if (command.engine && command.engine->running == &command) {
    command.engine->running = nullptr;
    start_next(*command.engine);
  }
}

void FakeWorld::State::run(std::unique_lock<std::mutex>& lock, Nanoseconds limit, const Command* until) {
  limit = std::max(limit, now);
  while (!ends.empty()) {
    const auto [key, next] = *ends.begin();
    if (key.first > limit) break;
    if (until && until->stage == Command::Stage::done && key.first > now) break;
    ends.erase(ends.begin());
    now = key.first;
    const std::shared_ptr<Command> command = *next->place;
    command->stage = Command::Stage::finishing;
    if (command->effect && !command->failure) {
      lock.unlock();
      std::optional<std::string> thrown;
      try {
        command->effect();
      } catch (const std::exception& e) {
        thrown = e.what();
      } catch (...) {
        thrown = "something that is no std::exception";
      }
      lock.lock();
      if (thrown) command->failure = Failure{FailureKind::launch, "a host function threw: " + *thrown, ""};
    }
    unfinished.erase(command->place);
    complete(*command);
    changed.notify_all();
    const auto callbacks = std::exchange(command->callbacks, {});
    if (callbacks.empty()) continue;
    lock.unlock();
    try {
      for (const auto& callback : callbacks) callback();
    } catch (...) {  // a test's own mistake, for example a wait: goes to the one who advances
      lock.lock();
      throw;
    }
    lock.lock();
  }
}

FakeWorld::State::Turn::Turn(State& state, std::unique_lock<std::mutex>& lock, const Command* until) : state_(state) {
  if (state_.advancing == std::this_thread::get_id()) {
    throw UsageError("a wait inside a callback or a kernel's body: a real device would never return from it");
  }
  state_.changed.wait(lock, [&] { return !state_.advancing || (until && until->stage == Command::Stage::done); });
  if (!state_.advancing) state_.advancing = std::this_thread::get_id();
}

FakeWorld::State::Turn::~Turn() {
  if (state_.advancing != std::this_thread::get_id()) return;  // the command was done without us
  state_.advancing.reset();
  state_.changed.notify_all();
}

// ---- FakeWorld and FakeArguments ------------------------------------------------------------------------------------

FakeWorld::FakeWorld(std::string_view description) : state_(std::make_unique<State>(description)) {}
FakeWorld::FakeWorld(FakeWorld&&) noexcept = default;
FakeWorld::~FakeWorld() = default;

FakeWorld FakeWorld::from_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError(fmt::format("'{}': a readable description of fake devices expected", path));
  try {
    return FakeWorld(std::string(std::istreambuf_iterator<char>(file), {}));
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}, {}", path, e.what()));
  }
}

void FakeWorld::add_kernel(const std::string& name, FakeKernel kernel) {
  std::lock_guard hold(state_->mutex);
  if (!state_->kernels.emplace(name, std::move(kernel)).second) {
    throw UsageError(fmt::format("kernel {} is in this fake world already", name));
  }
}

std::vector<Device*> FakeWorld::devices() const {
  std::vector<Device*> all;
  for (const auto& device : state_->devices) all.push_back(device.get());
  return all;
}

Device& FakeWorld::device(std::string_view id) const {
  for (const auto& device : state_->devices) {
    if (device->info().id == id) return *device;
  }
  throw UsageError(fmt::format("no device {} in this fake world", id));
}

Nanoseconds FakeWorld::now() const {
  std::lock_guard hold(state_->mutex);
  return state_->now;
}

void FakeWorld::advance(Nanoseconds duration) {
  if (duration < Nanoseconds(0) || duration > longest) {
    throw UsageError(fmt::format("advance by {} ns; 0 to {} expected", duration.count(), longest.count()));
  }
  std::unique_lock lock(state_->mutex);
  State::Turn turn(*state_, lock, nullptr);
  const Nanoseconds target = state_->now + duration;
  state_->run(lock, target, nullptr);
  state_->now = target;
}

bool FakeWorld::advance_to_next_completion() {
  std::unique_lock lock(state_->mutex);
  State::Turn turn(*state_, lock, nullptr);
  const bool any = !state_->ends.empty();
  if (any) state_->run(lock, state_->ends.begin()->first.first, nullptr);
  return any;
}

Event FakeWorld::timer(Nanoseconds after) {
  auto command = std::make_shared<Command>(*state_);
  command->duration = std::clamp(after, Nanoseconds(0), longest);
  std::lock_guard hold(state_->mutex);
  state_->enqueue(command, {}, nullptr);
  return command;
}

const FakeArguments::Entry& FakeArguments::entry(std::size_t number) const {
  if (number >= entries_.size()) {
    throw UsageError(fmt::format("argument {} of a launch with {} arguments", number, entries_.size()));
  }
  return entries_[number];
}

std::span<std::byte> FakeArguments::buffer_bytes(std::size_t number) const {
  const auto* bytes = std::get_if<std::span<std::byte>>(&entry(number));
  if (!bytes) throw UsageError(fmt::format("argument {} is no buffer", number));
  if (!bytes->data()) throw UsageError(fmt::format("argument {}: a cost function cannot read buffers", number));
  return *bytes;
}

const Scalar& FakeArguments::scalar_bytes(std::size_t number, std::size_t size) const {
  const auto* bytes = std::get_if<Scalar>(&entry(number));
  if (!bytes || bytes->size() != size) {
    throw UsageError(fmt::format("argument {} is no scalar of {} bytes", number, size));
  }
  return *bytes;
}

Bytes FakeArguments::local_size(std::size_t number) const {
  const auto* local = std::get_if<LocalMemory>(&entry(number));
  if (!local) throw UsageError(fmt::format("argument {} is no local memory", number));
  return local->size;
}

std::optional<core::Value> FakeArguments::definition(const std::string& macro) const {
  std::istringstream words(options_);
  for (std::string word; words >> word;) {
    if (word.starts_with("-D" + macro + "=")) return core::parse_value(word.substr(macro.size() + 3));
  }
  return std::nullopt;
}

}  // namespace heddle::device

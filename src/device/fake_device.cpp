// The calls of fake devices: each becomes a command of their world, or fails as its description says.
#include "device/fake_device.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "device/fake_world.hpp"

namespace heddle::device::fake {

using core::Failure;
using core::FailureKind;
using core::InternalError;
using core::UsageError;

namespace {

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

class LoadedKernel : public Kernel {
 public:
  LoadedKernel(const std::string& name, FakeDevice& on, const FakeKernel& what, std::shared_ptr<const std::string> from,
               std::shared_ptr<const std::string> with)
      : Kernel(name), device(on), functions(what), text(std::move(from)), options(std::move(with)) {
    const auto own = on.description.kernel_rates.find(name);
    rate = own == on.description.kernel_rates.end() ? on.description.rate : own->second;
  }
  KernelLimits limits() const override {
    return functions.limits.value_or(KernelLimits{.group = device.info().largest_group});
  }

  FakeDevice& device;
  const FakeKernel& functions;
  std::shared_ptr<const std::string> text;
  std::shared_ptr<const std::string> options;  // shared with pending launches: the kernel may go before they have run
  double rate;
};

class FakeProgram : public Program {
 public:
  FakeProgram(FakeDevice& on, const Source& source)
      : device_(on),
        text_(std::make_shared<const std::string>(source.text)),
        options_(std::make_shared<const std::string>(source.options)) {
    build_time = on.description.build;
  }
  Result<std::unique_ptr<Kernel>> kernel(const std::string& name) override {
    std::lock_guard hold(device_.world.mutex);
    if (device_.lost) return device_.loss();
    const auto found = device_.world.kernels.find(name);
    if (found == device_.world.kernels.end()) {
      return Failure{FailureKind::build, fmt::format("no kernel {} in this fake world", name), ""};
    }
    return std::unique_ptr<Kernel>(std::make_unique<LoadedKernel>(name, device_, found->second, text_, options_));
  }

 private:
  FakeDevice& device_;
  std::shared_ptr<const std::string> text_, options_;  // shared with kernels, which may outlive the program
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
}  // namespace

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

namespace {

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
  if (device_.info().overlaps) {
    command->code = kernel->name() + " of " + *kernel->text + *kernel->options;
    command->range = run.range;
    command->groups = 1;
    for (std::size_t d = 0; d < 3; ++d) command->groups *= run.range.global[d] / run.range.local[d];
    const double each = as_number(command->duration - device_.description.launch) * device_.info().units /
                        static_cast<double>(std::max<std::int64_t>(1, command->groups));
    command->on_unit = [&functions, each, range = run.range](std::int64_t first, std::int64_t last, std::size_t unit,
                                                             double when) {
      if (functions.on_unit) return functions.on_unit(range, first, last, unit, when);
      return each * static_cast<double>(last - first);
    };
  }
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
}  // namespace

}  // namespace heddle::device::fake

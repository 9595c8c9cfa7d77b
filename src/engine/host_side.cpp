// What programs see of a memory: its bytes in host memory, and when they may be touched.
#include <algorithm>

#include "engine/engine.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using core::UsageError;
using device::host_memory;

HostBlock Engine::host_block(Bytes size, bool locked) {
  HostBlock block;
  for (device::Device* device : devices_) {
    if (!locked || device->info().space == host_memory) continue;
    if (auto made = device->lock(size)) {
      const std::shared_ptr<device::LockedMemory> owner = std::move(*made);
      block = {owner->bytes(), true, owner};
    }
    break;
  }
  if (!block.owner) block = allocate_host(size);
  *host_bytes_ += size;
  block.owner = std::shared_ptr<void>(nullptr, [owner = block.owner, size, count = host_bytes_](void*) mutable {
    owner.reset();
    *count -= size;
  });
  return block;
}

// Kept in mind, so that it can be asked to leave a device whose memory is full.
std::shared_ptr<Memory> Engine::known(std::shared_ptr<Memory> memory) {
  if (all_on_host_) return memory;
  Lock lock(mutex_);
  if (memories_.size() == memories_.capacity())
    std::erase_if(memories_, [](const std::weak_ptr<Memory>& one) { return one.expired(); });
  memories_.push_back(memory);
  return memory;
}

std::shared_ptr<Memory> Engine::make_memory(Bytes size, bool locked) {
  if (size == 0) throw UsageError("a buffer of 0 bytes; at least one expected");
  return known(std::make_shared<Memory>(host_block(size, locked)));
}

std::shared_ptr<Memory> Engine::use_memory(std::span<std::byte> of_the_program) {
  if (of_the_program.empty()) throw UsageError("a buffer of 0 bytes; at least one expected");
  return known(std::make_shared<Memory>(HostBlock{of_the_program, false, nullptr}));
}

void Engine::wait_for_users(Memory& memory, bool readers) {
  std::vector<std::shared_ptr<Launch>> before;
  {
    Lock lock(mutex_);
    if (auto writer = memory.last_writer.lock()) before.push_back(std::move(writer));
    for (std::size_t r = 0; readers && r < memory.readers.size(); ++r) {
      if (auto reader = memory.readers[r].lock()) before.push_back(std::move(reader));
    }
  }
  for (const auto& launch : before) (void)wait(launch);  // its failure was, or will be, told by its handle
}

void Engine::discard(const std::shared_ptr<Memory>& memory) {
  wait_for_users(*memory, true);
  Lock lock(mutex_);
  // Results that are on their way would come over what is written now.
  while (wait_for_arrival(lock, *memory)) {
  }
  memory->written(host_memory, SpanSet(memory->all()));
  ++memory->version;
}

// False where no bytes are on their way to the host's copy; else the first of them have come, or never will.
bool Engine::wait_for_arrival(Lock& lock, Memory& memory) {
  memory.settle();
  const auto pending = memory.pending(host_memory, SpanSet(memory.all()));
  if (pending.empty()) return false;
  const device::Event event = pending.front();
  lock.unlock();
  const bool ended = static_cast<bool>(event->wait(60 * options_.hang_limit)) || event->done();
  lock.lock();
  drain();
  if (ended) return true;
  for (const auto& one : std::vector(gathers_)) {
    if (one->event == event) give_up(*one);
  }
  run_held();
  return true;
}

core::Status Engine::to_host(const std::shared_ptr<Memory>& memory, bool for_writing) {
  wait_for_users(*memory, for_writing);
  Lock lock(mutex_);
  if (!memory->fresh(host_memory).covers(SpanSet(memory->all()))) memory->host_reads = true;
  if (auto status = bring_to_host(lock, memory); !status) return status;
  if (!for_writing) return core::Done{};
  memory->written(host_memory, SpanSet(memory->all()));
  ++memory->version;
  return core::Done{};
}

core::Status Engine::bring_to_host(Lock& lock, const std::shared_ptr<Memory>& memory) {
  if (!memory->unusable.empty()) return Failure{FailureKind::lost, memory->unusable, ""};
  const SpanSet all(memory->all());
  for (;;) {
    memory->settle();
    if (!gather(memory, all)) return Failure{FailureKind::lost, "bytes of a buffer were lost with their device", ""};
    if (!wait_for_arrival(lock, *memory) && !drain() && memory->fresh(host_memory).covers(all)) return core::Done{};
  }
}

bool Engine::in_use(const Memory& memory) {
  Lock lock(mutex_);
  auto busy = [](const std::weak_ptr<Launch>& weak) {
    const auto launch = weak.lock();
    return launch && !launch->over;
  };
  return busy(memory.last_writer) || std::any_of(memory.readers.begin(), memory.readers.end(), busy);
}

std::uint64_t Engine::steps() const {
  Lock lock(mutex_);
  return steps_;
}

Bytes Engine::host_bytes() const {
  Lock lock(mutex_);
  Bytes out = *host_bytes_;
  for (const Member& member : members_) out += member.ring ? member.ring->size() : 0;
  return out;
}

}  // namespace heddle::engine

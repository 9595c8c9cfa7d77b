// Memory that a front end uses beside the engine, and bytes between the program's own memory and wherever they belong.
#include <algorithm>
#include <cstring>

#include "engine/engine.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using core::UsageError;
using device::host_memory;

namespace {

SpanSet from(Bytes begin, std::size_t size) {
  return SpanSet(Span{static_cast<std::int64_t>(begin), static_cast<std::int64_t>(begin + size)});
}

}  // namespace

std::shared_ptr<Memory> Engine::adopt(std::size_t member, std::shared_ptr<device::Buffer> buffer, HostBlock storage) {
  const MemorySpace space = devices_[member]->info().space;
  if (space == host_memory) {
    auto memory = std::make_shared<Memory>(std::move(storage));
    memory->home = member;
    return known(std::move(memory));
  }
  const Bytes size = buffer->size();  // the host's copy is not touched before anything comes to it
  return known(std::make_shared<Memory>(host_block(size, false), member, space, std::move(buffer)));
}

bool Engine::is_home(const Memory& memory) {
  if (in_use(memory)) return false;
  Lock lock(mutex_);
  return memory.fresh(devices_[*memory.home]->info().space).covers(SpanSet(memory.all()));
}

bool Engine::is_built(const Kernel& kernel) {
  Lock lock(mutex_);
  return std::all_of(kernel.built.begin(), kernel.built.end(), [](const Built& built) {
    return (built.state == Built::State::ready || built.state == Built::State::failed) &&
           built.windows.state != RareForm::State::building && built.merging.state != RareForm::State::building &&
           built.instead_of_offset.state != RareForm::State::building;
  });
}

void Engine::changed_at_home(Memory& memory) {
  Lock lock(mutex_);
  memory.written(devices_[*memory.home]->info().space, SpanSet(memory.all()));
  ++memory.version;
}

// The lock is not held meanwhile.
core::Status Engine::wait_for(Lock& lock, const std::vector<device::Event>& events) {
  lock.unlock();
  core::Status out = core::Done{};
  for (const device::Event& event : events) {
    if (auto status = event->wait(60 * options_.hang_limit); !status && out) out = status;
  }
  lock.lock();
  drain();
  return out;
}

core::Status Engine::bring_home(const std::shared_ptr<Memory>& memory) {
  wait_for_users(*memory, true);
  Lock lock(mutex_);
  const MemorySpace space = devices_[*memory->home]->info().space;
  if (space == host_memory) return bring_to_host(lock, memory);
  const SpanSet all(memory->all());
  for (int tries = 0;; ++tries) {
    memory->settle();
    if (!memory->unusable.empty()) return Failure{FailureKind::lost, memory->unusable, ""};
    const SpanSet missing = core::subtract(all, memory->fresh(space));
    if (missing.empty()) {
      const auto pending = memory->pending(space, all);
      if (pending.empty()) break;
      if (!wait_for(lock, pending) && tries > 2) return Failure{FailureKind::lost, "a copy to a device failed", ""};
      continue;
    }
    if (members_[*memory->home].gone || tries > 2)
      return Failure{FailureKind::lost, "bytes do not come to the device of a buffer", ""};
    // By way of the host's copy.
    if (!gather(memory, missing))
      return Failure{FailureKind::lost, "bytes of a buffer were lost with their device", ""};
    while (wait_for_arrival(lock, *memory)) {
    }
    if (!memory->fresh(host_memory).covers(missing)) continue;
    const auto brought = bring(lock, memory, *memory->home, missing, memory->host(), 0);
    (void)wait_for(lock, {std::shared_ptr<device::EventState>(brought, &brought->taken)});
  }
  // Nobody copies from it any more, so that the front end may write.
  while (wait_for_arrival(lock, *memory)) {
  }
  return core::Done{};
}

// Bytes that are in `from`, which begins with byte `from_begin` of the memory. Whoever gave that can have it again when
// all of them are taken.
std::shared_ptr<Engine::Bring> Engine::bring(Lock& lock, const std::shared_ptr<Memory>& memory, std::size_t m,
                                             const SpanSet& bytes, const HostBlock& from, Bytes from_begin) {
  auto out = std::make_shared<Bring>();
  Member& member = members_[m];
  const MemorySpace space = member.device->info().space;
  out->pieces = 1;
  std::vector<device::Event> copies;
  for (const Span& span : bytes.spans()) {
    if (by_pieces(m, from, span)) {
      add_pieces({.bring = out, .memory = memory, .bytes = span, .member = m, .host = from, .host_begin = from_begin});
      continue;
    }
    auto buffer = memory->buffer(m, *member.room, 0, memory->size());
    const auto by = static_cast<std::int64_t>(from_begin);
    auto copied = buffer ? member.bringing->copy_in(**buffer, static_cast<Bytes>(span.begin),
                                                    from.part({span.begin - by, span.end - by}))
                         : core::Result<device::Event>(buffer.failure());
    if (!copied) {
      out->failure = copied.failure();
      break;
    }
    memory->arrives(space, span, *copied);
    copies.push_back(*copied);
  }
  (void)member.bringing->flush();
  move_pieces();
  // Few bytes: until they have left.
  if (!copies.empty()) {
    if (auto status = wait_for(lock, copies); !status) out->failure = status.failure();
  }
  if (--out->pieces == 0) out->taken.complete(core::Done{});
  return out;
}

// By several cores where there is much of it.
void Engine::copy_on_host(std::span<std::byte> to, std::span<const std::byte> from) {
  constexpr std::size_t at_once = std::size_t{4} << 20;
  if (!copier_ || to.size() < 2 * at_once) {
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
    return;
  }
  struct Rest {
    std::atomic<std::size_t> jobs;
    HostEvent done;
  };
  const auto rest = std::make_shared<Rest>();
  rest->jobs = (to.size() + at_once - 1) / at_once;
  for (std::size_t at = 0; at < to.size(); at += at_once) {
    const std::size_t size = std::min(at_once, to.size() - at);
    copier_->copy(to.subspan(at, size), from.subspan(at, size), [rest] {
      if (--rest->jobs == 0) rest->done.complete(core::Done{});
    });
  }
  (void)rest->done.EventState::wait();
}

core::Status Engine::write(const std::shared_ptr<Memory>& memory, Bytes begin, std::span<const std::byte> bytes) {
  if (begin > memory->size() || bytes.size() > memory->size() - begin)
    throw UsageError("bytes outside of a buffer are written");
  wait_for_users(*memory, true);
  Lock lock(mutex_);
  while (wait_for_arrival(lock, *memory)) {
  }
  if (!memory->unusable.empty()) return Failure{FailureKind::lost, memory->unusable, ""};
  const SpanSet all = from(begin, bytes.size());
  ++memory->version;
  SpanSet to_device;
  const bool has_home = memory->home && devices_[*memory->home]->info().space != host_memory;
  if (has_home && !members_[*memory->home].aside) to_device = core::subtract(all, memory->wanted);
  memory->wanted.remove(all);
  // Many small pieces are many copies.
  if (to_device.spans().size() > 64) to_device = {};
  const SpanSet to_host = core::subtract(all, to_device);
  for (MemorySpace space : memory->spaces()) memory->forget(space, all);
  std::shared_ptr<Bring> brought;
  // Only lent: nobody writes to what a copy comes from.
  const HostBlock source{{const_cast<std::byte*>(bytes.data()), bytes.size()}, false, nullptr};
  const auto part = [&](const Span& span) {
    return bytes.subspan(static_cast<std::size_t>(span.begin) - begin, static_cast<std::size_t>(span.size()));
  };
  if (!to_device.empty()) brought = bring(lock, memory, *memory->home, to_device, source, begin);
  lock.unlock();
  for (const Span& span : to_host.spans()) copy_on_host(memory->host().part(span), part(span));
  if (brought) (void)brought->taken.EventState::wait();
  lock.lock();
  memory->written(host_memory, to_host);
  if (!brought) return core::Done{};
  if (!brought->failure && core::subtract(to_device, memory->fresh(devices_[*memory->home]->info().space)).empty())
    return core::Done{};
  // The program's bytes are still there.
  if (brought->failure) count_failure(*memory->home, *brought->failure);
  lock.unlock();
  for (const Span& span : to_device.spans()) copy_on_host(memory->host().part(span), part(span));
  lock.lock();
  memory->written(host_memory, to_device);
  return core::Done{};
}

core::Status Engine::read(const std::shared_ptr<Memory>& memory, Bytes begin, std::span<std::byte> to) {
  if (begin > memory->size() || to.size() > memory->size() - begin)
    throw UsageError("bytes outside of a buffer are read");
  wait_for_users(*memory, false);
  Lock lock(mutex_);
  if (!memory->unusable.empty()) return Failure{FailureKind::lost, memory->unusable, ""};
  const SpanSet all = from(begin, to.size());
  memory->settle();
  // What only devices have comes to the program's memory itself.
  const HostBlock target{to, false, nullptr};
  const auto by = static_cast<std::int64_t>(begin);
  SpanSet missing = core::subtract(all, memory->fresh(host_memory));
  SpanSet fetched;
  std::vector<std::pair<device::Event, Span>> coming;
  for (std::size_t m = 0; m < members_.size() && !missing.empty(); ++m) {
    Member& member = members_[m];
    const MemorySpace space = member.device->info().space;
    if (space == host_memory || member.gone) continue;
    const SpanSet there = core::intersect(missing, memory->fresh(space));
    if (there.empty() || there.spans().size() > 64) continue;
    auto buffer = memory->buffer(m, *member.room, 0, memory->size());
    for (const Span& span : there.spans()) {
      if (!buffer) break;
      device::Event event;
      if (by_pieces(m, target, span)) {
        auto staged = std::make_shared<HostEvent>();
        gathers_.push_back(
            std::make_shared<Gather>(Gather{memory, span, m, target, staged, member.device->now(), staged, 0, {}}));
        add_pieces({.gather = gathers_.back(),
                    .memory = memory,
                    .bytes = span,
                    .member = m,
                    .host = target,
                    .host_begin = begin});
        event = staged;
      } else {
        auto copied = member.gathering->copy_out(target.part({span.begin - by, span.end - by}), **buffer,
                                                 static_cast<Bytes>(span.begin), memory->pending(space, SpanSet(span)));
        if (!copied) break;
        event = *copied;
      }
      coming.emplace_back(std::move(event), span);
      missing.remove(span);
    }
    (void)member.gathering->flush();
    move_pieces();
  }
  for (const auto& [event, span] : coming) {
    if (wait_for(lock, {event})) fetched.add(span);
  }
  // The rest is on the host, or comes there first.
  const SpanSet rest = core::subtract(all, fetched);
  if (rest.empty()) return core::Done{};
  for (;;) {
    memory->settle();
    if (!gather(memory, rest)) return Failure{FailureKind::lost, "bytes of a buffer were lost with their device", ""};
    if (!wait_for_arrival(lock, *memory) && !drain() && memory->fresh(host_memory).covers(rest)) break;
  }
  lock.unlock();
  for (const Span& span : rest.spans())
    copy_on_host(to.subspan(static_cast<std::size_t>(span.begin) - begin, static_cast<std::size_t>(span.size())),
                 memory->host().part(span));
  return core::Done{};
}

void Engine::stop_building() {
  Lock lock(mutex_);
  no_more_builds_ = true;
  changed_.wait(lock, [&] { return !building_; });
}

}  // namespace heddle::engine

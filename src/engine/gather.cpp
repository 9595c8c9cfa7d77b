// Bytes that only a device has come to the host.
#include <algorithm>
#include <utility>

#include "engine/engine.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using device::host_memory;

bool Engine::gather(const std::shared_ptr<Memory>& memory, const SpanSet& bytes) {
  SpanSet missing = core::subtract(bytes, memory->fresh(host_memory));
  for (std::size_t m = 0; m < members_.size() && !missing.empty(); ++m) {
    Member& member = members_[m];
    const int space = member.device->info().space;
    if (space == host_memory) continue;
    const SpanSet there = core::intersect(missing, memory->fresh(space));
    if (there.empty()) continue;
    if (member.gone) {
      memory->forget(space, there);
      continue;
    }
    for (const Span& span : there.spans()) {
      // What failed in the meantime may have taken what was there.
      const auto still = [&] { return memory->fresh(space).covers(SpanSet(span)); };
      bool begun = false, by_ring = false;
      do {
        by_ring = member.ring && member.ring->works();
        begun = still() && begin_to_gather(memory, m, span);
        by_ring = by_ring && !member.ring->works();  // it did until now: the driver's own way is left
      } while (!begun && still() && (by_ring || !member.aside));
      if (begun)
        missing.remove(span);
      else
        memory->forget(space, SpanSet(span));  // perhaps another device has it
    }
    (void)member.gathering->flush();
  }
  return missing.empty();
}

// False where it failed at once, which is counted, but for memory that cannot be locked.
bool Engine::begin_to_gather(const std::shared_ptr<Memory>& memory, std::size_t m, const Span& span) {
  Member& member = members_[m];
  const int space = member.device->info().space;
  const HostBlock host = memory->host();
  auto buffer = memory->buffer(m, *member.room, 0, memory->size());
  if (buffer && by_pieces(m, host, span)) {
    const auto staged = std::make_shared<HostEvent>();
    memory->arrives(host_memory, span, staged);
    gathers_.push_back(
        std::make_shared<Gather>(Gather{memory, span, m, host, staged, member.device->now(), staged, 0, {}}));
    add_pieces({.gather = gathers_.back(), .memory = memory, .bytes = span, .member = m, .host = host});
    move_pieces();
    if (!staged->done() || staged->EventState::wait()) return true;
    // Of others its collecting has told.
    const Failure failure = staged->EventState::wait().failure();
    if (failure.kind == FailureKind::allocation && member.ring->works()) count_failure(m, failure);
    return false;
  }
  auto copied = buffer ? member.gathering->copy_out(host.part(span), **buffer, static_cast<Bytes>(span.begin),
                                                    memory->pending(space, SpanSet(span)))
                       : core::Result<device::Event>(buffer.failure());
  if (!copied) {
    count_failure(m, copied.failure());
    return false;
  }
  memory->arrives(host_memory, span, *copied);
  auto on_its_way =
      std::make_shared<Gather>(Gather{memory, span, m, host, *copied, member.device->now(), nullptr, 0, {}});
  gathers_.push_back(on_its_way);
  if (!member.device->info().prompt) {
    begin_to_look();
    return true;
  }
  (*copied)->notify([inbox = inbox_, on_its_way = std::weak_ptr(on_its_way)] {
    std::lock_guard hold(inbox->mutex);
    inbox->happened.emplace_back(on_its_way);
    inbox->changed.notify_one();
  });
  return true;
}

void Engine::collect(const Gather& gather) {
  if (!std::erase_if(gathers_, [&](const auto& g) { return g.get() == &gather; })) return;  // given up before
  if (auto status = gather.event->wait(); !status) {
    gather.memory->settle();  // and not more: others may have brought or written the bytes since
    const Member& member = members_[gather.member];
    const bool unlocked = status.failure().kind == FailureKind::allocation;
    if (!unlocked && !any_failed(gather.relies_on)) count_failure(gather.member, status.failure());
    // Where nothing can be locked, there is the driver's own way.
    const bool other_way = unlocked && gather.staged && !member.ring->works();
    if (member.aside && !other_way) gather.memory->forget(member.device->info().space, SpanSet(gather.bytes));
  }
  returned(gather);
  if (!std::exchange(room_wanted_, false)) return;
  gather.memory->settle();
  turn_hungry();
}

void Engine::give_up(const Gather& gather) {
  const auto at = std::find_if(gathers_.begin(), gathers_.end(), [&](const auto& g) { return g.get() == &gather; });
  if (at == gathers_.end()) return;
  keep_for_good(*at);
  gather.memory->unusable = "a copy to the host that did not end may still write to this buffer";
  const auto its = [&](const auto& piece) { return piece->gather.get() == &gather; };
  std::erase_if(waiting_pieces_, its);
  std::erase_if(leaving_pieces_, its);
  gather.memory->abandon(host_memory, gather.event);
  gather.memory->forget(host_memory, SpanSet(gather.bytes));
  gather.memory->forget(members_[gather.member].device->info().space, SpanSet(gather.bytes));
  returned(gather);
  count_failure(gather.member, {core::FailureKind::hang, "a copy to the host did not end", ""});
  gathers_.erase(at);
  if (std::exchange(room_wanted_, false)) turn_hungry();
}

}  // namespace heddle::engine

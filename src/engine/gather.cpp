// Bytes that only a device has come to the host.
#include <algorithm>
#include <utility>

#include "engine/engine.hpp"

namespace heddle::engine {

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
    auto buffer = memory->buffer(m, *member.room, 0, memory->size());
    for (const Span& span : there.spans()) {
      const HostBlock host = memory->host();
      if (buffer && by_pieces(m, host, span)) {
        auto staged = std::make_shared<HostEvent>();
        memory->arrives(host_memory, span, staged);
        missing.remove(span);
        gathers_.push_back(
            std::make_shared<Gather>(Gather{memory, span, m, host, staged, member.device->now(), staged, 0, {}}));
        add_pieces({.gather = gathers_.back(), .memory = memory, .bytes = span, .member = m, .host = host});
        move_pieces();
        continue;
      }
      auto copy = [&] {
        if (!buffer) return core::Result<device::Event>(buffer.failure());
        return member.gathering->copy_out(host.part(span), **buffer, static_cast<Bytes>(span.begin),
                                          memory->pending(space, SpanSet(span)));
      };
      auto copied = copy();
      while (!copied && !member.aside) {
        count_failure(m, copied.failure());
        if (!member.aside) copied = copy();
      }
      if (!copied) {
        memory->forget(space, SpanSet(span));  // perhaps another device has it
        continue;
      }
      memory->arrives(host_memory, span, *copied);
      missing.remove(span);
      auto on_its_way =
          std::make_shared<Gather>(Gather{memory, span, m, host, *copied, member.device->now(), nullptr, 0, {}});
      gathers_.push_back(on_its_way);
      if (!member.device->info().prompt) {
        begin_to_look();
        continue;
      }
      (*copied)->notify([inbox = inbox_, on_its_way = std::weak_ptr(on_its_way)] {
        std::lock_guard hold(inbox->mutex);
        inbox->happened.emplace_back(on_its_way);
        inbox->changed.notify_one();
      });
    }
    (void)member.gathering->flush();
  }
  return missing.empty();
}

void Engine::collect(const Gather& gather) {
  if (!std::erase_if(gathers_, [&](const auto& g) { return g.get() == &gather; })) return;  // given up before
  if (auto status = gather.event->wait(); !status) {
    gather.memory->settle();  // and not more: others may have brought or written the bytes since
    if (status.failure().kind != core::FailureKind::allocation) count_failure(gather.member, status.failure());
    if (members_[gather.member].aside)
      gather.memory->forget(members_[gather.member].device->info().space, SpanSet(gather.bytes));
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

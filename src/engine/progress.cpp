// How the engine learns that something has ended, or never will: the worker's thread, what it is told, and what it
// looks at itself.
#include <algorithm>

#include <fmt/format.h>

#include "core/answers.hpp"
#include "engine/engine.hpp"
#include "engine/thread.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using device::host_memory;

// The worker's thread. It also looks by itself, more often while there is something to see.
void Engine::work() {
  be_prompt();
  constexpr Nanoseconds shortest = std::chrono::milliseconds(10), longest = std::chrono::milliseconds(200);
  Nanoseconds pause = shortest;
  Nanoseconds quiet{0};  // slept since something happened, while looking
  auto looked = std::chrono::steady_clock::now();
  for (;;) {
    bool looking = false;
    {
      std::unique_lock lock(inbox_->mutex);
      inbox_->changed.wait_for(lock, pause,
                               [&] { return !inbox_->happened.empty() || inbox_->closing || inbox_->looking; });
      if (inbox_->closing) return;
      looking = inbox_->looking;
    }
    {
      Lock lock(mutex_);
      look();
      move_pieces();
      if (drain()) quiet = Nanoseconds{0};
      run_held();
      if (const auto now = std::chrono::steady_clock::now(); now - looked >= shortest) {
        // Whoever was stopped, as with Ctrl-Z, has seen nothing end meanwhile.
        if (now - looked > std::chrono::seconds(1)) {
          for (Member& member : members_) member.awake = member.device->now();
        }
        looked = now;
        look_for_untold();
        look_for_hangs();
      }
      pause = active_.empty() && gathers_.empty() ? std::min(2 * pause, longest) : shortest;
    }
    if (!looking) continue;
    // The longer nothing happens, the less often: a twentieth of what has passed.
    const Nanoseconds nap =
        std::clamp<Nanoseconds>(quiet / 20, std::chrono::microseconds(5), std::chrono::milliseconds(1));
    std::this_thread::sleep_for(nap);
    quiet += nap;
  }
}

void Engine::begin_to_look() {
  std::lock_guard hold(inbox_->mutex);
  if (inbox_->looking) return;
  inbox_->looking = true;
  inbox_->changed.notify_one();
}

bool Engine::look() {
  std::lock_guard hold(inbox_->mutex);
  std::erase_if(looked_at_, [&](const std::shared_ptr<Slice>& slice) {
    if (slice->over) return true;
    if (!slice->last()->done() || !slice->all_done()) return false;
    inbox_->happened.emplace_back(std::weak_ptr(slice));
    return true;
  });
  std::erase_if(leaving_pieces_, [&](const std::shared_ptr<Piece>& piece) {
    if (!piece->chunk->event->done()) return false;
    inbox_->happened.emplace_back(piece);
    return true;
  });
  bool any = !looked_at_.empty() || !leaving_pieces_.empty() || !waiting_pieces_.empty();
  for (const auto& gather : gathers_) {
    if (members_[gather->member].device->info().prompt || gather->staged) continue;
    any = true;
    if (gather->event->done()) inbox_->happened.emplace_back(std::weak_ptr(gather));
  }
  inbox_->looking = any;
  return any;
}

bool Engine::drain() {
  decltype(inbox_->happened) happened;
  {
    std::lock_guard hold(inbox_->mutex);
    happened.swap(inbox_->happened);
  }
  for (const auto& one : happened) {
    if (const auto* weak = std::get_if<std::weak_ptr<Slice>>(&one)) {
      if (const auto slice = weak->lock()) collect(slice);
    } else if (const auto* piece = std::get_if<std::shared_ptr<Piece>>(&one)) {
      move(*piece);
    } else if (const auto* gather = std::get_if<std::weak_ptr<Gather>>(&one)) {
      if (const auto gathered = gather->lock()) collect(*gathered);
    }
  }
  if (happened.empty()) return false;
  run_held();
  return true;
}

// Bytes may have come for those who wait for them, or never will.
void Engine::run_held() {
  for (const auto& slice : std::vector(held_)) {
    run(slice);
    watch(slice);
    if (slice->over) turn(slice->launch), turn_hungry();
  }
}

Nanoseconds Engine::limit_of(const Slice& slice) const {
  // Only launches alike tell, and not where loops depend on data: a program may warm up with one step of a thousand.
  const Way& way = slice.launch->ways[slice.way];
  const bool alike = way.shape && way.kernel->facts() && core::uniform_work(*way.kernel->facts());
  const double rate = alike ? way.shape->rates[slice.member] : 0;
  // What must have written to the host's memory cannot be computed again: waiting is all that may help.
  const bool on_host = members_[slice.member].device->info().space == host_memory || slice.joining;
  if (rate == 0 || slice.joining) return (on_host ? 24 : 1) * options_.patience;
  const double expected = static_cast<double>(slice.box.volume()) / rate;
  return std::max(options_.hang_limit, Nanoseconds(static_cast<std::int64_t>(std::min(20e9 * expected, 1e18))));
}

// What has ended without a call: PoCL 3.1 calls nobody back for commands that fail because one before them did.
void Engine::look_for_untold() {
  bool any = false;
  for (const auto& launch : std::list(active_)) {
    for (const auto& slice : std::vector(launch->in_flight)) {
      if (!slice->watched || slice->over || !slice->all_done()) continue;
      collect(slice);
      any = true;
    }
  }
  for (const auto& one : std::vector(gathers_)) {
    if (!one->event->done()) continue;
    collect(*one);
    any = true;
  }
  if (any) run_held();
}

// Those of a device of which nobody is told; false: there are none.
bool Engine::watch_all(std::size_t m) {
  bool any = false;
  for (const auto& launch : active_) {
    for (const auto& slice : launch->in_flight) {
      if (slice->member != m || slice->watched || !slice->at_work()) continue;
      watch(slice);
      any = true;
    }
  }
  return any;
}

// A device hangs when nothing on it has ended for longer than anything that it has may take: what waits behind others
// there is not late.
void Engine::look_for_hangs() {
  for (std::size_t m = 0; m < members_.size(); ++m) {
    std::vector<std::shared_ptr<Slice>> at_work;
    for (const auto& launch : active_) {
      for (const auto& slice : launch->in_flight) {
        if (slice->member == m && (slice->watched || slice->unstaged > 0)) at_work.push_back(slice);
      }
    }
    if (at_work.empty()) continue;
    Nanoseconds since = Nanoseconds::max(), limit{0};
    for (const auto& slice : at_work) since = std::min(since, slice->begin), limit = std::max(limit, limit_of(*slice));
    for (const auto* lanes : {&members_[m].lanes, &members_[m].spares}) {
      for (const Member::Lane& lane : *lanes) since = std::max({since, lane.last_end, members_[m].awake});
    }
    const Nanoseconds now = members_[m].device->now();
    if (now - since > limit && !watch_all(m)) {
      for (const auto& slice : at_work) hang(slice);
      continue;
    }
    // Whatever ends beside it: in all that time, it should have.
    for (const auto& slice : at_work) {
      if (now - std::max(slice->begin, members_[m].awake) > limit_of(*slice) + 60 * options_.hang_limit) hang(slice);
    }
  }
  bool given_up = false;
  for (const auto& one : std::vector(gathers_)) {
    if (members_[one->member].device->now() - one->begin <= 60 * options_.hang_limit) continue;
    give_up(*one);
    given_up = true;
  }
  if (given_up) run_held();
}

// Nothing will ever end by itself: whatever is at work hangs.
void Engine::hang_all() {
  std::vector<std::shared_ptr<Slice>> at_work;  // what begins when they are given up does not
  for (const auto& launch : active_) {
    for (const auto& slice : launch->in_flight) {
      if (slice->at_work() || slice->unstaged > 0) at_work.push_back(slice);
    }
  }
  for (const auto& slice : at_work) hang(slice);
  for (const auto& one : std::vector(gathers_)) give_up(*one);
  run_held();
}

void Engine::hang(const std::shared_ptr<Slice>& slice) {
  if (slice->over) return;
  const device::Info& info = members_[slice->member].device->info();
  const Failure failure{FailureKind::hang, fmt::format("'{}' did not end", slice->launch->name()), ""};
  // It may still write there; apart, to what is nobody's.
  const bool on_host = (info.space == host_memory || slice->windowed || slice->joining) && !slice->apart;
  for (Slice::Use& use : slice->uses) {
    const bool comes_back = (!slice->fetching.empty() && !use.fetched.empty()) || !use.after.bytes.empty();
    if ((info.space == host_memory || use.window || comes_back) && !use.touch.written.empty())
      use.memory->unusable = fmt::format("a launch on {} that did not end may still write to this buffer", info.id);
    if (use.window) keep_for_good(std::move(use.window));
    use.memory->leak_buffers(slice->member);
    if (info.space != host_memory) use.memory->forget(info.space, SpanSet(use.memory->all()));
  }
  keep_for_good(slice);
  fail(*slice, failure);
  if (on_host) {
    slice->launch->failure = slice->launch->last_failure;
    slice->launch->remaining = {};
  }
  turn(slice->launch);
  turn_hungry();
}

}  // namespace heddle::engine

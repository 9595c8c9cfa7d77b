// Bytes of ordinary host memory on their way to and from devices, chunk by chunk.
#include <algorithm>

#include "engine/engine.hpp"

namespace heddle::engine {

bool Engine::by_pieces(std::size_t member, const HostBlock& host, const Span& bytes) const {
  return copier_ && !host.locked && static_cast<Bytes>(bytes.size()) >= options_.least_by_ring &&
         members_[member].ring && members_[member].ring->works();
}

void Engine::add_pieces(const Piece& whole) {
  const auto most = static_cast<std::int64_t>(std::min(Ring::chunk_size, 4 * options_.least_by_ring));
  const MemorySpace space = members_[whole.member].device->info().space;
  if (whole.gather) whole.gather->relies_on = whole.memory->pending(space, SpanSet(whole.bytes));
  for (std::int64_t at = whole.bytes.begin; at < whole.bytes.end;) {
    auto piece = std::make_shared<Piece>(whole);
    piece->bytes = {at, std::min(whole.bytes.end, at + most)};
    at = piece->bytes.end;
    if (piece->slice) ++piece->slice->unstaged;
    if (piece->slice && !piece->windowed) piece->memory->expect(space, piece.get(), piece->bytes);
    if (piece->bring) ++piece->bring->pieces;
    if (piece->gather) ++piece->gather->pieces;
    waiting_pieces_.push_back(std::move(piece));
  }
  begin_to_look();
}

// As many as there are chunks, in the order in which they came to each device.
void Engine::move_pieces() {
  std::vector<bool> full(members_.size());
  for (std::size_t next = 0; next < waiting_pieces_.size();) {
    const std::shared_ptr<Piece> piece = waiting_pieces_[next];
    Member& member = members_[piece->member];
    const bool lost = member.gone || (piece->gather && piece->memory->device_bytes(piece->member) == 0);
    piece->chunk = lost || full[piece->member] ? nullptr : member.ring->take();
    if (!piece->chunk && !lost && member.ring->works()) {
      full[piece->member] = true;
      ++next;
      continue;
    }
    waiting_pieces_.erase(waiting_pieces_.begin() + static_cast<std::ptrdiff_t>(next));
    next = 0;  // what follows may add and remove pieces
    const auto size = static_cast<std::size_t>(piece->bytes.size());
    if (!piece->chunk) {
      if (piece->slice && !lost) {
        deliver(piece, piece->on_host(), nullptr);  // without a ring, the driver's own way
        continue;
      }
      if (piece->slice) drop(*piece);
      arrived(*piece, core::Failure{lost ? core::FailureKind::lost : core::FailureKind::allocation,
                                    lost ? "the device is gone" : "no memory could be locked", ""});
      continue;
    }
    auto tell = [inbox = inbox_, piece] {
      std::lock_guard hold(inbox->mutex);
      inbox->happened.emplace_back(piece);
      inbox->changed.notify_one();
    };
    if (!piece->gather) {
      copier_->copy(piece->chunk->bytes.first(size), piece->on_host(), tell);
      continue;
    }
    auto buffer = piece->memory->buffer(piece->member, *member.room, 0, piece->memory->size());
    auto copied = buffer ? member.gathering->copy_out(
                               piece->chunk->bytes.first(size), **buffer, static_cast<Bytes>(piece->bytes.begin),
                               piece->memory->pending(member.device->info().space, SpanSet(piece->bytes)))
                         : core::Result<device::Event>(buffer.failure());
    if (!copied) {
      piece->chunk->taken = false;
      arrived(*piece, copied.failure());
      continue;
    }
    piece->chunk->event = *copied;
    leaving_pieces_.push_back(piece);
    (void)member.gathering->flush();
  }
}

// Bytes go to their device, for a slice or for nobody yet.
void Engine::deliver(const std::shared_ptr<Piece>& piece, std::span<const std::byte> from, Ring::Chunk* chunk) {
  if (piece->bring) {
    Member& member = members_[piece->member];
    auto buffer = piece->memory->buffer(piece->member, *member.room, 0, piece->memory->size());
    auto copied = buffer ? member.bringing->copy_in(**buffer, static_cast<Bytes>(piece->bytes.begin), from)
                         : core::Result<device::Event>(buffer.failure());
    if (!copied) return arrived(*piece, copied.failure());
    if (chunk) chunk->event = *copied;
    piece->memory->arrives(member.device->info().space, piece->bytes, *copied);
    (void)member.bringing->flush();
    return arrived(*piece, core::Done{});
  }
  Slice& slice = *piece->slice;
  const MemorySpace space = members_[piece->member].device->info().space;
  SpanSet bytes(piece->bytes);
  const SpanSet current = piece->windowed ? bytes : piece->memory->expect_no_more(space, piece.get());
  if (slice.over || slice.refused) return;
  // Others may have written some of it meanwhile, which is nothing that this slice reads. Where parts are compared with
  // what was before, all of that is needed.
  if (piece->host.bytes.data() == piece->memory->host().bytes.data()) bytes = current;
  Slice::Use& use = *std::find_if(slice.uses.begin(), slice.uses.end(),
                                  [&](const Slice::Use& u) { return u.memory == piece->memory; });
  device::Queue& queue = queue_of(slice);
  auto place = place_of(slice, use);
  if (!place) return arrived(*piece, place.failure());
  for (const Span& span : bytes.spans()) {
    const auto part =
        from.subspan(static_cast<std::size_t>(span.begin - piece->bytes.begin), static_cast<std::size_t>(span.size()));
    auto copied = queue.copy_in(*place->buffer, static_cast<Bytes>(span.begin) - place->begin, part);
    if (!copied) return arrived(*piece, copied.failure());
    if (chunk) chunk->event = *copied;
    if (!use.window) piece->memory->arrives(space, span, *copied);
    slice.events.push_back(*copied);
    use.brought.add(span);
  }
  (void)queue.flush();
  arrived(*piece, core::Done{});
}

void Engine::move(const std::shared_ptr<Piece>& piece) {
  Ring::Chunk& chunk = *piece->chunk;
  const auto size = static_cast<std::size_t>(piece->bytes.size());
  if (piece->gather && !piece->in_chunk) {
    if (auto status = chunk.event->wait(); !status) {
      chunk.taken = false;
      return arrived(*piece, status.failure());
    }
    piece->in_chunk = true;
    return copier_->copy(piece->on_host(), chunk.bytes.first(size), [inbox = inbox_, piece] {
      std::lock_guard hold(inbox->mutex);
      inbox->happened.emplace_back(piece);
      inbox->changed.notify_one();
    });
  }
  chunk.taken = false;
  if (piece->gather) return arrived(*piece, core::Done{});
  deliver(piece, chunk.bytes.first(size), &chunk);
}

// One piece less to wait for.
void Engine::arrived(const Piece& piece, core::Status status) {
  if (piece.gather) {
    Gather& gather = *piece.gather;
    if (!status) gather.failure = status.failure();
    if (--gather.pieces > 0) return;
    if (any_failed(gather.relies_on)) gather.failure = let_down();
    gather.staged->complete(gather.failure ? core::Status(*gather.failure) : core::Status(core::Done{}));
    return collect(gather);
  }
  if (piece.bring) {
    if (!status) piece.bring->failure = status.failure();
    if (--piece.bring->pieces == 0) piece.bring->taken.complete(core::Done{});
    return;
  }
  const std::shared_ptr<Slice> slice = piece.slice;
  if (slice->over || slice->refused) return;
  if (status && --slice->unstaged > 0) return;
  if (status) status = launch(*slice);
  if (!status) refuse(*slice, status.failure());
  if (!slice->over) return watch(slice);
  turn(slice->launch);
  turn_hungry();
}

// A piece of a slice is not waited for any more.
bool Engine::drop(const Piece& piece) {
  if (!piece.windowed) piece.memory->expect_no_more(members_[piece.member].device->info().space, &piece);
  return true;
}

}  // namespace heddle::engine

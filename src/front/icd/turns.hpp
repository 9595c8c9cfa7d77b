// Whose turn it is with each buffer: the direct path's, or the engine's.
#pragma once

#include <condition_variable>

#include "engine/engine.hpp"
#include "front/icd/enqueue.hpp"

namespace heddle::front::icd {

// A buffer that the direct path and the engine use in turn.
struct Share {
  // First what every command looks at.
  std::atomic<bool> away{false};  // it is the engine's turn
  std::atomic<bool> many_users{false};
  std::atomic<int> mapped{0};
  std::atomic<const Queue*> user{nullptr};  // on the direct path
  std::size_t size = 0;
  engine::HostBlock storage;               // its memory, where the primary device works on the host's
  std::shared_ptr<engine::Memory> memory;  // once the engine has used it; under the context's `turns`
  int copies = 0;                          // that the engine is at, under `turns`
  std::condition_variable copied;
};

// Of the buffer that this is, or is a part of; null: the engine may not have it.
const std::shared_ptr<Share>& share_of(const Memory& memory);

// Buffers of contexts that have a loom.
void share_buffer(Memory& memory, cl_mem_flags flags, std::size_t size, engine::HostBlock storage);
void mapped(const Memory& memory, int more);  // by the program: it stays at home meanwhile

// Whether the engine may have a memory for a command of this queue, or others may be using it on the direct path.
bool can_take(const Queue& queue, const Share& share);
// It is the engine's turn from now on. Under `turns`. Whoever begins on the direct path meanwhile sees that, or is
// waited for.
void take_away(Queue& queue, const Memory& memory, Share& share);

// A queue on the direct path.
bool is_in_order(const Queue& queue);
bool quiet(const Queue& queue);  // nothing of it is under way
void finish_inner(Queue& queue);

cl_int code_of(const core::Failure& failure);

}  // namespace heddle::front::icd

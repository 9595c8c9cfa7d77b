#include "front/icd/turns.hpp"

#include <algorithm>
#include <thread>

#include "core/log.hpp"
#include "front/icd/loom.hpp"
#include "front/icd/strand.hpp"

namespace heddle::front::icd {

const std::shared_ptr<Share>& share_of(const Memory& memory) {
  const Memory* at = &memory;
  while (!at->share && at->parent) at = &*at->parent;
  return at->share;
}

namespace {

// Under the context's `turns`.
engine::Memory& lent(Loom& loom, const Memory& memory, Share& share) {
  if (!share.memory) {
    const Memory* root = &memory;
    while (root->parent) root = &*root->parent;
    // Either way launches keep the inner buffer: the program is told of its end when nobody uses it any more.
    const std::shared_ptr<device::Buffer> buffer = device::lend(root->inner, share.size);
    if (loom.own_memory)
      share.memory = loom.engine.adopt(loom.engine.primary(), buffer, {});
    else
      share.memory = loom.engine.adopt(loom.engine.primary(), nullptr, {share.storage.bytes, false, buffer});
  }
  return *share.memory;
}

}  // namespace

bool is_in_order(const Queue& queue) { return !(queue.properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE); }

bool quiet(const Queue& queue) { return queue.entered.load() == queue.finished.load(); }

void finish_inner(Queue& queue) {
  const std::uint64_t before = queue.placed.load();
  finish_driver(queue);
  know_finished(queue, before);  // or has failed, and does nothing any more
}

namespace {

bool has_other_users(const Queue& queue, const Share& share) {
  const Queue* user = share.user.load();
  return share.many_users || (user && user != &queue);
}

}  // namespace

bool can_take(const Queue& queue, const Share& share) {
  if (share.away) return true;
  if (share.mapped > 0) return false;
  if (!has_other_users(queue, share)) return true;
  std::lock_guard hold(queue.context->mutex);
  return std::all_of(queue.context->queues.begin(), queue.context->queues.end(),
                     [&](const Queue* other) { return other == &queue || quiet(*other); });
}

void take_away(Queue& queue, const Memory& memory, Share& share) {
  if (share.away) return;
  Loom& loom = *queue.context->loom;
  engine::Memory& its = lent(loom, memory, share);  // there for whoever sees that it is away
  share.away = true;
  const bool others = has_other_users(queue, share);
  const auto wait = [](Queue& used) {
    while (!quiet(used)) {
      finish_inner(used);
      std::this_thread::yield();
    }
  };
  wait(queue);
  if (others) {
    std::lock_guard hold(queue.context->mutex);
    for (Queue* other : queue.context->queues) {
      if (other != &queue) wait(*other);
    }
    share.many_users = false, share.user = &queue;
  }
  loom.engine.changed_at_home(its);
}

cl_int code_of(const core::Failure& failure) {
  return failure.kind == core::FailureKind::allocation ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_OUT_OF_RESOURCES;
}

void know_finished(Queue& queue, std::uint64_t number) {
  std::uint64_t before = queue.finished.load();
  while (before < number && !queue.finished.compare_exchange_weak(before, number)) {
  }
}

namespace {

// The direct path's turn; engine commands that are under way end first.
void take_home(Context& context, Share& share) {
  std::unique_lock turn(context.turns);
  share.copied.wait(turn, [&] { return share.copies == 0; });
  if (!share.away) return;
  if (auto status = context.loom->engine.bring_home(share.memory); !status) {
    core::log(core::LogLevel::warn, status.failure().what);
    throw Error{code_of(status.failure())};
  }
  share.away = false;
}

void note_user(Queue& queue, Share& share) {
  const Queue* user = share.user.load(std::memory_order_relaxed);
  if (user == &queue) return;
  if (user || !share.user.compare_exchange_strong(user, &queue)) share.many_users = true;
}

}  // namespace

void Direct::begin(const Waits& waits) {
  Queue& queue = *queue_;
  queue_ = nullptr;  // nothing was entered yet
  refused = settle(queue, waits.count, waits.events);
  if (refused != CL_SUCCESS) return;
  const auto for_all = [&](auto&& act) {
    for (const Memory* memory : waits.uses) {
      if (Share* share = memory ? share_of(*memory).get() : nullptr) act(*share);
    }
    for (const Memory* memory : waits.others) {
      if (Share* share = memory ? share_of(*memory).get() : nullptr) act(*share);
    }
  };
  for (;;) {
    before_ = queue.placed.load();
    queue.entered.fetch_add(1);
    bool away = false;
    for_all([&](Share& share) {
      note_user(queue, share);
      away |= share.away;
    });
    if (!away) break;
    queue.placed.fetch_add(1);  // not yet: whoever took it away may be waiting for this queue
    for_all([&](Share& share) {
      if (share.away) take_home(*queue.context, share);
    });
  }
  queue_ = &queue;
}

void Direct::done(bool blocking) {
  if (!queue_ || !blocking || !is_in_order(*queue_)) return;
  know_finished(*queue_, before_ + 1);
}

void mapped(const Memory& memory, int more) {
  if (const auto& share = share_of(memory)) share->mapped += more;
}

void share_buffer(Memory& memory, cl_mem_flags flags, std::size_t size, engine::HostBlock storage) {
  memory.bytes = size;
  constexpr cl_mem_flags guarded = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
  if ((flags & guarded) || size == 0) return;  // what the host may not do, the engine may not either
  // Shared virtual memory has a pointer that kernels and commands take, too, and nobody asks where its bytes are then.
  cl_bool has_pointer = CL_FALSE;
  if (flags & CL_MEM_USE_HOST_PTR)
    pass<&Slots::clGetMemObjectInfo>(memory.inner, CL_MEM_USES_SVM_POINTER, sizeof has_pointer, &has_pointer, nullptr);
  if (has_pointer) return;
  memory.share = std::make_shared<Share>();
  memory.share->size = size;
  memory.share->storage = std::move(storage);
}

}  // namespace heddle::front::icd

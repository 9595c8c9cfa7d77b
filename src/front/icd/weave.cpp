// Who takes which command.
#include "front/icd/weave.hpp"

#include <algorithm>
#include <chrono>

#include "core/log.hpp"
#include "front/icd/runtime.hpp"
#include "front/icd/strand.hpp"
#include "front/icd/turns.hpp"

namespace heddle::front::icd {

using core::Nanoseconds;

namespace {

// The launch as the engine wants it; nothing where it is not for the engine.
struct Asked {
  engine::Request request;
  std::vector<const Memory*> memories;  // of its arguments, each root once
  std::vector<std::pair<std::size_t, const Memory*>> views;
  std::vector<std::int64_t> shape;
  std::size_t bytes = 0;
  std::int64_t items = 1;
  bool away = false;  // some are
};

// Where a sub-buffer begins is decided by the primary device; others may want more.
bool begins_well(const Memory& memory) {
  const auto& devices = memory.context->loom->engine.devices();
  return std::all_of(devices.begin(), devices.end(),
                     [&](const device::Device* device) { return memory.begin % device->info().part_alignment == 0; });
}

std::optional<Asked> asked(const Kernel& kernel, cl_uint dimensions, const size_t* offset, const size_t* global,
                           const size_t* local) {
  if (!global || kernel.values.size() != kernel.arguments.size()) return std::nullopt;
  Asked out;
  out.request.dimensions = static_cast<int>(dimensions);
  for (cl_uint d = 0; d < dimensions; ++d) {
    if (global[d] == 0 || (local && (local[d] == 0 || global[d] % local[d] != 0))) return std::nullopt;
    out.request.items[d] = static_cast<std::int64_t>(global[d]);
    out.request.group[d] = local ? static_cast<std::int64_t>(local[d]) : 0;
    out.request.offset[d] = offset ? static_cast<std::int64_t>(offset[d]) : 0;
    out.items *= out.request.items[d];
    out.shape.insert(out.shape.end(), {out.request.items[d], out.request.group[d]});
  }
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Kernel::Value& value = kernel.values[i];
    if (!value.set) return std::nullopt;
    switch (kernel.arguments[i]) {
      case Takes::value:
        out.request.arguments.emplace_back(device::Scalar(value.bytes));
        break;
      case Takes::local:
        out.request.arguments.emplace_back(device::LocalMemory{value.size});
        break;
      case Takes::memory: {
        if (!value.memory || !live_inner(value.memory, Kind::memory)) return std::nullopt;
        const Memory* memory = value.memory;
        if (memory->bytes == 0 || !begins_well(*memory)) return std::nullopt;  // an image, or not for all devices
        const std::shared_ptr<Share>& share = share_of(*memory);
        if (!share) return std::nullopt;
        out.away |= share->away;
        out.views.emplace_back(i, memory);
        out.request.arguments.emplace_back(engine::View{nullptr, memory->begin, memory->bytes});
        out.shape.push_back(static_cast<std::int64_t>(memory->bytes));
        const auto same = [&](const Memory* other) { return share_of(*other) == share; };
        if (std::none_of(out.memories.begin(), out.memories.end(), same)) {
          out.memories.push_back(memory);
          out.bytes += share->size;
        }
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return out;
}

// Smaller ones are over before anybody else has begun.
bool may_gain(const Loom& loom, const Asked& asked) {
  constexpr std::size_t much = std::size_t{8} << 20;
  constexpr std::int64_t many = 1 << 18;
  return loom.engine.devices().size() > 1 && (asked.bytes >= much || asked.items >= many);
}

void know_groups(const Kernel& kernel, Woven& woven) {
  const cl_device_id device = kernel.program->devices[0]->inner;
  size_t most = 0;
  const auto ask = [&](cl_kernel_work_group_info what, size_t size, void* to) {
    return pass<&Slots::clGetKernelWorkGroupInfo>(kernel.inner, device, what, size, to, nullptr) == CL_SUCCESS;
  };
  std::lock_guard hold(woven.mutex);
  if (woven.largest_group > 0) return;  // another thread was here first, and others may be reading it
  if (ask(CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most)) woven.largest_group = static_cast<std::int64_t>(most);
  ask(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof woven.required_group, woven.required_group.data());
}

// What is refused, the driver below refuses better.
bool takes_groups(const Queue& queue, const Woven& woven, const size_t* local, const engine::Request& request) {
  const bool required = woven.required_group[0] != 0;
  if (!local) return !required;
  std::int64_t items = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(request.dimensions); ++d) {
    if (required && woven.required_group[d] != local[d]) return false;
    if (request.group[d] > queue.device.info.largest_extents[d]) return false;
    items *= request.group[d];
  }
  return items <= woven.largest_group;
}

using Views = std::vector<std::pair<std::size_t, Ref<Memory>>>;  // by argument

// Until none is at any of them: while one is, its bytes are fresh nowhere.
void wait_for_copies(std::unique_lock<std::mutex>& turn, const Views& views) {
  const auto copying = [](const auto& view) { return share_of(*view.second)->copies > 0; };
  for (auto at = views.begin(); (at = std::find_if(views.begin(), views.end(), copying)) != views.end();)
    share_of(*at->second)->copied.wait(turn);
}

std::uint64_t mixed(std::uint64_t mark, std::uint64_t value) {
  mark = (mark ^ value) * 0x9E3779B97F4A7C15u;
  return mark ^ mark >> 29;
}

// The same for launches of one shape; others have another, or are as good as that.
std::uint64_t mark_of(const Kernel& kernel, cl_uint dimensions, const size_t* global, const size_t* local) {
  std::uint64_t out = kernel.extents + dimensions;
  for (cl_uint d = 0; d < dimensions; ++d) out = mixed(mixed(out, global[d]), local ? local[d] : 0);
  return out | 1;
}

void prepare(Loom& loom, const Queue& queue, const Kernel& kernel) {
  std::string options;
  {
    std::lock_guard hold(kernel.program->mutex);
    const auto at = kernel.program->options.find(&queue.device);
    if (at != kernel.program->options.end()) options = at->second;
  }
  know_groups(kernel, *kernel.woven);
  make_kernel(loom, kernel.woven, {kernel.name, kernel.program->source, options});
  if (loom.always) loom.making.drain();
}

// Why a launch is not for the engine; empty: it is.
std::string_view why_direct(const Queue& queue, const Kernel& kernel, const Asked& what, const size_t* local,
                            std::uint64_t mark, bool can_be_timed, bool& timed) {
  Loom& loom = *queue.context->loom;
  Woven& known = *kernel.woven;
  if (!loom.always) {
    if (!may_gain(loom, what)) {
      remember_direct(known, mark);
      return "small";
    }
    std::lock_guard hold(known.mutex);
    if (known.verdicts.size() > 1000) known.verdicts.clear();  // it is never launched twice alike
    Woven::Verdict& verdict = known.verdicts[what.shape];
    if (verdict.direct) return "sharing gains nothing";
    // The first may have to be compiled, so the second shows what it takes. Only then something is built for others.
    if (!verdict.timed) {
      verdict.seen += can_be_timed;
      timed = verdict.seen >= 2 && can_be_timed;
      return timed ? "its time was taken" : "its first launches";
    }
  }
  if (known.state == Woven::State::unknown) prepare(loom, queue, kernel);
  if (known.state == Woven::State::unfit) return known.why;
  if (known.state != Woven::State::ready) return "it was still being prepared for others";
  if (!takes_groups(queue, known, local, what.request)) return "groups that not all devices take";
  if (known.kernel->cut_by() == engine::CutBy::nothing && !loom.always) return known.kernel->why_not();
  return "";
}

bool all_home(Loom& loom, const Asked& what) {
  return !what.away || std::all_of(what.memories.begin(), what.memories.end(), [&](const Memory* memory) {
    const Share& share = *share_of(*memory);
    return !share.away || loom.engine.is_home(*share.memory);
  });
}

bool woven(const Queue& queue) { return queue.context->loom && !queue.context->user_events; }

}  // namespace

std::uint64_t mark_of_extents(const Kernel& kernel) {
  std::uint64_t out = 0;
  for (const Kernel::Value& value : kernel.values) out = mixed(out, value.extent);
  return out;
}

std::optional<cl_int> weave_launch(Queue& queue, Kernel& kernel, cl_uint dimensions, const size_t* offset,
                                   const size_t* global, const size_t* local, const Waits& waits,
                                   std::optional<Timing>& timing) {
  const auto leave = [&](std::string_view why) {
    if (observing()) observe_direct(queue.device, kernel.name, why);
    return std::optional<cl_int>();
  };
  if (!woven(queue)) return leave("its context has user events");
  if (!kernel.woven || !global) return leave("its source is not all known, or it uses memory beside its arguments");
  Loom& loom = *queue.context->loom;
  const std::shared_ptr<Woven>& known = kernel.woven;
  if (known->state == Woven::State::unfit) return leave(known->why);
  const std::uint64_t mark = mark_of(kernel, dimensions, global, local);
  const auto is_away = [](const Memory* memory) { return share_of(*memory) && share_of(*memory)->away; };
  if (std::find(known->direct.begin(), known->direct.end(), mark) != known->direct.end() &&
      std::none_of(waits.others.begin(), waits.others.end(), is_away))
    return leave("sharing gains nothing");
  std::optional<Asked> what = asked(kernel, dimensions, offset, global, local);
  if (!what) return leave("an argument cannot be shared");
  bool timed = false;
  if (const std::string_view why = why_direct(queue, kernel, *what, local, mark, waits.count == 0, timed);
      !why.empty()) {
    if (timed) timing = Timing{known, what->shape, mark};
    // What is at home anyway is the direct path's.
    if (known->state != Woven::State::ready || !takes_groups(queue, *known, local, what->request) ||
        all_home(loom, *what))
      return leave(why);
    timing.reset();
  }
  for (const Memory* memory : what->memories) {
    if (!can_take(queue, *share_of(*memory))) return leave("another queue uses its buffers");
  }
  const WithoutUserEvents without(*queue.context);
  if (!without.may_wait) return leave("its context has user events");
  Strand& strand = strand_of(queue);
  Views views;
  for (const auto& [i, memory] : what->views) views.emplace_back(i, Ref<Memory>(*const_cast<Memory*>(memory)));
  what->request.kernel = known->kernel;
  return begin(queue, waits, CL_COMMAND_NDRANGE_KERNEL, false,
               [&queue, &strand, known, views, mark, told = waits.event != nullptr, name = kernel.name,
                shape = what->shape, request = what->request](const std::shared_ptr<Ours>& its) mutable {
                 Ours& ours = *its;
                 ours.submitted = now();
                 std::unique_lock turn(queue.context->turns);
                 wait_for_copies(turn, views);
                 for (const auto& [i, memory] : views) {
                   const std::shared_ptr<Share>& share = share_of(*memory);
                   take_away(queue, *memory, *share);
                   std::get<engine::View>(request.arguments[i]).memory = share->memory;
                 }
                 std::vector<std::shared_ptr<engine::Memory>> memories;
                 for (const auto& [i, memory] : views) memories.push_back(share_of(*memory)->memory);
                 const auto launch = strand.loom.engine.submit(std::move(request));
                 turn.unlock();
                 // In this order: who finds the launch in its event looks for it among the queue's, and takes it for
                 // over where it is not.
                 {
                   std::lock_guard both(strand.mutex);
                   strand.launches.push_back({launch, known, shape, mark, name, its, told, std::move(memories)});
                 }
                 {
                   std::lock_guard both(ours.mutex);
                   if (!ours.done) ours.launch = launch;
                 }
                 ours.changed.notify_all();
                 prune(strand);
               });
}

void note_time(const Queue& queue, const Timing& timing, Nanoseconds time) {
  const Loom& loom = *queue.context->loom;
  // Less than what waking others takes, or where others have to be brought bytes, that.
  const Nanoseconds shortest = loom.own_memory ? loom.engine.shortest_shared() : std::chrono::microseconds(200);
  std::lock_guard hold(timing.kernel->mutex);
  Woven::Verdict& verdict = timing.kernel->verdicts[timing.shape];
  verdict.timed = true;
  if (time < shortest) decide_direct(*timing.kernel, verdict, timing.mark);
}

namespace {

constexpr std::size_t worth_a_ring = std::size_t{1} << 20;  // below that, drivers copy as fast
// Copied by the driver before memory is locked: about what that takes as long as.
constexpr std::size_t worth_locking = std::size_t{256} << 20;

template <class Copy>
std::optional<cl_int> weave_copy(Queue& queue, Memory& memory, size_t offset, size_t size, const Waits& waits,
                                 Work::Kind kind, Copy copy) {
  if (!woven(queue) || memory.bytes == 0) return std::nullopt;
  const std::shared_ptr<Share>& share = share_of(memory);
  if (!share || share->mapped > 0 || size == 0 || offset > memory.bytes || size > memory.bytes - offset)
    return std::nullopt;
  Loom& loom = *queue.context->loom;
  const bool much = loom.own_memory && size >= worth_a_ring &&
                    (loom.always || loom.copied.fetch_add(size, std::memory_order_relaxed) >= worth_locking);
  if ((!share->away && !much) || !can_take(queue, *share)) return std::nullopt;
  const WithoutUserEvents without(*queue.context);
  if (!without.may_wait) return std::nullopt;
  const bool out = kind == Work::Kind::out;
  return begin(queue, waits, out ? CL_COMMAND_READ_BUFFER : CL_COMMAND_WRITE_BUFFER, true,
               [&loom, &queue, kind, size, at = memory.begin + offset, hold = Ref<Memory>(memory), share,
                copy](const std::shared_ptr<Ours>& ours) {
                 ours->submitted = now();
                 {
                   std::lock_guard turn(queue.context->turns);
                   take_away(queue, *hold, *share);
                   ++share->copies;
                 }
                 const std::shared_ptr<void> copying(nullptr, [&](void*) {
                   std::lock_guard turn(queue.context->turns);
                   --share->copies;
                   share->copied.notify_all();
                 });
                 loom.engine.wait_for_users(*share->memory, kind == Work::Kind::in);
                 const Nanoseconds from = now();
                 const core::Status status = copy(loom.engine, share->memory, at);
                 if (!status) {
                   core::log(core::LogLevel::warn, status.failure().what);
                   throw Error{code_of(status.failure())};
                 }
                 const Nanoseconds to = now();
                 observe_copy(kind, size, to - from);
                 if (is_in_order(queue)) wait_through(strand_of(queue), nullptr);  // over with it are those before it
                 end(*ours, CL_COMPLETE, from, to);
               });
}

}  // namespace

std::optional<cl_int> weave_write(Queue& queue, Memory& memory, size_t offset, size_t size, const void* from,
                                  const Waits& waits) {
  const auto* bytes = static_cast<const std::byte*>(from);
  return weave_copy(queue, memory, offset, size, waits, Work::Kind::in,
                    [bytes, size](engine::Engine& engine, const std::shared_ptr<engine::Memory>& to, std::size_t at) {
                      return engine.write(to, at, {bytes, size});
                    });
}

std::optional<cl_int> weave_read(Queue& queue, Memory& memory, size_t offset, size_t size, void* to,
                                 const Waits& waits) {
  auto* bytes = static_cast<std::byte*>(to);
  return weave_copy(queue, memory, offset, size, waits, Work::Kind::out,
                    [bytes, size](engine::Engine& engine, const std::shared_ptr<engine::Memory>& from, std::size_t at) {
                      return engine.read(from, at, {bytes, size});
                    });
}

}  // namespace heddle::front::icd

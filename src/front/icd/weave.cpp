// Who takes which command, and whose turn it is with each buffer.
#include "front/icd/weave.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>

#include <signal.h>

#include "core/log.hpp"
#include "front/icd/runtime.hpp"

namespace heddle::front::icd {

using core::Nanoseconds;

// ---- Threads --------------------------------------------------------------------------------------------------------

void Line::add(std::function<void()> job) {
  State& s = *state_;
  std::lock_guard hold(s.mutex);
  if (s.closing) return;
  s.jobs.push_back(std::move(job));
  if (s.started) return s.changed.notify_all();
  // The program's signals are for the program's threads.
  sigset_t others, before;
  sigfillset(&others);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&others, fault);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  try {
    std::thread([state = state_] { work(state); }).detach();
    s.started = true;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    s.jobs.pop_back();
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Line::work(const std::shared_ptr<State>& state) {
  State& s = *state;
  std::unique_lock lock(s.mutex);
  for (;;) {
    s.changed.wait(lock, [&] { return !s.jobs.empty() || s.closing; });
    if (s.jobs.empty() || s.closing) return;
    auto job = std::move(s.jobs.front());
    s.jobs.pop_front();
    s.at_work = true;
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    s.at_work = false;
    s.changed.notify_all();
  }
}

void Line::drain() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return (state_->jobs.empty() || state_->closing) && !state_->at_work; });
}

bool Line::idle() {
  std::lock_guard hold(state_->mutex);
  return state_->jobs.empty() && !state_->at_work;
}

void Line::close() {
  {
    std::lock_guard hold(state_->mutex);
    state_->closing = true;
    state_->changed.notify_all();
  }
  drain();
}

Line::~Line() {
  std::lock_guard hold(state_->mutex);
  state_->closing = true;
  state_->changed.notify_all();
}

// ---- The engine -----------------------------------------------------------------------------------------------------

namespace {

std::vector<device::Device*> those_that_open(const std::vector<std::unique_ptr<device::Device>>& devices) {
  std::vector<device::Device*> out;
  for (const auto& device : devices) {
    if (device) out.push_back(device.get());
  }
  return out;
}

std::atomic<Loom*> the_loom{nullptr};

Loom* make_loom() {
  const Runtime& all = runtime();
  const core::Settings& settings = all.settings;
  if (settings.split != "auto" && settings.split != "off" && settings.split != "always") {
    core::log_once(core::LogLevel::warn, "HEDDLE_SPLIT='" + settings.split + "': auto, off or always expected");
    return nullptr;
  }
  if (!settings.active || settings.split == "off" || all.choice.devices.empty()) return nullptr;
  const device::Chosen& primary = device::primary_of(all.choice.devices);
  if (all.choice.devices.size() == 1 && primary.info.space == device::host_memory && settings.split != "always")
    return nullptr;
  try {
    auto* made = new Loom(settings, all.choice);
    if (made->primary().info().id != primary.info.id) return nullptr;  // it could not be opened
    the_loom = made;
    return made;
  } catch (const std::exception& error) {
    core::log_once(core::LogLevel::warn, std::string("launches are not shared: ") + error.what());
    return nullptr;
  }
}

}  // namespace

Loom::Loom(const core::Settings& settings, const device::Choice& choice)
    : always(settings.split == "always"),
      devices(device::open_chosen(settings, choice)),
      compiler(kernel::options_of(settings)),
      store(settings.store),
      engine(those_that_open(devices),
             {.analyse = [this](const auto& source, const auto& forms) { return compiler.analyse(source, forms); },
              .store = &store,
              .memory_limit = settings.memory_limit}),
      own_memory(primary().info().space != device::host_memory) {}

Loom* loom() {
  static Loom* const the = make_loom();
  return the;
}

void stop_building() {
  if (Loom* one = the_loom) {
    one->making.close();
    one->engine.stop_building();
  }
}

void finish_weaving() {
  if (Loom* one = the_loom) {
    one->store.flush();  // what was found out; rather that than the last launches
    one->engine.finish();
    one->store.flush();
  }
}

std::shared_ptr<Woven> woven_kernel(Program& program, const std::string& name) {
  if (!program.context->loom || program.source.empty()) return nullptr;
  std::lock_guard hold(program.mutex);
  auto& out = program.woven[name];
  if (!out) out = std::make_shared<Woven>();
  return out;
}

namespace {

// In the background, as it analyses and builds.
void make_kernel(Loom& loom, const std::shared_ptr<Woven>& woven, engine::KernelSource source) {
  auto expected = Woven::State::unknown;
  if (!woven->state.compare_exchange_strong(expected, Woven::State::coming)) return;
  loom.making.add([&loom, woven, source = std::move(source)] {
    try {
      auto made = loom.engine.make_kernel(source);
      if (!made) {
        woven->why = made.failure().what;
      } else if (!(*made)->facts()) {
        woven->why = (*made)->why_not();
      } else {
        woven->kernel = std::move(*made);
      }
    } catch (const std::exception& error) {
      woven->why = error.what();
    }
    if (!woven->kernel)
      core::log(core::LogLevel::info, "kernel '" + source.name + "' stays with the primary device: " + woven->why);
    woven->state = woven->kernel ? Woven::State::ready : Woven::State::unfit;
  });
}

// ---- Turns ----------------------------------------------------------------------------------------------------------

const std::shared_ptr<Share>& share_of(const Memory& memory) {
  const Memory* at = &memory;
  while (!at->share && at->parent) at = &*at->parent;
  return at->share;
}

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

bool is_in_order(const Queue& queue) { return !(queue.properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE); }

bool quiet(const Queue& queue) { return queue.entered.load() == queue.finished.load(); }

void finish_inner(Queue& queue) {
  const std::uint64_t before = queue.placed.load();
  pass<&Slots::clFinish>(queue.inner);
  know_finished(queue, before);  // or has failed, and does nothing any more
}

bool has_other_users(const Queue& queue, const Share& share) {
  const Queue* user = share.user.load();
  return share.many_users || (user && user != &queue);
}

// Whether the engine may have a memory for a command of this queue, or others may be using it on the direct path.
bool can_take(const Queue& queue, const Share& share) {
  if (share.away) return true;
  if (share.mapped > 0) return false;
  if (!has_other_users(queue, share)) return true;
  std::lock_guard hold(queue.context->mutex);
  return std::all_of(queue.context->queues.begin(), queue.context->queues.end(),
                     [&](const Queue* other) { return other == &queue || quiet(*other); });
}

// It is the engine's turn from now on. Under `turns`. Whoever begins on the direct path meanwhile sees that, or is
// waited for.
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

void end(Ours& ours, cl_int status, Nanoseconds begin, Nanoseconds end) {
  std::lock_guard hold(ours.mutex);
  if (ours.done) return;
  ours.done = true;
  ours.launch = nullptr;  // it holds buffers
  ours.status = status;
  ours.begin = begin, ours.end = end;
  ours.changed.notify_all();
}

}  // namespace

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

cl_int refuse(Queue& queue, const Waits& waits, cl_int status) {
  if (waits.event) {
    auto event = Ref<Event>::born(new Event(queue));
    event->ours = std::make_shared<Ours>();
    event->ours->queued = now();
    end(*event->ours, status, now(), now());
    *waits.event = event.hand_out();
  }
  return waits.blocking ? status : CL_SUCCESS;
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
  memory.share = std::make_shared<Share>();
  memory.share->size = size;
  memory.share->storage = std::move(storage);
}

// ---- What the engine was given --------------------------------------------------------------------------------------

namespace {

void remember_direct(Woven& kernel, std::uint64_t mark) {
  kernel.direct[kernel.directs++ % kernel.direct.size()] = mark;
}

// Under the kernel's lock.
void decide_direct(Woven& kernel, Woven::Verdict& verdict, std::uint64_t mark) {
  if (!std::exchange(verdict.direct, true)) remember_direct(kernel, mark);
}

// Launches that are over tell what they were like.
void note(Strand& strand, const Strand::Submitted& one) {
  const engine::Report report = strand.loom.engine.report(*one.launch);
  observe_launch(one.name, report);
  const bool alone =
      report.slices.size() == 1 && report.slices[0].device == strand.loom.primary().info().id && report.bytes_in == 0;
  std::lock_guard hold(one.kernel->mutex);
  Woven::Verdict& verdict = one.kernel->verdicts[one.shape];
  // As long as others are not ready, it says nothing.
  verdict.alone = alone && strand.loom.engine.is_built(*one.kernel->kernel) ? verdict.alone + 1 : 0;
  constexpr int enough = 12;
  if (verdict.alone >= enough && !strand.loom.always) decide_direct(*one.kernel, verdict, one.mark);
}

// Its end, and a failure that nobody else would tell.
void learn(Strand& strand, const Strand::Submitted& one) {
  const core::Status status = strand.loom.engine.wait(one.launch);
  const engine::Report report = strand.loom.engine.report(*one.launch);
  Nanoseconds from = report.ended, to = report.submitted;
  for (const engine::SliceReport& slice : report.slices)
    from = std::min(from, slice.begin), to = std::max(to, slice.end);
  if (!status) core::log(core::LogLevel::warn, status.failure().what);
  if (!status && !one.told) strand.failure = code_of(status.failure());
  end(*one.ours, status ? CL_COMPLETE : code_of(status.failure()), from, std::max(from, to));
}

// Waits for all launches up to this one; null: for all.
void wait_through(Strand& strand, const engine::Launch* last) {
  for (;;) {
    Strand::Submitted one;
    {
      std::lock_guard hold(strand.mutex);
      const auto is_last = [&](const Strand::Submitted& s) { return s.launch.get() == last; };
      if (strand.launches.empty()) return;
      if (last && std::none_of(strand.launches.begin(), strand.launches.end(), is_last)) return;  // it is over
      one = strand.launches.front();
    }
    learn(strand, one);
    bool mine = false;
    {
      std::lock_guard hold(strand.mutex);
      mine = !strand.launches.empty() && strand.launches.front().launch == one.launch;
      if (mine) strand.launches.pop_front();
    }
    if (mine) note(strand, one);
    if (one.launch.get() == last) return;
  }
}

// Those at the front that are over.
void prune(Strand& strand) {
  for (;;) {
    Strand::Submitted one;
    {
      std::lock_guard hold(strand.mutex);
      if (strand.launches.empty() || !strand.loom.engine.is_over(*strand.launches.front().launch)) return;
      one = std::move(strand.launches.front());
      strand.launches.pop_front();
    }
    learn(strand, one);
    note(strand, one);
  }
}

void drain(Strand& strand) {
  strand.line.drain();
  wait_through(strand, nullptr);
  std::lock_guard hold(strand.mutex);
  if (strand.launches.empty() && strand.line.idle()) strand.busy = false;
}

Strand& strand_of(Queue& queue) {
  std::call_once(queue.strand_made, [&] {
    queue.strand_held = std::make_shared<Strand>(*queue.context->loom);
    std::lock_guard hold(queue.context->mutex);
    auto& all = queue.context->strands;
    std::erase_if(all, [](const auto& one) { return one.expired(); });
    all.push_back(queue.strand_held);
    queue.strand = queue.strand_held.get();
  });
  return *queue.strand.load();
}

// The events that a command waits for, held.
std::vector<Ref<Event>> held(const Waits& waits, const Context& context) {
  std::vector<Ref<Event>> out;
  if ((waits.count == 0) != (waits.events == nullptr)) throw Error{CL_INVALID_EVENT_WAIT_LIST};
  for (cl_uint i = 0; i < waits.count; ++i) {
    Event* event = object_of(waits.events[i]);
    if (!event || event->kind != Kind::event) throw Error{CL_INVALID_EVENT_WAIT_LIST};
    if (&*event->context != &context) throw Error{CL_INVALID_CONTEXT};
    out.emplace_back(*event);
  }
  return out;
}

bool all_done(const std::vector<Ref<Event>>& events) {
  return std::all_of(events.begin(), events.end(), [](const Ref<Event>& event) { return status_of(*event) <= 0; });
}

// False where one of them failed.
bool wait_for_all(const std::vector<Ref<Event>>& events) {
  bool well = true;
  for (const Ref<Event>& event : events) well &= wait_for(*event) >= 0;
  return well;
}

// A command of the engine's: now, where nothing is in its way and it does not wait itself or the program does, else on
// the queue's thread.
template <class Run>
cl_int begin(Queue& queue, const Waits& waits, cl_command_type type, bool waits_itself, Run run) {
  Strand& strand = strand_of(queue);
  const auto before = std::make_shared<std::vector<Ref<Event>>>(held(waits, *queue.context));
  const auto ours = std::make_shared<Ours>();
  ours->type = type;
  ours->queued = now();
  if (waits.event) {
    auto event = Ref<Event>::born(new Event(queue));
    event->ours = ours;
    *waits.event = event.hand_out();
  }
  strand.busy = true;
  const bool told = waits.event || waits.blocking;
  auto all = [&queue, &strand, told, before, ours, run]() mutable {
    const auto fail = [&](cl_int code) {
      end(*ours, code, ours->queued, now());
      if (!told) strand.failure = code;
    };
    if (!wait_for_all(*before)) return fail(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    before->clear();
    if (life != Life::running) return fail(CL_OUT_OF_RESOURCES);
    if (!quiet(queue)) finish_inner(queue);
    try {
      run(ours);
    } catch (const Error& error) {
      fail(error.code);
    } catch (const std::bad_alloc&) {
      fail(CL_OUT_OF_HOST_MEMORY);
    } catch (const std::exception& error) {
      core::log(core::LogLevel::warn, error.what());
      fail(CL_OUT_OF_RESOURCES);
    }
  };
  const bool free = strand.line.idle() && all_done(*before) && quiet(queue);
  if (free && (!waits_itself || waits.blocking)) {
    all();
  } else {
    strand.line.add([hold = Ref<Queue>(queue), all = std::move(all)]() mutable { all(); });
  }
  {
    std::lock_guard hold(strand.mutex);
    strand.busy = true;  // again: others may have found nothing meanwhile
  }
  if (!waits.blocking) return CL_SUCCESS;
  std::unique_lock lock(ours->mutex);
  ours->changed.wait(lock, [&] { return ours->done; });
  if (ours->status < 0) return ours->status;
  // What came before it has failed, and nobody was told.
  return is_in_order(queue) ? strand.failure.exchange(CL_SUCCESS) : CL_SUCCESS;
}

}  // namespace

cl_int wait_for(Event& event) {
  if (!event.ours) {
    const device::Dispatch cl(event.inner);
    cl(&Slots::clWaitForEvents, 1, &event.inner);
    cl_int status = CL_COMPLETE;
    cl(&Slots::clGetEventInfo, event.inner, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    return status;
  }
  Ours& ours = *event.ours;
  std::shared_ptr<engine::Launch> launch;
  {
    std::unique_lock lock(ours.mutex);
    ours.changed.wait(lock, [&] { return ours.done || ours.launch; });
    if (ours.done) return ours.status;
    launch = ours.launch;
  }
  wait_through(*event.queue->strand.load(), launch.get());
  std::unique_lock lock(ours.mutex);
  ours.changed.wait(lock, [&] { return ours.done; });
  return ours.status;
}

cl_int status_of(Event& event) {
  if (!event.ours) {
    cl_int status = CL_QUEUED;
    pass<&Slots::clGetEventInfo>(event.inner, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    return status;
  }
  Ours& ours = *event.ours;
  std::shared_ptr<engine::Launch> launch;
  {
    std::lock_guard hold(ours.mutex);
    if (ours.done) return ours.status;
    launch = ours.launch;
  }
  if (!launch) return CL_QUEUED;
  Strand& strand = *event.queue->strand.load();
  {
    // Not before those that came earlier.
    std::lock_guard hold(strand.mutex);
    for (const Strand::Submitted& one : strand.launches) {
      if (!strand.loom.engine.is_over(*one.launch)) return CL_SUBMITTED;
      if (one.launch == launch) break;
    }
  }
  if (!strand.loom.engine.is_over(*launch)) return CL_SUBMITTED;
  return wait_for(event);
}

cl_int settle(Queue& queue, cl_uint count, const cl_event* events) {
  if (Strand* strand = queue.strand; strand && strand->busy) {
    drain(*strand);
    if (const cl_int code = strand->failure.exchange(CL_SUCCESS); code != CL_SUCCESS) throw Error{code};
  }
  for (cl_uint i = 0; events && i < count; ++i) {
    Event* event = object_of(events[i]);
    if (event && event->kind == Kind::event && event->ours && wait_for(*event) < 0)
      return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return CL_SUCCESS;
}

void let_go(const Memory& memory) {
  Loom* loom = memory.context->loom;
  if (!memory.share || !memory.share->memory || !loom->engine.in_use(*memory.share->memory)) return;
  std::lock_guard hold(memory.context->mutex);
  for (const auto& weak : memory.context->strands) {
    if (auto strand = weak.lock(); strand && strand->busy) {
      Line& line = strand->line;
      line.add([strand = std::move(strand)] { wait_through(*strand, nullptr); });
    }
  }
}

void finish_strands(Context& context) {
  std::vector<std::shared_ptr<Strand>> all;
  {
    std::lock_guard hold(context.mutex);
    for (const auto& one : context.strands) all.push_back(one.lock());
  }
  for (const auto& one : all) {
    if (one) drain(*one);
  }
}

cl_int finish_all(Queue& queue) {
  Strand* strand = queue.strand;
  if (strand && strand->busy) drain(*strand);
  cl_int code = CL_SUCCESS;
  if (!quiet(queue)) {
    const std::uint64_t before = queue.placed.load();
    code = pass<&Slots::clFinish>(queue.inner);
    if (code == CL_SUCCESS) know_finished(queue, before);
  }
  if (strand && code == CL_SUCCESS) code = strand->failure.exchange(CL_SUCCESS);
  return code;
}

// ---- Commands -------------------------------------------------------------------------------------------------------

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

// The same for launches of one shape; others have another, or are as good as that.
std::uint64_t mark_of(const Kernel& kernel, cl_uint dimensions, const size_t* global, const size_t* local) {
  std::uint64_t out = dimensions;
  const auto add = [&out](std::uint64_t value) { out = (out ^ value) * 0x9E3779B97F4A7C15u, out ^= out >> 29; };
  for (cl_uint d = 0; d < dimensions; ++d) add(global[d]), add(local ? local[d] : 0);
  for (const Kernel::Value& value : kernel.values) add(value.extent);
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

std::optional<cl_int> weave_launch(Queue& queue, Kernel& kernel, cl_uint dimensions, const size_t* offset,
                                   const size_t* global, const size_t* local, const Waits& waits,
                                   std::optional<Timing>& timing) {
  const auto leave = [&](std::string_view why) {
    if (observing()) observe_direct(queue.device, kernel.name, why);
    return std::optional<cl_int>();
  };
  if (!woven(queue)) return leave("its context has user events");
  if (!kernel.woven || !global) return leave("its source is not known");
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
                 const auto launch = strand.loom.engine.submit(std::move(request));
                 turn.unlock();
                 {
                   std::lock_guard both(ours.mutex);
                   ours.launch = launch;
                 }
                 {
                   std::lock_guard both(strand.mutex);
                   strand.launches.push_back({launch, known, shape, mark, name, its, told});
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

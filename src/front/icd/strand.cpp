#include "front/icd/strand.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/log.hpp"
#include "front/icd/runtime.hpp"
#include "front/icd/turns.hpp"

namespace heddle::front::icd {

using core::Nanoseconds;

void end(Ours& ours, cl_int status, Nanoseconds begin, Nanoseconds end, std::atomic<cl_int>* untold) {
  std::lock_guard hold(ours.mutex);
  if (ours.done) return;
  if (untold && status != CL_COMPLETE) *untold = status;
  ours.done = true;
  ours.launch = nullptr;  // it holds buffers
  ours.status = status;
  ours.begin = begin, ours.end = end;
  ours.changed.notify_all();
}

namespace {

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
  end(*one.ours, status ? CL_COMPLETE : code_of(status.failure()), from, std::max(from, to),
      one.told ? nullptr : &strand.failure);
}

}  // namespace

namespace {

// The first of those that are not known to be over. Two threads may be at it: it is learned before it goes, so that
// who finds nothing left knows all.
void finish_first(Strand& strand, const Strand::Submitted& one) {
  learn(strand, one);
  bool mine = false;
  {
    std::lock_guard hold(strand.mutex);
    mine = !strand.launches.empty() && strand.launches.front().launch == one.launch;
    if (mine) strand.launches.pop_front();
  }
  if (mine) note(strand, one);
}

}  // namespace

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
    finish_first(strand, one);
    if (one.launch.get() == last) return;
  }
}

void prune(Strand& strand) {
  for (;;) {
    Strand::Submitted one;
    {
      std::lock_guard hold(strand.mutex);
      if (strand.launches.empty() || !strand.loom.engine.is_over(*strand.launches.front().launch)) return;
      one = strand.launches.front();
    }
    finish_first(strand, one);
  }
}

namespace {

void drain(Strand& strand) {
  strand.line.drain();
  wait_through(strand, nullptr);
  std::lock_guard hold(strand.mutex);
  if (strand.launches.empty() && strand.line.idle()) strand.busy = false;
}

}  // namespace

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

namespace {

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

}  // namespace

cl_int begin(Queue& queue, const Waits& waits, cl_command_type type, bool waits_itself,
             std::function<void(const std::shared_ptr<Ours>&)> run) {
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
  auto all = [&queue, &strand, told, before, ours, run = std::move(run)]() mutable {
    const auto fail = [&](cl_int code) { end(*ours, code, ours->queued, now(), told ? nullptr : &strand.failure); };
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

namespace {

std::vector<std::shared_ptr<Strand>> strands_of(Context& context) {
  std::vector<std::shared_ptr<Strand>> out;
  std::lock_guard hold(context.mutex);
  for (const auto& one : context.strands) {
    if (auto strand = one.lock()) out.push_back(std::move(strand));
  }
  return out;
}

}  // namespace

void let_go(const Memory& memory) {
  if (!memory.share || !memory.share->memory) return;
  for (auto& strand : strands_of(*memory.context)) {
    if (!strand->busy) continue;
    prune(*strand);
    std::shared_ptr<engine::Launch> last;  // that uses it
    {
      std::lock_guard hold(strand->mutex);
      for (const Strand::Submitted& one : strand->launches) {
        if (std::find(one.memories.begin(), one.memories.end(), memory.share->memory) != one.memories.end())
          last = one.launch;
      }
    }
    if (!last) continue;
    Line& line = strand->line;
    line.add([strand = std::move(strand), last = std::move(last)] { wait_through(*strand, last.get()); });
  }
}

void allow_user_events(Context& context) {
  context.user_events = true;
  while (context.waiting > 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
  for (const auto& one : strands_of(context)) drain(*one);
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

}  // namespace heddle::front::icd

// What queues have given to the engine, and the events of that.
#pragma once

#include <deque>
#include <functional>

#include "front/icd/enqueue.hpp"
#include "front/icd/loom.hpp"

namespace heddle::front::icd {

// What became of a command that is the engine's.
struct Ours {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<engine::Launch> launch;  // once it was submitted
  bool done = false;
  cl_int status = CL_QUEUED;
  cl_command_type type = CL_COMMAND_NDRANGE_KERNEL;
  core::Nanoseconds queued{0}, submitted{0}, begin{0}, end{0};
};

// What a queue has given to the engine.
struct Strand {
  explicit Strand(Loom& its_loom) : loom(its_loom) {}

  Loom& loom;
  Line line;  // commands that wait for others
  std::mutex mutex;
  struct Submitted {
    std::shared_ptr<engine::Launch> launch;
    std::shared_ptr<Woven> kernel;
    std::vector<std::int64_t> shape;
    std::uint64_t mark;  // of the shape
    std::string name;
    std::shared_ptr<Ours> ours;
    bool told;  // the program has an event, and is told of failures by that
    std::vector<std::shared_ptr<engine::Memory>> memories;
  };
  std::deque<Submitted> launches;           // not known to be over
  std::atomic<bool> busy{false};            // something may be left of both
  std::atomic<cl_int> failure{CL_SUCCESS};  // of a command without an event: for the next call that waits
};

// While a call waits for commands though the program did not ask for that, no user event is made: what it waits for
// would wait for the program. Where there is one already, it must not wait.
class WithoutUserEvents {
 public:
  explicit WithoutUserEvents(Context& context) : context_(context) {
    context_.waiting.fetch_add(1);
    may_wait = !context_.user_events;
  }
  ~WithoutUserEvents() { context_.waiting.fetch_sub(1); }
  WithoutUserEvents(const WithoutUserEvents&) = delete;
  bool may_wait;

 private:
  Context& context_;
};
void allow_user_events(Context& context);  // from now on; nothing of the engine's ever waits for one

// Waits for all that the queue was given.
cl_int finish_all(Queue& queue);
// Before a direct command: what the queue has given to the engine is done, and so is what it waits for. Throws where
// the former failed, and returns the code of the latter.
cl_int settle(Queue& queue, cl_uint count, const cl_event* events);

cl_int wait_for(Event& event);  // one that is ours: its status
cl_int status_of(Event& event);

// The program lets go of a buffer: launches that used it are let go, too, when they are over.
void let_go(const Memory& memory);

Strand& strand_of(Queue& queue);
// A command of the engine's: now, where nothing is in its way and it does not wait itself or the program does, else on
// the queue's thread.
cl_int begin(Queue& queue, const Waits& waits, cl_command_type type, bool waits_itself,
             std::function<void(const std::shared_ptr<Ours>&)> run);
// The first who says so counts; a failure that nobody else would tell goes to `untold`.
void end(Ours& ours, cl_int status, core::Nanoseconds begin, core::Nanoseconds end,
         std::atomic<cl_int>* untold = nullptr);
void wait_through(Strand& strand, const engine::Launch* last);  // all launches up to this one; null: all
void prune(Strand& strand);                                     // those at the front that are over

}  // namespace heddle::front::icd

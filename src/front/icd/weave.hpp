// Commands that the engine runs in place of the driver below: launches that several devices may share, and copies of
// much ordinary memory. All others keep the direct path; what both use, they use in turn.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "engine/engine.hpp"
#include "front/icd/enqueue.hpp"
#include "kernel/compiler.hpp"
#include "profile/store.hpp"

namespace heddle::front::icd {

// Jobs one after the other, on a thread that starts with the first of them.
class Line {
 public:
  ~Line();
  void add(std::function<void()> job);
  void drain();  // until none is left
  bool idle();
  void close();  // what waits is never done; returns when what is at work is

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> jobs;
    bool at_work = false, closing = false, started = false;
  };
  static void work(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_ = std::make_shared<State>();  // shared: a job may drop the line that it is in
};

// The engine and its devices: one per process, made for the first context that may use it, and leaked like all of the
// driver's state.
struct Loom {
  Loom(const core::Settings& settings, const device::Choice& choice);

  const bool always;  // every launch that can be is the engine's
  std::vector<std::unique_ptr<device::Device>> devices;
  kernel::Compiler compiler;
  profile::Store store;
  engine::Engine engine;
  const bool own_memory;               // the primary device's, not the host's
  Line making;                         // kernels for the engine
  std::atomic<std::size_t> copied{0};  // much at once, between the program's memory and the primary device

  device::Device& primary() const { return *engine.devices()[engine.primary()]; }
};

// The loom for contexts on the virtual device; null where the direct path is all there is to gain.
Loom* loom();
// The process ends: nothing is built any more; and launches may end.
void stop_building();
void finish_weaving();

// A buffer that the direct path and the engine use in turn.
struct Share {
  std::size_t size = 0;
  engine::HostBlock storage;               // its memory, where the primary device works on the host's
  std::shared_ptr<engine::Memory> memory;  // once the engine has used it; under the context's `turns`
  std::atomic<bool> away{false};           // it is the engine's turn
  int copies = 0;                          // that the engine is at, under `turns`
  std::condition_variable copied;
  std::atomic<int> mapped{0};
  std::atomic<const Queue*> user{nullptr};  // on the direct path
  std::atomic<bool> many_users{false};
};

// A kernel of a program, as the engine knows it.
struct Woven {
  enum class State { unknown, coming, ready, unfit };
  std::atomic<State> state{State::unknown};
  std::shared_ptr<engine::Kernel> kernel;  // where it is ready
  std::mutex mutex;
  struct Verdict {
    int seen = 0;        // launches before its time was taken
    bool timed = false;  // that was long enough for others to help
    int alone = 0;       // launches in a row that the engine left to the primary device
    bool direct = false;
  };
  std::map<std::vector<std::int64_t>, Verdict> verdicts;  // by what launches depend on
  // Those of them that are direct, as numbers that are quickly compared: the last few.
  std::array<std::atomic<std::uint64_t>, 8> direct{};
  std::atomic<unsigned> directs{0};
  std::string why;                         // it is unfit
  std::int64_t largest_group = 0;          // on the primary device, which refuses more
  std::array<size_t, 3> required_group{};  // all zero: any
};

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
  };
  std::deque<Submitted> launches;           // not known to be over
  std::atomic<bool> busy{false};            // something may be left of both
  std::atomic<cl_int> failure{CL_SUCCESS};  // of a command without an event: for the next call that waits
};

// Waits for all that the queue was given.
cl_int finish_all(Queue& queue);
// Waits for what all queues have given to the engine.
void finish_strands(Context& context);
// Before a direct command: what the queue has given to the engine is done, and so is what it waits for. Throws where
// the former failed, and returns the code of the latter.
cl_int settle(Queue& queue, cl_uint count, const cl_event* events);

// A direct launch whose time, by itself, tells whether others could help.
struct Timing {
  std::shared_ptr<Woven> kernel;
  std::vector<std::int64_t> shape;
  std::uint64_t mark;
};
void note_time(const Queue& queue, const Timing& timing, core::Nanoseconds time);

// Nothing: the direct path takes it.
std::optional<cl_int> weave_launch(Queue& queue, Kernel& kernel, cl_uint dimensions, const size_t* offset,
                                   const size_t* global, const size_t* local, const Waits& waits,
                                   std::optional<Timing>& timing);
std::optional<cl_int> weave_write(Queue& queue, Memory& memory, size_t offset, size_t size, const void* from,
                                  const Waits& waits);
std::optional<cl_int> weave_read(Queue& queue, Memory& memory, size_t offset, size_t size, void* to,
                                 const Waits& waits);

cl_int wait_for(Event& event);  // one that is ours: its status
cl_int status_of(Event& event);

// Buffers of contexts that have a loom.
void share_buffer(Memory& memory, cl_mem_flags flags, std::size_t size, engine::HostBlock storage);
void let_go(const Memory& memory);            // the program has; launches that use it are told to be over when they are
void mapped(const Memory& memory, int more);  // by the program: it stays at home meanwhile
std::shared_ptr<Woven> woven_kernel(Program& program, const std::string& name);

}  // namespace heddle::front::icd

// A launch on its way: what the program asked for, what is left to do, and what became of it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/box.hpp"
#include "core/errors.hpp"
#include "decide/parts.hpp"
#include "device/quirks.hpp"
#include "device/timing.hpp"
#include "engine/arguments.hpp"
#include "engine/kernel.hpp"
#include "engine/pool.hpp"

namespace heddle::engine {

using core::Nanoseconds;

// How the program wants a launch to run; what it does not say is decided.
enum class Profiling { once, always, never };
struct Wishes {
  int tasks = 0;                          // slices into which each device's share is cut
  bool spread = false;                    // over all devices
  std::vector<double> parts;              // of each device, side by side, where it can be cut; empty: as is best
  Profiling profiling = Profiling::once;  // of variants: at the first launch of a kind, at each, or not at all
  std::optional<decide::Mode> mode;       // in which; empty: as the facts say
  std::string initial;                    // variant to begin with; empty: the base
  bool meanwhile = false;                 // it begins with the rest while variants are compared
};

struct Request {
  std::shared_ptr<Kernel> kernel;  // shared: with all launches of it that are not over
  std::shared_ptr<Pool> pool;      // its variants, of which it is the base; none: it is alone
  core::Index items{1, 1, 1};      // work-items; with a pool, points
  core::Index group{0, 0, 0};      // of each group; 0: whatever fits
  core::Index offset{0, 0, 0};
  int dimensions = 1;
  std::vector<Argument> arguments;
  Wishes wishes;
};

// What was done, for people and tests.
struct SliceReport {
  std::string device;
  std::string variant;  // empty where the kernel has none
  core::Box box;
  Nanoseconds begin{0}, end{0};  // from queuing to the end, on the device's clock
  bool repeat = false;           // to compare variants: its result was there already, or came once more
  bool first = false;            // in a form of the kernel that the driver may have compiled for it
};
struct Report {
  std::vector<SliceReport> slices;  // as they ended
  std::vector<std::string> notes;   // what was decided, and why
  Bytes bytes_in = 0, bytes_out = 0;
  int retries = 0;  // slices that failed and ran again
  int windows = 0;  // slices that had only parts of their arguments on their device
  Nanoseconds submitted{0}, ended{0};
};

// One way to compute a launch: a kernel, and its groups over all of the launch's points.
struct Way {
  std::string variant;  // empty where the kernel has none
  std::shared_ptr<Kernel> kernel;
  core::Grid grid;
  core::Footprint footprint;
  core::Footprint part;                // what parts that it takes are made of: the base can take what they leave
  std::shared_ptr<const Shape> shape;  // none yet where its inputs are not prepared

  // Where it prepares its inputs: from what, and what came of it.
  std::shared_ptr<Preparation> preparation;
  std::vector<std::size_t> reads;  // arguments of the launch
  Origin origin;
  enum class Inputs { given, missing, coming, ready, failed } inputs = Inputs::given;
  std::shared_ptr<const Prepared> prepared;
  std::vector<Argument> arguments;
  std::vector<Touch> whole;  // per argument of these

  // The argument of the launch that its i-th one is.
  std::optional<std::size_t> position(std::size_t i) const;
  core::Box groups(const core::Box& points) const;
  core::NdRange range(const core::Box& groups) const;
};

// A part that rivals compare although computing it twice would change something (decide::Mode::swap). The first
// computes it on the program's memories; the others on private ones in place of those that the launch writes, filled
// with what was there before. Lives while the part is being compared.
struct Aside {
  struct Copy {
    std::shared_ptr<Memory> of, instead;  // of the same size
    SpanSet bytes;                        // that any of them touches: no others of `instead` are ever used
    HostBlock before;                     // those, one after the other
  };
  core::Box box;
  std::vector<Copy> copies;  // of each memory that the launch writes

  const std::shared_ptr<Memory>& instead_of(const std::shared_ptr<Memory>& memory) const;
  Bytes size() const;  // of all copied bytes
  void fill() const;   // the private memories, once more
};

// What would be copied so that all ways can compute a part, and if that is worth it.
std::vector<Aside::Copy> copies_for(const Launch& launch, const core::Box& box);
bool can_be_copied(const Launch& launch, const std::vector<Aside::Copy>& copies);
// Whether another part, by one way, may write there.
bool writes_to(const Launch& launch, const Way& way, const core::Box& box, const std::vector<Aside::Copy>& copies);

// A memory that devices in different memories write, and nobody knows exactly where. Each begins with what was there
// before the launch, and what it has changed comes to the host's copy; or a device in the host's memory computes again
// where each has written, and takes what is there.
struct Join {
  std::shared_ptr<Memory> memory;
  std::string atomics;     // what each does to words that all may change: "add"; empty: nothing
  std::int64_t width = 0;  // of what is compared, in bytes
  SpanSet bytes;           // that the launch touches
  HostBlock before;        // those of the memory, at their places; none: nobody has begun, or it is merged

  void keep();                                                    // what is there before
  void take(const HostBlock& after, const SpanSet& where) const;  // what one device has changed
};

// Of copies that somebody relies on: whether one did not arrive, and what is said then.
inline bool any_failed(const std::vector<device::Event>& copies) {
  return std::any_of(copies.begin(), copies.end(),
                     [](const device::Event& event) { return event->done() && !event->wait(); });
}
inline core::Failure let_down() {
  return {core::FailureKind::lost, "bytes that another slice was to bring did not arrive", ""};
}

// One slice on its way. The engine's to touch, under its lock.
struct Slice {
  std::shared_ptr<Launch> launch;
  core::Box box;
  std::size_t member = 0, queue = 0, way = 0;
  bool beside = false;    // in one of the queues whose slices may overlap
  bool single = false;    // and one group
  bool alone = true;      // nothing else but such was at work on its device meanwhile
  bool windowed = false;  // runs in window form
  std::optional<decide::Probe> probe;
  Choice* choice = nullptr;            // that the probe is for
  bool repeat = false;                 // its result is there already
  std::shared_ptr<const Aside> apart;  // and that it computes is thrown away: the memories that it works on instead
  bool first = false;                  // in its form: the driver may compile
  std::optional<decide::Form> form;    // on a CPU, of a kernel that can be cut in two ways
  device::Kernel* code = nullptr;      // what is launched, and how
  core::NdRange range;
  device::Hold hold;     // that its driver has while it is at work
  bool awaited = false;  // its begin will be told
  struct Use {
    std::shared_ptr<Memory> memory;
    Touch touch;      // in bytes of the memory
    SpanSet brought;  // copied to the device for it
    SpanSet fetched;  // copied to the host behind it
    HostBlock after;  // what was there behind it, where that is joined with what others wrote
    HostBlock host;   // keeps what is being copied from
    // Where the memory is too large for the device: the bytes from `window_begin` on, for this slice alone.
    std::shared_ptr<device::Buffer> window;
    Bytes window_begin = 0;
  };
  std::vector<Use> uses;                 // one per memory, whatever the number of arguments that are it
  std::vector<device::Event> events;     // copies in, then the launch
  std::vector<device::Event> relies_on;  // copies that others began, of bytes that it needs
  std::vector<device::Event> fetching;   // copies of results to the host, behind the launch
  int unstaged = 0;       // pieces of bytes that are not on their way to the device yet; one more while it begins
  bool launched = false;  // and the kernel with it
  std::optional<core::Failure> refused;         // by its device, before all of it was queued
  bool spoilt = false;                          // another one failed: that may have written where it writes, or
                                                // was to bring what it reads
  bool joining = false;                         // all is done but that, which is the last of `fetching`
  std::vector<std::shared_ptr<Memory>> merged;  // that it takes from
  Nanoseconds arrived{0};                       // when joining could begin
  bool over = false;
  bool watched = false;  // its end will be told
  Nanoseconds begin{0};
  std::optional<device::CpuWatch> cpu;  // of a probe

  // Every byte that it may write is written.
  bool exact() const {
    return std::all_of(uses.begin(), uses.end(), [](const Use& use) { return use.touch.exact; });
  }
  // What it relies on did not arrive: no fault of its own.
  bool is_let_down() const { return any_failed(relies_on); }
  // Its device has all of it, or all that it will get.
  bool at_work() const { return launched || refused; }
  const device::Event& last() const { return fetching.empty() ? events.back() : fetching.back(); }
  bool joins() const {
    return std::any_of(uses.begin(), uses.end(), [](const Use& u) { return !u.after.bytes.empty(); });
  }
  // What comes to the host behind it is nowhere else.
  bool brings_all() const { return windowed || joins(); }
  // A command may fail while those before it are still at work.
  bool all_done() const {
    const auto done = [](const device::Event& event) { return event->done(); };
    return std::all_of(events.begin(), events.end(), done) && std::all_of(fetching.begin(), fetching.end(), done);
  }
};

// What is done to each memory, whatever the number of arguments that are it; apart, to private ones.
std::vector<Slice::Use> uses_of(const std::vector<Argument>& arguments, const std::vector<Touch>& touches,
                                const Aside* apart = nullptr);
std::vector<Slice::Use> uses_of(const Launch& launch);  // all that it does to the program's

class Launch {
 public:
  explicit Launch(Request asked) : request(std::move(asked)) {}
  const std::string& name() const { return request.kernel->source().name; }
  const std::vector<Argument>& arguments_of(const Way& way) const {
    return way.preparation ? way.arguments : request.arguments;
  }

  Join* join_of(const Memory& memory) {
    const auto at = std::find_if(joins.begin(), joins.end(), [&](const Join& j) { return j.memory.get() == &memory; });
    return at == joins.end() ? nullptr : &*at;
  }

  // The engine's, under its lock.
  Request request;
  std::uint64_t number = 0;                    // of all launches
  std::vector<Way> ways;                       // the base, which can compute any part, and its rivals
  core::Box space;                             // points, from zero
  std::size_t initial = 0;                     // way to begin with
  std::vector<Choice*> choices;                // per member; null: nothing to choose
  std::optional<decide::Mode> mode;            // in which ways are compared; decided when it is first asked for
  bool repeatable = false;                     // and whether a part can be computed once more, and nothing changes
  std::vector<std::shared_ptr<Aside>> asides;  // per member: of the part that it is comparing
  std::vector<Region> regions;                 // with choices of their own; none: one holds for all of it
  std::size_t divided_by = 0;                  // the member that computes them
  bool whole_choice = false;                   // it cannot have regions
  bool divided_later = false;                  // but launches after it may
  std::optional<Nanoseconds> began;            // when its first slice did
  bool timed_fairly = true;                    // nothing was compiled, nor compared
  std::vector<bool> probed;                    // per member: something was compared for its choice
  struct Work {
    Choice* choice = nullptr;
    std::int64_t points = 0, of = 0;
    Nanoseconds time{0};
  };
  std::vector<Work> winners;  // per choice: what the variant that was chosen has done, and what it could
  std::vector<Touch> whole;   // per argument, by whatever way
  // What this launch has shown of each member so far.
  struct Seen {
    double points = 0, seconds = 0, expected = 0;  // of slices that have ended
  };
  struct Observed {
    std::size_t member, way;
    core::Box box;
    predict::Observation what;
  };
  std::vector<Seen> seen;
  std::vector<Observed> observed;   // for later launches
  std::vector<std::int64_t> given;  // points
  std::vector<core::BoxSet> own;    // parts as in launches before; none: it is not settled
  std::vector<Nanoseconds> ready;   // when the last slice of each was
  std::string undivided;            // why it must run in one piece; empty: it need not
  int axis = 0;                     // along which to cut
  int tasks = 0;                    // slices into which each device's share is cut; 0: not decided yet
  bool crowded = false;             // some device has too little room for fewer
  decide::Parts tried;              // parts by what launches before have shown; empty: not so
  bool settled = false;             // and those that are best
  bool in_turn = false;             // what is tried cannot be at work at once
  bool undisturbed = true;          // no other launch was there when it came
  core::BoxSet remaining;
  std::vector<std::shared_ptr<Slice>> in_flight;
  bool one_space = false;
  std::vector<Join> joins;            // none: one_space, or what parts write is known exactly
  std::optional<std::size_t> merger;  // member that merges
  std::optional<int> home;            // with one_space: the memory that slices used so far
  bool draining = false;              // nothing starts before all that is on its way has ended
  std::vector<bool> excluded;         // members that cannot take part in this launch
  std::vector<bool> windowed;         // members whose memory is too small for all of it
  int blockers = 0;                   // earlier launches that must be over first
  std::vector<std::weak_ptr<Launch>> dependents;
  std::optional<core::Failure> failure;
  std::optional<core::Failure> last_failure;  // of a slice: what to say when nobody is left
  bool over = false;
  int waiting = 0;  // threads that wait to be told of its end
  Report report;
};

// A variant must write what the base writes, for the same points; UsageError where both are known exactly, and differ.
void check_footprint(const Launch& launch, const Way& base, const Way& way);

}  // namespace heddle::engine

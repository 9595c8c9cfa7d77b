// Runs launches as slices on all devices, each point exactly once or the launch says that it failed; keeps buffers
// fresh where they are needed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "decide/step.hpp"
#include "engine/launch.hpp"
#include "engine/staging.hpp"

namespace heddle::profile {
class Store;
}

namespace heddle::engine {

struct Options {
  // Facts of a source, and the forms that are named. Empty: nothing is known of any kernel, and all run whole.
  std::function<core::Result<kernel::Analysis>(const kernel::Source&, const std::vector<std::string>& forms)> analyse;
  // Lets time pass until something ends; false where nothing will. Given for fake devices: the engine then has no
  // threads of its own, and moves when somebody waits.
  std::function<bool()> advance;
  // No slice takes longer than this, or twenty times what launches alike have taken; and one of which nothing is known
  // no longer than `patience`, or in the host's memory, where nobody else could go on, a day.
  Nanoseconds hang_limit = std::chrono::seconds(10), patience = std::chrono::hours(1);
  Nanoseconds shortest_probe = std::chrono::microseconds(200);  // of a variant: less is mostly the cost of a launch
  Nanoseconds shortest_slice = std::chrono::microseconds(500);  // of those that end a launch on several devices
  profile::Store* store = nullptr;        // what earlier runs found out about variants, and what this one does
  Bytes memory_limit = 0;                 // of a device's own memory; 0: all that it has
  Bytes locked_limit = Bytes{256} << 20;  // of page-locked memory per device, for copies of ordinary memory
  Bytes least_by_ring = Bytes{1} << 20;   // of those copies: what is less is as quick by the driver's own way
  int queues = 3;      // of a device with memory of its own: one copies in, one computes, one copies out
  bool exact = false;  // no form of a kernel is chosen by time: compilers may treat the last bits otherwise in another
};

class Engine {
 public:
  // The devices must outlive it.
  Engine(std::vector<device::Device*> devices, Options options);
  ~Engine();  // waits for all that is on its way

  // Failure of kind `build` with the compiler's log where no device builds it.
  core::Result<std::shared_ptr<Kernel>> make_kernel(KernelSource source);
  // A variant that builds nowhere is left out, and named; a failure where that is all of them.
  core::Result<std::shared_ptr<Pool>> make_pool(const std::string& name, std::vector<VariantSource> variants);
  void forget(Pool& pool);  // what was found out about its variants in this run: the next launch compares them
  std::shared_ptr<Memory> make_memory(Bytes size, bool locked = false);
  std::shared_ptr<Memory> use_memory(std::span<std::byte> of_the_program);

  // UsageError where the arguments do not fit the kernel. Returns at once.
  std::shared_ptr<Launch> submit(Request request);
  core::Status wait(const std::shared_ptr<Launch>& launch);
  bool is_over(const Launch& launch);
  Report report(const Launch& launch);

  // Waits until all bytes of the memory are in the host's copy, and nobody uses them: for reading, or for writing, too.
  core::Status to_host(const std::shared_ptr<Memory>& memory, bool for_writing);
  // What it holds does not matter any more: the host is about to overwrite all of it. Waits for launches that use it.
  void discard(const std::shared_ptr<Memory>& memory);
  void finish();         // waits for all launches
  void stop_building();  // what is not built by now never will be; returns when nothing is being built

  // A buffer that the front end has on one device and goes on using itself, beside the engine: each in its turn. All
  // of it is fresh there, at its home. `storage` is its memory where the device works on the host's.
  std::shared_ptr<Memory> adopt(std::size_t member, std::shared_ptr<device::Buffer> buffer, HostBlock storage);
  bool is_home(const Memory& memory);                 // nobody uses it, and all of it is there, or on its way
  void wait_for_users(Memory& memory, bool readers);  // until launches that write it, or also read it, are over
  // Launches that take less are not worth more than being given to the device that is usually the fastest.
  Nanoseconds shortest_shared() const { return 4 * options_.shortest_slice; }
  bool is_built(const Kernel& kernel);   // on all devices that it ever will be
  void changed_at_home(Memory& memory);  // by the front end, which has the turn now
  // Waits until nobody uses it and all of it is at home: it is the front end's turn.
  core::Status bring_home(const std::shared_ptr<Memory>& memory);
  // Some of its bytes, from the program's memory and back, when launches that use them are over. The program has its
  // memory again when these return; what was written goes where launches read it last time.
  core::Status write(const std::shared_ptr<Memory>& memory, Bytes begin, std::span<const std::byte> from);
  core::Status read(const std::shared_ptr<Memory>& memory, Bytes begin, std::span<std::byte> to);
  // Whether a launch that is not over uses it: who wants to overwrite all of it without waiting takes another.
  bool in_use(const Memory& memory);

  const std::vector<device::Device*>& devices() const { return devices_; }
  std::size_t primary() const { return primary_; }
  Bytes host_bytes() const;     // that the engine allocated and still holds, for tests that count
  std::uint64_t steps() const;  // calls of decide::step so far, for the same

 private:
  struct Member {
    device::Device* device;
    std::unique_ptr<Room> room;
    struct Lane {
      std::unique_ptr<device::Queue> queue;
      int queued = 0;
      Nanoseconds last_end{0};
    };
    std::vector<Lane> lanes;
    // Of a CPU that runs several queues at once, for parts of a launch in which variants are compared; and slices in
    // them, of one group and others.
    std::vector<Lane> spares;
    int singles = 0, beside = 0;
    std::vector<device::Event> groups;         // single ones, in the order in which they were queued: the last few
    std::unique_ptr<device::Queue> timed;      // for probes, where lanes are not
    std::unique_ptr<device::Queue> gathering;  // of a device with memory of its own: nothing waits behind slices
    std::unique_ptr<device::Queue> bringing;   // the same in the other direction
    std::unique_ptr<Ring> ring;
    Nanoseconds least = Nanoseconds::max();  // that a probe took
    Nanoseconds awake{0};                    // since when somebody has looked whether it hangs, without a pause
    int failures = 0;
    bool aside = false;
    bool gone = false;  // lost, or it hangs: not even its memory can be read
  };
  // Bytes on their way from a device to the host, for whoever needs them there.
  struct Gather {
    std::shared_ptr<Memory> memory;
    Span bytes;
    std::size_t member;
    HostBlock host;
    device::Event event;
    Nanoseconds begin{0};
    std::shared_ptr<HostEvent> staged;  // the event where it comes by way of locked memory
    int pieces = 0;                     // not there yet
    std::optional<core::Failure> failure;
    std::vector<device::Event> relies_on{};  // by which the device gets what is taken from it in pieces
  };
  // A launch that is over, whose results are on their way to the host.
  struct Returning {
    std::shared_ptr<const Shape> shape;
    decide::Parts parts;
    std::vector<Nanoseconds> ready;  // per member, so far
    Nanoseconds submitted{0};
    std::vector<const Gather*> awaited;
    core::SampleKey key;  // under which the store keeps it
    std::int64_t points = 0;
  };
  // Bytes on their way to a device for nobody yet.
  struct Bring {
    int pieces = 0;  // that still lie in the host's memory
    HostEvent taken;
    std::optional<core::Failure> failure;
  };
  // Bytes between ordinary host memory and a device, by way of a locked chunk.
  struct Piece {
    std::shared_ptr<Slice> slice;    // that they are for, on the way in
    std::shared_ptr<Bring> bring;    // or none
    std::shared_ptr<Gather> gather;  // on the way out
    std::shared_ptr<Memory> memory;
    Span bytes;
    std::size_t member;
    HostBlock host;
    Bytes host_begin = 0;   // the byte of the memory that this begins with
    bool windowed = false;  // on the way in: to a window of the slice's
    Ring::Chunk* chunk = nullptr;
    bool in_chunk = false;  // on the way out: the device has written it

    std::span<std::byte> on_host() const {
      const auto by = static_cast<std::int64_t>(host_begin);
      return host.part({bytes.begin - by, bytes.end - by});
    }
  };
  // What drivers tell, from threads of theirs. Shared: they may tell when the engine is gone. Weak: the last hold on an
  // event must not be dropped inside its own callback (PoCL 3.1 crashes).
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    struct Begun {};  // somebody has, whom others wait for
    std::vector<std::variant<std::weak_ptr<Slice>, std::weak_ptr<Gather>, std::shared_ptr<Piece>, Begun>> happened;
    bool looking = false;  // somebody is to be looked after, as the driver would call too late
    bool closing = false;
  };
  using Lock = std::unique_lock<std::mutex>;

  // engine.cpp
  const std::optional<kernel::Target>& target_of_primary();
  std::optional<kernel::Source> source_for_analysis(const KernelSource& source);
  RareForm make_form(const Kernel& kernel, std::size_t member, const std::string& form);
  bool begin_form(const std::shared_ptr<Kernel>& kernel, std::size_t member, const std::string& form);  // false: none
  void build();
  void build_next(Lock& lock);
  void check(const Request& request, const Kernel& kernel) const;
  void bind(Launch& launch);
  void add_blockers(const std::shared_ptr<Launch>& launch);
  void wait_for_change(Lock& lock, const std::shared_ptr<Launch>& launch);

  // host_side.cpp
  HostBlock host_block(Bytes size, bool locked);
  std::shared_ptr<Memory> known(std::shared_ptr<Memory> memory);
  core::Status bring_to_host(Lock& lock, const std::shared_ptr<Memory>& memory);
  bool wait_for_arrival(Lock& lock, Memory& memory);

  // progress.cpp
  void work();
  bool drain();  // true where anything had happened
  void begin_to_look();
  bool look();  // after slices and gathers of devices that call back late; true where there are any
  void run_held();
  void look_for_untold();
  Nanoseconds limit_of(const Slice& slice) const;
  bool watch_all(std::size_t member);
  void look_for_hangs();
  void hang_all();
  void hang(const std::shared_ptr<Slice>& slice);

  // choosing.cpp
  void bind_pool(Launch& launch, const std::vector<std::vector<std::byte>>& scalars, const std::vector<Bytes>& sizes);
  void choose(Launch& launch);
  void recall(const Launch& launch, std::size_t member, Choice& choice);
  static core::SampleKey key_of(const Launch& launch, const Way& way, const std::string& device);
  void learn(const Slice& slice);
  void count_winner(const Slice& slice);
  void watch_winners(Launch& launch);

  // mixing.cpp
  Choice* choice_of(const Launch& launch, std::size_t member, const core::Box& box) const;
  bool divide(Launch& launch);  // into regions, each with a choice of its own
  std::vector<decide::Action> next_in_regions(Launch& launch);
  void settle_regions(Launch& launch);

  // aside.cpp
  std::shared_ptr<Aside> copy_aside(Launch& launch, const core::Box& box);  // null: cannot be
  void drop_aside(Slice& slice);  // of the part that it was a probe of, unless others will compute that

  // joining.cpp
  // Empty: these parts, in different memories, cannot be joined.
  std::vector<Join> joins_of(const Launch& launch, const std::vector<core::Box>& parts) const;
  bool can_be_joined(const Launch& launch) const;                        // its halves
  bool join_parts(Launch& launch, const std::vector<core::Box>& parts);  // false: they must stay in one memory
  bool keep_before(const Slice& slice);  // if nobody has begun with what is joined; false: the launch fails
  std::optional<std::size_t> merger_of(const Launch& launch);  // who can compute again where it writes
  bool joins_aside(const Slice& slice) const;  // what it has written is joined by others than who sees its end
  core::Status begin_joining(const std::shared_ptr<Slice>& slice);
  core::Status begin_merging(Slice& slice);
  void fail_merging(Slice& slice, const core::Failure& failure);

  // preparing.cpp
  enum class Placed { yes, later, otherwise };
  void bind_prepared(Launch& launch);
  Placed prepare(const std::shared_ptr<Launch>& launch, std::size_t way);
  void run_preparation(Lock& lock, const std::shared_ptr<Launch>& launch, std::size_t way);
  bool take_prepared(Launch& launch, std::size_t way, const std::shared_ptr<const Prepared>& prepared);
  void leave_out(Launch& launch, std::size_t way, const std::string& why);

  // room.cpp
  struct Leaving {
    bool some = false;  // buffers left
    bool soon = false;  // others will, when their bytes are on the host
  };
  Placed place(Launch& launch, Slice& slice);
  Leaving make_room(std::size_t member, Bytes wanted, const Slice* slice);        // for it; null: nobody keeps buffers
  bool begin_windows(const Launch& launch, std::size_t way, std::size_t member);  // false: there are none

  // turns.cpp
  int tasks_of(const Launch& launch) const;
  decide::State state_of(const Launch& launch) const;
  void turn(const std::shared_ptr<Launch>& launch);
  std::vector<decide::Action> next(Launch& launch);
  Placed start(const std::shared_ptr<Launch>& launch, const decide::Action& action);
  bool somebody_may_run(const Launch& launch) const;
  bool something_will_change(const Launch& launch) const;
  void turn_hungry(const Launch* but = nullptr);
  void end(const std::shared_ptr<Launch>& launch);

  // sharing.cpp
  Pace& pace_of(const Way& way, std::size_t member) const;
  void learn_paces(const Launch& launch) const;
  void recall_paces(const Launch& launch) const;
  void describe(const Launch& launch, std::size_t member, decide::Member& to) const;
  void note_pace(const Slice& slice, Nanoseconds wall);
  bool undecided(const Launch& launch, const decide::State& state, std::size_t lead) const;
  std::int64_t step_of(const Launch& launch) const;
  std::int64_t steps_of(const Launch& launch) const;
  std::vector<core::Box> cut(const Launch& launch, const decide::Parts& parts) const;
  void recall_cuts(Launch& launch);
  void settle_cuts(const Launch& launch);
  void settle_by_time(const Launch& launch, double seconds) const;

  // trying.cpp
  bool tries_parts(const Launch& launch) const;
  core::SampleKey key_of_parts(const Launch& launch, const decide::Parts& parts) const;
  void recall_parts(const Launch& launch) const;
  decide::Next parts_to_try(Launch& launch);
  void note_parts(const Launch& launch);
  void returned(const Gather& gather);
  void finish(const Returning& one);

  // slices.cpp
  enum class AtHand { yes, soon, never };
  AtHand at_hand(Slice& slice);
  bool being_written(const Slice& slice, const Slice::Use& use) const;
  struct InBuffer {
    device::Buffer* buffer;
    Bytes begin;
  };
  core::Result<InBuffer> place_of(const Slice& slice, const Slice::Use& use);
  bool brings_back(const Slice& slice, const Slice::Use& use) const;
  device::Queue& queue_of(const Slice& slice);
  Member::Lane& lane_of(const Slice& slice);
  void choose_code(Slice& slice) const;
  bool has_begun(Slice& slice);
  bool clashes(Slice& slice);
  std::optional<decide::Form> form_of(const Slice& slice, const core::NdRange& range) const;
  void note_form(const Slice& slice);
  static bool first_of(device::Kernel& kernel, const core::NdRange& range);
  void run(const std::shared_ptr<Slice>& slice);
  core::Status enqueue(const std::shared_ptr<Slice>& slice);
  core::Status launch(Slice& slice);
  void refuse(Slice& slice, const core::Failure& failure);
  void watch(const std::shared_ptr<Slice>& slice);
  void collect(const std::shared_ptr<Slice>& slice);
  void succeed(Slice& slice);
  void fail(Slice& slice, const core::Failure& failure);
  void count_failure(std::size_t member, const core::Failure& failure);
  void release(Slice& slice);

  // gather.cpp
  bool gather(const std::shared_ptr<Memory>& memory, const SpanSet& bytes);  // false: nobody can give them
  bool begin_to_gather(const std::shared_ptr<Memory>& memory, std::size_t m, const Span& span);
  void collect(const Gather& gather);
  void give_up(const Gather& gather);  // it will never end

  // home.cpp
  std::shared_ptr<Bring> bring(Lock& lock, const std::shared_ptr<Memory>& memory, std::size_t member,
                               const SpanSet& bytes, const HostBlock& from, Bytes from_begin);
  core::Status wait_for(Lock& lock, const std::vector<device::Event>& events);
  void copy_on_host(std::span<std::byte> to, std::span<const std::byte> from);

  // pieces.cpp
  bool by_pieces(std::size_t member, const HostBlock& host, const Span& bytes) const;
  void add_pieces(const Piece& whole);
  void move_pieces();
  void move(const std::shared_ptr<Piece>& piece);  // its copy on the host is done, or that of the device
  void deliver(const std::shared_ptr<Piece>& piece, std::span<const std::byte> from, Ring::Chunk* chunk);
  void arrived(const Piece& piece, core::Status status);
  bool drop(const Piece& piece);

  const std::vector<device::Device*> devices_;
  const Options options_;
  std::size_t primary_ = 0;
  bool all_on_host_ = true;  // no device has memory of its own
  std::once_flag target_asked_;
  std::optional<kernel::Target> target_;  // the primary's compiler, once it was asked
  mutable std::mutex mutex_;              // guards all below, and every launch, memory and kernel
  std::condition_variable changed_;
  std::vector<Member> members_;
  std::list<std::shared_ptr<Launch>> active_;
  std::vector<std::shared_ptr<Launch>> to_turn_;  // what `turn` has still to look at
  bool turning_ = false;                          // it is at work: who calls it meanwhile only adds to that
  std::vector<std::weak_ptr<Memory>> memories_;   // where devices have memory of their own
  std::uint64_t launches_ = 0, slices_started_ = 0, steps_ = 0;
  std::uint64_t generation_ = 0;                  // how often devices or builds have changed
  bool room_wanted_ = false;                      // a launch waits for bytes to leave a device
  std::vector<std::shared_ptr<Gather>> gathers_;  // on their way
  std::vector<Returning> returning_;
  std::vector<std::shared_ptr<Slice>> looked_at_;       // watched slices of devices that call back late
  std::deque<std::shared_ptr<Piece>> waiting_pieces_;   // for a chunk
  std::vector<std::shared_ptr<Piece>> leaving_pieces_;  // on their way from a device into a chunk
  std::vector<std::shared_ptr<Slice>> held_;            // wait for bytes to come to the host
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  struct ToBuild {
    std::shared_ptr<Kernel> kernel;
    std::size_t member;
    std::string form;                // that alone
    std::shared_ptr<Launch> launch;  // not a kernel, but inputs for a way of it
    std::size_t way = 0;
  };
  std::deque<ToBuild> to_build_;
  bool building_ = false, no_more_builds_ = false;
  std::condition_variable to_build_changed_;
  std::unique_ptr<Copier> copier_;
  std::thread worker_, builder_;
  const std::shared_ptr<std::atomic<Bytes>> host_bytes_ = std::make_shared<std::atomic<Bytes>>(0);
};

}  // namespace heddle::engine

// What fake devices are made of: memory, commands, devices, and the world whose clock they share. For fake_device.cpp,
// where calls become commands, and fake_world.cpp, where these happen.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "device/fake_description.hpp"
#include "device/fake_device.hpp"

namespace heddle::device {

namespace fake {

// Bytes of a buffer. They come into being, poisoned, when first touched, so that buffers that only take part in a
// timing cost nothing at any size; only the thread that advances the clock touches them.
class Memory {
 public:
  Memory(Bytes size, std::atomic<Bytes>& in_use) : size_(size), in_use_(&in_use) { *in_use_ += size; }
  explicit Memory(std::span<std::byte> wrapped) : size_(wrapped.size()), bytes_(wrapped.data()) {}
  Memory(std::shared_ptr<Memory> whole, Bytes begin, Bytes size)
      : size_(size), whole_(std::move(whole)), begin_(begin) {}
  Memory(const Memory&) = delete;
  ~Memory() {
    if (!in_use_) return;
    *in_use_ -= size_;
    ::operator delete(bytes_, alignment);
  }

  bool touched() const { return whole_ ? whole_->touched() : bytes_ != nullptr; }
  bool wraps(const std::byte* host, Bytes at) const {
    return whole_ ? whole_->wraps(host, begin_ + at) : !in_use_ && bytes_ + at == host;
  }
  std::span<std::byte> bytes() {
    if (whole_) return whole_->bytes().subspan(begin_, size_);
    if (!touched()) {
      bytes_ = static_cast<std::byte*>(::operator new(size_, alignment));
      std::memset(bytes_, 0xA5, size_);
    }
    return {bytes_, size_};
  }

 private:
  static constexpr std::align_val_t alignment{128};  // OpenCL aligns buffers to its largest type, long16

  Bytes size_;
  std::byte* bytes_ = nullptr;
  std::shared_ptr<Memory> whole_;  // of which this is a part
  Bytes begin_ = 0;
  std::atomic<Bytes>* in_use_ = nullptr;  // null where the memory is the host's
};

class FakeDevice;

class Command;

// By time, then in the order of queuing.
using Agenda = std::map<std::pair<Nanoseconds, std::uint64_t>, Command*>;

// Runs one command at a time.
struct Engine {
  Command* running = nullptr;
  Agenda ready;  // by the time since when
};

// All its members belong to the world's lock, but for what is set before it is queued.
class Command : public EventState {
 public:
  enum class Stage {
    waiting,    // for other commands
    ready,      // in its engine's agenda
    due,        // has its units from a time on: in the world's agenda
    running,    // on its engine; in the world's agenda unless it hangs
    finishing,  // its effect is happening
    done
  };

  explicit Command(FakeWorld::State& in) : world(in) {}

  using EventState::wait;
  Status wait(Nanoseconds limit) override;
  bool done() override;
  Result<Times> times() override;
  void notify(std::function<void()> callback) override;
  bool begun() override;
  void notify_begun(std::function<void()> callback) override;

  Status outcome() const { return failure ? Status(*failure) : Status(core::Done{}); }
  // It will fail as soon as nothing is missing, as OpenCL has it for wait lists.
  void fail_with(const core::Failure& dependency) {
    failure = core::Failure{dependency.kind, "dependency failed: " + dependency.what, ""};
    engine = nullptr;
    duration = Nanoseconds(0);
    hangs = loses_device = false;
  }

  FakeWorld::State& world;
  FakeDevice* device = nullptr;  // null for a timer
  Engine* engine = nullptr;      // null where none is needed: a timer, a failed dependency, a lost device
  Nanoseconds duration{0};
  bool hangs = false, loses_device = false;
  // Of a launch that overlaps with others: its groups, and nanoseconds of one unit for some of them from a time on.
  std::int64_t groups = 0;
  std::function<double(std::int64_t, std::int64_t, std::size_t, double)> on_unit;
  Nanoseconds worked{0};  // of all units
  std::string code;       // of what program, which kernel
  core::NdRange range;
  std::int64_t held = 0;  // the loaded kernel that it was given
  std::function<void()> effect;
  std::vector<std::shared_ptr<Memory>> memory;  // that the effect touches

  std::uint64_t number = 0;
  Stage stage = Stage::waiting;
  int missing = 0;  // commands that it still waits for
  Times passed;
  std::optional<core::Failure> failure;                               // set before it is done: what it will fail with
  std::vector<std::pair<std::shared_ptr<Command>, bool>> dependents;  // true: named in its wait list
  std::vector<std::function<void()>> callbacks, when_begun;
  std::list<std::shared_ptr<Command>>::iterator place;  // among the unfinished
};

// Far beyond any test, and small enough that sums of many do not overflow: three years.
constexpr Nanoseconds longest{100'000'000'000'000'000};

// Only products and integer sums, so that no compiler can fuse them into something that rounds otherwise.
inline double as_number(Nanoseconds t) { return static_cast<double>(t.count()); }
inline Nanoseconds to_time(double nanoseconds) {
  return Nanoseconds(std::llround(std::min(nanoseconds, as_number(longest))));
}

}  // namespace fake

struct FakeWorld::State {
  explicit State(std::string_view description);
  ~State();

  void enqueue(const std::shared_ptr<fake::Command>& command, std::span<const std::shared_ptr<fake::Command>> waits,
               const std::shared_ptr<fake::Command>& before);
  void lose(fake::FakeDevice& device);

  // Takes the ends up to `limit`, in order, but none after the time when `until` is done. Only in one's turn.
  void run(std::unique_lock<std::mutex>& lock, Nanoseconds limit, const fake::Command* until);

  // One thread at a time advances the clock. Waits for that, or until the command is done; taken and left with the
  // lock.
  class Turn {
   public:
    Turn(State& state, std::unique_lock<std::mutex>& lock, const fake::Command* until);
    ~Turn();
    Turn(const Turn&) = delete;

   private:
    State& state_;
  };

  std::mutex mutex;                 // never held while a kernel's function or a callback runs
  std::condition_variable changed;  // a command is done, or nobody advances any more
  std::optional<std::thread::id> advancing;
  Nanoseconds now{0};
  std::uint64_t queued = 0;
  std::list<std::shared_ptr<fake::Command>> unfinished;  // shared with those who hold events
  fake::Agenda agenda;
  std::map<std::string, FakeKernel> kernels;  // none is ever removed: pending launches point at them
  std::vector<std::unique_ptr<fake::FakeDevice>> devices;

 private:
  void become_ready(fake::Command& command);
  void spread(fake::Command& command);
  void start(fake::Command& command);
  void start_next(fake::Engine& engine);
  void begin(fake::Command& command);
  void end_at(fake::Command& command, Nanoseconds end);
  void complete(fake::Command& command);
};

namespace fake {

class FakeDevice : public Device {
 public:
  FakeDevice(FakeWorld::State& in, Description said) : world(in), description(std::move(said)) {
    info_ = description.info;
    random = description.seed;
    free.resize(static_cast<std::size_t>(info_.units));
  }

  Result<std::unique_ptr<Buffer>> allocate(Bytes size) override;
  Result<std::unique_ptr<Buffer>> wrap(std::span<std::byte> memory) override;
  Result<std::unique_ptr<Buffer>> part(Buffer& whole, Bytes begin, Bytes size) override;
  Result<std::unique_ptr<LockedMemory>> lock(Bytes size) override;
  Result<std::unique_ptr<Program>> build(const Source& source) override;
  Result<std::unique_ptr<Queue>> open_queue(Timing) override;
  Nanoseconds now() override {
    std::lock_guard hold(world.mutex);
    return world.now;
  }

  std::optional<Nanoseconds> cpu_time() override {
    std::lock_guard hold(world.mutex);
    return info_.overlaps ? std::optional(worked) : std::nullopt;
  }

  core::Failure loss() const { return {core::FailureKind::lost, fmt::format("device {} is lost", info_.id), ""}; }

  // With the lock held: counts a call and says what goes wrong with it.
  std::optional<Mishap> count(Call call) {
    const auto index = static_cast<std::size_t>(call);
    const auto found = description.mishaps[index].find(++counts[index]);
    return found == description.mishaps[index].end() ? std::nullopt : std::optional(found->second);
  }
  core::Failure scripted(core::FailureKind kind, Call call) const {
    const auto index = static_cast<std::size_t>(call);
    return {kind, fmt::format("{} {} on {} fails as described", call_names[index], counts[index], info_.id), ""};
  }
  double slowness() const {  // of the launch counted last
    const auto after = description.slow.upper_bound(counts[static_cast<std::size_t>(Call::launch)]);
    return after == description.slow.begin() ? 1 : std::prev(after)->second;
  }
  Nanoseconds with_noise(Nanoseconds t);

  FakeWorld::State& world;
  const Description description;
  // From here on: the world's lock.
  bool lost = false;
  std::int64_t counts[calls] = {};
  std::uint64_t random;
  std::atomic<Bytes> in_use{0};  // atomic: memory may be given back under the lock or outside
  Engine compute, copies[2];
  // Of a device on which launches overlap: when each unit is free; and kernels as PoCL has them loaded, the last used
  // first.
  struct Loaded {
    std::string code;
    core::Index local;
    std::int64_t width = 0;
    bool shifted = false;
    std::int64_t number = 0;
  };
  std::int64_t load(const std::string& code, const core::NdRange& range);
  void unload(const fake::Command& command);
  std::vector<double> free;
  std::list<Loaded> loaded;
  Nanoseconds worked{0};  // of all units, in what has ended
};

}  // namespace fake

}  // namespace heddle::device

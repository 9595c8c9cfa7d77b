// One writer thread takes what was added, batch by batch, to disk; everyone else only touches memory.
#include "profile/store.hpp"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/log.hpp"
#include "profile/open.hpp"
#include "profile/tables.hpp"

namespace heddle::profile {

namespace {

// More keys than any program seen makes in the time that a lock lasts; bounds memory where a lock never ends.
constexpr std::size_t most_waiting_keys = 10000;

// Waking a sleeping thread took 17 us on the development machine, and looking whether there is something to do costs
// the writer as much. So it looks by itself as long as launches come, and only then sleeps until it is woken.
constexpr int rounds_before_sleep = 25;

constexpr const char* forked = "not used in a forked process";

std::string absolute(const std::string& path) {
  if (path.empty() || path == ":memory:") return path;
  std::error_code none;
  const auto whole = std::filesystem::absolute(path, none);  // the program may change its folder before we open
  return none ? path : whole.string();
}

// A thread that takes none of the program's signals.
std::thread quiet_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    sigset_t* mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, mask, nullptr); }
  } restore{&before};
  return std::thread(std::move(body));
}

}  // namespace

class Store::Impl {
 public:
  Impl(std::string path, Pace pace) : path_(absolute(path)), pace_(pace), unusable_(path_.empty()) {
    if (path_.empty()) {
      why_unusable_ = "there is no profile store: HEDDLE_STORE=off, or no home folder";
      core::log_once(core::LogLevel::info, why_unusable_);
    } else if (forked_while_open()) {
      unusable_ = true;
      why_unusable_ = forked;
      core::log_once(core::LogLevel::warn, fmt::format("profile store: {}", forked));
    }
  }

  ~Impl() {
    if (!writer_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      end_ = Clock::now() + pace_.patience;
    }
    wake_.notify_one();
    writer_.join();
    if (!waiting_.empty()) say_lost("locked by another process");
  }

  const pid_t owner = ::getpid();

  // Changes what waits for the writer, and wakes it where there is a reason to.
  template <class Change>
  void add(Change change) {
    bool wake = false;
    {
      std::lock_guard lock(mutex_);
      if (unusable_) return;
      change(waiting_);
      ++added_, ++newest_;
      wake = asleep_ || added_ == pace_.batch;
      if (!writer_.joinable()) start();
    }
    if (wake) wake_.notify_one();
  }

  bool flush() {
    std::unique_lock lock(mutex_);
    if (!writer_.joinable()) return !unusable_;  // nothing was ever added
    const std::uint64_t newest = newest_;
    Flush mine{told_ < newest ? told_ : told_before_};
    asked_.push_back(&mine);
    wake_.notify_one();
    answered_.wait(lock, [&] { return mine.answered; });
    if (told_ < newest) told_before_ = std::exchange(told_, newest);
    return !unusable_ && mine.committed;
  }

  Contents read(const Selection& selection) {
    flush();
    Contents out;
    std::error_code none;
    if (path_ != ":memory:" && !std::filesystem::exists(path_, none)) return out;
    std::string why;
    attempt([&](Connection& c) { out = profile::read(c, selection); }, why, pace_.patience);
    if (!why.empty()) core::log_once(core::LogLevel::warn, fmt::format("profile store {}: not read: {}", path_, why));
    return out;
  }

  Contents read_aloud(const Selection& selection) {
    flush();
    Contents out;
    std::error_code unknown;
    const bool absent = !path_.empty() && path_ != ":memory:" && !std::filesystem::exists(path_, unknown) && !unknown;
    if (absent && !unusable()) return out;
    attempt_aloud([&](Connection& c) {
      // Nothing would be the wrong answer: what there was is still there, under another name.
      if (std::exchange(replaced_, false)) throw SqlError(SqlFault::cannot, 0, "it was moved aside instead of read");
      out = profile::read(c, selection);
    });
    return out;
  }

  template <class Change>
  void change_aloud(Change change) {
    flush();
    attempt_aloud([&](Connection& c) {
      refuse_read_only(c);
      change(c);
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Outcome { done, busy, failed };

  // One call of flush(), which waits for its answer.
  struct Flush {
    std::uint64_t since;  // an earlier flush has answered for all up to this one
    bool answered = false, committed = false;
  };

  bool unusable() {
    std::lock_guard lock(mutex_);
    return unusable_;
  }

  void attempt_aloud(const std::function<void(Connection&)>& action) {
    std::string why;
    if (attempt(action, why, pace_.patience, true) == Outcome::done) return;
    std::lock_guard lock(mutex_);
    if (why.empty()) why = why_unusable_;
    throw core::UsageError(path_.empty() ? why : fmt::format("profile store {}: {}", path_, why));
  }

  static void refuse_read_only(const Connection& c) {
    if (c.read_only()) throw SqlError(SqlFault::cannot, 0, "it is read-only");
  }

  void say_lost(const std::string& why) {
    if (std::exchange(said_lost_, true)) return;
    core::log_once(core::LogLevel::warn, fmt::format("profile store {}: measurements are lost: {}", path_, why));
  }

  void start() {
    try {
      writer_ = quiet_thread([this] { write_until_stopped(); });
    } catch (const std::system_error& e) {
      unusable_ = true;
      why_unusable_ = fmt::format("no thread to write it: {}", e.what());
      core::log_once(core::LogLevel::warn, fmt::format("profile store {}: {}", path_, why_unusable_));
    }
  }

  void write_until_stopped() {
    std::unique_lock lock(mutex_);
    const auto urgent = [&] { return stop_ || !asked_.empty(); };
    for (int idle = 0;;) {
      if (idle == rounds_before_sleep) {
        asleep_ = true;
        wake_.wait(lock, [&] { return urgent() || added_ > 0; });
        asleep_ = false;
        idle = 0;
      }
      wake_.wait_for(lock, pace_.period, [&] { return urgent() || added_ >= pace_.batch; });
      if (waiting_.empty() && !urgent()) {
        ++idle;
        continue;
      }
      idle = 0;
      const bool last = stop_;
      // What is asked for was added before, so it is in this batch or in an earlier one, whose fate is known.
      const std::vector<Flush*> answering = std::exchange(asked_, {});
      const std::uint64_t newest = newest_;
      const Clock::time_point end = last ? end_ : Clock::now() + pace_.patience;
      Contents batch = std::exchange(waiting_, {});
      added_ = 0;
      lock.unlock();
      const Outcome outcome = batch.empty() ? Outcome::done : write(batch, end);
      lock.lock();
      for (Flush* flush : answering) {
        flush->committed = outcome == Outcome::done && lost_ <= flush->since;
        flush->answered = true;
      }
      if (outcome == Outcome::failed) lost_ = newest;
      if (outcome == Outcome::busy) {
        batch.add(waiting_);
        waiting_ = std::move(batch);
      }
      answered_.notify_all();
      if (last) return;
    }
  }

  Outcome write(const Contents& batch, Clock::time_point end) {
    std::string why;
    const auto left = std::chrono::duration_cast<Milliseconds>(end - Clock::now());
    const Outcome outcome = attempt(
        [&](Connection& c) {
          refuse_read_only(c);
          profile::merge(c, batch);
        },
        why, std::max(left, Milliseconds(0)));
    if (outcome == Outcome::failed && !why.empty()) say_lost(why);
    if (outcome == Outcome::busy && batch.records.size() + batch.names.size() > most_waiting_keys) {
      say_lost("locked by another process");
      return Outcome::failed;
    }
    return outcome;
  }

  // Opens where needed and does it; again where the file turned out to be damaged or is no longer at its place. `why`
  // stays empty where the store is unusable, which was said when that was found, unless the caller says it `aloud`.
  Outcome attempt(const std::function<void(Connection&)>& action, std::string& why, Milliseconds patience,
                  bool aloud = false) {
    std::lock_guard lock(connection_mutex_);
    bool suspicious = false;
    for (int tries = 0;; ++tries) {
      try {
        if (!connection_ && !open(suspicious, patience, aloud)) return Outcome::failed;
        connection_->wait_for_locks(static_cast<int>(patience.count()));
        action(*connection_);
        return Outcome::done;
      } catch (const SqlError& e) {
        if (e.fault != SqlFault::busy && e.fault != SqlFault::cannot && tries < 3) {
          suspicious = e.fault == SqlFault::damaged;
          connection_.reset();
          continue;
        }
        why = e.what();
        return e.fault == SqlFault::busy ? Outcome::busy : Outcome::failed;
      } catch (const std::exception& e) {  // no memory, say: nothing that happens here may end the program
        connection_.reset();
        why = e.what();
        return Outcome::failed;
      }
    }
  }

  bool open(bool suspicious, Milliseconds patience, bool aloud) {
    {
      std::lock_guard lock(mutex_);
      if (unusable_) return false;
    }
    try {
      Opened opened = open_store(path_, patience, suspicious);
      connection_.emplace(std::move(opened.connection));
      replaced_ = replaced_ || opened.replaced;
      return true;
    } catch (const SqlError& e) {
      if (e.fault == SqlFault::busy) throw;
      const std::string warning = fmt::format("profile store {}: {}; going on without memory", path_, e.what());
      if (!aloud) core::log_once(core::LogLevel::warn, warning);
      std::lock_guard lock(mutex_);
      unusable_ = true;
      why_unusable_ = e.what();
      waiting_ = {};
      return false;
    }
  }

  const std::string path_;
  const Pace pace_;

  std::mutex mutex_;  // guards all down to the writer; held for moments only, never while the disk works
  std::condition_variable wake_, answered_;
  Contents waiting_;               // added, not yet taken by the writer
  std::size_t added_ = 0;          // since the writer last took them
  std::uint64_t newest_ = 0;       // number of the last that was added, from 1 on
  std::uint64_t lost_ = 0;         // number of the last that was lost
  std::vector<Flush*> asked_;      // not yet taken by the writer; each lives until it is answered
  std::uint64_t told_ = 0;         // the last for which a flush has answered
  std::uint64_t told_before_ = 0;  // the same, by an earlier flush
  bool stop_ = false, asleep_ = false, unusable_;
  Clock::time_point end_;  // when stopping: of all waiting for locks
  std::string why_unusable_;
  bool said_lost_ = false;  // the writer's own
  std::thread writer_;      // started by the first that is added

  std::mutex connection_mutex_;  // guards the connection; may be held while SQLite waits for other processes
  std::optional<Connection> connection_;
  bool replaced_ = false;  // what lay at the path could not be read and was moved aside
};

Store::Store(std::string path, Pace pace) : impl_(std::make_unique<Impl>(std::move(path), pace)) {}

Store::~Store() {
  // A forked child has neither the thread nor the right to the connection: closing it there would drop the parent's
  // locks.
  if (impl_->owner != ::getpid()) static_cast<void>(impl_.release());
}

Store::Impl* Store::here() const {
  if (impl_->owner == ::getpid()) return impl_.get();
  core::log_once(core::LogLevel::warn, fmt::format("profile store: {}", forked));
  return nullptr;
}

Store::Impl& Store::here_aloud() const {
  if (Impl* impl = here()) return *impl;
  throw core::UsageError(fmt::format("profile store: {}", forked));
}

void Store::add(const core::SampleKey& key, const core::Sample& sample) {
  if (!trusted(sample)) return;
  if (Impl* impl = here()) impl->add([&, when = now()](Contents& c) { c.records[key].add(sample, when); });
}

void Store::add_failure(const core::SampleKey& key, core::FailureKind kind) {
  if (Impl* impl = here()) impl->add([&](Contents& c) { c.records[key].add(kind); });
}

void Store::name(const std::string& fingerprint, const std::string& text) {
  if (Impl* impl = here()) impl->add([&](Contents& c) { c.names[fingerprint] = text; });
}

bool Store::flush() {
  Impl* impl = here();
  return impl && impl->flush();
}

core::History Store::load(const std::string& kernel, const std::string& device) {
  core::History history;
  Selection selection;
  if (!kernel.empty()) selection.kernel = kernel;
  if (!device.empty()) selection.device = device;
  for (const auto& [key, entry] : read(selection).records) history.put(key, entry.record());
  return history;
}

Contents Store::read(const Selection& selection) {
  Impl* impl = here();
  return impl ? impl->read(selection) : Contents{};
}

Contents Store::read_aloud(const Selection& selection) { return here_aloud().read_aloud(selection); }

void Store::merge(const Contents& contents) {
  here_aloud().change_aloud([&](Connection& c) { profile::merge(c, contents); });
}

std::int64_t Store::forget(const Selection& selection) {
  std::int64_t forgotten = 0;
  here_aloud().change_aloud([&](Connection& c) { forgotten = profile::forget(c, selection); });
  return forgotten;
}

}  // namespace heddle::profile

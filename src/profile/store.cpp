// One writer thread takes what was added, batch by batch, to disk; everyone else only touches memory.
#include "profile/store.hpp"

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

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

Milliseconds now() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

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
    if (!unusable_) return;
    why_unusable_ = "there is no profile store: HEDDLE_STORE=off, or no home folder";
    core::log_once(core::LogLevel::info, why_unusable_);
  }

  ~Impl() {
    if (!writer_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
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
      ++added_;
      wake = asleep_ || added_ == pace_.batch;
      if (!writer_.joinable()) start();
    }
    if (wake) wake_.notify_one();
  }

  bool flush() {
    std::unique_lock lock(mutex_);
    if (writer_.joinable()) {
      const std::uint64_t mine = ++asked_;
      wake_.notify_one();
      answered_changed_.wait(lock, [&] { return answered_ >= mine; });
    }
    return !unusable_ && !lost_ && waiting_.empty();
  }

  Contents read(const Selection& selection) {
    flush();
    Contents out;
    std::error_code none;
    if (path_ != ":memory:" && !std::filesystem::exists(path_, none)) return out;
    std::string why;
    attempt([&](Connection& c) { out = profile::read(c, selection); }, why);
    if (!why.empty()) core::log_once(core::LogLevel::warn, fmt::format("profile store {}: not read: {}", path_, why));
    return out;
  }

  template <class Change>
  void change_aloud(Change change) {
    flush();
    std::string why;
    const Outcome outcome = attempt(
        [&](Connection& c) {
          refuse_read_only(c);
          change(c);
        },
        why);
    if (outcome == Outcome::done) return;
    std::lock_guard lock(mutex_);
    if (why.empty()) why = why_unusable_;
    throw core::UsageError(path_.empty() ? why : fmt::format("profile store {}: {}", path_, why));
  }

 private:
  enum class Outcome { done, busy, failed };

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
    const auto urgent = [&] { return stop_ || asked_ > answered_; };
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
      const std::uint64_t answering = asked_;
      Contents batch = std::exchange(waiting_, {});
      added_ = 0;
      lock.unlock();
      const Outcome outcome = batch.empty() ? Outcome::done : write(batch);
      lock.lock();
      if (outcome == Outcome::failed) lost_ = true;
      if (outcome == Outcome::busy) {
        batch.add(waiting_);
        waiting_ = std::move(batch);
      }
      answered_ = answering;
      answered_changed_.notify_all();
      if (last) return;
    }
  }

  Outcome write(const Contents& batch) {
    std::string why;
    const Outcome outcome = attempt(
        [&](Connection& c) {
          refuse_read_only(c);
          profile::merge(c, batch);
        },
        why);
    if (outcome == Outcome::failed && !why.empty()) say_lost(why);
    if (outcome == Outcome::busy && batch.records.size() + batch.names.size() > most_waiting_keys) {
      say_lost("locked by another process");
      return Outcome::failed;
    }
    return outcome;
  }

  // Opens where needed and does it; again where the file turned out to be damaged or is no longer at its place. `why`
  // stays empty where the store is unusable, which was said when that was found.
  Outcome attempt(const std::function<void(Connection&)>& action, std::string& why) {
    std::lock_guard lock(connection_mutex_);
    bool suspicious = false;
    for (int tries = 0;; ++tries) {
      try {
        if (!connection_ && !open(suspicious)) return Outcome::failed;
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

  bool open(bool suspicious) {
    {
      std::lock_guard lock(mutex_);
      if (unusable_) return false;
    }
    try {
      connection_.emplace(open_store(path_, pace_.patience, suspicious));
      return true;
    } catch (const SqlError& e) {
      if (e.fault == SqlFault::busy) throw;
      core::log_once(core::LogLevel::warn,
                     fmt::format("profile store {}: {}; going on without memory", path_, e.what()));
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
  std::condition_variable wake_, answered_changed_;
  Contents waiting_;                        // added, not yet taken by the writer
  std::size_t added_ = 0;                   // since the writer last took them
  std::uint64_t asked_ = 0, answered_ = 0;  // flushes
  bool stop_ = false, lost_ = false, asleep_ = false, unusable_;
  std::string why_unusable_;
  bool said_lost_ = false;  // the writer's own
  std::thread writer_;      // started by the first that is added

  std::mutex connection_mutex_;  // guards the connection; may be held while SQLite waits for other processes
  std::optional<Connection> connection_;
};

Store::Store(std::string path, Pace pace) : impl_(std::make_unique<Impl>(std::move(path), pace)) {}

Store::~Store() {
  // A forked child has neither the thread nor the right to the connection: closing it there would drop the parent's
  // locks.
  if (impl_->owner != ::getpid()) static_cast<void>(impl_.release());
}

Store::Impl* Store::here() const {
  if (impl_->owner == ::getpid()) return impl_.get();
  core::log_once(core::LogLevel::warn, "profile store: not used in a forked process");
  return nullptr;
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
  for (const auto& [key, entry] : read({kernel, device}).records) history.put(key, entry.record());
  return history;
}

Contents Store::read(const Selection& selection) {
  Impl* impl = here();
  return impl ? impl->read(selection) : Contents{};
}

void Store::merge(const Contents& contents) {
  Impl* impl = here();
  if (!impl) throw core::UsageError("profile store: not used in a forked process");
  impl->change_aloud([&](Connection& c) { profile::merge(c, contents); });
}

std::int64_t Store::forget(const Selection& selection) {
  std::int64_t forgotten = 0;
  Impl* impl = here();
  if (!impl) throw core::UsageError("profile store: not used in a forked process");
  impl->change_aloud([&](Connection& c) { forgotten = profile::forget(c, selection); });
  return forgotten;
}

}  // namespace heddle::profile

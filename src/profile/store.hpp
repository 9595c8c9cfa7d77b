// The memory of Heddle: everything measured, kept in one SQLite file that several processes share. It never stands in
// the program's way: where it cannot be written, the program goes on without memory.
#pragma once

#include <memory>
#include <string>

#include "profile/contents.hpp"

namespace heddle::profile {

// How eagerly the writer writes, and how long it waits for other processes.
struct Pace {
  std::size_t batch = 4096;     // write when so many were added; they wait merged by key, so many are no burden
  Milliseconds period{200};     // or after so long: what a crash of the program may cost
  Milliseconds patience{5000};  // for a lock that another process holds; then keep what there is and try again later
};

class Store {
 public:
  // A path, ":memory:", or empty for no store. Nothing is opened, created or started before it is needed.
  explicit Store(std::string path, Pace pace = {});
  ~Store();  // writes what is left; waits for locks no longer than the pace's patience
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Remember, soon: these only touch memory and may be called in the path of a launch, from any thread. Samples that
  // another program disturbed are dropped. In a forked child nothing is remembered; a store that the child makes itself
  // works only where the parent had none open.
  void add(const core::SampleKey& key, const core::Sample& sample);
  void add_failure(const core::SampleKey& key, core::FailureKind kind);
  void name(const std::string& fingerprint, const std::string& text);  // what a person calls a kernel or device

  // Returns when all that was added before is committed: true. False where some of it is lost or still waits for a
  // lock, and always where the store cannot be used. What another thread adds meanwhile does not matter. A loss is told
  // until more is added after a flush that told it.
  bool flush();

  // What is known, with all that was added before; empty where nothing can be read. Never creates a file. For load an
  // empty fingerprint means any.
  core::History load(const std::string& kernel, const std::string& device = "");
  Contents read(const Selection& selection = {});

  // For a person's command, so these fail aloud: UsageError says why the store cannot be read or written. All or
  // nothing; where no file is yet, there is nothing to read.
  Contents read_aloud(const Selection& selection = {});
  void merge(const Contents& contents);
  std::int64_t forget(const Selection& selection);  // the number of records

 private:
  class Impl;
  Impl* here() const;        // null in a forked child
  Impl& here_aloud() const;  // UsageError there
  std::unique_ptr<Impl> impl_;
};

}  // namespace heddle::profile

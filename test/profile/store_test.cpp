// What is added is there afterwards, in this process and in others; and what cannot be kept never stops the program.
#include "profile/store.hpp"

#include <atomic>
#include <thread>

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "place.hpp"

namespace heddle::profile {
namespace {

int mode_of(const std::string& path) {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 ? there.st_mode & 0777 : -1;
}

TEST(Store, RemembersAcrossInstances) {
  const Folder folder;
  core::Sample s = sample(3000, 1000);
  s.bytes_in = 7, s.bytes_out = 9, s.contention = 0.95;
  {
    Store store(folder.at("a.db"));
    store.add(key("k"), s);
    store.add_failure(key("k"), core::FailureKind::build);
    store.add_failure(key("k"), core::FailureKind::hang);
    store.add_failure(key("k"), core::FailureKind::build);
    store.name("k", "saxpy");
    EXPECT_TRUE(store.flush());
  }
  Store store(folder.at("a.db"));
  const Contents contents = store.read();
  ASSERT_EQ(contents.records.size(), 1u);
  const auto& [found, entry] = *contents.records.begin();
  EXPECT_EQ(found, key("k"));
  EXPECT_EQ(entry.aggregate.count, 1);
  EXPECT_EQ(entry.aggregate.mean, 3.0);
  EXPECT_EQ(entry.aggregate.failures, 3);
  EXPECT_EQ(entry.failures.at(core::FailureKind::build), 2);
  EXPECT_EQ(entry.failures.at(core::FailureKind::hang), 1);
  ASSERT_EQ(entry.samples.size(), 1u);
  EXPECT_EQ(entry.samples[0].sample.points, 1000);
  EXPECT_EQ(entry.samples[0].sample.duration.count(), 3000);
  EXPECT_EQ(entry.samples[0].sample.bytes_in, 7u);
  EXPECT_EQ(entry.samples[0].sample.bytes_out, 9u);
  EXPECT_EQ(entry.samples[0].sample.contention, 0.95);
  EXPECT_GT(entry.samples[0].when.count(), 1'500'000'000'000);  // milliseconds, so after 2017
  EXPECT_EQ(contents.names.at("k"), "saxpy");
}

TEST(Store, WritesWhatIsLeftWhenItEnds) {
  const Folder folder;
  {
    Store store(folder.at("a.db"), Pace{1000000, Milliseconds(3600 * 1000), Milliseconds(5000)});
    store.add(key("k"), sample(5));
  }
  EXPECT_EQ(Store(folder.at("a.db")).load("k").records().size(), 1u);
}

TEST(Store, WritesWithoutBeingAsked) {
  const Folder folder;
  Store by_time(folder.at("a.db"), Pace{1000000, Milliseconds(10), Milliseconds(5000)});
  Store by_number(folder.at("b.db"), Pace{3, Milliseconds(3600 * 1000), Milliseconds(5000)});
  by_time.add(key("k"), sample(5));
  for (int i = 0; i < 3; ++i) by_number.add(key("k"), sample(5));
  for (const char* name : {"a.db", "b.db"}) {
    std::size_t found = 0;
    for (int i = 0; i < 3000 && !found; ++i) {
      std::this_thread::sleep_for(Milliseconds(10));
      found = Store(folder.at(name)).load("k").records().size();
    }
    EXPECT_EQ(found, 1u) << name;
  }
}

TEST(Store, WakesUpAfterALongSilence) {
  const Folder folder;
  Store store(folder.at("a.db"), Pace{1000000, Milliseconds(1), Milliseconds(5000)});
  for (const char* kernel : {"k1", "k2"}) {
    std::this_thread::sleep_for(Milliseconds(200));  // many periods, so that the writer sleeps
    store.add(key(kernel), sample(5));
    std::size_t found = 0;
    for (int i = 0; i < 3000 && !found; ++i) {
      std::this_thread::sleep_for(Milliseconds(10));
      found = Store(folder.at("a.db")).load(kernel).records().size();
    }
    EXPECT_EQ(found, 1u) << kernel;
  }
}

TEST(Store, LoadsOneKernelAndOneDevice) {
  Store store(":memory:");
  store.add(key("k1", "base", "cpu"), sample(5));
  store.add(key("k1", "base", "gpu"), sample(5));
  store.add(key("k2", "base", "gpu"), sample(5));
  EXPECT_EQ(store.load("k1").records().size(), 2u);
  EXPECT_EQ(store.load("k1", "gpu").records().size(), 1u);
  EXPECT_EQ(store.load("", "gpu").records().size(), 2u);
  EXPECT_EQ(store.load("k3").records().size(), 0u);
}

TEST(Store, MergedAggregateEqualsOneOverAll) {
  const Folder folder;
  core::Aggregate expected;
  for (int part = 0; part < 5; ++part) {
    Store store(folder.at("a.db"));
    for (int i = 0; i < 40; ++i) {
      const std::int64_t t = 1000 + (part * 7919 + i * 104729) % 977;
      store.add(key("k"), sample(t, 10));
      expected.add(static_cast<double>(t) / 10);
    }
  }
  const core::History history = Store(folder.at("a.db")).load("k");
  const core::Aggregate& found = history.find(key("k"))->aggregate;
  EXPECT_EQ(found.count, expected.count);
  EXPECT_EQ(found.least, expected.least);
  EXPECT_EQ(found.most, expected.most);
  EXPECT_NEAR(found.mean, expected.mean, 1e-9 * expected.mean);
  EXPECT_NEAR(found.m2, expected.m2, 1e-9 * expected.m2);
}

TEST(Store, KeepsTheNewestSamples) {
  const Folder folder;
  Store store(folder.at("a.db"));
  for (int i = 1; i <= 100; ++i) {
    store.add(key("k"), sample(i));
    if (i % 15 == 0) {
      EXPECT_TRUE(store.flush());  // so that both ways of trimming are used, in memory and on disk
    }
  }
  const core::History history = store.load("k");
  const core::Record& record = *history.find(key("k"));
  EXPECT_EQ(record.aggregate.count, 100);
  ASSERT_EQ(record.samples.size(), core::samples_per_key);
  for (std::size_t i = 0; i < core::samples_per_key; ++i) {
    EXPECT_EQ(record.samples[i].duration.count(), static_cast<int>(100 - core::samples_per_key + 1 + i));
  }
}

TEST(Store, DropsWhatTeachesNothing) {
  Store store(":memory:");
  core::Sample disturbed = sample(5), no_points = sample(5, 0), no_number = sample(5);
  disturbed.contention = 0.89;
  no_number.contention = std::numeric_limits<double>::quiet_NaN();
  for (const auto& s : {disturbed, no_points, no_number, sample(-1)}) store.add(key("k"), s);
  EXPECT_TRUE(store.read().records.empty());
  disturbed.contention = core::trusted_contention;
  store.add(key("k"), disturbed);
  EXPECT_EQ(store.read().records.size(), 1u);
}

TEST(Store, ManyThreadsLoseNothing) {
  Store store(":memory:", Pace{16, Milliseconds(1), Milliseconds(5000)});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      for (int i = 0; i < 500; ++i) {
        store.add(key("k", "v" + std::to_string((t + i) % 3)), sample(i + 1));
        if (i % 100 == 0) store.flush();
      }
    });
  }
  for (auto& t : threads) t.join();
  std::int64_t total = 0;
  for (const auto& [k, entry] : store.read().records) total += entry.aggregate.count;
  EXPECT_EQ(total, 2000);
}

TEST(Store, ManyProcessesLoseNothing) {
  const Folder folder;
  const std::string path = folder.at("below/it/a.db");
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    children.push_back(start_child([&, p] {
      Store store(path, Pace{8, Milliseconds(1), Milliseconds(60 * 1000)});
      for (int i = 0; i < 500; ++i) {
        store.add(key("shared"), sample(p * 500 + i + 1));
        store.add(key("own" + std::to_string(p)), sample(i + 1));
        if (i % 50 == 49) store.add_failure(key("shared"), core::FailureKind::launch);
        if (i % 20 == 0 && !store.flush()) return 1;
      }
      return store.flush() ? 0 : 2;
    }));
  }
  for (pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  const Contents contents = Store(path).read();
  ASSERT_EQ(contents.records.size(), 5u);
  const Entry& shared = contents.records.at(key("shared"));
  EXPECT_EQ(shared.aggregate.count, 2000);
  EXPECT_EQ(shared.aggregate.failures, 40);
  EXPECT_EQ(shared.aggregate.least, 1);
  EXPECT_EQ(shared.aggregate.most, 2000);
  EXPECT_NEAR(shared.aggregate.mean, 1000.5, 1e-6);
  EXPECT_NEAR(shared.aggregate.m2, 2000.0 * (2000.0 * 2000.0 - 1) / 12, 1);  // of the numbers 1 to 2000
  EXPECT_EQ(shared.samples.size(), core::samples_per_key);
  for (int p = 0; p < 4; ++p) {
    EXPECT_EQ(contents.records.at(key("own" + std::to_string(p))).aggregate.count, 500);
  }
}

TEST(Store, WhatIsAcknowledgedSurvivesAKill) {
  const Folder folder;
  for (int round = 1; round <= 3; ++round) {
    const int code = wait_for(start_child([&] {
      Store store(folder.at("a.db"));
      store.add(key("k"), sample(1));
      if (!store.flush()) return 1;
      store.add(key("k"), sample(1));  // not acknowledged: may be there or not
      return ::kill(::getpid(), SIGKILL);
    }));
    EXPECT_EQ(code, -1);
    const std::int64_t count = Store(folder.at("a.db")).load("k").find(key("k"))->aggregate.count;
    EXPECT_GE(count, round);
    EXPECT_LE(count, 2 * round);
  }
}

TEST(Store, FilesAreForTheOwnerAlone) {
  const Folder folder;
  const mode_t before = ::umask(0);
  Store store(folder.at("new/a.db"));
  store.add(key("k"), sample(1));
  EXPECT_TRUE(store.flush());
  ::umask(before);
  EXPECT_EQ(mode_of(folder.at("new")), 0700);
  EXPECT_EQ(mode_of(folder.at("new/a.db")), 0600);
  for (const char* end : {"-wal", "-shm", "-journal"}) {
    const int mode = mode_of(folder.at("new/a.db") + end);
    EXPECT_TRUE(mode == -1 || mode == 0600) << end << " " << mode;
  }
}

TEST(Store, WithoutPathNothingHappens) {
  const Listener listener;
  Store store("");
  store.add(key("k"), sample(1));
  EXPECT_FALSE(store.flush());
  EXPECT_TRUE(store.read().empty());
  EXPECT_THROW(store.forget({}), core::UsageError);
  EXPECT_TRUE(listener.warnings().empty());
}

TEST(Store, ReadingCreatesNothing) {
  const Folder folder;
  EXPECT_TRUE(Store(folder.at("x/a.db")).read().empty());
  EXPECT_TRUE(folder.names().empty());
}

TEST(Store, WhereNoFileCanBeTheProgramGoesOn) {
  const Folder folder;
  write_text(folder.at("file"), "x");
  std::filesystem::create_directory(folder.at("folder"));
  std::filesystem::create_symlink("/dev/null", folder.at("null"));
  std::filesystem::create_symlink("/proc/heddle", folder.at("proc"));
  for (const char* name : {"file/below/a.db", "file/a.db", "folder", "null", "proc/a.db"}) {
    const std::string path = folder.at(name);
    const Listener listener;
    for (int instance = 0; instance < 2; ++instance) {
      Store store(path);
      for (int i = 0; i < 3; ++i) {
        store.add(key("k"), sample(1));
        EXPECT_FALSE(store.flush()) << path;
      }
      EXPECT_TRUE(store.load("k").records().empty());
      EXPECT_THROW(store.merge({}), core::UsageError);
    }
    ASSERT_EQ(listener.warnings().size(), 1u) << path;
    EXPECT_NE(listener.warnings()[0].find(path), std::string::npos);
  }
  EXPECT_EQ(read_text(folder.at("file")), "x");
}

TEST(Store, ReadOnlyFolderCanBeReadButNotWritten) {
  const Folder folder;
  std::filesystem::create_directory(folder.at("sub"));
  const std::string path = folder.at("sub/a.db");
  {
    Store store(path);
    store.add(key("k"), sample(1));
    ASSERT_TRUE(store.flush());
  }
  ::chmod(path.c_str(), 0444);
  ::chmod(folder.at("sub").c_str(), 0555);
  ::chmod(folder.path.c_str(), 0755);
  const int code = wait_for(start_child([&] {
    become_nobody();
    const Listener listener;
    Store store(path);
    if (store.load("k").records().size() != 1) return 1;
    if (!listener.warnings().empty()) return 2;
    for (int i = 0; i < 3; ++i) {
      store.add(key("k"), sample(1));
      if (store.flush()) return 3;
    }
    if (listener.warnings().size() != 1) return 4;
    Store other(folder.at("sub/b.db"));
    other.add(key("k"), sample(1));
    if (other.flush()) return 5;
    if (listener.warnings().size() != 2) return 6;
    return 0;
  }));
  if (code == cannot_become_nobody) GTEST_SKIP() << "this process may not change its user";
  EXPECT_EQ(code, 0);
  ::chmod(folder.at("sub").c_str(), 0755);
}

TEST(Store, FullDiskLosesBatchesButNotTheStore) {
  const Folder folder;
  const std::string path = folder.at("a.db");
  const int code = wait_for(start_child([&] {
    const Listener listener;
    Store store(path);
    store.add(key("first"), sample(1));
    if (!store.flush()) return 1;
    ::signal(SIGXFSZ, SIG_IGN);
    // The limit stands for the end of the disk: no file of this process may become longer.
    std::uintmax_t longest = 0;
    for (const std::string& name : folder.names())
      longest = std::max(longest, std::filesystem::file_size(folder.at(name)));
    const rlimit full{longest + 8192, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &full);
    for (int i = 0; i < 200; ++i) {
      store.add({std::string(1000, 'x') + std::to_string(i), "v", "", "d", "s"}, sample(1));
      if (i % 20 == 19) store.flush();
    }
    if (store.flush()) return 2;
    if (listener.warnings().size() != 1) return 3;
    const rlimit free_again{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &free_again);
    store.add(key("last"), sample(1));
    if (!store.flush()) return 5;  // what was lost before was told
    return store.load("last").records().size() == 1 ? 0 : 4;
  }));
  EXPECT_EQ(code, 0);
  Store store(path);
  EXPECT_EQ(store.load("first").records().size(), 1u);
  EXPECT_EQ(store.load("last").records().size(), 1u);
  for (const std::string& name : folder.names()) EXPECT_EQ(name.find("damaged"), std::string::npos);
}

// Holds the file's lock as another process would.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    sqlite3_open(path.c_str(), &database_);
    held = sqlite3_exec(database_, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  ~Holder() { sqlite3_close(database_); }
  bool held = false;

 private:
  sqlite3* database_ = nullptr;
};

TEST(Store, WaitsForALockAndKeepsWhatItHas) {
  const Folder folder;
  Store store(folder.at("a.db"), Pace{4096, Milliseconds(5), Milliseconds(20)});
  store.add(key("k"), sample(1));
  ASSERT_TRUE(store.flush());
  const Listener listener;
  {
    const Holder holder(folder.at("a.db"));
    ASSERT_TRUE(holder.held);
    for (int i = 0; i < 5; ++i) {
      store.add(key("k"), sample(1));
      EXPECT_FALSE(store.flush());
    }
    EXPECT_THROW(store.forget({}), core::UsageError);
    for (int i = 0; i < 100; ++i) {  // while the writer waits
      store.add(key("k"), sample(1));
      std::this_thread::sleep_for(Milliseconds(1));
    }
  }
  EXPECT_TRUE(store.flush());
  EXPECT_EQ(store.load("k").find(key("k"))->aggregate.count, 106);
  EXPECT_TRUE(listener.warnings().empty());
}

TEST(Store, ALockedFileIsNotADamagedOne) {
  const Folder folder;
  { Store(folder.at("a.db")).merge({{{key("k"), {}}}, {}}); }
  sqlite3* database = nullptr;  // in the mode without a log, where a lock also keeps readers out
  sqlite3_open(folder.at("a.db").c_str(), &database);
  sqlite3_exec(database, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const Listener listener;
  Store store(folder.at("a.db"), Pace{4096, Milliseconds(5), Milliseconds(20)});
  {
    const Holder holder(folder.at("a.db"));
    ASSERT_TRUE(holder.held);
    store.add(key("k"), sample(1));
    EXPECT_FALSE(store.flush());
  }
  EXPECT_TRUE(store.flush());
  EXPECT_TRUE(listener.warnings().empty());
  EXPECT_EQ(store.load("k").find(key("k"))->aggregate.count, 1);
  for (const std::string& name : folder.names()) EXPECT_EQ(name.find("damaged"), std::string::npos);
}

TEST(Store, StartsAgainWhereItsFileWasRemoved) {
  const Folder folder;
  Store store(folder.at("a.db"));
  store.add(key("old"), sample(1));
  ASSERT_TRUE(store.flush());
  for (const std::string& name : folder.names()) std::filesystem::remove(folder.at(name));
  store.add(key("new"), sample(1));
  EXPECT_TRUE(store.flush());
  EXPECT_EQ(Store(folder.at("a.db")).read().records.size(), 1u);
}

TEST(Store, AForkedChildDoesNothing) {
  const Folder folder;
  const Listener listener;
  auto store = std::make_unique<Store>(folder.at("a.db"));
  store->add(key("parent"), sample(1));
  ASSERT_TRUE(store->flush());
  const int code = wait_for(start_child([&] {
    store->add(key("child"), sample(1));
    store->add_failure(key("child"), core::FailureKind::launch);
    if (store->flush()) return 1;
    if (!store->load("parent").records().empty()) return 2;
    store.reset();
    return listener.warnings().size() == 1 ? 0 : 3;
  }));
  EXPECT_EQ(code, 0);
  store->add(key("parent"), sample(1));
  EXPECT_TRUE(store->flush());
  const Contents contents = store->read();
  ASSERT_EQ(contents.records.size(), 1u);
  EXPECT_EQ(contents.records.at(key("parent")).aggregate.count, 2);
}

// Ends hanging children: SQLite's mutexes may have been held at the moment of the fork.
constexpr unsigned patience_with_children_s = 20;

TEST(Store, ANewStoreInAForkedChildIsUnusableWhileTheParentHasOneOpen) {
  const Folder folder;
  Store parent(folder.at("a.db"));
  parent.add(key("parent"), sample(1));
  ASSERT_TRUE(parent.flush());
  const int code = wait_for(start_child([&] {
    ::alarm(patience_with_children_s);
    const Listener listener;
    for (const std::string& path : {folder.at("a.db"), folder.at("b.db"), std::string(":memory:")}) {
      Store child(path);
      child.add(key("child"), sample(1));
      if (child.flush()) return 1;
      if (!child.read().empty() || !child.load("parent").records().empty()) return 2;
      try {
        child.read_aloud();
        return 3;
      } catch (const core::UsageError&) {
      }
      try {
        child.merge({});
        return 4;
      } catch (const core::UsageError&) {
      }
    }
    return listener.warnings().size() <= 1 ? 0 : 5;  // once in a process, and the parent may have said it
  }));
  EXPECT_EQ(code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.at("b.db")));
  parent.add(key("parent"), sample(1));
  EXPECT_TRUE(parent.flush());
  EXPECT_EQ(parent.read().records.size(), 1u);
}

TEST(Store, AChildForkedWhileTheParentWritesNeverHangs) {
  const Folder folder;
  Store parent(folder.at("a.db"), Pace{1, Milliseconds(1), Milliseconds(5000)});
  parent.add(key("p"), sample(1));
  ASSERT_TRUE(parent.flush());
  const Listener listener;  // each child says it once
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      for (int i = 0; i < 20; ++i) parent.add(key("p" + std::to_string(i)), sample(1));
      parent.flush();
    }
  });
  for (int i = 0; i < 20; ++i) {
    const int code = wait_for(start_child([&] {
      ::alarm(patience_with_children_s);
      Store child(folder.at("a.db"));
      child.add(key("child"), sample(1));
      return child.flush() ? 1 : 0;
    }));
    EXPECT_EQ(code, 0);
  }
  stop = true;
  busy.join();
  EXPECT_TRUE(parent.load("child").records().empty());
}

TEST(Store, AChildMayUseAStoreOnceTheParentsIsClosed) {
  const Folder folder;
  {
    Store parent(folder.at("a.db"));
    parent.add(key("k"), sample(1));
    ASSERT_TRUE(parent.flush());
  }
  const int code = wait_for(start_child([&] {
    Store child(folder.at("a.db"));
    child.add(key("k"), sample(1));
    return child.flush() ? 0 : 1;
  }));
  EXPECT_EQ(code, 0);
  EXPECT_EQ(Store(folder.at("a.db")).load("k").find(key("k"))->aggregate.count, 2);
}

TEST(Store, FlushAnswersForWhatWasAddedBefore) {
  const Folder folder;
  Store store(folder.at("a.db"));
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) store.add(key("other"), sample(1));
  });
  for (int i = 0; i < 50; ++i) {
    store.add(key("mine"), sample(1));
    EXPECT_TRUE(store.flush());
  }
  stop = true;
  other.join();
  EXPECT_EQ(store.load("mine").find(key("mine"))->aggregate.count, 50);
}

TEST(Store, WhatCannotBeReadIsSaidAloud) {
  const Folder folder;
  EXPECT_TRUE(Store(folder.at("none.db")).read_aloud().empty());
  EXPECT_THROW(Store("").read_aloud(), core::UsageError);
  std::filesystem::create_directory(folder.at("folder"));
  const Listener listener;
  EXPECT_THROW(Store(folder.at("folder")).read_aloud(), core::UsageError);
  EXPECT_TRUE(listener.warnings().empty());  // the error says it all

  { Store(folder.at("a.db")).merge({{{key("k"), {}}}, {}}); }
  sqlite3* database = nullptr;  // in the mode without a log, where a lock also keeps readers out
  sqlite3_open(folder.at("a.db").c_str(), &database);
  sqlite3_exec(database, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  Store store(folder.at("a.db"), Pace{4096, Milliseconds(5), Milliseconds(20)});
  {
    const Holder holder(folder.at("a.db"));
    ASSERT_TRUE(holder.held);
    EXPECT_TRUE(store.read().empty());
    EXPECT_THROW(store.read_aloud(), core::UsageError);
  }
  EXPECT_EQ(store.read_aloud().records.size(), 1u);

  write_text(folder.at("b.db"), "garbage");
  EXPECT_THROW(Store(folder.at("b.db")).read_aloud(), core::UsageError);  // moved aside, so what was in it was not read
  EXPECT_TRUE(Store(folder.at("b.db")).read_aloud().empty());
}

TEST(Store, WhatOthersCouldReadIsClosedToThem) {
  const Folder folder;
  for (const char* name : {"empty.db", "own.db"}) {
    const std::string path = folder.at(name);
    if (name == std::string("own.db")) {
      Store(path).merge({{{key("k"), {}}}, {}});
    } else {
      write_text(path, "");
    }
    ::chmod(path.c_str(), 0666);
    for (const char* end : {"-wal", "-shm"}) {
      if (name == std::string("own.db")) write_text(path + end, ""), ::chmod((path + end).c_str(), 0644);
    }
    Store store(path);
    store.add(key("k"), sample(1));
    EXPECT_TRUE(store.flush());
    EXPECT_EQ(mode_of(path), 0600) << name;
    for (const char* end : {"-wal", "-shm"}) EXPECT_EQ(mode_of(path + end), 0600) << name << end;
  }
}

TEST(Store, TheFutureDoesNotFreezeTheSamples) {
  Store store(":memory:");
  Entry future;
  for (std::size_t i = 0; i < core::samples_per_key; ++i) future.add(sample(1), Milliseconds(4'000'000'000'000));
  store.merge({{{key("k"), future}}, {}});
  for (std::size_t i = 0; i < core::samples_per_key; ++i) store.add(key("k"), sample(999));
  const Entry entry = store.read().records.at(key("k"));
  ASSERT_EQ(entry.samples.size(), core::samples_per_key);
  for (const DatedSample& s : entry.samples) EXPECT_EQ(s.sample.duration.count(), 999);
}

TEST(Store, EndsWithinItsPatience) {
  const Folder folder;
  constexpr Milliseconds patience(1000);
  auto store = std::make_unique<Store>(folder.at("a.db"), Pace{4096, Milliseconds(20), patience});
  store->add(key("k"), sample(1));
  ASSERT_TRUE(store->flush());
  const Listener listener;
  const Holder holder(folder.at("a.db"));
  ASSERT_TRUE(holder.held);
  store->add(key("k"), sample(1));
  std::this_thread::sleep_for(Milliseconds(200));  // now the writer waits for the lock
  const auto begin = std::chrono::steady_clock::now();
  store.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, patience * 3 / 2);  // it took 1.8 times before
  EXPECT_EQ(listener.warnings().size(), 1u);
}

TEST(Store, ForgetsWhatIsSelected) {
  Store store(":memory:");
  for (const char* kernel : {"k1", "k2"}) {
    for (const char* device : {"cpu", "gpu"}) {
      store.add(key(kernel, "base", device), sample(1));
      store.add_failure(key(kernel, "base", device), core::FailureKind::build);
      store.name(kernel, std::string("name of ") + kernel);
    }
  }
  EXPECT_EQ(store.forget({"k1", "gpu"}), 1);
  EXPECT_EQ(store.forget({"k3", {}}), 0);
  EXPECT_EQ(store.forget({"", {}}), 0);  // an empty fingerprint is not "any"
  EXPECT_EQ(store.read().names.size(), 2u);
  EXPECT_EQ(store.forget({"k1", {}}), 1);
  EXPECT_EQ(store.read().names.count("k1"), 0u);
  EXPECT_EQ(store.read().names.count("k2"), 1u);
  EXPECT_EQ(store.forget({}), 2);
  EXPECT_TRUE(store.read().empty());
  store.add(key("k1", "base", "cpu"), sample(1));  // nothing of the old record comes back with a new one
  const Entry entry = store.read().records.at(key("k1", "base", "cpu"));
  EXPECT_EQ(entry.samples.size(), 1u);
  EXPECT_EQ(entry.aggregate.failures, 0);
}

TEST(Store, NamesMayChange) {
  Store store(":memory:");
  store.name("k", "old");
  store.flush();
  store.name("k", "new");
  EXPECT_EQ(store.read().names.at("k"), "new");
}

}  // namespace
}  // namespace heddle::profile

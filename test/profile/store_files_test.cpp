// A store whose file is not there, is not its own, is locked, damaged or full: what cannot be kept never stops the
// program.
#include <thread>

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "place.hpp"
#include "profile/store.hpp"

namespace heddle::profile {
namespace {

int mode_of(const std::string& path) {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 ? there.st_mode & 0777 : -1;
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

}  // namespace
}  // namespace heddle::profile

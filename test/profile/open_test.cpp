// Whatever lies at the store's path: it is used, or moved aside with one warning, and never destroyed.
#include "profile/open.hpp"

#include <sqlite3.h>

#include "place.hpp"

namespace heddle::profile {
namespace {

void execute(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

void make_store(const std::string& path, int records) {
  Store store(path);
  for (int i = 0; i < records; ++i) store.add(key("k" + std::to_string(i)), sample(1));
  ASSERT_TRUE(store.flush());
}

// The store at `path` works, after exactly one warning that names the file it was moved to.
void expect_moved_aside(const Folder& folder, const std::string& path, const std::string& aside) {
  const Listener listener;
  {
    Store store(path);
    store.add(key("new"), sample(1));
    EXPECT_TRUE(store.flush());
    EXPECT_EQ(store.read().records.size(), 1u);
  }
  {
    Store again(path);
    EXPECT_EQ(again.read().records.size(), 1u);
  }
  ASSERT_EQ(listener.warnings().size(), 1u);
  EXPECT_NE(listener.warnings()[0].find("moved to " + folder.at(aside) + ","), std::string::npos)
      << listener.warnings()[0];
  EXPECT_TRUE(std::filesystem::exists(folder.at(aside)));
}

TEST(Open, GarbageIsMovedAside) {
  const Folder folder;
  const std::string garbage(5000, 'g');
  write_text(folder.at("a.db"), garbage);
  write_text(folder.at("a.db-wal"), "log");
  expect_moved_aside(folder, folder.at("a.db"), "a.db.damaged-1");
  EXPECT_EQ(read_text(folder.at("a.db.damaged-1")), garbage);
  EXPECT_EQ(read_text(folder.at("a.db.damaged-1-wal")), "log");
}

TEST(Open, AnEarlierOneIsNotOverwritten) {
  const Folder folder;
  write_text(folder.at("a.db.damaged-1"), "earlier");
  write_text(folder.at("a.db.damaged-2-wal"), "earlier log");
  write_text(folder.at("a.db"), "short garbage");
  expect_moved_aside(folder, folder.at("a.db"), "a.db.damaged-3");
  EXPECT_EQ(read_text(folder.at("a.db.damaged-1")), "earlier");
  EXPECT_EQ(read_text(folder.at("a.db.damaged-2-wal")), "earlier log");
  EXPECT_EQ(read_text(folder.at("a.db.damaged-3")), "short garbage");
}

TEST(Open, ATruncatedStoreIsMovedAside) {
  const Folder folder;
  make_store(folder.at("a.db"), 500);
  std::filesystem::resize_file(folder.at("a.db"), std::filesystem::file_size(folder.at("a.db")) / 2);
  expect_moved_aside(folder, folder.at("a.db"), "a.db.damaged-1");
}

TEST(Open, DamageInTheMiddleIsFoundWhenItIsRead) {
  const Folder folder;
  make_store(folder.at("a.db"), 500);
  std::string bytes = read_text(folder.at("a.db"));
  ASSERT_GT(bytes.size(), 16384u);
  for (std::size_t i = 8192; i < bytes.size(); ++i) bytes[i] = '\x5a';  // the header and the schema stay
  write_text(folder.at("a.db"), bytes);
  expect_moved_aside(folder, folder.at("a.db"), "a.db.damaged-1");
  EXPECT_EQ(read_text(folder.at("a.db.damaged-1")), bytes);
}

TEST(Open, AnUnknownKindOfFailureIsAFailure) {
  const Folder folder;
  {
    Store store(folder.at("a.db"));
    store.add_failure(key("k"), core::FailureKind::build);
  }
  execute(folder.at("a.db"), "UPDATE failures SET kind = 'overheated'");
  const Listener listener;
  const Contents contents = Store(folder.at("a.db")).read_aloud();
  EXPECT_EQ(contents.records.at(key("k")).failures.at(core::FailureKind::unsupported), 1);
  EXPECT_TRUE(listener.warnings().empty());
}

TEST(Open, NumbersThatNoMeasurementGivesAreDamage) {
  for (const char* nonsense :
       {"UPDATE records SET mean = 9e999", "UPDATE records SET count = -1", "UPDATE samples SET points = 0",
        "INSERT INTO failures VALUES(1, 'build', -5)",
        "DROP TABLE names; CREATE VIEW names AS SELECT 'f' AS fingerprint, abs(-9223372036854775808) AS name"}) {
    const Folder folder;
    make_store(folder.at("a.db"), 3);
    execute(folder.at("a.db"), nonsense);
    const Listener listener;
    EXPECT_TRUE(Store(folder.at("a.db")).read().empty()) << nonsense;
    EXPECT_EQ(listener.warnings().size(), 1u) << nonsense;
    EXPECT_TRUE(std::filesystem::exists(folder.at("a.db.damaged-1"))) << nonsense;
    Store store(folder.at("a.db"));
    store.add(key("new"), sample(1));
    EXPECT_TRUE(store.flush()) << nonsense;
    EXPECT_EQ(store.read().records.size(), 1u) << nonsense;
  }
}

TEST(Open, AllCanBeForgottenUnread) {
  const Folder folder;
  make_store(folder.at("a.db"), 3);
  execute(folder.at("a.db"), "UPDATE records SET mean = 9e999");
  EXPECT_EQ(Store(folder.at("a.db")).forget({}), 3);
  EXPECT_FALSE(std::filesystem::exists(folder.at("a.db.damaged-1")));
}

TEST(Open, ATableThatCannotBeWrittenIsDamage) {
  const Folder folder;
  make_store(folder.at("a.db"), 3);
  execute(folder.at("a.db"),
          "CREATE TABLE r AS SELECT * FROM records; DROP TABLE records; ALTER TABLE r RENAME TO records");
  expect_moved_aside(folder, folder.at("a.db"), "a.db.damaged-1");
}

TEST(Open, AMissingTableIsDamage) {
  const Folder folder;
  make_store(folder.at("a.db"), 3);
  execute(folder.at("a.db"), "DROP TABLE samples");
  expect_moved_aside(folder, folder.at("a.db"), "a.db.damaged-1");
}

TEST(Open, TheFutureIsMovedAside) {
  const Folder folder;
  make_store(folder.at("a.db"), 3);
  execute(folder.at("a.db"), "PRAGMA user_version = 2");
  expect_moved_aside(folder, folder.at("a.db"), "a.db.future-1");
}

TEST(Open, AnotherProgramsDatabaseIsMovedAsideWhole) {
  const Folder folder;
  execute(folder.at("a.db"), "PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES(42)");
  expect_moved_aside(folder, folder.at("a.db"), "a.db.foreign-1");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(folder.at("a.db.foreign-1").c_str(), &database), SQLITE_OK);
  int found = 0;
  const auto take = [](void* out, int, char** values, char**) {
    return *static_cast<int*>(out) = std::stoi(values[0]), 0;
  };
  EXPECT_EQ(sqlite3_exec(database, "SELECT x FROM t", take, &found, nullptr), SQLITE_OK);
  EXPECT_EQ(found, 42);
  sqlite3_close(database);
}

TEST(Open, AnEmptyFileIsJustNew) {
  const Folder folder;
  write_text(folder.at("a.db"), "");
  const Listener listener;
  make_store(folder.at("a.db"), 1);
  EXPECT_EQ(Store(folder.at("a.db")).read().records.size(), 1u);
  EXPECT_TRUE(listener.warnings().empty());
}

TEST(Open, ALinkStaysALink) {
  const Folder folder;
  std::filesystem::create_directory(folder.at("real"));
  write_text(folder.at("real/a.db"), "garbage");
  std::filesystem::create_symlink(folder.at("real/a.db"), folder.at("link.db"));
  expect_moved_aside(folder, folder.at("link.db"), "real/a.db.damaged-1");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.at("link.db")));
}

TEST(Open, ManyProcessesMoveADamagedFileOnce) {
  for (int round = 0; round < 5; ++round) {
    const Folder folder;
    write_text(folder.at("a.db"), std::string(5000, 'g'));
    int gate[2];
    ASSERT_EQ(::pipe(gate), 0);
    std::vector<pid_t> children;
    for (int p = 0; p < 6; ++p) {
      children.push_back(start_child([&] {
        ::close(gate[1]);
        char unused;
        if (::read(gate[0], &unused, 1) != 0) return 90;  // ends for all at once, when the parent closes it
        const Listener listener;
        Store store(folder.at("a.db"), Pace{4, Milliseconds(1), Milliseconds(60 * 1000)});
        for (int i = 0; i < 20; ++i) {
          store.add(key("k"), sample(1));
          if (!store.flush()) return 91;
        }
        return static_cast<int>(listener.warnings().size());
      }));
    }
    ::close(gate[0]);
    ::close(gate[1]);
    int warnings = 0;
    for (pid_t child : children) {
      const int code = wait_for(child);
      ASSERT_GE(code, 0);
      ASSERT_LT(code, 90);
      warnings += code;
    }
    EXPECT_EQ(warnings, 1);
    EXPECT_EQ(Store(folder.at("a.db")).load("k").find(key("k"))->aggregate.count, 120);
    EXPECT_TRUE(std::filesystem::exists(folder.at("a.db.damaged-1")));
    EXPECT_FALSE(std::filesystem::exists(folder.at("a.db.damaged-2")));
  }
}

TEST(Open, WhatCannotBeMovedAsideStays) {
  const Folder folder;
  std::filesystem::create_directory(folder.at("sub"));
  write_text(folder.at("sub/a.db"), std::string(5000, 'g'));
  ::chmod(folder.at("sub").c_str(), 0555);
  ::chmod(folder.path.c_str(), 0755);
  const int code = wait_for(start_child([&] {
    become_nobody();
    const Listener listener;
    Store store(folder.at("sub/a.db"));
    for (int i = 0; i < 3; ++i) {
      store.add(key("k"), sample(1));
      if (store.flush()) return 1;
    }
    return listener.warnings().size() == 1 ? 0 : 2;
  }));
  if (code == cannot_become_nobody) GTEST_SKIP() << "this process may not change its user";
  EXPECT_EQ(code, 0);
  EXPECT_EQ(read_text(folder.at("sub/a.db")), std::string(5000, 'g'));
  ::chmod(folder.at("sub").c_str(), 0755);
}

TEST(Open, NoSharedMemoryOnNetworkFileSystems) {
  for (std::uint64_t type : {0x6969ull, 0x517bull, 0xff534d42ull, 0xfe534d42ull, 0x01021997ull, 0x65735546ull}) {
    EXPECT_FALSE(shares_memory(type)) << std::hex << type;
  }
  for (std::uint64_t type : {0xef53ull /* ext4 */, 0x01021994ull /* tmpfs */, 0x58465342ull /* xfs */}) {
    EXPECT_TRUE(shares_memory(type)) << std::hex << type;
  }
}

}  // namespace
}  // namespace heddle::profile

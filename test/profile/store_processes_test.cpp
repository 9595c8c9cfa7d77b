// A store among several processes, killed ones, and children that a program forks while it has one.
#include <atomic>
#include <thread>

#include <signal.h>

#include "place.hpp"
#include "profile/store.hpp"

namespace heddle::profile {
namespace {

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

}  // namespace
}  // namespace heddle::profile

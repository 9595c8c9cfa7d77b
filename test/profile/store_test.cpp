// What is added is there afterwards, whoever adds it and however much.
#include "profile/store.hpp"

#include <atomic>
#include <thread>

#include "place.hpp"

namespace heddle::profile {
namespace {

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

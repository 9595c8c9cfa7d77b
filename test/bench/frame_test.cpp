// The bench frame: statistics with known answers, fair interleaving, results that survive an interruption.
#include "bench/frame.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::bench {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> out;
  for (int i = n; i >= 1; --i) out.push_back(i);
  return out;
}

TEST(Summarise, MedianAndIntervalByOrderStatistics) {
  const Row nine = summarise("n", "d", "u", one_to(9));  // known: ranks 2 and 8 give 96.1 %
  EXPECT_EQ(nine.median, 5);
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.high, 8);
  const Row twenty = summarise("n", "d", "u", one_to(20));  // ranks 6 and 15 give 95.9 %
  EXPECT_EQ(twenty.median, 10.5);
  EXPECT_EQ(twenty.low, 6);
  EXPECT_EQ(twenty.high, 15);
  const Row five = summarise("n", "d", "u", one_to(5));  // too few for 95 %: the whole range
  EXPECT_EQ(five.low, 1);
  EXPECT_EQ(five.high, 5);
  const Row many = summarise("n", "d", "u", one_to(10'000));
  EXPECT_NEAR(many.low, 5000 - 98, 2);
  EXPECT_NEAR(many.high, 5000 + 99, 2);
  const Row thousand = summarise("n", "d", "u", one_to(1000)), more = summarise("n", "d", "u", one_to(1001));
  EXPECT_NEAR(thousand.low, more.low, 1.5);  // both ways of counting agree where they meet
  EXPECT_EQ(summarise("n", "d", "u", {}).samples, 0);
}

struct Frame : testing::Test {
  device::Machine machine;
  core::Settings settings;
  Options options;
};

TEST_F(Frame, InterleavesAndRotates) {
  std::string order;
  Context context{machine, settings, options};
  const auto rows = context.interleave("d",
                                       {{"a", "ms", [&] { return order += 'a', 1.0; }},
                                        {"b", "ms", [&] { return order += 'b', 2.0; }},
                                        {"c", "ms", [&] { return order += 'c', 3.0; }}},
                                       3);
  EXPECT_EQ(order, "abccbabca");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].median, 2);
  EXPECT_EQ(rows[1].samples, 3);
}

TEST_F(Frame, FewerSamplesAreSpreadOverAllRounds) {
  std::string order;
  Context context{machine, settings, options};
  const auto rows = context.interleave("d",
                                       {{"a", "ms", [&] { return order += 'a', 1.0; }},
                                        {"b", "ms", [&] { return order += 'b', 2.0; }, 2},
                                        {"c", "ms", [&] { return order += 'c', 3.0; }, 9}},
                                       4);
  EXPECT_EQ(order,
            "ac"
            "cba"
            "ca"
            "acb");
  EXPECT_EQ(rows[0].samples, 4);
  EXPECT_EQ(rows[1].samples, 2);
  EXPECT_EQ(rows[2].samples, 4);  // never more than there are rounds
}

TEST_F(Frame, WhatIsNotClearGoesOn) {
  std::string order;
  Context context{machine, settings, options};
  const std::vector<Case> cases{{"a", "ms", [&] { return order += 'a', 1.0; }},
                                {"b", "ms", [&] { return order += 'b', 2.0; }},
                                {"c", "ms", [&] { return order += 'c', 3.0; }, 1}};
  const auto more = [&] { return order.size() < 8 ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{}; };
  const auto rows = context.interleave("d", cases, 2, more);
  EXPECT_EQ(order,
            "ab"
            "cba"
            "ca"
            "ac");
  EXPECT_EQ(rows[0].samples, 4);
  EXPECT_EQ(rows[1].samples, 2);
  EXPECT_EQ(rows[2].samples, 3);
  order.clear();
  options.repetitions = 2;  // as often as the user has said
  context.interleave("d", cases, 2, more);
  EXPECT_EQ(order.size(), 5u);
}

TEST_F(Frame, WhoWantsFewerRepetitionsGetsFewerOfAll) {
  std::string order;
  options.repetitions = 2;
  Context context{machine, settings, options};
  const std::vector<Case> cases{{"a", "ms", [&] { return order += 'a', 1.0; }},
                                {"b", "ms", [&] { return order += 'b', 2.0; }, 2},
                                {"c", "ms", [&] { return order += 'c', 3.0; }, 9}};
  EXPECT_EQ(context.interleave("d", cases, 4)[1].samples, 1);
  EXPECT_EQ(order, "accba");
  order.clear();
  context.interleave("d", cases, 1);  // never more than the suite wants
  EXPECT_EQ(order, "abc");
}

Suite suite_of(std::vector<std::string>& ran, const std::string& fails, const std::string& interrupts) {
  return {"test", "",
          [&ran, fails, interrupts](Context&) {
            std::vector<Shard> shards;
            for (const std::string name : {"one", "two", "three"}) {
              shards.push_back({name, [&ran, name, fails, interrupts](Context& c) -> std::vector<Row> {
                                  ran.push_back(name);
                                  if (name == fails) throw Failed{{core::FailureKind::launch, "it broke", ""}};
                                  if (name == interrupts) std::raise(SIGINT);
                                  return c.interleave("d", {{name, "ms", [] { return 4.0; }}}, 2);
                                }});
            }
            return shards;
          },
          [](const std::vector<Row>& rows) {
            return nlohmann::json{{"count", rows.size()}};
          }};
}

TEST_F(Frame, AnInterruptedRunGoesOnWhereItStopped) {
  TemporaryFolder folder;
  options.partial = folder.path("x.partial");
  Context context{machine, settings, options};
  std::vector<std::string> ran;
  const Outcome first = run(suite_of(ran, "", "two"), context);
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.rows.size(), 1u);
  EXPECT_EQ(ran, (std::vector<std::string>{"one", "two"}));
  {
    std::ofstream cut(options.partial, std::ios::app);
    cut << R"({"shard":"three","ro)";  // a crash while writing
  }
  ran.clear();
  options.resume = true;
  const Outcome second = run(suite_of(ran, "", ""), context);
  EXPECT_FALSE(second.interrupted);
  EXPECT_EQ(ran, (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(second.rows.size(), 3u);
  EXPECT_EQ(second.document.at("summary").at("count"), 3);
}

TEST_F(Frame, ACrashWhileKeepingAShardCostsOnlyThatShard) {
  TemporaryFolder folder;
  options.partial = folder.path("x.partial");
  Context context{machine, settings, options};
  std::vector<std::string> ran;
  run(suite_of(ran, "", "two"), context);
  std::ofstream(options.partial, std::ios::app) << R"({"shard":"two","ro)";
  options.resume = true;
  ran.clear();
  run(suite_of(ran, "", "three"), context);
  EXPECT_EQ(ran, (std::vector<std::string>{"two", "three"}));
  ran.clear();
  run(suite_of(ran, "", ""), context);
  EXPECT_EQ(ran, std::vector<std::string>{"three"});
}

TEST_F(Frame, ARunOfSomethingElseIsNotResumed) {
  TemporaryFolder folder;
  options.partial = folder.write("x.partial", "{\"of\":\"other\"}\n{\"shard\":\"one\",\"rows\":[]}\n");
  options.resume = true;
  Context context{machine, settings, options};
  std::vector<std::string> ran;
  run(suite_of(ran, "", ""), context);
  EXPECT_EQ(ran.size(), 3u);
}

TEST_F(Frame, OnlyWhatIsAskedForRuns) {
  Context context{machine, settings, options};
  std::vector<std::string> ran;
  options.only = "t";
  const Outcome outcome = run(suite_of(ran, "", ""), context);
  EXPECT_EQ(ran, (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(outcome.document.at("only"), "t");
  EXPECT_EQ(outcome.document.at("summary").at("count"), 2);
  options.only = "four";
  try {
    run(suite_of(ran, "", ""), context);
    FAIL() << "UsageError expected";
  } catch (const core::UsageError& e) {
    EXPECT_STREQ(e.what(), "no part of suite 'test' has 'four' in its name; there are: one, two, three");
  }
}

// A part of an interrupted run can be had first, and the rest goes on from there.
TEST_F(Frame, APartOfAnInterruptedRunIsPartOfIt) {
  TemporaryFolder folder;
  options.partial = folder.path("x.partial");
  Context context{machine, settings, options};
  std::vector<std::string> ran;
  run(suite_of(ran, "", "two"), context);
  options.resume = true, options.only = "three";
  ran.clear();
  const Outcome part = run(suite_of(ran, "", ""), context);
  EXPECT_EQ(ran, std::vector<std::string>{"three"});
  EXPECT_EQ(part.rows.size(), 1u);
  EXPECT_TRUE(part.others_kept);
  options.only = "";
  ran.clear();
  const Outcome all = run(suite_of(ran, "", ""), context);
  EXPECT_EQ(ran, std::vector<std::string>{"two"});
  EXPECT_EQ(all.rows.size(), 3u);
  EXPECT_FALSE(all.others_kept);
}

TEST_F(Frame, AFailedShardIsNamedAndTheOthersGoOn) {
  Context context{machine, settings, options};
  std::vector<std::string> ran;
  const Outcome outcome = run(suite_of(ran, "two", ""), context);
  EXPECT_EQ(outcome.rows.size(), 2u);
  EXPECT_EQ(outcome.problems, std::vector<std::string>{"two: it broke"});
  EXPECT_EQ(outcome.document.at("problems").size(), 1u);
}

TEST_F(Frame, TablesFitInAHundredColumns) {
  Outcome outcome;
  outcome.rows = {
      {std::string(80, 'x'), std::string(30, 'd'), "GB/s and more", 123456.789, 0.000012345, 1e12, 1000, 12345.6}};
  std::istringstream lines(table(outcome));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace heddle::bench

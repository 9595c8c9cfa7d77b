// What is exported can be imported, and what is wrong is refused at its exact place.
#include "profile/exchange.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "place.hpp"

namespace heddle::profile {
namespace {

using nlohmann::json;

Contents example() {
  Contents out;
  for (int i = 1; i <= 40; ++i) out.records[key("k1")].add(sample(i * 1000 + 1, 7), Milliseconds(1700000000000 + i));
  out.records[key("k1")].add(core::FailureKind::hang, 2);
  out.records[key("k2", "vec \"4\"", "gpu")].add(core::FailureKind::build);
  out.names = {{"k1", "sät"}, {"gpu", "H200"}};
  return out;
}

void expect_same(const Contents& a, const Contents& b) { EXPECT_EQ(to_json(a), to_json(b)); }

std::string refusal(const std::string& text) {
  try {
    from_json(text, "file");
  } catch (const core::UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Exchange, RoundTrip) {
  const Contents before = example();
  const Contents after = from_json(to_json(before), "file");
  expect_same(before, after);
  const Entry& entry = after.records.at(key("k1"));
  EXPECT_EQ(entry.aggregate, before.records.at(key("k1")).aggregate);  // to the last bit
  EXPECT_EQ(entry.aggregate.count, 40);
  EXPECT_EQ(entry.samples.size(), core::samples_per_key);
  EXPECT_EQ(entry.samples.back().when.count(), 1700000000040);
  EXPECT_EQ(entry.failures.at(core::FailureKind::hang), 2);
}

TEST(Exchange, NothingIsAlsoAProfile) { EXPECT_TRUE(from_json(to_json({}), "file").empty()); }

TEST(Exchange, FromStoreToStore) {
  const Folder folder;
  Store first(folder.at("a.db")), second(folder.at("b.db"));
  first.merge(example());
  const Contents exported = first.read();
  expect_same(exported, example());
  second.merge(from_json(to_json(exported), "file"));
  expect_same(second.read(), exported);
  second.merge(from_json(to_json(exported), "file"));  // the same file again counts again
  EXPECT_EQ(second.read().records.at(key("k1")).aggregate.count, 80);
  EXPECT_EQ(second.read().records.at(key("k1")).samples.size(), core::samples_per_key);
  EXPECT_EQ(second.read().records.at(key("k1")).aggregate.failures, 4);
}

TEST(Exchange, WrongSyntaxIsRefusedAtLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "file: line 1, column 1: "},
      {"{\n \"a\": 1,\n  x\n}", "file: line 3, column 3: "},
      {"{\"a\": 1e999}", "file: line 1, column 11: "},
      {"[1,2", "file: line 1, column 5: "},
      {"{} {}", "file: line 1, column 4: "},
      {"{\"a\": NaN}", "file: line 1, column 7: "},
      {"\"\xff\"", "file: line 1, column 2: "},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(refusal(text).rfind(expected, 0), 0u) << text << "\n" << refusal(text);
}

struct Case {
  const char* pointer;  // what is replaced in an accepted file
  const char* value;
  const char* expected;
};

TEST(Exchange, WrongValuesAreRefusedAtTheirPlace) {
  const Case cases[] = {
      {"", "[]", "file: top level: not an exported profile: 'heddle_profile' is missing"},
      {"", "{}", "file: top level: not an exported profile: 'heddle_profile' is missing"},
      {"", "{\"heddle_profile\": 1, \"names\": {}}", "file: top level: 'records' is missing"},
      {"/heddle_profile", "2", "file: heddle_profile: version 2 is newer than this Heddle, which knows 1"},
      {"/heddle_profile", "0", "file: heddle_profile: expected an integer >= 1, got 0"},
      {"/heddle_profile", "\"1\"", "file: heddle_profile: expected an integer >= 1, got \"1\""},
      {"/more", "1", "file: top level: unknown member 'more'"},
      {"/names", "[]", "file: names: expected an object, got []"},
      {"/names/k1", "3", "file: names.k1: expected a string, got 3"},
      {"/records", "{}", "file: records: expected an array, got {}"},
      {"/records/0", "7", "file: records[0]: expected an object, got 7"},
      {"/records/1", "{\"kernel\": \"k\"}", "file: records[1]: 'variant' is missing"},
      {"/records/1/more", "null", "file: records[1]: unknown member 'more'"},
      {"/records/0/kernel", "1", "file: records[0].kernel: expected a string, got 1"},
      {"/records/0/kernel", "\"\"", "file: records[0].kernel: expected a fingerprint, got \"\""},
      {"/records/1/device", "\"\"", "file: records[1].device: expected a fingerprint, got \"\""},
      {"/records/0/count", "-1", "file: records[0].count: expected an integer >= 0, got -1"},
      {"/records/0/count", "40.0", "file: records[0].count: expected an integer >= 0, got 40.0"},
      {"/records/0/count", "5000000000000000",
       "file: records[0].count: expected an integer <= 1000000000000000, got 5000000000000000"},
      {"/records/0/count", "31", "file: records[0].samples: expected at most 31 samples (the count), got 32"},
      {"/records/0/mean_ns_per_point", "-0.5", "file: records[0].mean_ns_per_point: expected a number >= 0, got -0.5"},
      {"/records/0/mean_ns_per_point", "1e20",
       "file: records[0].mean_ns_per_point: expected a number <= 1e+19, got 1e+20"},
      {"/records/0/mean_ns_per_point", "null", "file: records[0].mean_ns_per_point: expected a number >= 0, got null"},
      {"/records/0/m2", "-1", "file: records[0].m2: expected a number >= 0, got -1"},
      {"/records/0/least", "true", "file: records[0].least: expected a number >= 0, got true"},
      {"/records/0/least", "1e6", "file: records[0].least: expected at most the mean, 2928.71, got 1000000.0"},
      {"/records/0/most", "1", "file: records[0].most: expected at least the mean, 2928.71, got 1"},
      {"/records/1/most", "1", "file: records[1].most: expected 0 where count is 0, got 1"},
      {"/records/0/failures", "2", "file: records[0].failures: expected an object, got 2"},
      {"/records/0/failures/odd", "1",
       "file: records[0].failures.odd: unknown kind of failure; expected one of build, allocation, launch, transfer, "
       "lost, hang, unsupported"},
      {"/records/0/failures/hang", "-2", "file: records[0].failures.hang: expected an integer >= 0, got -2"},
      {"/records/0/samples", "{}", "file: records[0].samples: expected an array, got {}"},
      {"/records/0/samples/3", "[]", "file: records[0].samples[3]: expected an object, got []"},
      {"/records/0/samples/3", "{\"points\": 1}", "file: records[0].samples[3]: 'duration_ns' is missing"},
      {"/records/0/samples/0/points", "-4", "file: records[0].samples[0].points: expected an integer >= 1, got -4"},
      {"/records/0/samples/0/points", "0", "file: records[0].samples[0].points: expected an integer >= 1, got 0"},
      {"/records/0/samples/31/points", "18446744073709551615",
       "file: records[0].samples[31].points: expected an integer <= 9223372036854775807, got 18446744073709551615"},
      {"/records/0/samples/0/duration_ns", "1.5",
       "file: records[0].samples[0].duration_ns: expected an integer >= 0, got 1.5"},
      {"/records/0/samples/0/bytes_in", "-1", "file: records[0].samples[0].bytes_in: expected an integer >= 0, got -1"},
      {"/records/0/samples/0/bytes_out", "\"x\"",
       "file: records[0].samples[0].bytes_out: expected an integer >= 0, got \"x\""},
      {"/records/0/samples/0/contention", "0.5",
       "file: records[0].samples[0].contention: expected a number >= 0.9, got 0.5"},
      {"/records/0/samples/0/when", "-1", "file: records[0].samples[0].when: expected an integer >= 0, got -1"},
  };
  for (const Case& c : cases) {
    json file = json::parse(to_json(example()));
    file[json::json_pointer(c.pointer)] = json::parse(c.value);
    EXPECT_EQ(refusal(file.dump()), c.expected) << c.pointer << " = " << c.value;
  }
}

TEST(Exchange, TooManySamplesAreRefused) {
  json file = json::parse(to_json(example()));
  file["records"][0]["samples"].push_back(file["records"][0]["samples"][0]);
  EXPECT_EQ(refusal(file.dump()),
            "file: records[0].samples: expected at most 32 samples (a store keeps no more), got 33");
}

TEST(Exchange, WhatIsGivenTwiceIsRefused) {
  json file = json::parse(to_json(example()));
  file["records"].push_back(file["records"][0]);
  EXPECT_EQ(refusal(file.dump()), "file: records[2]: the same key as records[0]");
  EXPECT_EQ(refusal(R"({"heddle_profile": 1, "records": [{}, {"a": {}, "failures": {"hang": 1, "hang": 2}}]})"),
            "file: records[1].failures.hang: given twice");
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(Exchange, DeepNestingIsRefusedAtItsPlace) {
  const std::string begin = "{\"heddle_profile\": 1, \"names\":\n \"[[[[\\\"[[[[[[[[[[[[[\", \"records\": ";
  const std::string column = std::to_string(begin.size() - begin.find('\n') + 15);
  const std::string expected = "file: line 2, column " + column + ": nested deeper than 16 levels";
  EXPECT_EQ(refusal(begin + nested(15) + "}"), "file: names: expected an object, got \"[[[[\\\"[[[[[[[[[[[[[\"");
  EXPECT_EQ(refusal(begin + nested(16) + "}"), expected);
  EXPECT_EQ(refusal(begin + nested(100'000) + "}"), expected);
  EXPECT_EQ(refusal(begin + std::string(100'000, '[')), expected);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refusal(objects), "file: line 1, column 81: nested deeper than 16 levels");
}

// No time is asserted: what would take minutes, or a message of megabytes, is seen without that.
TEST(Exchange, AGreatDealOfGarbageIsRefusedInOneLine) {
  constexpr std::size_t size = 2'000'000;  // 50 MB take 0.6 s each, but minutes under the thread sanitizer
  for (const std::string begin : {"\x01", "[", " ", "\"", "{\"a", "1", "{\"heddle_profile\": 1, \"x\": \""}) {
    const std::string message = refusal(begin + std::string(size, begin == "[" ? '[' : begin == " " ? ' ' : '1'));
    EXPECT_LT(message.size(), 300u);
    EXPECT_EQ(message.rfind("file: ", 0), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(Exchange, MessagesDoNotSteerTheTerminal) {
  json file = json::parse(to_json(example()));
  file["names"]["\x1b[2J"] = 3;
  EXPECT_EQ(refusal(file.dump()), "file: names.?[2J: expected a string, got 3");
}

TEST(Exchange, TheFutureBecomesNow) {
  json file = json::parse(to_json(example()));
  const Milliseconds before = now();
  file["records"][0]["samples"][31]["when"] = (before + std::chrono::hours(25)).count();
  file["records"][0]["samples"][30]["when"] = (before + std::chrono::hours(23)).count();
  const Contents contents = from_json(file.dump(), "file");
  const auto& samples = contents.records.at(key("k1")).samples;
  EXPECT_GE(samples[31].when, before);
  EXPECT_LE(samples[31].when, now());
  EXPECT_EQ(samples[30].when, before + std::chrono::hours(23));
}

TEST(Exchange, WhatIsExportedIsNeverRefused) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN(), all = std::numeric_limits<double>::infinity();
  Contents odd;
  Entry entry;
  entry.aggregate = {5 * most_times, -1, none, all, -all, 3};
  entry.failures = {{core::FailureKind::hang, 5 * most_times}, {core::FailureKind::lost, -2}};
  for (int i = 0; i < 40; ++i) entry.samples.push_back({sample(i), Milliseconds(-i)});
  entry.samples.back().sample.bytes_in = std::numeric_limits<core::Bytes>::max();
  entry.samples.back().sample.points = 0;
  entry.samples.front().sample.contention = none;
  odd.records[key("\xff")] = odd.records[key("\xfe")] = odd.records[key("")] = odd.records[key("k", "v", "")] = entry;
  entry.aggregate = {-1, 1, 1, 1, 1, 0};
  odd.records[key("k")] = entry;
  entry.aggregate = {1, 10, 0, 20, 5, 0};
  odd.records[key("l")] = entry;
  odd.names = {{"\xff", "\xff\x1b"}, {"", ""}};
  const Contents read = from_json(to_json(odd), "file");
  EXPECT_EQ(read.records.size(), 3u);  // two became one, and two have no fingerprint
  EXPECT_EQ(read.records.at(key("l")).aggregate, (core::Aggregate{1, 10, 0, 10, 10, most_times}));
  expect_same(read, odd);
}

TEST(Exchange, ALongValueIsShownShort) {
  json file = json::parse(to_json(example()));
  file["names"] = std::string(1000, 'x');
  EXPECT_EQ(refusal(file.dump()), "file: names: expected an object, got \"" + std::string(39, 'x') + "...");
}

}  // namespace
}  // namespace heddle::profile

// Files of both tuners, whole, torn, spoilt and hostile: what can be read is read, and what cannot is said.
#include "profile/recorded.hpp"

#include <cmath>
#include <filesystem>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "core/errors.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::profile {
namespace {

Recorded read(const std::string& text) { return parse_recorded(text); }

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const core::UsageError& e) {
    return e.what();
  }
  return "accepted";
}

// "BX=8 V=1: 2.5" or "BX=8 V=1: compile", one line for each configuration.
std::string table(const Recorded& r) {
  std::string out;
  for (std::size_t i = 0; i < r.places.size(); ++i) {
    EXPECT_EQ(std::isnan(r.times[i]), !r.failures[i].empty());
    out += fmt::format("{}: {}\n", core::to_string(configuration(r, i)),
                       r.failures[i].empty() ? fmt::format("{}", r.times[i]) : r.failures[i]);
  }
  return out;
}

std::string all(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += text + "\n";
  return out;
}

// A cache of the parameters A and B with these entries.
std::string cache(const std::string& entries) {
  return R"({"device_name": "D", "kernel_name": "K", "problem_size": [8, 4], "tune_params_keys": ["A", "B"],
"tune_params": {"A": [1, 2, 4], "B": [0, 1]}, "objective": "time", "cache": {)" +
         entries + "}}";
}

// The layout of the AutoTuningAssociation's files, to the byte.
const char* const published = R"({
"device_name": "NVIDIA GeForce RTX 2080 Ti",
"kernel_name": "cn_pnpoly",
"problem_size": 20000000,
"tune_params_keys": [
"between_method",
"block_size_x",
"tile_size"
],
"tune_params": {
"between_method": [
0,
3
],
"block_size_x": [
32,
992
],
"tile_size": [
1,
20
]
},
"objective": "time",
"cache": {
"0,992,1": {"between_method": 0, "block_size_x": 992, "tile_size": 1, "time": 0.49451840221881865, "times": [0.49852800369262695, 0.4960640072822571], "compile_time": 0.018515000192564912, "verification_time": 0, "benchmark_time": 5.519442999911917, "GFLOP/s": 2258.069303411222, "strategy_time": 0, "framework_time": 75.86285699994733},
"0,32,1": {"between_method": 0, "block_size_x": 32, "tile_size": 1, "time": "CompilationFailedConfig", "compile_time": 16348.461095942184, "verification_time": 0, "benchmark_time": 0.3603850491344929, "strategy_time": 0, "framework_time": 1.5790211036801338, "timestamp": "2023-12-22 13:21:05.003513+00:00"},
"3,992,20": {"between_method": 3, "block_size_x": 992, "tile_size": 20, "time": "RuntimeFailedConfig", "compile_time": 139.3891679999797, "verification_time": 0, "benchmark_time": 0.09044000012181641, "strategy_time": 0, "framework_time": 35.48575899981188}}
}
)";

TEST(Recorded, AsPublished) {
  const Recorded r = read(published);
  EXPECT_EQ(r.kernel, "cn_pnpoly");
  EXPECT_EQ(r.device, "NVIDIA GeForce RTX 2080 Ti");
  EXPECT_EQ(r.problem, "20000000");
  EXPECT_EQ(table(r),
            "between_method=0 block_size_x=992 tile_size=1: 0.49451840221881865\n"
            "between_method=0 block_size_x=32 tile_size=1: compile\n"
            "between_method=3 block_size_x=992 tile_size=20: runtime\n");
  EXPECT_EQ(r.parameters[1].values, (std::vector<core::Value>{std::int64_t{32}, std::int64_t{992}}));  // ascending
  EXPECT_EQ(r.places[0], (std::vector<std::uint16_t>{0, 1, 0}));
  EXPECT_EQ(r.compile_ms, (std::vector<double>{0.018515000192564912, 16348.461095942184, 139.3891679999797}));
  EXPECT_EQ(r.skipped_count, 0u);
  EXPECT_TRUE(r.skipped.empty());
}

TEST(Recorded, OrderIsThatOfTheKeysNotOfTheFields) {
  const Recorded r = read(cache(R"("1,0": {"time": 5, "B": 0, "A": 1})"));
  EXPECT_EQ(table(r), "A=1 B=0: 5\n");
  EXPECT_EQ(r.problem, "8x4");
}

TEST(Recorded, BothSpellingsOfFailures) {
  const Recorded r = read(cache(R"(
    "1,0": {"A": 1, "B": 0, "time": "InvalidConfig"},
    "1,1": {"A": 1, "B": 1, "time": "RuntimeFailedConfig"},
    "2,0": {"A": 2, "B": 0, "__error__": "CompilationFailedConfig"},
    "2,1": {"A": 2, "B": 1, "time": NaN, "__error__": "RuntimeFailedConfig"},
    "4,0": {"A": 4, "B": 0, "GFLOP/s": "InvalidConfig"},
    "4,1": {"A": 4, "B": 1, "__error__": "InventedConfig"})"));
  EXPECT_EQ(table(r),
            "A=1 B=0: constraints\nA=1 B=1: runtime\nA=2 B=0: compile\nA=2 B=1: runtime\nA=4 B=0: constraints\n");
  EXPECT_EQ(all(r.skipped), "entry '4,1': unknown error \"InventedConfig\"\n");
}

// A crash may end the file after any byte: all entries before are there, and a lost one is named.
TEST(Recorded, CutOffAnywhere) {
  const std::string text = published;
  const std::string expected = table(read(text));
  std::vector<std::size_t> ends;  // of each entry
  for (auto at = text.find("\"cache\""); (at = text.find('}', at)) != std::string::npos && ends.size() < 3; ++at)
    ends.push_back(at + 1);
  for (std::size_t size = 1; size < text.size(); ++size) {
    const std::size_t whole =
        static_cast<std::size_t>(std::count_if(ends.begin(), ends.end(), [&](std::size_t end) { return end <= size; }));
    if (whole == 0) {
      EXPECT_NE(refusal(text.substr(0, size)), "accepted") << size;
      continue;
    }
    const Recorded r = read(text.substr(0, size));
    ASSERT_EQ(r.places.size(), whole) << size;
    EXPECT_EQ(table(r), expected.substr(0, table(r).size()));
    const std::string rest = text.substr(ends[whole - 1], size - ends[whole - 1]);
    const bool lost = whole < 3 && rest.find_first_not_of(",\n ") != std::string::npos;
    EXPECT_EQ(r.skipped_count, lost ? 1u : 0u) << size << all(r.skipped);
    EXPECT_EQ(all(r.skipped).find("cut off") != std::string::npos, lost);
  }
}

TEST(Recorded, WithoutListsOfParameters) {
  const char* const entries = R"("8,2.5,a": {"X": 8, "Y": 2.5, "Z": "a", "time": 3, "times": [3], "W": 7},
                                 "4,1,b": {"X": 4, "Y": 1, "Z": "b", "time": 2}, "": {"time": 3})";
  const std::string expected = "X=8 Y=2.5 Z=a: 3\nX=4 Y=1.0 Z=b: 2\n";
  EXPECT_EQ(table(read(fmt::format(R"({{"cache": {{{}}}}})", entries))), expected);
  EXPECT_EQ(table(read(fmt::format(R"({{"cache": {{{}}}, "tune_params": {{"X": [], "Y": 1, "Z": 2}}}})", entries))),
            expected);
  EXPECT_EQ(table(read(fmt::format(R"({{"tune_params_keys": ["X","Y","Z"], "cache": {{{}}}}})", entries))), expected);
  // An entry with fewer values than its key does not name the parameters of all others.
  const Recorded r = read(fmt::format(R"({{"cache": {{"1,2,3": {{"time": 1}}, "1": 5, {}}}}})", entries));
  EXPECT_EQ(table(r), expected);
  EXPECT_EQ(r.skipped_count, 3u);
}

TEST(Recorded, ValuesOutsideTheListsCount) {
  const Recorded r = read(cache(R"("16,0": {"A": 16, "B": 0, "time": 1}, "2,0": {"A": 2, "B": 0, "time": 1})"));
  EXPECT_EQ(r.parameters[0].values, (std::vector<core::Value>{std::int64_t{2}, std::int64_t{16}}));
  EXPECT_EQ(r.parameters[1].values, (std::vector<core::Value>{std::int64_t{0}}));
}

TEST(Recorded, TypesOfValues) {
  const Recorded r = read(cache(R"("a": {"A": 3, "B": "zz", "time": 1}, "b": {"A": 0.5, "B": "aa", "time": 1},
                                   "c": {"A": 3.0, "B": "zz", "time": 9})"));
  EXPECT_EQ(r.parameters[0].values, (std::vector<core::Value>{0.5, 3.0}));
  EXPECT_EQ(r.parameters[1].values, (std::vector<core::Value>{std::string("zz"), std::string("aa")}));  // as found
  EXPECT_EQ(table(r), "A=3.0 B=zz: 1\nA=0.5 B=aa: 1\n");  // 3 and 3.0 are one value, so the third is given again
  EXPECT_EQ(all(r.skipped), "configuration 'A=3.0 B=zz' is given again; its first time counts\n");
  const Recorded truth = read(cache(R"("a": {"A": true, "B": 1, "time": 1}, "b": {"A": false, "B": 1, "time": 2})"));
  EXPECT_EQ(truth.parameters[0].values, (std::vector<core::Value>{false, true}));
  EXPECT_EQ(table(truth), "A=true B=1: 1\nA=false B=1: 2\n");

  const std::pair<const char*, const char*> mixtures[] = {
      {"true", "parameter 'A' mixes types of values: the integer 1 and the truth value true"},
      {"\"x\"", "parameter 'A' mixes types of values: the integer 1 and the name x"}};
  for (const auto& [value, expected] : mixtures) {
    const std::string text =
        cache(fmt::format(R"("a": {{"A": 1, "B": 1, "time": 1}}, "b": {{"A": {}, "B": 1, "time": 1}})", value));
    EXPECT_NE(refusal(text).find(expected), std::string::npos) << refusal(text);
  }
}

TEST(Recorded, WhatCannotBeReadIsSkippedAndNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"A": 1, "B": 1, "time": -1})",
       "entry 'x': its time is -1; a finite number of milliseconds above 0 expected"},
      {R"({"A": 1, "B": 1, "time": 0})", "entry 'x': its time is 0; a finite number of milliseconds above 0 expected"},
      {R"({"A": 1, "B": 1, "time": NaN})",
       "entry 'x': its time is nan; a finite number of milliseconds above 0 expected"},
      {R"({"A": 1, "B": 1, "time": Infinity})",
       "entry 'x': its time is inf; a finite number of milliseconds above 0 expected"},
      {R"({"A": 1, "B": 1, "time": 1e999})", "entry 'x': its time is 1e999; a number expected"},
      {R"({"A": 1, "B": 1, "time": "12"})", "entry 'x': its time is \"12\"; a number expected"},
      {R"({"A": 1, "B": 1, "time": [1]})", "entry 'x': its time is [1]; a number expected"},
      {R"({"A": 1, "B": 1, "time": null})", "entry 'x': its time is null; a number expected"},
      {R"({"A": 1, "B": 1, "times": [1]})", "entry 'x': it has no time"},
      {R"({"A": 1, "time": 1})", "entry 'x': parameter 'B' is missing, or no number, truth value or string"},
      {R"({"A": 1, "B": [1], "time": 1})", "entry 'x': parameter 'B' is missing, or no number, truth value or string"},
      {R"({"A": 1, "B": NaN, "time": 1})", "entry 'x': parameter 'B' is missing, or no number, truth value or string"},
      {"7", "entry 'x': an object expected, not 7"},
      {"[]", "entry 'x': an object expected, not []"},
  };
  const char* const good = R"({"A": 2, "B": 0, "time": 1})";
  for (const auto& [entry, expected] : cases) {
    const Recorded r = read(cache(fmt::format(R"("x": {}, "2,0": {})", entry, good)));
    EXPECT_EQ(table(r), "A=2 B=0: 1\n") << entry;
    EXPECT_EQ(all(r.skipped), std::string(expected) + "\n");
    EXPECT_NE(refusal(cache(fmt::format(R"("x": {})", entry))).find(expected), std::string::npos);  // alone
  }
  EXPECT_EQ(all(read(cache(fmt::format(R"("2,0": {}, what? "2,1": {{"A": 2, "B": 1, "time": 1}})", good))).skipped)
                .substr(0, 45),
            "5 bytes between entries are no JSON, first: '");
  EXPECT_EQ(all(read(cache(fmt::format(R"("2,0": {})", good)) + "\n xyz").skipped),
            "5 bytes behind the end of the object\n");
}

TEST(Recorded, SkippedIsBounded) {
  std::string entries = R"("2,0": {"A": 2, "B": 0, "time": 1})";
  for (int i = 0; i < 1000; ++i) entries += R"(, "2,0": {"A": 2, "B": 0, "time": 2})";
  const Recorded r = read(cache(entries));
  EXPECT_EQ(table(r), "A=2 B=0: 1\n");
  EXPECT_EQ(r.skipped.size(), most_skipped);
  EXPECT_EQ(r.skipped_count, 1000u);
}

TEST(Recorded, WrongFiles) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the file is empty"},
      {" \n", "the file is empty"},
      {"\xef\xbb\xbf", "the file is empty"},
      {"hello", "a JSON object expected, not 'hello'"},
      {"[1, 2]", "a JSON object expected, not '[1, 2]'"},
      {"{}", "neither a Kernel Tuner cache, which has a member 'cache', nor T4 results"},
      {"{\"a\"", "neither a Kernel Tuner cache"},
      {R"({"cache": 5})", "'cache' is 5; an object expected"},
      {R"({"results": {}})", "'results' is {}; an array expected"},
      {R"({"cache": {}})", "no configuration in 'cache' can be read"},
      {R"({"results": []})", "no configuration in 'results' can be read"},
      {R"({"metadata": {"timeunit": "hours"}, "results": []})", "metadata.timeunit is 'hours'; seconds, "},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(refusal(text).rfind(expected, 0), 0u) << refusal(text);
  }
  const TemporaryFolder folder;
  const auto refused = [](const std::string& path) {
    try {
      read_recorded(path);
    } catch (const core::UsageError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::string hello = folder.write("hello", "hello");
  EXPECT_EQ(refused(hello), hello + ": a JSON object expected, not 'hello'");
  EXPECT_EQ(refused(folder.path("none")), folder.path("none") + ": there is no such file");
  EXPECT_EQ(refused(folder.path()), folder.path() + ": a file expected, not a folder");
}

TEST(Recorded, TooMuch) {
  std::string entries;
  for (int i = 0; i < 65537; ++i) entries += fmt::format(R"("{0}": {{"A": {0}, "B": 0, "time": 1}},)", i);
  EXPECT_NE(refusal(cache(entries)).find("parameter 'A' has more than 65535 values"), std::string::npos);
  std::string names;
  for (int i = 0; i < 1001; ++i) names += fmt::format("\"P{}\",", i);
  EXPECT_NE(refusal("{\"tune_params_keys\": [" + names + "], \"cache\": {}}").find("more than 1000 parameters"),
            std::string::npos);
  const std::string deep(3'000'000, '[');
  EXPECT_NE(refusal(cache("\"x\": " + deep)).find("cut off"), std::string::npos);
  EXPECT_EQ(table(read(cache("\"x\": {\"A\": " + deep + std::string(deep.size(), ']') +
                             R"(}, "y": {"A": 1, "B": 2, "time": 3})"))),
            "A=1 B=2: 3\n");
}

std::string compressed(const TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder.path("file.gz");
  const gzFile file = ::gzopen(path.c_str(), "wb");
  EXPECT_EQ(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  EXPECT_EQ(::gzclose(file), Z_OK);
  return path;
}

TEST(Recorded, Compressed) {
  const TemporaryFolder folder;
  const std::string path = compressed(folder, published);
  const Recorded r = read_recorded(path);
  EXPECT_EQ(table(r), table(read(published)));
  EXPECT_EQ(r.skipped_count, 0u);

  std::string entries;  // noise, so that the file is cut in the middle of them
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i)
    entries += fmt::format(R"("{0}": {{"A": {0}, "B": 0, "time": {1}}},)", i, random() + 1);
  std::filesystem::resize_file(compressed(folder, cache(entries)), 20000);
  const Recorded part = read_recorded(path);
  EXPECT_GT(part.places.size(), 500u);
  EXPECT_LT(part.places.size(), 5000u);
  EXPECT_EQ(part.skipped_count, 2u);
  EXPECT_EQ(part.skipped[0].rfind("the file is damaged: ", 0), 0u) << part.skipped[0];
  EXPECT_NE(part.skipped[1].find("cut off"), std::string::npos);

  std::filesystem::resize_file(path, 15);
  EXPECT_THROW(read_recorded(path), core::UsageError);
}

TEST(Recorded, UnpackedSizeIsLimited) {
  const TemporaryFolder folder;
  const std::string path = compressed(folder, published + std::string(10'000'000, ' '));
  EXPECT_LT(std::filesystem::file_size(path), 100'000u);
  EXPECT_EQ(read_recorded(path).places.size(), 3u);
  try {
    read_recorded(path, 1'000'000);
    ADD_FAILURE() << "accepted";
  } catch (const core::UsageError& e) {
    EXPECT_EQ(std::string(e.what()), path + ": more than 1000000 bytes, unpacked");
  }
}

// Results of T4 around these.
std::string t4(const std::string& results, const std::string& unit = "miliseconds") {
  return fmt::format(R"({{"schema_version": "1.0.0", "metadata": {{"timeunit": "{}"}}, "results": [{}]}})", unit,
                     results);
}

std::string t4_result(const std::string& configuration, const std::string& rest) {
  return fmt::format(R"({{"timestamp": "now", "configuration": {{{}}}, "times": {{"compilation": 7}}, {}}})",
                     configuration, rest);
}

TEST(Recorded, T4) {
  const std::string good = R"("objectives": ["time"], "invalidity": "correct", "correctness": 1, "measurements": )";
  const Recorded r = read(t4(
      t4_result(R"("A": 4, "B": "x")", good + R"([{"name": "time", "value": 2.5, "unit": ""}])") + "," +
      t4_result(
          R"("B": "y", "A": 2)",
          good + R"([{"name": "power", "value": 9, "unit": "W"}, {"name": "time", "value": 3, "unit": "seconds"}])") +
      "," + t4_result(R"("A": 1, "B": "x")", R"("invalidity": "timeout", "correctness": 0)") + "," +
      t4_result(
          R"("A": 1, "B": "y")",
          R"("invalidity": "constraints", "correctness": 1, "measurements": [{"name": "time", "value": "InvalidConfig", "unit": "ms"}])") +
      "," +
      t4_result(R"("A": 1, "B": "z")",
                R"("invalidity": "correct", "correctness": 0, "measurements": [{"name": "time", "value": 1}])") +
      "," +
      R"({"configuration": {"A": 8, "B": "x"}, "times": {"compilation_time": 11}, "objectives": ["speed"], "invalidity": "correct",
          "correctness": 1.0, "measurements": [{"name": "speed", "value": 2, "unit": "GFLOP/s"}, {"name": "time", "value": 4}]})"));
  EXPECT_EQ(table(r),
            "A=4 B=x: 2.5\nA=2 B=y: 3000\nA=1 B=x: timeout\nA=1 B=y: constraints\nA=1 B=z: correctness\nA=8 B=x: 4\n");
  EXPECT_EQ(r.compile_ms, (std::vector<double>{7, 7, 7, 7, 7, 11}));
  EXPECT_EQ(r.skipped_count, 0u) << all(r.skipped);
  EXPECT_EQ(r.parameters[0].values.front(), core::Value(std::int64_t{1}));
}

TEST(Recorded, T4Units) {
  const std::string result = t4_result(
      "\"A\": 1", R"("invalidity": "correct", "correctness": 1, "measurements": [{"name": "time", "value": 2}])");
  const std::pair<const char*, double> units[] = {
      {"miliseconds", 1}, {"milliseconds", 1}, {"seconds", 1e3}, {"microseconds", 1e-3}, {"nanoseconds", 1e-6}};
  for (const auto& [unit, ms] : units) {
    const Recorded r = read(t4(result, unit));
    EXPECT_DOUBLE_EQ(r.times.at(0), 2 * ms) << unit;
    EXPECT_DOUBLE_EQ(r.compile_ms.at(0), 7 * ms) << unit;
  }
  EXPECT_EQ(table(read("{\"results\": [" + result + "]}")), "A=1: 2\n");
}

TEST(Recorded, T4SkipsWhatItCannotRead) {
  const std::string good =
      R"("invalidity": "correct", "correctness": 1, "measurements": [{"name": "time", "value": 2}])";
  const std::pair<std::string, const char*> cases[] = {
      {t4_result("\"A\": [1]", good), "entry 'results[0]': parameter 'A' is [1]"},
      {"5", "entry 'results[0]': it has no configuration"},
      {"{" + good + "}", "entry 'results[0]': it has no configuration"},
      {t4_result("\"A\": 2", R"("invalidity": "odd")"), "entry 'results[0]': unknown invalidity 'odd'"},
      {t4_result("\"A\": 2", R"("invalidity": "correct")"), "entry 'results[0]': no measurement of 'time'"},
      {t4_result("\"A\": 2", R"("measurements": [{"name": "time", "value": 2, "unit": "W"}])"),
       "entry 'results[0]': its time is 2 'W'; a number in a unit of time expected"},
      {t4_result("\"A\": 2", R"("measurements": [{"name": "time", "value": -2}])"),
       "entry 'results[0]': its time is -2; a finite number of milliseconds above 0 expected"},
  };
  for (const auto& [result, expected] : cases) {
    const Recorded r = read(t4(result + ", " + t4_result("\"A\": 1", good)));
    EXPECT_EQ(table(r), "A=1: 2\n") << result;
    EXPECT_EQ(all(r.skipped), std::string(expected) + "\n");
  }
  const std::string first = t4_result("\"A\": 1", good);
  EXPECT_EQ(all(read(t4(first + "," + t4_result("\"A\": 2, \"C\": 1", good) + "," + t4_result("", good) + "," + first))
                    .skipped),
            "entry 'results[1]': parameter 'C' is not one of the first entry's\n"
            "entry 'results[2]': parameter 'A' is missing, or no number, truth value or string\n"
            "configuration 'A=1' is given again; its first time counts\n");
  EXPECT_EQ(table(read(t4(t4_result("", good)))), ": 2\n");  // a kernel without parameters
  const std::string text = t4(first + "," + t4_result("\"A\": 2", good));
  EXPECT_EQ(table(read(text.substr(0, text.size() - 10))), "A=1: 2\n");
}

// Whatever the bytes, the file is read or refused.
TEST(Recorded, RandomDamage) {
  std::mt19937 random(7);
  const std::string good[] = {
      published,
      t4(t4_result("\"A\": 1, \"B\": 0.5",
                   R"("invalidity": "correct", "correctness": 1, "measurements": [{"name": "time", "value": 2}])") +
         "," + t4_result("\"A\": 2, \"B\": 1", R"("invalidity": "compile", "correctness": 0)"))};
  const std::string bytes = "{}[],:\"\\\n0-9.eNtn\xff ";
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = good[i % 2];
    for (int n = 1 + static_cast<int>(random() % 4); n > 0; --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = bytes[random() % bytes.size()];
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        default:
          text.insert(at, 1, bytes[random() % bytes.size()]);
      }
    }
    try {
      const Recorded r = read(text);
      ++accepted;
      EXPECT_FALSE(table(r).empty());
      EXPECT_EQ(r.places.size(), r.compile_ms.size());
    } catch (const core::UsageError&) {
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace heddle::profile

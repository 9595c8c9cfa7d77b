// A kernel's text says what can be tuned, and a configuration makes a variant of it.
#include "core/tunable.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::core {
namespace {

std::string values(const std::string& text) {
  std::string out;
  try {
    for (const Value& v : parse_values(text)) out += (out.empty() ? "" : " ") + to_string(v);
  } catch (const UsageError& e) {
    return e.what();
  }
  return out;
}

std::string complaint(const std::string& source) {
  try {
    return read_tunable(source) ? "no error" : "nothing";
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(ParseValues, ReadsListsAndRanges) {
  EXPECT_EQ(values("8,16,32"), "8 16 32");
  EXPECT_EQ(values(" 8 16, 32 "), "8 16 32");
  EXPECT_EQ(values("1..5"), "1 2 3 4 5");
  EXPECT_EQ(values("-2..2 step 3"), "-2 1");
  EXPECT_EQ(values("8..64 step 16"), "8 24 40 56");
  EXPECT_EQ(values("8..64 times 2"), "8 16 32 64");
  EXPECT_EQ(values("1..2, 8..32 times 2 100"), "1 2 8 16 32 100");
  EXPECT_EQ(values("7..7"), "7");
  EXPECT_EQ(values("'fast' \"exact\" float4"), "fast exact float4");
  EXPECT_EQ(parse_values("true,false"), (std::vector<Value>{true, false}));
  EXPECT_EQ(parse_values("0.5 2.0"), (std::vector<Value>{0.5, 2.0}));
  EXPECT_EQ(values("9223372036854775806..9223372036854775807"), "9223372036854775806 9223372036854775807");
  EXPECT_EQ(values("4611686018427387904..9223372036854775807 times 2"), "4611686018427387904");
}

TEST(ParseValues, SaysWhatItExpected) {
  EXPECT_EQ(values("8,,16"), "values '8,,16': a value expected before or after a comma");
  EXPECT_EQ(values("8..x"), "values '8..x': a whole number expected where 'x' stands");
  for (const char* text : {"", ",", "8,", "..", "1..", "..4", "4..1", "1..4 step 0", "1..4 step", "1..4 times 1",
                           "0..4 times 2", "1..4 step x", "1.5..3", "'a b'", "'a", "''", "a=b", "1..100000"}) {
    EXPECT_THROW(parse_values(text), UsageError) << text;
  }
}

const std::string kernel = R"(// Not read: #pragma heddle tune COMMENT 1
/* nor this:
#pragma heddle tune BLOCK 1
*/
#pragma heddle tune BX 8 16 32
  #  pragma heddle tune TILE 1..4 times 2
#pragma heddle tune MODE 'fast' 'exact'
#pragma heddle derive W BX*TILE
#pragma heddle constraint W <= 64 && W // BX < 4
#pragma heddle constraint MODE == 'fast' || BX > 8
#pragma heddle group BX, min(8, TILE)
#pragma heddle points W, 8
#pragma heddle guarded
#pragma unroll
constant char text[] = "/* no comment \" //"; // a comment
kernel void k() {}
)";

TEST(ReadTunable, ReadsWhatTheKernelSays) {
  auto tunable = read_tunable(kernel);
  ASSERT_TRUE(tunable);
  EXPECT_EQ(tunable->source, kernel);
  EXPECT_EQ(tunable->space.parameters().size(), 3u);
  EXPECT_EQ(tunable->space.size(), 10u);
  EXPECT_EQ(tunable->space.constraints()[0], "W <= 64 && W // BX < 4");
  EXPECT_EQ(tunable->group, (std::array<std::string, 3>{"BX", "min(8, TILE)", "1"}));
  EXPECT_EQ(tunable->points, (std::array<std::string, 3>{"W", "8", "1"}));
  EXPECT_TRUE(tunable->guarded);

  tunable->name = "k", tunable->entry = "k", tunable->options = "-cl-mad-enable", tunable->cut = Cut::by_offset;
  const Variant v = variant_of(*tunable, parse_configuration("BX=16 TILE=2 MODE=exact"));
  EXPECT_EQ(v.name, "BX=16 TILE=2 MODE=exact");
  EXPECT_EQ(v.options, "-cl-mad-enable -DBX=16 -DTILE=2 -DMODE=exact -DW=32");
  EXPECT_EQ(v.group, (Index{16, 2, 1}));
  EXPECT_EQ(v.footprint, (Footprint{{32, 8, 1}, true}));
  EXPECT_EQ(v.entry, "k");
  EXPECT_EQ(v.source, kernel);
  EXPECT_EQ(v.cut, Cut::by_offset);
  EXPECT_EQ(v.parameters.size(), 1u);
}

TEST(ReadTunable, PointsAreTheGroupUnlessGiven) {
  const auto tunable = read_tunable("#pragma heddle tune BX 8\n#pragma heddle group BX*2");
  ASSERT_TRUE(tunable);
  EXPECT_EQ(tunable->points, (std::array<std::string, 3>{"BX*2", "1", "1"}));
  EXPECT_FALSE(tunable->guarded);
  EXPECT_EQ(complaint("kernel void k() {}"), "nothing");
  EXPECT_EQ(complaint(""), "nothing");
}

TEST(ReadTunable, NamesTheLineThatItCannotRead) {
  EXPECT_EQ(complaint("\n#pragma heddle tun A 1"),
            "line 2: 'tun A 1': tune, derive, constraint, group, points or guarded expected");
  EXPECT_EQ(complaint("/*\n*/\n#pragma heddle tune A 1 1"), "line 3: parameter 'A' has the value 1 twice");
  EXPECT_EQ(complaint("#pragma heddle constraint A < 3\n#pragma heddle tune B 1\r\n"),
            "line 1: expression 'A < 3': no parameter 'A'; there are: B");
  for (const char* text :
       {"", "tune", "tune A", "tune 3 4", "tune A 1 x", "derive", "derive W", "derive W X", "derive 3 4", "constraint",
        "constraint 1 <", "group", "group 1,", "group 1,2,3,4", "group X", "points 1 2", "guarded 1"}) {
    EXPECT_EQ(complaint("#pragma heddle " + std::string(text)).substr(0, 8), "line 1: ") << text;
  }
  for (const char* text : {"tune A 2", "derive A 2", "group 1", "points 1"}) {
    const std::string before = "#pragma heddle tune A 1\n#pragma heddle group 1\n#pragma heddle points 1\n";
    EXPECT_EQ(complaint(before + "#pragma heddle " + text).substr(0, 8), "line 4: ") << text;
  }
  EXPECT_EQ(complaint("#pragma heddle tune A 1\n#pragma heddle constraint A > 1"),
            "constraint 'A > 1': no configuration is left");
}

TEST(VariantOf, ExtentsArePositiveWholeNumbers) {
  Tunable t;
  t.name = "k";
  t.space = ParameterSpace({{"A", {std::int64_t{0}, std::int64_t{3}, std::int64_t{8}}}});
  t.group[0] = "A / 2";
  EXPECT_EQ(variant_of(t, t.space.at(2)).group[0], 4);
  for (const std::uint64_t bad : {0, 1}) EXPECT_THROW(variant_of(t, t.space.at(bad)), UsageError);
  t.group[0] = "2.0 * A";
  EXPECT_EQ(variant_of(t, t.space.at(1)).group[0], 6);
  for (const char* text : {"A > 1", "'x'", "-A", "1e300", "B"}) {
    t.group[0] = text;
    EXPECT_THROW(variant_of(t, t.space.at(1)), UsageError) << text;
  }
  t.group[0] = "A / 2";
  try {
    variant_of(t, t.space.at(1));
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "kernel 'k': the group's extent 'A / 2' is 1.5 with A=3; a positive whole number expected");
  }
}

}  // namespace
}  // namespace heddle::core

// What is whole is found, whatever surrounds it.
#include "profile/json_parts.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace heddle::profile {
namespace {

// "name=text" of each part, '!' before a torn one, '.' at the end where it was closed.
std::string taken_apart(std::string_view text) {
  std::string out;
  Parts parts(text);
  for (Part part; parts.next(part);) {
    out += (out.empty() ? "" : " ") + std::string(part.torn ? "!" : "") + part.name + "=" + std::string(part.text);
  }
  return out + (parts.closed() ? "." : "");
}

TEST(JsonParts, Taken) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "."},
      {" [1, \"a,]\" ,[2,[3]],{\"b\":4}]", "=1 =\"a,]\" =[2,[3]] ={\"b\":4}."},
      {R"({"a": 1, "b\"c": "x\\", "d": NaN})", R"(a=1 b"c="x\\" d=NaN.)"},
      {R"({"a": {"}": "{"}, "b": []})", "a={\"}\": \"{\"} b=[]."},
      {R"({"a": 1,, "b": 2,})", "a=1 b=2."},                    // dangling commas
      {R"({"a": {"b": 1}, "c": {"d)", "a={\"b\": 1} !c={\"d"},  // torn within a value,
      {R"({"a": 1, "b": 2)", "a=1 !b=2"},                       // which a number may be,
      {R"({"a": 1, "b)", "a=1 !\"b=\"b"},                       // or within a name
      {R"({"a": 1, "b":)", "a=1 !b="},
      {R"({"a": 1,)", "a=1"},
      {"{\"a\": \"x\n\"b\": 1}", "!a=\"x\n\"b\": 1}"},  // a string that spans lines
      {R"({xyz "a": 1 ] "b" "c": 2})", "a=1 c=2."},
      {R"([1 : } 2])", "=1 =2."},
      {"5", ""},
      {"", ""},
      {"  ", ""},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(taken_apart(text), expected) << text;
}

TEST(JsonParts, SpoiltBytesAreCounted) {
  const std::string text = R"({"a": 1, xyz "b": 2})";
  Parts parts(text);
  for (Part part; parts.next(part);) {
  }
  EXPECT_EQ(parts.spoilt(), 3u);
  EXPECT_EQ(parts.first_spoilt(), text.find('x'));
}

TEST(JsonParts, DeepNestingIsOnePart) {
  const std::string deep(10'000'000, '[');
  Parts whole(deep);
  Part part;
  EXPECT_TRUE(whole.next(part));
  EXPECT_TRUE(part.torn);
  EXPECT_FALSE(whole.next(part));
}

TEST(JsonParts, Scalars) {
  EXPECT_EQ(scalar("12"), core::Value(std::int64_t{12}));
  EXPECT_EQ(scalar("-3"), core::Value(std::int64_t{-3}));
  EXPECT_EQ(scalar("2.0"), core::Value(2.0));
  EXPECT_EQ(scalar("1e3"), core::Value(1000.0));
  EXPECT_EQ(scalar("99999999999999999999"), core::Value(1e20));
  EXPECT_EQ(scalar("true"), core::Value(true));
  EXPECT_EQ(scalar(R"("a\u00e4\n")"), core::Value(std::string("a\xc3\xa4\n")));
  EXPECT_EQ(scalar("-Infinity"), core::Value(-INFINITY));
  EXPECT_TRUE(std::isnan(number("NaN").value()));
  for (const char* none :
       {"", "-", "null", "inf", "-inf", "nan", "1x", "1.2.3", "1e999", "\"", "\"a", "\"\xff\"", "[1]", "{}"})
    EXPECT_FALSE(scalar(none)) << none;
  EXPECT_EQ(number("5"), 5.0);
  EXPECT_FALSE(number("\"5\""));
  EXPECT_FALSE(number("true"));
  EXPECT_FALSE(word("5"));
}

}  // namespace
}  // namespace heddle::profile

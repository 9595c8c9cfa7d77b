// Parameter values keep their type through text, and every configuration of a space has one number.
#include "core/parameters.hpp"

#include <set>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::core {
namespace {

ParameterSpace space_of(std::vector<Parameter> parameters) { return ParameterSpace(std::move(parameters)); }

TEST(Value, ReadsBackAsWhatItWas) {
  for (const Value& v : {Value(std::int64_t{-3}), Value(2.0), Value(0.1), Value(1e300), Value(true), Value(false),
                         Value(std::string("float4"))}) {
    EXPECT_EQ(parse_value(to_string(v)), v) << to_string(v);
  }
  EXPECT_EQ(to_string(Value(2.0)), "2.0");
  EXPECT_THROW(parse_value(""), UsageError);
  EXPECT_THROW(parse_value("a b"), UsageError);
}

TEST(Configuration, TextAndOptions) {
  const Configuration c{{{"BX", std::int64_t{8}}, {"PAD", true}, {"T", std::string("half")}}};
  EXPECT_EQ(to_string(c), "BX=8 PAD=true T=half");
  EXPECT_EQ(parse_configuration(to_string(c)), c);
  EXPECT_EQ(build_options(c), " -DBX=8 -DPAD=1 -DT=half");
  EXPECT_EQ(parse_configuration(""), Configuration{});
  EXPECT_THROW(parse_configuration("BX"), UsageError);
  EXPECT_THROW(parse_configuration("8=BX"), UsageError);
  try {
    c.at("BY");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "no parameter 'BY'; there are: BX, PAD, T");
  }
}

TEST(ParameterSpace, NumbersEveryConfigurationOnce) {
  const ParameterSpace space({{"A", {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}}, {"B", {true, false}}});
  ASSERT_EQ(space.size(), 6u);
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    EXPECT_EQ(space.number_of(space.at(i)), i);
    seen.insert(to_string(space.at(i)));
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(to_string(space.at(0)), "A=1 B=true");
  EXPECT_EQ(to_string(space.at(1)), "A=1 B=false");
  EXPECT_THROW(space.at(6), InternalError);
}

TEST(ParameterSpace, WithoutParametersHasOneConfiguration) {
  EXPECT_EQ(ParameterSpace().size(), 1u);
  EXPECT_EQ(ParameterSpace().at(0), Configuration{});
}

TEST(ParameterSpace, RefusesWhatMakesNoSense) {
  const Value one = std::int64_t{1}, two = std::int64_t{2};
  EXPECT_THROW(space_of({{"A", {}}}), UsageError);
  EXPECT_THROW(space_of({{"A", {one, 2.0}}}), UsageError);
  EXPECT_THROW(space_of({{"A", {one, one}}}), UsageError);
  EXPECT_THROW(space_of({{"A", {one}}, {"A", {two}}}), UsageError);
  EXPECT_THROW(space_of({{"A B", {one}}}), UsageError);
  for (const char* word : {"12", "inf", "true", "a b", ""}) {  // would not read back as the name it was
    EXPECT_THROW(space_of({{"A", {std::string(word)}}}), UsageError) << word;
  }
  const ParameterSpace space({{"A", {one, two}}});
  EXPECT_THROW(space.number_of(Configuration{{{"A", std::int64_t{3}}}}), UsageError);
  EXPECT_THROW(space.number_of(Configuration{{{"B", one}}}), UsageError);
  EXPECT_THROW(space.number_of(Configuration{}), UsageError);
}

TEST(ParameterSpace, RefusesMoreThanCanBeNumbered) {
  std::vector<Parameter> parameters;
  for (int k = 0; k < 8; ++k) {
    parameters.push_back({"P" + std::to_string(k), {}});
    for (std::int64_t v = 0; v < 300; ++v) parameters.back().values.push_back(v);
  }
  EXPECT_THROW(ParameterSpace{parameters}, UsageError);  // 300^8 > 2^64
  parameters.pop_back();
  EXPECT_EQ(ParameterSpace(parameters).size(), 218'700'000'000'000'000ull);
}

}  // namespace
}  // namespace heddle::core

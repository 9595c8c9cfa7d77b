// Parameter values keep their type through text, and every valid configuration of a space has one number.
#include "core/parameters.hpp"

#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/expression.hpp"

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

std::string complaint(const std::function<void()>& act) {
  try {
    act();
    return "no error";
  } catch (const UsageError& e) {
    return e.what();
  }
}

Parameter integers(const std::string& name, std::vector<std::int64_t> values) {
  return {name, std::vector<Value>(values.begin(), values.end())};
}

TEST(ParameterSpace, HoldsWhatConstraintsAllow) {
  const ParameterSpace space({integers("A", {1, 2, 4}), integers("FREE", {7, 8}), integers("B", {1, 2, 3})},
                             {{"W", "A * B"}, {"WIDE", "W > 4"}}, {"W % 2 == 0", "!WIDE"});
  // Two groups: {A, B} with three rows, which varies slowest, and {FREE}.
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < space.size(); ++i) all.push_back(to_string(space.at(i)));
  EXPECT_EQ(all, (std::vector<std::string>{"A=1 FREE=7 B=2", "A=1 FREE=8 B=2", "A=2 FREE=7 B=1", "A=2 FREE=8 B=1",
                                           "A=2 FREE=7 B=2", "A=2 FREE=8 B=2", "A=4 FREE=7 B=1", "A=4 FREE=8 B=1"}));
  EXPECT_EQ(to_string(space.with_derived(space.at(0))), "A=1 FREE=7 B=2 W=2 WIDE=false");
  EXPECT_EQ(space.places(3), (Places{1, 1, 0}));
  EXPECT_EQ(space.find({1, 1, 0}), 3u);
  EXPECT_EQ(space.find({0, 0, 0}), std::nullopt);
  EXPECT_EQ(space.find({9, 0, 0}), std::nullopt);
  EXPECT_EQ(space.find({0, 9, 1}), std::nullopt);
  EXPECT_THROW(space.find({0, 0}), InternalError);
  EXPECT_THROW(space.places(8), InternalError);
  EXPECT_EQ(space.neighbours(3), (std::vector<std::uint64_t>{7, 2, 5}));
  EXPECT_EQ(complaint([&] { space.number_of(parse_configuration("A=1 FREE=7 B=1")); }),
            "configuration 'A=1 FREE=7 B=1' breaks the constraint 'W % 2 == 0'");
  EXPECT_EQ(space.constraints(), (std::vector<std::string>{"W % 2 == 0", "!WIDE"}));
  EXPECT_EQ(space.derived()[1].name, "WIDE");
}

TEST(ParameterSpace, MeasuresDistanceByPlaces) {
  const ParameterSpace space({integers("A", {1, 2, 100}),
                              {"B", {true, false}},
                              integers("C", {5}),
                              {"D", {std::string("x"), std::string("y"), std::string("z")}}});
  const auto number = [&](const char* text) { return space.number_of(parse_configuration(text)); };
  EXPECT_EQ(space.distance(3, 3), 0);
  EXPECT_EQ(space.distance(number("A=1 B=true C=5 D=x"), number("A=2 B=true C=5 D=x")), 0.5);
  EXPECT_EQ(space.distance(number("A=1 B=true C=5 D=x"), number("A=100 B=false C=5 D=z")), 3);
}

TEST(ParameterSpace, NamesTheConstraintThatLeavesNothing) {
  const std::vector<Parameter> ab{integers("A", {1, 2, 3}), integers("B", {1, 2, 3}), integers("C", {1, 2})};
  EXPECT_EQ(complaint([&] {
              ParameterSpace(ab, {}, {"A < 3", "A > 5", "B > 9"});
            }),
            "constraint 'A > 5': no configuration is left of those that the constraints before it allow");
  EXPECT_EQ(complaint([&] {
              ParameterSpace(ab, {}, {"C > 1", "A < B", "B < 9", "B < A", "A == 1"});
            }),
            "constraint 'B < A': no configuration is left of those that the constraints before it allow");
  EXPECT_EQ(complaint([&] { ParameterSpace(ab, {}, {"A*B > 9"}); }), "constraint 'A*B > 9': no configuration is left");
  EXPECT_EQ(complaint([&] {
              ParameterSpace(ab, {}, {"A > B", "1 > 2"});
            }),
            "constraint '1 > 2': no configuration is left of those that the constraints before it allow");
  EXPECT_EQ(complaint([&] {
              ParameterSpace({}, {{"N", "3"}}, {"N == 4"});
            }),
            "constraint 'N == 4': no configuration is left");
  EXPECT_EQ(ParameterSpace(ab, {{"N", "3"}}, {"N == 3", "true"}).size(), 18u);
}

TEST(ParameterSpace, RefusesRulesThatMakeNoSense) {
  const std::vector<Parameter> ab{integers("A", {1, 2}), integers("B", {0, 1})};
  EXPECT_EQ(complaint([&] { ParameterSpace(ab, {}, {"A < W"}); }),
            "expression 'A < W': no parameter 'W'; there are: A, B");
  EXPECT_THROW(ParameterSpace(ab, {{"A", "B"}}), UsageError);
  EXPECT_THROW(ParameterSpace(ab, {{"W", "B"}, {"W", "A"}}), UsageError);
  EXPECT_THROW(ParameterSpace(ab, {{"W", "V"}, {"V", "A"}}), UsageError);  // only earlier ones
  EXPECT_THROW(ParameterSpace(ab, {{"W W", "A"}}), UsageError);
  EXPECT_THROW(ParameterSpace(ab, {}, {"A <"}), UsageError);
  EXPECT_THROW(ParameterSpace(ab, {}, {"'x'"}), UsageError);
  EXPECT_THROW(space_of({{"A", {std::numeric_limits<double>::quiet_NaN()}}}), UsageError);
}

TEST(ParameterSpace, AConstraintWithoutAValueNeedsAnotherThatIsFalse) {
  const std::vector<Parameter> ab{integers("A", {4, 6}), integers("B", {0, 2, 3}), integers("C", {0, 1})};
  EXPECT_EQ(complaint([&] { ParameterSpace(ab, {}, {"A % B == 0"}); }),
            "expression 'A % B == 0' with A=4 B=0: division by zero");
  EXPECT_EQ(complaint([&] {
              ParameterSpace(ab, {{"Q", "A % B"}}, {"Q == 0"});
            }),
            "expression 'A % B' with A=4 B=0: division by zero");
  for (const char* guard : {"B != 0", "B + C > 1"}) {  // in any order, and however late it is known
    const ParameterSpace before(ab, {}, {guard, "A % B == 0"}), after(ab, {}, {"A % B == 0", guard});
    EXPECT_EQ(before.size(), after.size());
    EXPECT_EQ(before.size(), 6u);
  }
  EXPECT_EQ(complaint([&] {
              ParameterSpace(ab, {}, {"B != 0", "A % B == 0"}).number_of(parse_configuration("A=4 B=0 C=1"));
            }),
            "configuration 'A=4 B=0 C=1' breaks the constraint 'B != 0'");
}

TEST(ParameterSpace, RecordedIsExactlyWhatWasGiven) {
  const std::vector<Parameter> ab{integers("A", {1, 2, 3}), {"B", {false, true}}};
  const ParameterSpace space = ParameterSpace::of(ab, {{2, 1}, {0, 1}, {2, 0}, {0, 1}});
  ASSERT_EQ(space.size(), 3u);
  EXPECT_EQ(to_string(space.at(0)), "A=1 B=true");
  EXPECT_EQ(to_string(space.at(2)), "A=3 B=true");
  EXPECT_EQ(space.find({2, 0}), 1u);
  EXPECT_EQ(space.find({1, 0}), std::nullopt);
  EXPECT_EQ(space.neighbours(2), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_THROW(space.number_of(space_of(ab).at(0)), UsageError);
  EXPECT_THROW(ParameterSpace::of(ab, {}), UsageError);
  EXPECT_THROW(ParameterSpace::of(ab, {{0}}), UsageError);
  EXPECT_THROW(ParameterSpace::of(ab, {{0, 2}}), UsageError);
  EXPECT_THROW(ParameterSpace::of({{"A", {}}}, {{0}}), UsageError);
  EXPECT_EQ(ParameterSpace::of({}, {{}}).size(), 1u);
}

TEST(ParameterSpace, WhatNoConstraintTouchesCostsNothing) {
  std::vector<Parameter> parameters;
  for (int p = 0; p < 12; ++p) parameters.push_back(integers("P" + std::to_string(p), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  const ParameterSpace space(parameters, {}, {"P3 == P8"});
  ASSERT_EQ(space.size(), 100'000'000'000u);
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{31'415'926'535}, space.size() - 1}) {
    EXPECT_EQ(space.number_of(space.at(number)), number);
    EXPECT_EQ(space.find(space.places(number)), number);
    EXPECT_EQ(space.neighbours(number).size(), 90u);
  }
}

// Random spaces of a few thousand points: what the search finds is what walking the product finds, in the order that
// the header promises.
TEST(ParameterSpace, IsWhatWalkingTheProductFinds) {
  std::mt19937 random(3);
  const auto pick = [&](const std::vector<std::string>& list) { return list[random() % list.size()]; };
  int valid_spaces = 0, contradictory = 0, without_value = 0, partly = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<Parameter> parameters;
    std::vector<std::string> numbers;
    std::string name;
    for (std::uint64_t p = 0; p <= 1 + random() % 5; ++p) {
      Parameter one{std::string(1, static_cast<char>('a' + p)), {}};
      const auto kind = random() % 6, count = 1 + random() % 5;
      for (std::uint64_t v = 0; v < (kind == 0 ? 2 : count); ++v) {
        if (kind == 0) one.values.emplace_back(v == 1);
        if (kind == 1) one.values.emplace_back(std::string(1, static_cast<char>('x' + v % 26)));
        if (kind == 2) one.values.emplace_back(static_cast<double>(v) / 2);
        if (kind >= 3)
          one.values.emplace_back(static_cast<std::int64_t>(v + (kind == 5 ? 0 : 1)) * (kind == 4 ? 4 : 1));
      }
      kind == 1 ? void(name = one.name) : numbers.push_back(one.name);
      std::shuffle(one.values.begin(), one.values.end(), random);
      parameters.push_back(one);
    }
    if (numbers.empty()) continue;
    std::vector<Derived> derived;
    for (std::uint64_t d = 0; d < random() % 3; ++d) {
      derived.push_back({"W" + std::to_string(d), pick(numbers) + pick({"*", "+", "%", "-"}) + pick(numbers)});
      numbers.push_back(derived.back().name);
    }
    std::vector<std::string> constraints;
    for (std::uint64_t c = 0; c < 1 + random() % 4; ++c) {
      const std::string number = pick({"0", "1", "2", "4", "6", "8", "12"});
      constraints.push_back(pick(
          {pick(numbers) + " * " + pick(numbers) + " <= " + number, pick(numbers) + " % " + pick(numbers) + " == 0",
           pick(numbers) + " + " + pick(numbers) + " * " + pick(numbers) + " >= " + number, pick(numbers) + " != 0",
           pick(numbers) + " < " + pick(numbers) + " || " + pick(numbers) + " in [1, 4]",
           name.empty() ? pick(numbers) : name + " == 'x' ? " + pick(numbers) + " > 1 : true",
           number + " > 0 || " + pick(numbers)}));
    }

    // Walk the product. Which parameters belong together comes from the names in the texts.
    const ParameterSpace product(parameters, derived);
    std::map<std::string, std::string> group;  // a parameter's group is named by its first member
    for (const Parameter& p : parameters) group[p.name] = p.name;
    const std::function<std::set<std::string>(const std::string&)> used = [&](const std::string& text) {
      std::set<std::string> out;
      const Expression e(text);
      for (const std::string& n : e.names()) {
        if (group.contains(n)) out.insert(n);
        for (const Derived& d : derived) {
          if (d.name == n) out.merge(used(d.expression));
        }
      }
      return out;
    };
    for (const std::string& c : constraints) {
      std::set<std::string> joined;
      for (const std::string& n : used(c)) joined.insert(group[n]);
      for (auto& [n, g] : group) g = joined.contains(g) ? *joined.begin() : g;
    }
    std::vector<std::vector<std::uint16_t>> expected;  // sorted as the numbers are: places, group after group
    std::vector<std::size_t> columns(parameters.size());
    for (std::size_t p = 0; p < columns.size(); ++p) columns[p] = p;
    std::stable_sort(columns.begin(), columns.end(), [&](std::size_t p, std::size_t q) {
      return group[parameters[p].name] < group[parameters[q].name];
    });
    bool no_value = false;
    std::set<Places> valid;
    for (std::uint64_t i = 0; i < product.size(); ++i) {
      std::vector<Scalar> values;
      std::vector<std::string> names;
      const Configuration here = product.at(i);
      for (const auto& [n, v] : here.values) names.push_back(n), values.push_back(scalar_of(v));
      for (const Derived& d : derived) {
        values.push_back(Expression(d.expression, names).evaluate(values.data()));
        names.push_back(d.name);
      }
      bool holds = true, fails = false;
      for (const std::string& c : constraints) {
        const Scalar truth = truth_of(Expression(c, names).evaluate(values.data()));
        fails |= truth.kind == Scalar::Kind::failure;
        holds &= truth.kind == Scalar::Kind::failure || is_true(truth);
      }
      no_value |= holds && fails;
      if (!holds) continue;
      valid.insert(product.places(i));
      std::vector<std::uint16_t> key;
      for (const std::size_t p : columns) key.push_back(product.places(i)[p]);
      expected.push_back(key);
    }
    std::sort(expected.begin(), expected.end());

    std::string all;
    for (const std::string& c : constraints) all += c + "; ";
    if (no_value || valid.empty()) {
      // A space that is empty in one group may have no value in another: either is said.
      EXPECT_THROW(ParameterSpace(parameters, derived, constraints), UsageError) << all;
      ++(no_value ? without_value : contradictory);
      continue;
    }
    ++valid_spaces;
    partly += valid.size() < product.size();
    const ParameterSpace space(parameters, derived, constraints);
    ASSERT_EQ(space.size(), expected.size()) << all;
    for (std::uint64_t i = 0; i < space.size(); ++i) {
      const Places here = space.places(i);
      for (std::size_t p = 0; p < columns.size(); ++p) ASSERT_EQ(here[columns[p]], expected[i][p]) << all;
      ASSERT_EQ(space.find(here), i);
      ASSERT_EQ(space.number_of(space.at(i)), i);
    }
    for (std::uint64_t i = 0; i < product.size(); ++i) {
      const Places here = product.places(i);
      ASSERT_EQ(space.find(here).has_value(), valid.contains(here)) << all;
    }
    const std::uint64_t some = random() % space.size();
    std::set<std::uint64_t> near;
    for (std::uint64_t i = 0; i < space.size(); ++i) {
      const Places a = space.places(some), b = space.places(i);
      int different = 0;
      for (std::size_t p = 0; p < a.size(); ++p) different += a[p] != b[p];
      if (different == 1) near.insert(i);
    }
    const auto neighbours = space.neighbours(some);
    ASSERT_EQ(std::set<std::uint64_t>(neighbours.begin(), neighbours.end()), near) << all;
    ASSERT_EQ(neighbours.size(), near.size());
  }
  EXPECT_GT(valid_spaces, 250);
  EXPECT_GT(partly, 150);
  EXPECT_GT(contradictory, 20);
  EXPECT_GT(without_value, 20);
}

}  // namespace
}  // namespace heddle::core

// Expressions mean what Python and C users expect, refuse what has no value, and what they say about a set of points
// holds at every point of it.
#include "core/expression.hpp"

#include <cstdlib>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::core {
namespace {

const Configuration some{{{"A", std::int64_t{8}},
                          {"B", std::int64_t{-3}},
                          {"Z", std::int64_t{0}},
                          {"R", 2.5},
                          {"T", true},
                          {"MODE", std::string("fast")},
                          {"min", std::int64_t{5}},
                          {"BIG", std::numeric_limits<std::int64_t>::max()}}};

std::string value(const std::string& text) { return to_string(Expression(text).evaluate(some)); }

std::string complaint(const std::string& text) {
  try {
    return "no error, but " + value(text);
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(Expression, HasTheValueThatPythonGives) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"10 - 4 - 3", "3"},
      {"2 ** 3 ** 2", "512"},
      {"-2 ** 2", "-4"},
      {"2 ** -1", "0.5"},
      {"A / 4", "2"},
      {"A / 3", "2.6666666666666665"},
      {"A // 3", "2"},
      {"B // 2", "-2"},
      {"B % 5", "2"},
      {"A % B", "-1"},
      {"7.5 // 2", "3.0"},
      {"-7.5 % 2", "0.5"},
      {"1 // 0.1", "9.0"},
      {"R * 2", "5.0"},
      {".5 + 1e1", "10.5"},
      {"T + T", "2"},
      {"-T", "-1"},
      {"!A", "false"},
      {"!A == 0", "true"},
      {"not A == 0", "true"},
      {"!(A == 8)", "false"},
      {"1 < A <= 8", "true"},
      {"1 < A < 8", "false"},
      {"3 > 2 == true", "false"},  // 3 > 2 and 2 == true, as a chain
      {"A == 8.0", "true"},
      {"T == 1", "true"},
      {"A > 4 && B < 0 || Z", "true"},
      {"A > 4 and B > 0 or Z", "false"},
      {"A ? B : Z", "-3"},
      {"Z ? 1 : A > 4 ? 2 : 3", "2"},
      {"A in [1, 8]", "true"},
      {"A in (1, 2,)", "false"},
      {"A not in [1, 2]", "true"},
      {"MODE == 'fast'", "true"},
      {"MODE != \"exact\"", "true"},
      {"MODE == 3", "false"},
      {"MODE in ['exact', 'fast']", "true"},
      {"A > 4 ? 'wide' : 'narrow'", "wide"},
      {"min(A, B, 2.5)", "-3"},
      {"max(A, 2.5)", "8"},
      {"abs(B)", "3"},
      {"ceil(R)", "3"},
      {"floor(-R)", "-3"},
      {"int(-R)", "-2"},
      {"round(R)", "2"},
      {"round(3.5)", "4"},
      {"log2(A)", "3.0"},
      {"min + 1", "6"},  // a function's name is free for a parameter
      {"True and not False", "true"},
      {"Z != 0 && A % Z == 0", "false"},  // what is not needed is not evaluated
      {"Z == 0 || A / Z > 1", "true"},
      {"Z ? A / Z : -1", "-1"},
      {"1 > 2 > A / Z", "false"},
      {"BIG - 1 < BIG", "true"},
      {"BIG < 9223372036854775808.0", "true"},  // exact, though the real nearest to BIG is that
      {"(-BIG - 1) % -1", "0"},
      {"1 ** BIG", "1"},
      {"0 ** 0", "1"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(value(text), expected) << text;
}

TEST(Expression, SaysWhyThereIsNoValue) {
  EXPECT_EQ(complaint("A / Z"), "expression 'A / Z' with A=8 Z=0: division by zero");
  for (const char* text : {"A // Z", "A % Z", "R / 0", "R // 0", "R % 0.0", "0 ** -1", "Z ** -1.5"}) {
    EXPECT_NE(complaint(text).find("division by zero"), std::string::npos) << text << ": " << complaint(text);
  }
  for (const char* text : {"BIG + 1", "-BIG - 2", "BIG * 2", "-(-BIG - 1)", "abs(-BIG - 1)", "(-BIG - 1) / -1",
                           "(-BIG - 1) // -1", "BIG ** 2", "3 ** 41", "int(1e19)", "1e308 * 10", "(0 - 2) ** 0.5"}) {
    EXPECT_NE(complaint(text).find("the result "), std::string::npos) << text << ": " << complaint(text);
  }
  for (const char* text : {"MODE < 3", "MODE < 'x'", "MODE + 1", "-MODE", "!MODE", "MODE && T", "MODE ? 1 : 2",
                           "log2(0)", "log2(B)", "min(MODE, 1)"}) {
    EXPECT_THROW(Expression(text).evaluate(some), UsageError) << text;
  }
  EXPECT_THROW(Expression("X > 1").evaluate(Configuration{{{"X", std::numeric_limits<double>::infinity()}}}),
               UsageError);
  EXPECT_EQ(complaint("A + W"), "expression 'A + W': no parameter 'W'; there are: A, B, Z, R, T, MODE, min, BIG");
  try {
    Expression("A * W", {"A", "B"});
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "expression 'A * W': no parameter 'W'; there are: A, B");
  }
}

TEST(Expression, SaysWhatWasExpectedWhere) {
  EXPECT_EQ(complaint("A +"), "expression 'A +': a value expected at column 4");
  EXPECT_EQ(complaint("(A * 2"), "expression '(A * 2': ')' expected at column 7");
  EXPECT_EQ(complaint("A = 2"), "expression 'A = 2': '==' expected at column 3");
  EXPECT_EQ(complaint("A B"), "expression 'A B': an operator or the end expected at column 3");
  for (const char* text :
       {"",       "  ",        ")",     "A ^ 2",  "1 2",     "12x",     "0x10",         "1..2",
        "'a",     "'a b'",     "''",    "A in 3", "A in []", "A in [1", "1 < A in [2]", "f(A)",
        "min(A)", "abs(A, B)", "A ? 1", "and",    "A and",   "not",     "A not 3",      "99999999999999999999",
        "1e999",  "A && | B",  "#",     "\xff"}) {
    EXPECT_THROW(Expression{text}, UsageError) << text;
  }
}

TEST(Expression, BearsHostileText) {
  const auto repeat = [](const std::string& what, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += what;
    return out;
  };
  for (const std::string& text : {repeat("(", 100'000), repeat("(", 20'000) + "1" + repeat(")", 20'000),
                                  repeat("-", 60'000) + "1", repeat("!", 60'000) + "1", repeat("not ", 15'000) + "1",
                                  "1" + repeat("+1", 30'000), "2" + repeat("**1", 20'000), repeat("1?", 20'000),
                                  repeat("1?1:", 15'000) + "1", repeat("abs(", 15'000), repeat("1 in [", 10'000)}) {
    EXPECT_THROW(Expression{text}, UsageError) << text.substr(0, 20);
  }
  // What people could generate works: long sums, lists and alternatives, and some nesting.
  EXPECT_EQ(value("1" + repeat("+1", 400)), "401");
  EXPECT_EQ(value("A == 1" + repeat(" || A == 2", 5'000) + " || A == 8"), "true");
  EXPECT_EQ(value(repeat("(", 60) + "A" + repeat(")", 60)), "8");
  // Middles of chains are evaluated once, or this would take for ever.
  std::string chain = "A";
  for (int i = 0; i < 60; ++i) chain = "0 <= (" + chain + ") <= 9";
  EXPECT_EQ(value(chain), "true");
}

TEST(Expression, ListsItsNamesOnce) {
  const Expression e("A*B + A > min(C, 2)");
  EXPECT_EQ(e.names(), (std::vector<std::string>{"A", "B", "C"}));
  EXPECT_EQ(e.text(), "A*B + A > min(C, 2)");
  const Expression known("B > A", {"A", "X", "B"});
  EXPECT_EQ(known.slots(), (std::vector<std::uint32_t>{2, 0}));
  EXPECT_EQ(known.evaluate(some), Value(false));
}

// Random expressions over the parameters a (integers), b (reals), c (truth values or integers), d (names).
struct RandomExpression {
  std::mt19937& random;

  std::string pick(const std::vector<std::string>& list) { return list[random() % list.size()]; }
  std::string number(int depth) {
    if (depth == 0 || random() % 6 == 0) {
      return pick(
          {"a", "a", "b", "c", "0", "1", "2", "3", "7", "-4", "0.5", "9007199254740993", "4611686018427387904"});
    }
    switch (random() % 6) {
      case 0:
        return pick({"abs", "ceil", "floor", "log2", "int", "round", "-"}) + "(" + number(depth - 1) + ")";
      case 1:
        return pick({"min", "max"}) + "(" + number(depth - 1) + "," + number(depth - 1) + ")";
      case 2:
        return "(" + truth(depth - 1) + " ? " + number(depth - 1) + " : " + number(depth - 1) + ")";
      default:
        return "(" + number(depth - 1) + pick({"+", "-", "*", "*", "/", "//", "%", "**"}) + number(depth - 1) + ")";
    }
  }
  std::string name() { return pick({"d", "'x'", "'y'", "(c ? d : 'x')"}); }
  std::string sign() { return pick({" == ", " != ", " < ", " <= ", " > ", " >= "}); }
  std::string truth(int depth) {
    if (depth == 0) return pick({"c", "true", "a > 2", "b < 1", "d == 'x'"});
    switch (random() % 8) {
      case 0:
        return "(" + truth(depth - 1) + " && " + truth(depth - 1) + ")";
      case 1:
        return "(" + truth(depth - 1) + " || " + truth(depth - 1) + ")";
      case 2:
        return "(not " + truth(depth - 1) + ")";
      case 3:
        return "(" + number(depth - 1) + sign() + number(depth - 1) + sign() + number(depth - 1) + ")";
      case 4:
        return "(" + number(depth - 1) + " in [" + number(depth - 1) + "," + number(depth - 1) + "])";
      case 5:
        return "(" + name() + pick({" == ", " != "}) + name() + ")";
      default:
        return "(" + number(depth - 1) + sign() + number(depth - 1) + ")";
    }
  }
};

TEST(Expression, WhatIsCertainOfASetHoldsAtEveryPoint) {
  std::mt19937 random(11);
  RandomExpression any{random};
  int certain[3] = {0, 0, 0};
  for (int round = 0; round < 20'000; ++round) {
    const Expression e(any.truth(1 + static_cast<int>(random() % 4)), {"a", "b", "c", "d"});
    std::vector<Value> values[4];
    const auto low = static_cast<std::int64_t>(random() % 9) - 3;
    for (std::uint64_t i = 0; i <= random() % 4; ++i) {
      values[0].emplace_back(low + static_cast<std::int64_t>(i * (random() % 3 + 1)));
      if (random() % 50 == 0) values[0].emplace_back(std::numeric_limits<std::int64_t>::max() - std::abs(low));
      values[1].emplace_back(static_cast<double>(random() % 16) / 4 - 1);
      values[2].push_back(random() % 2 ? Value(random() % 2 == 0) : Value(static_cast<std::int64_t>(random() % 3)));
      values[3].emplace_back(std::string(random() % 2 ? "x" : "z"));
    }
    std::vector<Possible> slots;
    std::vector<Scalar> scalars[4];
    for (int p = 0; p < 4; ++p) {
      for (const Value& v : values[p]) scalars[p].push_back(scalar_of(v));
      slots.push_back(possible(scalars[p][0]));
      for (const Scalar& s : scalars[p]) {
        if (scalars[p].size() > 1) slots.back() = either(slots.back(), possible(s));
      }
    }
    const Certain says = e.certain(slots.data());
    const Possible range = e.evaluate(slots.data());
    ++certain[static_cast<int>(says)];
    for (const Scalar& a : scalars[0]) {
      for (const Scalar& b : scalars[1]) {
        for (const Scalar& c : scalars[2]) {
          for (const Scalar& d : scalars[3]) {
            const Scalar point[4] = {a, b, c, d};
            const Scalar is = e.evaluate(point);
            const bool fails = is.kind == Scalar::Kind::failure, truth = is_true(truth_of(is));
            ASSERT_TRUE(!fails || range.may_fail) << e.text();
            ASSERT_TRUE(says != Certain::yes || (!fails && truth)) << e.text();
            ASSERT_TRUE(says != Certain::no || (!fails && !truth)) << e.text();
          }
        }
      }
    }
  }
  for (const int count : certain) EXPECT_GT(count, 1'500);  // or this proved little
}

// Ranges of numbers, not only truth values: bounds hold every value that occurs.
TEST(Expression, BoundsHoldEveryValue) {
  std::mt19937 random(12);
  RandomExpression any{random};
  int bounded = 0;
  for (int round = 0; round < 10'000; ++round) {
    const Expression e(any.number(1 + static_cast<int>(random() % 4)), {"a", "b", "c", "d"});
    std::vector<Scalar> a, b;
    Possible slots[4];
    for (std::int64_t i = 0, low = static_cast<std::int64_t>(random() % 9) - 3; i < 4; ++i) {
      a.push_back(scalar_of(low + i * 2));
      b.push_back(scalar_of(static_cast<double>(low + i) / 3));
    }
    const std::string name = "x";
    const Scalar truth = scalar_of(true);
    Scalar word;
    word.kind = Scalar::Kind::name, word.name = &name;
    slots[0] = either(possible(a.front()), possible(a.back()));
    slots[1] = either(possible(b.front()), possible(b.back()));
    slots[2] = possible(truth), slots[3] = possible(word);
    const Possible range = e.evaluate(slots);
    if (range.kind != Possible::Kind::numbers) continue;
    bounded += range.low > -1e9 && range.high < 1e9;
    for (const Scalar& x : a) {
      for (const Scalar& y : b) {
        const Scalar point[4] = {x, y, truth, word};
        const Scalar is = e.evaluate(point);
        if (is.kind == Scalar::Kind::failure) {
          ASSERT_TRUE(range.may_fail) << e.text();
        } else if (is.kind == Scalar::Kind::real) {
          ASSERT_TRUE(range.low <= is.real && is.real <= range.high && !range.whole) << e.text();
        } else {
          ASSERT_TRUE(range.low <= static_cast<double>(is.integer) && static_cast<double>(is.integer) <= range.high)
              << e.text();
        }
      }
    }
  }
  EXPECT_GT(bounded, 3'000);
}

}  // namespace
}  // namespace heddle::core

// The search finds the same rows however it prunes, and stops where it was told to. That they are the right ones,
// parameters_test.cpp says.
#include "core/valid_rows.hpp"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::core {
namespace {

Rules rules_of(std::size_t parameters, std::int64_t values, const std::vector<std::string>& derived,
               const std::vector<std::string>& constraints) {
  Rules out;
  for (std::size_t p = 0; p < parameters; ++p) {
    out.parameters.push_back({std::string(1, static_cast<char>('a' + p)), {}});
    for (std::int64_t v = 1; v <= values; ++v) out.parameters.back().values.emplace_back(v);
    out.names.push_back(out.parameters.back().name);
  }
  for (const std::string& d : derived) {
    out.derived.emplace_back(d, out.names);
    out.names.push_back("W" + std::to_string(out.derived.size()));
  }
  for (const std::string& c : constraints) out.constraints.emplace_back(c, out.names);
  return out;
}

std::vector<std::uint16_t> rows(const Rules& rules, const SearchLimits& limits) {
  std::vector<std::size_t> group(rules.parameters.size()), constraints(rules.constraints.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  std::iota(constraints.begin(), constraints.end(), std::size_t{0});
  return valid_rows(rules, group, constraints, limits);
}

TEST(ValidRows, AreTheSameWithAndWithoutTables) {
  std::mt19937 random(9);
  int some = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t count = 3 + random() % 3;
    std::vector<std::string> names, derived, constraints;
    for (std::size_t p = 0; p < count; ++p) names.emplace_back(1, static_cast<char>('a' + p));
    const auto pick = [&] { return names[random() % names.size()]; };
    const auto number = [&](unsigned most) { return std::to_string(1 + random() % most); };
    for (int d = 0; d < 2; ++d) {
      derived.push_back(pick() + (random() % 2 ? " * " : " - ") + pick());
      names.push_back("W" + std::to_string(d + 1));
    }
    for (unsigned c = 0; c < 1 + random() % 4; ++c) {
      const std::string forms[] = {pick() + " * " + pick() + " * " + pick() + " <= " + number(60),
                                   pick() + " % " + number(4) + " == 0 || " + pick() + " > " + number(6),
                                   pick() + " + " + pick() + " >= " + pick() + " + " + number(8),
                                   "a + b + c == " + number(12),
                                   pick() + " % " + pick() + " == 0",
                                   pick() + " > 2 ? " + pick() + " < " + pick() + " : " + pick() + " != 3"};
      constraints.push_back(forms[random() % std::size(forms)]);
    }
    const Rules rules = rules_of(count, 6, derived, constraints);
    const auto found = [&](std::size_t table) -> std::optional<std::vector<std::uint16_t>> {
      try {
        return rows(rules, {.table = table});
      } catch (const UsageError&) {  // no value somewhere
        return std::nullopt;
      }
    };
    const auto with = found(1 << 15);
    EXPECT_EQ(found(0), with);
    EXPECT_EQ(found(100), with);  // tables for some constraints
    some += with && !with->empty();
  }
  EXPECT_GT(some, 100);
}

TEST(ValidRows, KeepToTheirLimits) {
  const Rules rules = rules_of(6, 10, {}, {"a + b + c + d + e + f <= 20"});
  const std::size_t all = rows(rules, {}).size() / 6;
  EXPECT_EQ(all, 37'500u);  // 20 over 6, less six times 10 over 6 for the sums with one above ten
  EXPECT_EQ(rows(rules, {.rows = all}).size() / 6, all);
  EXPECT_THROW(rows(rules, {.rows = all - 1}), UsageError);
  EXPECT_THROW(rows(rules, {.steps = 1000}), UsageError);
  EXPECT_EQ(any_valid_row(rules, {0, 1, 2, 3, 4, 5}, {0}), true);
  EXPECT_EQ(any_valid_row(rules_of(2, 3, {}, {"a < b", "b < a"}), {0, 1}, {0, 1}), false);
}

TEST(ParametersOf, LooksThroughDerivedValues) {
  const Rules rules = rules_of(4, 2, {"a * c", "W1 + 1"}, {"W2 > 1", "b > 1", "3 > 1"});
  EXPECT_EQ(parameters_of(rules.constraints[0], rules), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(parameters_of(rules.constraints[1], rules), (std::vector<std::size_t>{1}));
  EXPECT_EQ(parameters_of(rules.constraints[2], rules), std::vector<std::size_t>{});
}

}  // namespace
}  // namespace heddle::core

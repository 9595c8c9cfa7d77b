// Rules that say when a search is over.
#include "decide/stop.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::decide {
namespace {

TEST(Stop, RulesCompose) {
  const Stop stop("evaluations >= 400 || seconds >= 60 && since >= 50");
  EXPECT_FALSE(stop({.evaluations = 399, .seconds = 59, .since = 100}));
  EXPECT_TRUE(stop({.evaluations = 400}));
  EXPECT_FALSE(stop({.evaluations = 100, .seconds = 61, .since = 49}));
  EXPECT_TRUE(stop({.evaluations = 100, .seconds = 61, .since = 50}));
}

TEST(Stop, TargetsAndRooflines) {
  const Stop target("best <= 1.5"), good("attained >= 0.8");
  EXPECT_FALSE(target({}));  // nothing has run
  EXPECT_FALSE(target({.best = 1.6}));
  EXPECT_TRUE(target({.best = 1.5}));
  EXPECT_FALSE(good({.best = 1}));  // no floor is known
  EXPECT_FALSE(good({.best = 2, .floor = 1}));
  EXPECT_TRUE(good({.best = 1.25, .floor = 1}));
  EXPECT_FALSE(good({.floor = 1}));
}

TEST(Stop, MistakesAreToldAtOnce) {
  EXPECT_THROW(Stop("evaluation > 3"), core::UsageError);
  EXPECT_THROW(Stop("evaluations >"), core::UsageError);
  EXPECT_THROW(Stop(""), core::UsageError);
}

}  // namespace
}  // namespace heddle::decide

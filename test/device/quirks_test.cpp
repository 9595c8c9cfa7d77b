// Which launches of one kernel a driver stands beside each other.
#include "device/quirks.hpp"

#include <gtest/gtest.h>

namespace heddle::device {
namespace {

Hold held(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t offset) {
  return hold_of({.offset = {offset, 0, 0}, .global = {x, y, z}, .local = {8, 1, 1}});
}

TEST(Quirks, WhoIsNoWiderIsHeldTheSameWay) {
  EXPECT_TRUE(may_join(held(64, 1, 1, 8), held(64, 1, 1, 16)));
  EXPECT_TRUE(may_join(held(64, 1, 1, 8), held(16, 64, 1, 8)));  // as wide as its widest dimension
  EXPECT_FALSE(may_join(held(64, 1, 1, 8), held(72, 1, 1, 8)));
  EXPECT_FALSE(may_join(held(64, 1, 1, 8), held(64, 1, 100, 8)));  // counts in newer versions
  EXPECT_FALSE(may_join(held(64, 1, 100, 8), held(72, 1, 1, 8)));  // and not in older ones
}

TEST(Quirks, WhatHasNoOffsetFindsWhatIsForAny) {
  EXPECT_TRUE(may_join(held(64, 1, 1, 8), held(64, 1, 1, 0)));
  EXPECT_TRUE(may_join(held(64, 1, 1, 0), held(64, 1, 1, 0)));
  EXPECT_FALSE(may_join(held(64, 1, 1, 0), held(64, 1, 1, 8)));
}

}  // namespace
}  // namespace heddle::device

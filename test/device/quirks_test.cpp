// Which launches of one kernel a driver stands beside each other.
#include "device/quirks.hpp"

#include <gtest/gtest.h>

namespace heddle::device {
namespace {

Hold held(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t offset) {
  return hold_of({.offset = {offset, 0, 0}, .global = {x, y, z}, .local = {8, 1, 1}});
}

TEST(Quirks, LaunchesAsWideAndWithAnOffsetOrWithoutAreHeldAlike) {
  EXPECT_EQ(held(64, 1, 1, 8), held(64, 1, 1, 16));
  EXPECT_EQ(held(64, 8, 1, 8), held(16, 64, 1, 8));  // as wide as its widest dimension
  EXPECT_NE(held(64, 1, 1, 8), held(72, 1, 1, 8));
  EXPECT_NE(held(64, 1, 1, 8), held(64, 1, 1, 0));
  EXPECT_NE(held(64, 1, 1, 8), held(64, 1, 100, 8));    // counts in newer versions
  EXPECT_NE(held(64, 1, 100, 8), held(72, 1, 100, 8));  // and not in older ones
}

TEST(Quirks, WhoIsNoWiderJoinsWhatIsAtWork) {
  const Hold shifted = held(64, 1, 1, 8), from_zero = held(64, 1, 1, 0);
  EXPECT_TRUE(joins(shifted, shifted));
  EXPECT_TRUE(joins(held(32, 1, 1, 8), shifted));
  EXPECT_FALSE(joins(held(72, 1, 1, 8), shifted));
  EXPECT_FALSE(joins(from_zero, shifted));
  EXPECT_TRUE(joins(held(32, 1, 1, 0), from_zero));
  EXPECT_FALSE(joins(held(32, 1, 1, 8), from_zero));            // is not looked for among those
  EXPECT_FALSE(joins(held(32, 1, 100, 8), shifted));            // is wider in newer versions
  EXPECT_FALSE(joins(held(72, 1, 1, 8), held(64, 1, 100, 8)));  // and in older ones
  EXPECT_FALSE(joins({.local = {4, 1, 1}}, shifted));
}

}  // namespace
}  // namespace heddle::device

// A launch's shape is a key on disk: what belongs to it, and what does not.
#include "core/launch.hpp"

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

TEST(Shape, HoldsSpaceGroupBuffersAndIntegers) {
  Launch launch;
  launch.space = {{8, 0, 0}, {1032, 4, 1}};
  launch.group = {64, 1, 1};
  launch.arguments = {{Argument::Kind::buffer, Access::read, 4096, {}},
                      {Argument::Kind::scalar, Access::read, 4, std::int64_t{7}},
                      {Argument::Kind::scalar, Access::read, 4, 2.5},
                      {Argument::Kind::scalar, Access::read, 1, true},
                      {Argument::Kind::local, Access::read, 256, {}}};
  EXPECT_EQ(shape_of(launch), "1024x4x1/64x1x1 b4096 i7 i1 l256");
}

}  // namespace
}  // namespace heddle::core

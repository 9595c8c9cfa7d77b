// What is expected of a device, as it was seen.
#include "engine/pace.hpp"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

// As two halves were disturbed, launches go to one device, which takes what is expected.
TEST(Pace, WhatWasDisturbedIsForgotten) {
  Pace pace;
  const double all = 1 << 20;
  for (int i = 0; i < 2; ++i) pace.add({all / 2, {}, 1.6e-3});
  for (int i = 0; i < 14; ++i) pace.add({all, {}, 1.64e-3});
  EXPECT_GT(pace.at({})(all / 2), 1.2e-3);
  int launches = 0;
  while (pace.at({})(all / 2) > 0.9e-3 && launches < 1000) pace.add({all, {}, 1.64e-3}), ++launches;
  EXPECT_LE(launches, 64);
}

}  // namespace
}  // namespace heddle::engine

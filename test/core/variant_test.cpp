// From points to work-items: every point of the box is computed by exactly the groups that the footprint says.
#include "core/variant.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace heddle::core {
namespace {

Variant variant(Index group, Footprint footprint, Cut cut) {
  Variant v;
  v.name = "v";
  v.group = group;
  v.footprint = footprint;
  v.cut = cut;
  return v;
}

TEST(FingerprintOf, ChangesWithSourceOptionsAndEntryOnly) {
  Variant v = variant({64, 1, 1}, {}, Cut::none);
  const std::string before = fingerprint_of(v);
  v.name = "other", v.group = {32, 1, 1};
  EXPECT_EQ(fingerprint_of(v), before);
  for (std::string* part : {&v.source, &v.options, &v.entry}) {
    *part += "x";
    EXPECT_NE(fingerprint_of(v), before);
    part->clear();
  }
}

TEST(NdRange, OneItemPerPoint) {
  const Variant v = variant({64, 1, 1}, {{64, 1, 1}, true}, Cut::by_offset);
  const Box space = box_of(1000);
  EXPECT_EQ(nd_range(v, space, space), (NdRange{{0, 0, 0}, {1024, 1, 1}, {64, 1, 1}, 1}));
  EXPECT_EQ(nd_range(v, {{128, 0, 0}, {256, 1, 1}}, space), (NdRange{{128, 0, 0}, {128, 1, 1}, {64, 1, 1}, 1}));
  EXPECT_EQ(nd_range(v, {{960, 0, 0}, {1000, 1, 1}}, space), (NdRange{{960, 0, 0}, {64, 1, 1}, {64, 1, 1}, 1}));
}

TEST(NdRange, FewPointsPerGroup) {  // a vector kernel: 128 items compute 4 rows
  const Variant v = variant({128, 1, 1}, {{4, 1, 1}, false}, Cut::by_offset);
  EXPECT_EQ(nd_range(v, {{8, 0, 0}, {16, 1, 1}}, box_of(100)), (NdRange{{256, 0, 0}, {256, 1, 1}, {128, 1, 1}, 1}));
}

TEST(NdRange, ManyPointsPerGroupInThreeDimensions) {
  const Variant v = variant({32, 4, 1}, {{32, 4, 16}, false}, Cut::by_offset);
  const Box space = box_of(64, 8, 32);
  EXPECT_EQ(nd_range(v, {{32, 0, 16}, {64, 8, 32}}, space), (NdRange{{32, 0, 1}, {32, 8, 1}, {32, 4, 1}, 3}));
}

TEST(NdRange, SpacesMayBeginAnywhere) {
  const Variant v = variant({10, 1, 1}, {{10, 1, 1}, false}, Cut::by_offset);
  EXPECT_EQ(nd_range(v, {{17, 0, 0}, {37, 1, 1}}, {{7, 0, 0}, {47, 1, 1}}),
            (NdRange{{17, 0, 0}, {20, 1, 1}, {10, 1, 1}, 1}));
  const Variant coarse = variant({10, 1, 1}, {{20, 1, 1}, false}, Cut::by_offset);
  EXPECT_THROW(nd_range(coarse, {{7, 0, 0}, {47, 1, 1}}, {{7, 0, 0}, {47, 1, 1}}), InternalError);
}

TEST(NdRange, RefusesWhatWouldComputeTheWrongPoints) {
  const Box space = box_of(100);
  const Variant unguarded = variant({64, 1, 1}, {{64, 1, 1}, false}, Cut::by_offset);
  EXPECT_THROW(nd_range(unguarded, space, space), InternalError);
  EXPECT_THROW(nd_range(unguarded, {{1, 0, 0}, {65, 1, 1}}, space), InternalError);
  EXPECT_THROW(nd_range(unguarded, Box{}, space), InternalError);
  EXPECT_THROW(nd_range(unguarded, {{64, 0, 0}, {128, 1, 1}}, space), InternalError);
  const Variant whole = variant({10, 1, 1}, {{10, 1, 1}, false}, Cut::none);
  EXPECT_NO_THROW(nd_range(whole, space, space));
  EXPECT_THROW(nd_range(whole, box_of(50), space), InternalError);
}

}  // namespace
}  // namespace heddle::core

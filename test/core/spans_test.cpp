// Sets of bytes against a set that counts every byte.
#include "core/spans.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

using Naive = std::set<std::int64_t>;

Naive bytes_of(const SpanSet& set) {
  Naive out;
  for (const Span& span : set.spans()) {
    for (std::int64_t b = span.begin; b < span.end; ++b) out.insert(b);
  }
  return out;
}

bool well_formed(const SpanSet& set) {
  for (std::size_t i = 0; i < set.spans().size(); ++i) {
    if (set.spans()[i].empty() || (i > 0 && set.spans()[i - 1].end >= set.spans()[i].begin)) return false;
  }
  return true;
}

TEST(SpanSet, NeighboursBecomeOne) {
  SpanSet set(Span{0, 4});
  set.add(Span{8, 12});
  set.add(Span{4, 8});
  EXPECT_EQ(set.spans(), (std::vector<Span>{{0, 12}}));
  set.remove(Span{2, 3});
  EXPECT_EQ(set.spans(), (std::vector<Span>{{0, 2}, {3, 12}}));
  EXPECT_FALSE(set.covers(Span{0, 4}));
  EXPECT_TRUE(set.covers(Span{3, 12}));
  EXPECT_TRUE(set.covers(Span{7, 7}));
  EXPECT_EQ(set.size(), 11);
}

TEST(SpanSet, IsWhatCountingEveryByteSays) {
  std::mt19937 random(5);
  auto span = [&] {
    const std::int64_t begin = random() % 40;
    return Span{begin, begin + static_cast<std::int64_t>(random() % 9)};
  };
  for (int round = 0; round < 2000; ++round) {
    SpanSet sets[2];
    Naive naive[2];
    for (int s = 0; s < 2; ++s) {
      for (int i = 0; i < 8; ++i) {
        const Span x = span();
        const bool adds = random() % 3 != 0;
        adds ? sets[s].add(x) : sets[s].remove(x);
        for (std::int64_t b = x.begin; b < x.end; ++b) adds ? (void)naive[s].insert(b) : (void)naive[s].erase(b);
        ASSERT_TRUE(well_formed(sets[s]));
        ASSERT_EQ(bytes_of(sets[s]), naive[s]);
      }
    }
    Naive both, only;
    for (std::int64_t b : naive[0]) (naive[1].count(b) ? both : only).insert(b);
    const SpanSet common = intersect(sets[0], sets[1]), rest = subtract(sets[0], sets[1]);
    ASSERT_TRUE(well_formed(common) && well_formed(rest));
    EXPECT_EQ(bytes_of(common), both);
    EXPECT_EQ(bytes_of(rest), only);
    EXPECT_EQ(sets[0].meets(sets[1]), !both.empty());
    EXPECT_EQ(sets[0].covers(sets[1]), both == naive[1]);
    EXPECT_EQ(sets[0].size(), static_cast<std::int64_t>(naive[0].size()));
    const Span x = span();
    bool covered = true;
    for (std::int64_t b = x.begin; b < x.end; ++b) covered &= naive[0].count(b) > 0;
    EXPECT_EQ(sets[0].covers(x), covered);
    SpanSet sum = sets[0];
    sum.add(sets[1]);
    naive[0].insert(naive[1].begin(), naive[1].end());
    EXPECT_EQ(bytes_of(sum), naive[0]);
    EXPECT_EQ(shifted(shifted(sum, 7), -7), sum);
  }
}

}  // namespace
}  // namespace heddle::core

// Fingerprints are kept on disk, so they must never change from one version, machine or byte order to another.
#include "core/fingerprint.hpp"

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

TEST(Fingerprint, IsTheSameForEver) {
  EXPECT_EQ(Fingerprint().hex(), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(Fingerprint().add("heddle").add(42ull).hex(), "8235b9ca288bad9342f5c9e639801be5");
}

TEST(Fingerprint, PartsDoNotRunTogether) {
  EXPECT_NE(Fingerprint().add("ab").add("c").hex(), Fingerprint().add("a").add("bc").hex());
  EXPECT_NE(Fingerprint().add("").hex(), Fingerprint().hex());
  EXPECT_NE(Fingerprint().add(1ull).hex(), Fingerprint().add(2ull).hex());
}

}  // namespace
}  // namespace heddle::core

// Nothing that comes out can steer a terminal, and widths are those of a terminal.
#include "profile/printable.hpp"

#include <gtest/gtest.h>

namespace heddle::profile {
namespace {

TEST(Printable, ReplacesWhatIsNotUtf8) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("s\xc3\xa4t \xe2\x82\xac \xf0\x9f\x98\x80"), "s\xc3\xa4t \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a" + replaced + "b");
  EXPECT_EQ(valid_utf8("\xc3"), replaced);                                // cut short
  EXPECT_EQ(valid_utf8("\xc0\xaf"), replaced + replaced);                 // longer than needed
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), replaced + replaced + replaced);  // half of a pair of UTF-16
}

TEST(Printable, ReplacesWhatSteersATerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\n\t\x7f"), "a?[2Jb????");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "?2J");  // the same, as one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "abc"),
            "?abc");  // from right to left
  EXPECT_EQ(printable("s\xc3\xa4t"), "s\xc3\xa4t");
}

TEST(Printable, WidthsAreColumns) {
  EXPECT_EQ(width("abc"), 3u);
  EXPECT_EQ(width("s\xc3\xa4t"), 3u);
  EXPECT_EQ(width("a\xcc\x88"), 1u);                 // a letter and its dots
  EXPECT_EQ(width("\xe6\xbc\xa2\xe5\xad\x97"), 4u);  // two of CJK
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdef", 5), "abc..");
  EXPECT_EQ(cut("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 5), "\xe6\xbc\xa2..");
}

}  // namespace
}  // namespace heddle::profile

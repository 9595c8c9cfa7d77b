#include "core/source_text.hpp"

#include <gtest/gtest.h>

namespace heddle::core {
namespace {

TEST(SourceText, CommentsAreBlanks) {
  EXPECT_EQ(without_comments("a/* b\nc */d // e\nf"), "a d \nf");
  EXPECT_EQ(without_comments("a / b * c"), "a / b * c");
  EXPECT_EQ(without_comments("a // b \\\n c\nd"), "a \nd");
  EXPECT_EQ(without_comments("\"/*\" b"), "\"/*\" b");
  EXPECT_EQ(without_comments("a /* b"), "a ");
}

TEST(SourceText, WhatMayIncludeAFileIsTold) {
  EXPECT_TRUE(includes_nothing("kernel void k() {}", "-DX=1 -I /tmp"));
  EXPECT_TRUE(includes_nothing({"kernel void k() {}\0", 19}, ""));
  EXPECT_TRUE(includes_nothing("// why?\?\nint important, included;", ""));
  EXPECT_TRUE(includes_nothing("// includes nothing\nkernel void k() {} /* #include \"a\" */", ""));
  for (const char* text :
       {"#include \"a\"", "# include <a>", "%:include <a>", "#inc\\\nlude <a>", "#inc\\ \r\nlude <a>", "#import \"a\"",
        "#embed \"a\"", "#include_next <a>", "#\tinclude <a>", "?\?=include <a>", "// a ?\?/\nb\n",
        "#if __has_include(<a>)\n#endif", "/* a */ # /* b */ include <c>", "\"//\"\n#include <a>"})
    EXPECT_FALSE(includes_nothing(text, "")) << text;
  EXPECT_FALSE(includes_nothing("", "-include a"));
  EXPECT_FALSE(includes_nothing("", "-imacros a"));
}

}  // namespace
}  // namespace heddle::core

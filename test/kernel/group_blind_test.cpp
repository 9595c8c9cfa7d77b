#include "kernel/group_blind.hpp"

#include <string>

#include <gtest/gtest.h>

namespace heddle::kernel {
namespace {

const std::string plain =
    "kernel void add(global float* a, global const float* b) {\n"
    "  const size_t i = get_global_id(0);\n  a[i] += b[i] / get_global_size(0);\n}\n";

TEST(GroupBlind, KernelsThatKnowTheirGlobalPlaceAlone) {
  EXPECT_TRUE(blind_to_groups(plain, ""));
  EXPECT_TRUE(blind_to_groups(plain, "-cl-fast-relaxed-math -DN=4"));
  EXPECT_TRUE(blind_to_groups("// no local ids\n/* and no\n groups */" + plain, ""));
  EXPECT_TRUE(blind_to_groups("#define TWICE(x) \\\n  ((x) + (x))\n" + plain, ""));
}

TEST(GroupBlind, WhateverMayTellGroups) {
  for (const char* word : {"get_local_id(0)",
                           "get_group_id(0)",
                           "get_num_groups(0)",
                           "get_local_size(0)",
                           "get_enqueued_local_size(0)",
                           "local int x;",
                           "__local int* x;",
                           "barrier(CLK_LOCAL_MEM_FENCE)",
                           "sub_group_reduce_add(1)",
                           "work_group_all(1)",
                           "__attribute__((reqd_work_group_size(8, 1, 1)))",
                           "__builtin_trap()",
                           "asm(\"nop\")",
                           "#include \"ids.h\"\n",
                           "__asm__ volatile (\"\")",
                           "PASTE(get_lo##cal, _id)",
                           "async_WORK_GROUP_copy",
                           "LOCAL",
                           "%:define",
                           "?"
                           "?/"}) {
    EXPECT_FALSE(blind_to_groups(plain + word, "")) << word;
    EXPECT_FALSE(blind_to_groups(plain, std::string("-DX=") + word)) << word;
  }
}

TEST(GroupBlind, TextThatOnlyLooksLikeAComment) {
  // Lines that go on are one word.
  EXPECT_FALSE(blind_to_groups(plain + "get_lo\\\ncal_id(0)", ""));
  EXPECT_FALSE(blind_to_groups(plain + "get_lo\\ \t\r\ncal_id(0)", ""));
  // What begins in a string is no comment, and what ends in one is none.
  EXPECT_FALSE(blind_to_groups("constant char s[] = \"/*\"; int f() { return get_local_id(0); } //*/\n", ""));
  EXPECT_FALSE(blind_to_groups("constant char c = '\"'; int f() { return get_local_id(0); } // \"\n", ""));
  EXPECT_FALSE(blind_to_groups("// it's\nint f() { return get_local_id(0); }", ""));
  EXPECT_FALSE(blind_to_groups("/* \" */ int f() { return get_local_id(0); } /* \" */", ""));
  EXPECT_FALSE(blind_to_groups("/\\\n/ comment\nget_local_id(0)", ""));
  EXPECT_FALSE(blind_to_groups("// comment \\\n still\nget_local_id(0)", ""));
  EXPECT_TRUE(blind_to_groups("// comment \\\n get_local_id(0)\n" + plain, ""));
  EXPECT_FALSE(blind_to_groups("/*/ get_local_id(0) */ get_group_id(0)", ""));
  EXPECT_TRUE(blind_to_groups("/*/ get_local_id(0) */" + plain, ""));
  // A comment that does not end is no program.
  EXPECT_TRUE(blind_to_groups("/* get_local_id(0)", ""));
  EXPECT_FALSE(blind_to_groups(std::string("a\0get_local_id", 14), ""));
}

}  // namespace
}  // namespace heddle::kernel

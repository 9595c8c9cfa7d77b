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

TEST(GroupBlind, WhatCompilersTakeForTheEndOfALine) {
  EXPECT_FALSE(blind_to_groups("// mac\rkernel void f() { get_local_id(0); }\r", ""));
  for (const char* gap : {"\\\r", "\\\r\n", "\\ \v\n", "\\\f\n", "\\\n"})
    EXPECT_FALSE(blind_to_groups(plain + "get_lo" + gap + "cal_id(0)", "")) << gap;
  EXPECT_FALSE(
      blind_to_groups("/* *?"
                      "?/\n/ get_local_id(0) /* */",
                      ""));
  EXPECT_FALSE(blind_to_groups(plain, "-DX=get_lo\"\"cal_id(0)"));
  EXPECT_FALSE(blind_to_groups(plain, "-DX=get_lo\\cal_id(0)"));
  EXPECT_FALSE(blind_to_groups(plain + "printf(\"%d\", 1);", ""));
}

TEST(GroupBlind, KernelsWithoutArraysOfTheirOwn) {
  EXPECT_TRUE(without_private_arrays(plain));
  EXPECT_TRUE(without_private_arrays("constant float weights[9] = {1, 2};\n__constant int n[] = {3};\n" + plain));
  EXPECT_TRUE(
      without_private_arrays("#define N 9\n"
                             "float at(global const float* a, int i) { return a[i]; }\n"
                             "kernel void f(global float* a, global const float4* b, int n) {\n"
                             "  float sum = a[0], other = b[1].x;  /* not t[3000] */\n"
                             "  global float* p = &a[n];\n"
                             "  for (int i = a[0]; i < n; ++i) sum += a[i] * b[i].y;\n"
                             "  for (int i = 0; i < n; i += a[i]) a[i] = sum;\n"
                             "  if (a[n] > 0) { sum = 1; } else a[n] = 2;\n"
                             "  while (a[n] < 3) a[n]++;\n"
                             "  switch (n) { case 1: a[1] = 2; break; default: a[2] *= 3; }\n"
                             "  do a[n] -= 1; while (a[n]);\n"
                             "  sum *= a[3]; p[1] = at(a, b[2].x) + (sum + 1) * a[4]; --a[2]; ++p[0]; *p = a[1];\n"
                             "  unsigned x = a[1] > 2 ? a[2] : a[3], y = x;\n"
                             "}\n"));
}

TEST(GroupBlind, ArraysInWhateverWay) {
  for (const char* text : {"float t[3000];",
                           "const float t[2] = {1, 2};",
                           "float a, t[3000];",
                           "float a = b[0], t[3000];",
                           "float* t[8];",
                           "float *t[8], x = 1;",
                           "float4 t [16];",
                           "struct S { float t[3000]; };",
                           "typedef float T[3000];",
                           "struct S s[10];",
                           "struct { float x; } s[1000];",
                           "struct { float x; } s[2] = {1};",
                           "typedef struct { int x; } T[9];",
                           "float (t)[3000];",
                           "__attribute__((aligned(16))) float t[3000];",
                           "float __attribute__((x)) t[3];",
                           "typeof(x) t[3000];",
                           "VEC(float) t[3000];",
                           "ARRAY(t)[3000];",
                           "x = (float[3000]) {1};",
                           "unsigned long int t[1];",
                           "#define T float t[3000]\n",
                           "private float t[3];",
                           "again: float t[3];",
                           "for (float t[3];;) {}",
                           "int f(float t[3]) { return 1; }",
                           "float\nt\n[3000];",
                           "float t\\\n[3];",
                           "{ float t[3]; }",
                           "if (x) { float t[3]; }",
                           "case 1: { float t[3]; }",
                           "float t[3][4];",
                           "union { int x; } t[3], u;"})
    EXPECT_FALSE(without_private_arrays(plain + text)) << text;
}

}  // namespace
}  // namespace heddle::kernel

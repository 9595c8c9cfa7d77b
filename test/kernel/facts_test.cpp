// Every .cl file says what must come out.
#include <gtest/gtest.h>

#include "test/kernel/shared_compiler.hpp"
#include "test/kernel/summary.hpp"

namespace heddle::kernel {
namespace {

class EveryCase : public testing::TestWithParam<Case> {};

TEST_P(EveryCase, HasTheFactsThatItSays) {
  const Case& c = GetParam();
  std::vector<std::string> forms = {"box", "window", "merge", "clock"};
  for (const auto& [form, text] : c.expected_schedules) forms.push_back(form);
  auto analysis = compiler().analyse({c.text, c.options + " -I " HEDDLE_TEST_DATA "/cases", {}}, forms, true);
  ASSERT_TRUE(analysis) << analysis.failure().what << "\n" << analysis.failure().log;
  std::string all;
  for (const core::KernelFacts& facts : analysis->facts.kernels) {
    for (const std::string& line : summary(c, facts)) all += line + "\n";
  }
  for (const std::string& text : c.expected)
    EXPECT_NE(all.find(text), std::string::npos) << "expected: " << text << "\n" << all;
  for (const std::string& text : c.unexpected)
    EXPECT_EQ(all.find(text), std::string::npos) << "not expected: " << text << "\n" << all;
  for (const auto& [name, expected] : {std::pair("box", &c.expected_box), std::pair("window", &c.expected_window),
                                       std::pair("merge", &c.expected_merge), std::pair("clock", &c.expected_clock)}) {
    const Form& form = analysis->forms.at(name);
    for (const std::string& text : *expected)
      EXPECT_NE(form.source.find(text), std::string::npos) << text << "\n" << form.source << form.refused;
  }
  for (const auto& [name, text] : c.expected_schedules) {
    const Form& form = analysis->forms.at(name);
    EXPECT_NE((form.source + form.refused).find(text), std::string::npos) << text << "\n"
                                                                          << form.source << form.refused;
  }
  // What is written can be read again.
  EXPECT_EQ(core::to_json(core::program_facts_from_json(core::to_json(analysis->facts))),
            core::to_json(analysis->facts));
}

std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Kernelc, EveryCase, testing::ValuesIn(cases_in(HEDDLE_TEST_DATA "/cases")), case_name);

// What is memory of the program's own kernel alone, or work that it starts itself, and what is only a matter of order.
TEST(Kernelc, SaysWhoUsesMemoryBesideItsArguments) {
  const auto elsewhere = [](const std::string& text) {
    auto analysis = compiler().analyse({text, "-cl-std=CL2.0", {}}, {}, true);
    EXPECT_TRUE(analysis) << text;
    if (!analysis || analysis->facts.kernels.empty()) return false;
    EXPECT_FALSE(analysis->facts.kernels[0].obstacles.empty()) << text;
    return analysis->facts.kernels[0].elsewhere;
  };
  EXPECT_TRUE(elsewhere("global int total; kernel void k(global int* x) { total = x[get_global_id(0)]; }"));
  EXPECT_TRUE(
      elsewhere("struct N { global int* p; }; kernel void k(global struct N* n) { *n[get_global_id(0)].p = 1; }"));
  EXPECT_TRUE(elsewhere("int f(global int* p); kernel void k(global int* x) { x[0] = f(x); }"));
  EXPECT_FALSE(elsewhere("kernel void k(global int* n, global int* x) { x[atomic_inc(n)] = get_global_id(0); }"));
  EXPECT_FALSE(elsewhere("kernel void k(global int* x) { printf(\"%d\", x[get_global_id(0)]); }"));
  EXPECT_FALSE(elsewhere("kernel void k(global volatile int* x) { while (x[0] == 0) {} }"));
}

}  // namespace
}  // namespace heddle::kernel

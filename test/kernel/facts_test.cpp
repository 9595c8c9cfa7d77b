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

}  // namespace
}  // namespace heddle::kernel

// Forms of a kernel for parts of launches: doubt, turns, a decision.
#include "decide/forms.hpp"

#include <gtest/gtest.h>

namespace heddle::decide {
namespace {

void learn_some(Forms& forms, Form form, int times, double seconds) {
  for (int i = 0; i < times; ++i) learn(forms, form, seconds, 1000);
}

TEST(Forms, AnOffsetIsDoubtedWhereItTakesLonger) {
  Forms forms;
  EXPECT_FALSE(suspects_offset(forms));
  learn_some(forms, Form::from_zero, 3, 0.010);
  learn_some(forms, Form::offset, 2, 0.012);
  EXPECT_FALSE(suspects_offset(forms));  // seen too seldom
  learn_some(forms, Form::offset, 1, 0.012);
  EXPECT_TRUE(suspects_offset(forms));
  Forms alike;
  learn_some(alike, Form::from_zero, 5, 0.010);
  learn_some(alike, Form::offset, 5, 0.0107);
  EXPECT_FALSE(suspects_offset(alike));
}

TEST(Forms, WhatIsShortTellsNothing) {
  Forms forms;
  learn_some(forms, Form::from_zero, 5, 0.0001);
  learn_some(forms, Form::offset, 5, 0.0004);
  EXPECT_FALSE(suspects_offset(forms));
  EXPECT_TRUE(forms.costs[0].empty());
}

TEST(Forms, BothTakePartsInTurnAndTheFasterOneStays) {
  for (const double box : {0.010, 0.012, 0.0117}) {
    Forms forms;
    learn_some(forms, Form::offset, 3, 0.012);
    EXPECT_EQ(form_of_part(forms), Form::offset);  // for another shape a box form may be there, but nobody asked for it
    learn_some(forms, Form::from_zero, 3, 0.010);
    int boxes = 0, offsets = 0;
    while (boxes + offsets < 7) {
      EXPECT_EQ(form_of_part(forms, true), Form::offset);
      const Form next = form_of_part(forms);
      ++(next == Form::box ? boxes : offsets);
      learn_some(forms, next, 1, next == Form::box ? box : 0.012);
    }
    EXPECT_EQ(boxes, 5);
    EXPECT_EQ(offsets, 2);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(form_of_part(forms), box == 0.010 ? Form::box : Form::offset) << box;
      EXPECT_EQ(form_of_part(forms, true), form_of_part(forms)) << box;
      learn_some(forms, form_of_part(forms), 1, 1.0);  // a few that are disturbed change nothing
    }
  }
}

// One launch beside another program.
TEST(Forms, ChanceDoesNotDecide) {
  Forms forms;
  learn_some(forms, Form::from_zero, 3, 0.010);
  learn_some(forms, Form::offset, 5, 0.012);
  learn_some(forms, Form::box, 3, 0.010);
  learn_some(forms, Form::box, 2, 0.050);
  EXPECT_EQ(form_of_part(forms), Form::box);
}

// Pages that are touched for the first time, for example, make the first launches of a form slow.
TEST(Forms, WhatWasSeenFirstIsForgotten) {
  Forms forms;
  learn_some(forms, Form::from_zero, 5, 0.015);
  learn_some(forms, Form::offset, 5, 0.013);
  EXPECT_FALSE(suspects_offset(forms));
  learn_some(forms, Form::from_zero, 5, 0.010);
  learn_some(forms, Form::offset, 5, 0.013);
  EXPECT_TRUE(suspects_offset(forms));
}

}  // namespace
}  // namespace heddle::decide

// Loops, branches, and the counts that predictors use.
#pragma once

#include "tools/kernelc/formulas.hpp"

namespace heddle::kernelc {

void number_loops(Analysis& analysis);  // before any formula is made
void collect_loops(Analysis& analysis, Formulas& formulas);
void collect_branches(Analysis& analysis, Formulas& formulas);
void count_features(Analysis& analysis);

}  // namespace heddle::kernelc

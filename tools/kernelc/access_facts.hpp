// Every access of a kernel to memory outside of its group.
#pragma once

#include "tools/kernelc/formulas.hpp"

namespace heddle::kernelc {

// Fills facts.accesses, and obstacles that only the accesses show.
void collect_accesses(Analysis& analysis, Formulas& formulas);

}  // namespace heddle::kernelc

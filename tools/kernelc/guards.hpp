// The conditions under which a block of a kernel runs.
#pragma once

#include <vector>

#include "tools/kernelc/formulas.hpp"

namespace llvm {
class BasicBlock;
}

namespace heddle::kernelc {

struct Guards {
  std::vector<core::Guard> all;  // hold whenever the block runs
  bool suffice = true;           // and whenever they hold, it runs
};

// Also adds to `dependence` what the conditions depend on.
Guards guards_of(const Analysis& analysis, Formulas& formulas, const llvm::BasicBlock& block,
                 core::Dependence& dependence);

// "left predicate right" as guards; `predicate` is a llvm::CmpInst::Predicate on integers.
void add_comparison(Formulas& formulas, int predicate, const core::Polynomial& left, const core::Polynomial& right,
                    std::vector<core::Guard>& out);

}  // namespace heddle::kernelc

// What a value in a kernel depends on: through its operands, and through the branches that choose among them.
#pragma once

#include "tools/kernelc/analysis.hpp"

namespace llvm {
class Value;
}

namespace heddle::kernelc {

void add_dependence(const Analysis& analysis, const llvm::Value& value, core::Dependence& out);
void merge(core::Dependence& to, const core::Dependence& more);
core::Dependence dependence_of(const Analysis& analysis, const llvm::Value& value);

// The argument that a pointer points into; -1 where it cannot be told. Memory of the work-item, of the group or of
// constants of the program is `private_memory`.
constexpr int private_memory = -2;
int argument_of(const llvm::Value& pointer);

}  // namespace heddle::kernelc

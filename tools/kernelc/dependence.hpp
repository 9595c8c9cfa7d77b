// What a value in a kernel depends on: through its operands, and through the branches that choose among them.
#pragma once

#include "tools/kernelc/analysis.hpp"

namespace llvm {
class BasicBlock;
class Value;
}  // namespace llvm

namespace heddle::kernelc {

void add_dependence(const Analysis& analysis, const llvm::Value& value, core::Dependence& out);
void merge(core::Dependence& to, const core::Dependence& more);
core::Dependence dependence_of(const Analysis& analysis, const llvm::Value& value);

// What decides whether control that is in `above` comes to `here`, which it dominates.
void add_ways_between(const Analysis& analysis, const llvm::BasicBlock& above, const llvm::BasicBlock& here,
                      core::Dependence& out);
// What a block's terminator chooses its way by.
void add_choice(const Analysis& analysis, const llvm::BasicBlock& block, core::Dependence& out);

// The argument that a pointer points into; -1 where it cannot be told. Memory of the work-item, of the group or of
// constants of the program is `private_memory`.
constexpr int private_memory = -2;
int argument_of(const llvm::Value& pointer);

}  // namespace heddle::kernelc

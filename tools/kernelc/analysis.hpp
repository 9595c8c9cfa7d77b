// One kernel in IR with everything that LLVM knows of it, and the facts that are being written.
#pragma once

#include <map>

#include "core/facts.hpp"

namespace llvm {
class BasicBlock;
class DominatorTree;
class Function;
class Loop;
class LoopInfo;
class PostDominatorTree;
class ScalarEvolution;
}  // namespace llvm

namespace heddle::kernelc {

struct Analysis {
  llvm::Function& function;
  llvm::ScalarEvolution& evolution;
  llvm::LoopInfo& loops;
  llvm::DominatorTree& dominators;
  llvm::PostDominatorTree& post_dominators;
  core::KernelFacts& facts;
  std::map<const llvm::Loop*, int> loop_numbers;  // places in facts.loops, parents before children
  // What terminators choose by, of blocks that were asked for: large kernels ask for the same ones again and again.
  mutable std::map<const llvm::BasicBlock*, core::Dependence> choices = {};
};

}  // namespace heddle::kernelc

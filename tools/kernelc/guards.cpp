// Walks up the dominator tree: an edge that dominates a block was taken whenever the block runs.
#include "tools/kernelc/guards.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include "tools/kernelc/dependence.hpp"

namespace heddle::kernelc {

using core::Guard;
using core::GuardKind;
using core::Polynomial;

namespace {

class Conditions {
 public:
  Conditions(const Analysis& analysis, Formulas& formulas, const llvm::BasicBlock& block, core::Dependence& dependence,
             Guards& out)
      : analysis_(analysis), formulas_(formulas), block_(block), dependence_(dependence), out_(out) {}

  // `condition` is known to be `holds`.
  void add(llvm::Value* condition, bool holds) {
    if (auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(condition)) return add(frozen->getOperand(0), holds);
    if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(condition)) {
      auto *left = operation->getOperand(0), *right = operation->getOperand(1);
      if (operation->getOpcode() == llvm::Instruction::Xor) {
        if (auto* one = llvm::dyn_cast<llvm::ConstantInt>(right); one && one->isOne()) return add(left, !holds);
      }
      if (operation->getOpcode() == (holds ? llvm::Instruction::And : llvm::Instruction::Or))
        return add(left, holds), add(right, holds);
    }
    if (auto* chosen = llvm::dyn_cast<llvm::SelectInst>(condition); chosen && chosen->getType()->isIntegerTy(1)) {
      // a && b is (a ? b : false), a || b is (a ? true : b)
      auto* otherwise = llvm::dyn_cast<llvm::ConstantInt>(holds ? chosen->getFalseValue() : chosen->getTrueValue());
      if (otherwise && otherwise->isOne() != holds) {
        return add(chosen->getCondition(), holds), add(holds ? chosen->getTrueValue() : chosen->getFalseValue(), holds);
      }
    }
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition); constant && constant->isOne() == holds) return;
    if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition); compare &&
                                                                   compare->getOperand(0)->getType()->isIntegerTy() &&
                                                                   !compare->getOperand(0)->getType()->isIntegerTy(1)) {
      const auto predicate = holds ? compare->getPredicate() : compare->getInversePredicate();
      const bool is_signed = !llvm::CmpInst::isUnsigned(predicate);  // equality may be read either way
      add_dependence(analysis_, *compare, dependence_);
      return add_comparison(formulas_, predicate, formulas_.exact(compare->getOperand(0), is_signed, block_),
                            formulas_.exact(compare->getOperand(1), is_signed, block_), out_.all);
    }
    const core::Dependence on = dependence_of(analysis_, *condition);
    add_dependence(analysis_, *condition, dependence_);
    out_.all.push_back({on.data || on.local_data || on.atomic ? GuardKind::data : GuardKind::opaque, {}});
  }

 private:
  const Analysis& analysis_;
  Formulas& formulas_;
  const llvm::BasicBlock& block_;
  core::Dependence& dependence_;
  Guards& out_;
};

}  // namespace

void add_comparison(Formulas& formulas, int predicate, const Polynomial& left, const Polynomial& right,
                    std::vector<Guard>& out) {
  auto at_most = [&](const Polynomial& a, const Polynomial& b, std::int64_t plus) {
    out.push_back({GuardKind::at_most_zero, formulas.sum(formulas.sum(a, b, -1), Formulas::constant(plus))});
  };
  switch (predicate) {
    case llvm::CmpInst::ICMP_SLT:
    case llvm::CmpInst::ICMP_ULT:
      at_most(left, right, 1);
      break;
    case llvm::CmpInst::ICMP_SLE:
    case llvm::CmpInst::ICMP_ULE:
      at_most(left, right, 0);
      break;
    case llvm::CmpInst::ICMP_SGT:
    case llvm::CmpInst::ICMP_UGT:
      at_most(right, left, 1);
      break;
    case llvm::CmpInst::ICMP_SGE:
    case llvm::CmpInst::ICMP_UGE:
      at_most(right, left, 0);
      break;
    case llvm::CmpInst::ICMP_EQ:
      at_most(left, right, 0), at_most(right, left, 0);
      break;
    case llvm::CmpInst::ICMP_NE:
      out.push_back({GuardKind::not_zero, formulas.sum(left, right, -1)});
      break;
    default:
      out.push_back({GuardKind::opaque, {}});
  }
}

Guards guards_of(const Analysis& analysis, Formulas& formulas, const llvm::BasicBlock& block,
                 core::Dependence& dependence) {
  Guards out;
  Conditions conditions(analysis, formulas, block, dependence, out);
  const auto* node = analysis.dominators.getNode(&block);
  for (; node && node->getIDom(); node = node->getIDom()) {
    const llvm::BasicBlock* here = node->getBlock();
    llvm::BasicBlock* above = node->getIDom()->getBlock();
    // A block runs whenever the one above does (it lies on all ways onward), or exactly if one edge of it is taken.
    bool settled = analysis.post_dominators.dominates(here, above);
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(above->getTerminator());
    // Conditions of a loop that does not hold the block speak of its last iteration: no formula for that.
    const llvm::Loop* loop = analysis.loops.getLoopFor(above);
    const bool speaks = branch && branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1) &&
                        (!loop || loop->contains(&block));
    if (speaks) {
      for (unsigned way : {0u, 1u}) {
        const llvm::BasicBlockEdge edge(above, branch->getSuccessor(way));
        if (!analysis.dominators.dominates(edge, &block)) continue;
        conditions.add(branch->getCondition(), way == 0);
        settled |= analysis.post_dominators.dominates(here, branch->getSuccessor(way));
      }
    }
    if (!settled) add_ways_between(analysis, *above, *here, dependence);
    out.suffice &= settled;
  }
  return out;
}

}  // namespace heddle::kernelc

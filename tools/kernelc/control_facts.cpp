// What the shape of the control flow says.
#include "tools/kernelc/control_facts.hpp"

#include <algorithm>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "tools/kernelc/builtins.hpp"
#include "tools/kernelc/dependence.hpp"
#include "tools/kernelc/guards.hpp"

namespace heddle::kernelc {

using core::LoopFacts;
using core::Polynomial;

namespace {

// A loop that counts in steps up to a limit (or down to one). LLVM computes the number of its iterations only where it
// can prove that the counter does not wrap; here that becomes conditions to be tested at launch.
//   In iteration i the counter is u(i) = start + step * i, if nothing wraps. Iteration i + 1 happens only if the
//   counter passed its test against the limit at the end of iteration i, so u(i) lies below the limit, and the next
//   value below limit + step. If that, and start + step, still fit the type, then by induction nothing ever wraps.
class Counting {
 public:
  Counting(Analysis& analysis, Formulas& formulas, const llvm::Loop& loop, LoopFacts& out)
      : analysis_(analysis), formulas_(formulas), loop_(loop), out_(out) {}

  void run() {
    const llvm::BasicBlock* latch = loop_.getLoopLatch();
    const auto* branch = latch ? llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator()) : nullptr;
    if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) return;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (!compare || !compare->getOperand(0)->getType()->isIntegerTy()) return;
    auto predicate =
        branch->getSuccessor(0) == loop_.getHeader() ? compare->getPredicate() : compare->getInversePredicate();
    auto& evolution = analysis_.evolution;
    const llvm::SCEV* counter = evolution.getSCEV(compare->getOperand(0));
    const llvm::SCEV* limit = evolution.getSCEV(compare->getOperand(1));
    if (!llvm::isa<llvm::SCEVAddRecExpr>(counter)) {
      std::swap(counter, limit);
      predicate = llvm::CmpInst::getSwappedPredicate(predicate);
    }
    const auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(counter);
    if (!recurrence || !recurrence->isAffine() || recurrence->getLoop() != &loop_ ||
        !evolution.isLoopInvariant(limit, &loop_))
      return;
    if (llvm::ICmpInst::isEquality(predicate)) return;
    describe(*recurrence, limit, predicate);
  }

 private:
  struct Test {
    bool is_signed, up, strict;
    unsigned bits;
  };

  void describe(const llvm::SCEVAddRecExpr& recurrence, const llvm::SCEV* limit, llvm::CmpInst::Predicate predicate) {
    using llvm::CmpInst;
    const Test test{CmpInst::isSigned(predicate),
                    predicate == CmpInst::ICMP_SLT || predicate == CmpInst::ICMP_SLE ||
                        predicate == CmpInst::ICMP_ULT || predicate == CmpInst::ICMP_ULE,
                    CmpInst::isStrictPredicate(predicate), recurrence.getType()->getIntegerBitWidth()};
    if (test.bits > 64) return;
    const llvm::BasicBlock& header = *loop_.getHeader();
    const llvm::SCEV* step_evolution = recurrence.getStepRecurrence(analysis_.evolution);
    const Polynomial end = formulas_.exact(limit, test.is_signed, header);
    const Polynomial step = formulas_.exact(step_evolution, true, header);
    const Polynomial first_tested = formulas_.exact(recurrence.getStart(), test.is_signed, header);
    // Most loops count, then test: their first value lies one step before the first that is tested.
    const Polynomial before = formulas_.exact(analysis_.evolution.getMinusSCEV(recurrence.getStart(), step_evolution),
                                              test.is_signed, header);
    if (!set(test, before, step, end, &before)) set(test, formulas_.sum(first_tested, step, -1), step, end, nullptr);
  }

  // `start` is the value in the first iteration; `counted`: it was there, so that a step from it must fit, too. False
  // where that can never be.
  bool set(const Test& test, const Polynomial& start, const Polynomial& step, const Polynomial& end,
           const Polynomial* counted) {
    const Polynomial past = Formulas::constant(test.strict ? 1 : 0);
    // up: value - end + past <= 0; down: end - value + past <= 0
    auto passes = [&](const Polynomial& value) {
      return formulas_.sum(test.up ? formulas_.sum(value, end, -1) : formulas_.sum(end, value, -1), past);
    };
    const Polynomial iteration =
        formulas_.symbol({.kind = core::SymbolKind::loop, .index = analysis_.loop_numbers.at(&loop_)});
    std::vector<Polynomial> conditions;
    // The step goes towards the limit.
    conditions.push_back(test.up ? formulas_.sum(Formulas::constant(1), step, -1)
                                 : formulas_.sum(step, Formulas::constant(1)));
    std::vector<Polynomial> stepped_from = {test.up ? formulas_.sum(end, past, -1) : formulas_.sum(end, past)};
    if (counted) stepped_from.push_back(*counted);
    for (const Polynomial& from : stepped_from) {
      const Polynomial next = formulas_.sum(from, step);
      const unsigned value_bits = test.is_signed ? test.bits - 1 : test.bits;
      const std::int64_t largest = value_bits >= 63 ? INT64_MAX : (1LL << value_bits) - 1;
      const std::int64_t smallest = !test.is_signed ? 0 : value_bits >= 63 ? -INT64_MAX : -(1LL << value_bits);
      conditions.push_back(test.up ? formulas_.sum(next, Formulas::constant(largest), -1)
                                   : formulas_.sum(Formulas::constant(smallest), next, -1));
    }
    for (const Polynomial& c : conditions) {
      if (c.size() == 1 && c[0].symbols.empty() && c[0].coefficient > 0) return false;
    }
    out_.while_at_most_zero = passes(formulas_.sum(start, formulas_.product(step, iteration)));
    out_.conditions = std::move(conditions);
    // Whether the loop is entered only if the same test holds for its first value.
    const llvm::BasicBlock* entry = loop_.getLoopPreheader();
    if (!entry) return true;
    core::Dependence ignored;
    const Polynomial first = passes(start);
    for (const core::Guard& guard : guards_of(analysis_, formulas_, *entry, ignored).all)
      out_.tested_first |= guard.kind == core::GuardKind::at_most_zero && guard.value == first;
    out_.tested_first |= first.empty() || (first.size() == 1 && first[0].symbols.empty() && first[0].coefficient <= 0);
    return true;
  }

  Analysis& analysis_;
  Formulas& formulas_;
  const llvm::Loop& loop_;
  LoopFacts& out_;
};

// Whether a load in a loop may wait for another group: the loop cannot end before it changes.
bool waits_for_memory(const Analysis& analysis, const llvm::Loop& loop, const LoopFacts& facts) {
  const auto written = [&](int argument) {
    return std::any_of(analysis.facts.accesses.begin(), analysis.facts.accesses.end(), [&](const core::AccessFacts& a) {
      return a.kind != core::AccessKind::read && (a.argument == argument || a.argument == -1 || argument == -1);
    });
  };
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (!load) continue;
      const int argument = argument_of(*load->getPointerOperand());
      // Only what decides when the loop ends.
      const auto& sources = facts.trips.sources;
      if (argument == private_memory || std::find(sources.begin(), sources.end(), argument) == sources.end()) continue;
      if (load->isVolatile()) return true;
      if (loop.isLoopInvariant(load->getPointerOperand()) && written(argument)) return true;
    }
  }
  return false;
}

bool does_work(const Analysis& analysis, const llvm::BasicBlock& from, const llvm::BasicBlockEdge& edge) {
  for (const llvm::BasicBlock& block : *from.getParent()) {
    if (!analysis.dominators.dominates(edge, &block)) continue;
    for (const llvm::Instruction& instruction : block) {
      if (instruction.mayReadOrWriteMemory()) return true;
    }
    if (analysis.loops.isLoopHeader(&block)) return true;
  }
  return false;
}

}  // namespace

void number_loops(Analysis& analysis) {
  for (const llvm::Loop* loop : analysis.loops.getLoopsInPreorder()) {
    analysis.loop_numbers.emplace(loop, static_cast<int>(analysis.loop_numbers.size()));
    LoopFacts facts;
    if (loop->getParentLoop()) facts.parent = analysis.loop_numbers.at(loop->getParentLoop());
    analysis.facts.loops.push_back(facts);
  }
}

void collect_loops(Analysis& analysis, Formulas& formulas) {
  for (const auto& [loop, number] : analysis.loop_numbers) {
    LoopFacts& out = analysis.facts.loops[static_cast<std::size_t>(number)];
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop->getExitingBlocks(exits);
    out.single_exit = exits.size() == 1 && exits[0] == loop->getLoopLatch();
    bool on_data = false;
    for (const llvm::BasicBlock* exit : exits) {
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(exit->getTerminator());
      if (branch && branch->isConditional()) add_dependence(analysis, *branch->getCondition(), out.trips);
      if (!branch) out.trips.data = true;
    }
    on_data = out.trips.data || out.trips.atomic;
    const llvm::SCEV* last = analysis.evolution.getBackedgeTakenCount(loop);
    if (!llvm::isa<llvm::SCEVCouldNotCompute>(last)) out.last = formulas.exact(last, false, *loop->getHeader());
    Counting(analysis, formulas, *loop, out).run();
    if (on_data && waits_for_memory(analysis, *loop, out)) {
      const std::string what = "a loop waits for what memory holds: groups may depend on each other";
      auto& all = analysis.facts.obstacles;
      if (std::find(all.begin(), all.end(), what) == all.end()) all.push_back(what);
    }
  }
}

void collect_branches(Analysis& analysis) {
  for (const llvm::BasicBlock& block : analysis.function) {
    const llvm::Loop* loop = analysis.loops.getLoopFor(&block);
    const auto* terminator = block.getTerminator();
    if (terminator->getNumSuccessors() < 2) continue;
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(terminator);
    const llvm::Value* condition = branch ? branch->getCondition() : terminator->getOperand(0);
    const core::Dependence on = dependence_of(analysis, *condition);
    const bool exits = loop && loop->isLoopExiting(&block);
    analysis.facts.branches_on_data |= on.data || on.atomic;
    if (exits || !on.group_id) continue;
    int working = 0;
    for (const llvm::BasicBlock* next : llvm::successors(&block)) {
      const llvm::BasicBlockEdge edge(&block, next);
      working += edge.isSingleEdge() && does_work(analysis, block, edge);
    }
    analysis.facts.branches_on_group_id |= working > 1;
  }
}

void count_features(Analysis& analysis) {
  core::FeatureCounts& f = analysis.facts.features;
  const auto lanes = [](const llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector ? static_cast<int>(vector->getNumElements()) : 1;
  };
  for (const llvm::Instruction& i : llvm::instructions(analysis.function)) {
    if (llvm::isa<llvm::DbgInfoIntrinsic>(i)) continue;
    ++f.instructions;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i))
      ++(load->getPointerAddressSpace() == 3 ? f.local_loads : f.loads);
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i))
      ++(store->getPointerAddressSpace() == 3 ? f.local_stores : f.stores);
    if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&i)) f.branches += branch->isConditional();
    if (llvm::isa<llvm::BinaryOperator>(i) || llvm::isa<llvm::UnaryOperator>(i))
      (i.getType()->isFPOrFPVectorTy() ? f.floating_operations : f.integer_operations) += lanes(i.getType());
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    if (!call) continue;
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
      if (intrinsic->getIntrinsicID() == llvm::Intrinsic::fmuladd) f.floating_operations += 2 * lanes(i.getType());
      continue;
    }
    const std::string name = builtin_name(*call);
    if (is_barrier(name))
      ++f.barriers;
    else if (is_atomic(name))
      ++f.atomics;
    else if (!is_work_item_function(name) && call->doesNotAccessMemory())
      ++f.math_calls;
  }
  f.loops = static_cast<int>(analysis.loop_numbers.size());
  for (const auto& [loop, number] : analysis.loop_numbers)
    f.deepest_loop = std::max(f.deepest_loop, static_cast<int>(loop->getLoopDepth()));
}

}  // namespace heddle::kernelc

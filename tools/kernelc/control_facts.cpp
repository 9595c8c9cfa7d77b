// What the shape of the control flow says.
#include "tools/kernelc/control_facts.hpp"

#include <algorithm>
#include <set>

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
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
#include "tools/kernelc/lower.hpp"

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

// The blocks of a loop whose terminators decide when it ends.
std::vector<const llvm::BasicBlock*> deciding_blocks(const Analysis& analysis, const llvm::Loop& loop) {
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  loop.getExitingBlocks(exits);
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  // An exit that an iteration may pass by is also decided by whatever leads past it.
  const bool all_met = latch && std::all_of(exits.begin(), exits.end(), [&](const llvm::BasicBlock* exit) {
                         return analysis.dominators.dominates(exit, latch);
                       });
  if (all_met) return {exits.begin(), exits.end()};
  return {loop.block_begin(), loop.block_end()};
}

// Pointers through which an instruction may read.
std::vector<const llvm::Value*> read_pointers(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return {load->getPointerOperand()};
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!call || call->doesNotAccessMemory()) return {};
  if (const auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(call)) return {copy->getRawSource()};
  const std::string name = builtin_name(*call);
  const auto begins = [&](const char* with) { return name.rfind(with, 0) == 0; };
  // Atomics whose results are used are obstacles of their own.
  if (llvm::isa<llvm::IntrinsicInst>(call) || is_atomic(name) || is_copied_object(name) || begins("vstore") ||
      begins("write_image") || name == "prefetch")
    return {};
  std::vector<const llvm::Value*> out;
  for (const llvm::Value* operand : call->args()) {
    if (operand->getType()->isPointerTy()) out.push_back(operand);
  }
  return out;
}

// Whether the end of a loop is decided by memory alone: nothing that decides it is the loop's own doing, so that it can
// only wait for somebody else.
bool only_memory_decides(const llvm::Loop& loop, const std::vector<const llvm::BasicBlock*>& deciding) {
  bool reads = false;
  std::set<const llvm::Instruction*> seen;
  std::vector<const llvm::Instruction*> waiting;
  const auto push = [&](const llvm::Value* value) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction && loop.contains(instruction) && seen.insert(instruction).second) waiting.push_back(instruction);
  };
  for (const llvm::BasicBlock* block : deciding) {
    if (block->getTerminator()->getNumSuccessors() > 1) push(block->getTerminator());
  }
  while (!waiting.empty()) {
    const llvm::Instruction* next = waiting.back();
    waiting.pop_back();
    if (llvm::isa<llvm::PHINode>(next) && next->getParent() == loop.getHeader()) return false;
    for (const llvm::Value* pointer : read_pointers(*next)) {
      if (argument_of(*pointer) == private_memory) return false;  // what the group wrote itself
      reads = true;
    }
    for (const llvm::Value* operand : next->operands()) push(operand);
  }
  return reads;
}

// Whether a loop may wait for another group: it cannot end before memory changes.
bool waits_for_memory(const Analysis& analysis, const llvm::Loop& loop, const LoopFacts& facts,
                      const std::vector<const llvm::BasicBlock*>& deciding) {
  if (only_memory_decides(loop, deciding)) return true;
  const auto written = [&](int argument) {
    return std::any_of(analysis.facts.accesses.begin(), analysis.facts.accesses.end(), [&](const core::AccessFacts& a) {
      return a.kind != core::AccessKind::read && (a.argument == argument || a.argument == -1 || argument == -1);
    });
  };
  const bool counted = facts.last || facts.while_at_most_zero;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      for (const llvm::Value* pointer : read_pointers(instruction)) {
        const int argument = argument_of(*pointer);
        if (argument == private_memory) continue;
        // Only what decides when the loop ends; through local memory, that may be anything.
        const auto& sources = facts.trips.sources;
        const bool decides =
            facts.trips.local_data || std::find(sources.begin(), sources.end(), argument) != sources.end();
        if (!decides) continue;
        if (load && load->isVolatile()) return true;
        const bool same_place =
            analysis.evolution.isLoopInvariant(analysis.evolution.getSCEV(const_cast<llvm::Value*>(pointer)), &loop);
        if (written(argument) && (same_place || !counted)) return true;
      }
    }
  }
  return false;
}

void add_obstacle(Analysis& analysis, const std::string& what) {
  auto& all = analysis.facts.obstacles;
  if (std::find(all.begin(), all.end(), what) == all.end()) all.push_back(what);
}

// Whether there is work on a way, before all ways meet again.
bool does_work(const Analysis& analysis, const llvm::BasicBlock& from, const llvm::BasicBlock& way) {
  const auto* node = analysis.post_dominators.getNode(const_cast<llvm::BasicBlock*>(&from));
  const llvm::BasicBlock* meet = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  std::set<const llvm::BasicBlock*> seen = {&from};
  std::vector<const llvm::BasicBlock*> waiting;
  const auto push = [&](const llvm::BasicBlock* block) {
    if (block != meet && seen.insert(block).second) waiting.push_back(block);
  };
  push(&way);
  while (!waiting.empty()) {
    const llvm::BasicBlock* next = waiting.back();
    waiting.pop_back();
    if (analysis.loops.isLoopHeader(next)) return true;
    for (const llvm::Instruction& instruction : *next) {
      if (instruction.mayReadOrWriteMemory()) return true;
    }
    for (const llvm::BasicBlock* successor : llvm::successors(next)) push(successor);
  }
  return false;
}

// Whether a condition, as far as it depends on the group's place, only tests on which side of a limit that lies: then
// all groups are alike but for those at an edge.
class BoundsCheck {
 public:
  BoundsCheck(const Analysis& analysis, Formulas& formulas, const llvm::BasicBlock& block)
      : analysis_(analysis), formulas_(formulas), block_(block) {}

  bool is(llvm::Value* condition) {
    if (!dependence_of(analysis_, *condition).group_id) return true;
    if (auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(condition)) return is(frozen->getOperand(0));
    if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
        compare && compare->isRelational() && compare->getOperand(0)->getType()->isIntegerTy()) {
      const bool is_signed = compare->isSigned();
      return is_plain(formulas_.exact(compare->getOperand(0), is_signed, block_)) &&
             is_plain(formulas_.exact(compare->getOperand(1), is_signed, block_));
    }
    const bool combines = llvm::isa<llvm::BinaryOperator, llvm::SelectInst>(condition);
    auto* instruction = llvm::cast<llvm::Instruction>(condition);
    return combines && condition->getType()->isIntegerTy(1) &&
           std::all_of(instruction->op_begin(), instruction->op_end(), [&](llvm::Use& use) { return is(use.get()); });
  }

 private:
  // Rises or falls with the group's place, and never goes back.
  bool is_plain(const Polynomial& polynomial) const {
    const core::KernelFacts& facts = analysis_.facts;
    for (const core::Term& term : polynomial) {
      for (int s : term.symbols) {
        const core::Symbol& symbol = facts.symbols[static_cast<std::size_t>(s)];
        if (symbol.kind == core::SymbolKind::opaque) return false;
        if (symbol.kind != core::SymbolKind::function) continue;
        const core::Function& function = facts.functions[static_cast<std::size_t>(symbol.index)];
        switch (function.kind) {
          case core::FunctionKind::wrap_signed:
          case core::FunctionKind::wrap_unsigned:
            if (function.bits < 32) return false;
            break;
          case core::FunctionKind::divide:
          case core::FunctionKind::floor_divide:
          case core::FunctionKind::minimum:
          case core::FunctionKind::maximum:
            break;
          default:
            return false;
        }
        if (!std::all_of(function.operands.begin(), function.operands.end(),
                         [&](const Polynomial& operand) { return is_plain(operand); }))
          return false;
      }
    }
    return true;
  }

  const Analysis& analysis_;
  Formulas& formulas_;
  const llvm::BasicBlock& block_;
};

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
    const auto deciding = deciding_blocks(analysis, *loop);
    for (const llvm::BasicBlock* block : deciding) add_choice(analysis, *block, out.trips);
    const llvm::SCEV* last = analysis.evolution.getBackedgeTakenCount(loop);
    if (!llvm::isa<llvm::SCEVCouldNotCompute>(last)) out.last = formulas.exact(last, false, *loop->getHeader());
    Counting(analysis, formulas, *loop, out).run();
    const bool on_memory = out.trips.data || out.trips.local_data || out.trips.atomic;
    if (on_memory && waits_for_memory(analysis, *loop, out, deciding))
      add_obstacle(analysis, "a loop waits for what memory holds: groups may depend on each other");
  }
  using Blocks = llvm::ReversePostOrderTraversal<const llvm::Function*>;
  const Blocks blocks(&analysis.function);
  if (llvm::containsIrreducibleCFG<const llvm::BasicBlock*, const Blocks, const llvm::LoopInfo>(blocks, analysis.loops))
    add_obstacle(analysis, "jumps into a loop: nobody can tell what it waits for");
}

void collect_branches(Analysis& analysis, Formulas& formulas) {
  for (const llvm::BasicBlock& block : analysis.function) {
    const llvm::Loop* loop = analysis.loops.getLoopFor(&block);
    const auto* terminator = block.getTerminator();
    if (terminator->getNumSuccessors() < 2) continue;
    core::Dependence on;
    add_choice(analysis, block, on);
    const bool exits = loop && loop->isLoopExiting(&block);
    analysis.facts.branches_on_data |= on.data || on.local_data || on.atomic;
    if (exits || !on.group_id) continue;
    const std::set<const llvm::BasicBlock*> ways(llvm::succ_begin(&block), llvm::succ_end(&block));
    const auto working = std::count_if(ways.begin(), ways.end(),
                                       [&](const llvm::BasicBlock* way) { return does_work(analysis, block, *way); });
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(terminator);
    const bool bounds = branch && BoundsCheck(analysis, formulas, block).is(branch->getCondition());
    analysis.facts.branches_on_group_id |= working > 1 || (working == 1 && !bounds);
  }
}

void count_features(Analysis& analysis) {
  core::FeatureCounts& f = analysis.facts.features;
  const auto lanes = [](const llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector ? static_cast<int>(vector->getNumElements()) : 1;
  };
  for (const llvm::Instruction& i : llvm::instructions(analysis.function)) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    const std::string name = call ? builtin_name(*call) : std::string();
    if (llvm::isa<llvm::DbgInfoIntrinsic>(i) || is_copied_object(name)) continue;
    ++f.instructions;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i))
      ++(load->getPointerAddressSpace() == 3 ? f.local_loads : f.loads);
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i))
      ++(store->getPointerAddressSpace() == 3 ? f.local_stores : f.stores);
    if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&i)) f.branches += branch->isConditional();
    if (llvm::isa<llvm::BinaryOperator>(i) || llvm::isa<llvm::UnaryOperator>(i))
      (i.getType()->isFPOrFPVectorTy() ? f.floating_operations : f.integer_operations) += lanes(i.getType());
    if (!call) continue;
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
      if (intrinsic->getIntrinsicID() == llvm::Intrinsic::fmuladd) f.floating_operations += 2 * lanes(i.getType());
      continue;
    }
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

// A walk backwards over the instructions.
#include "tools/kernelc/dependence.hpp"

#include <algorithm>
#include <set>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "tools/kernelc/builtins.hpp"

namespace heddle::kernelc {

namespace {

// Whether a kernel may write what it was given by value.
bool is_changed(const llvm::Value& pointer) {
  return std::any_of(pointer.user_begin(), pointer.user_end(), [&](const llvm::User* user) {
    if (llvm::isa<llvm::GetElementPtrInst>(user) || llvm::isa<llvm::CastInst>(user)) return is_changed(*user);
    const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user);
    return !llvm::isa<llvm::LoadInst>(user) && !(copy && copy->getRawDest() != &pointer);
  });
}

class Walk {
 public:
  Walk(const Analysis& analysis, core::Dependence& out) : analysis_(analysis), out_(out) {}

  void run(const llvm::Value& value) {
    push(value);
    while (!waiting_.empty()) {
      const llvm::Value* next = waiting_.back();
      waiting_.pop_back();
      visit(*next);
    }
    std::sort(out_.sources.begin(), out_.sources.end());
    out_.sources.erase(std::unique(out_.sources.begin(), out_.sources.end()), out_.sources.end());
  }

 private:
  void push(const llvm::Value& value) {
    if (!llvm::isa<llvm::BasicBlock>(value) && seen_.insert(&value).second) waiting_.push_back(&value);
  }

  void visit(const llvm::Value& value) {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
      out_.arguments |= !argument->getType()->isPointerTy();
      return;
    }
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (!instruction) return;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) return visit_load(*load);
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(instruction)) visit_call(*call);
    if (llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) {
      out_.atomic = out_.data = true;
      out_.sources.push_back(-1);
    }
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) visit_choice(*phi);
    for (const llvm::Value* operand : instruction->operands()) {
      out_.floating |= operand->getType()->isFPOrFPVectorTy();
      push(*operand);
    }
  }

  void visit_load(const llvm::LoadInst& load) {
    out_.atomic |= load.isAtomic();
    const int argument = argument_of(*load.getPointerOperand());
    if (argument >= 0 && analysis_.function.getArg(static_cast<unsigned>(argument))->hasByValAttr()) {
      out_.arguments = true;
      out_.local_data |= is_changed(*analysis_.function.getArg(static_cast<unsigned>(argument)));
    } else if (argument == private_memory) {
      out_.local_data = true;
    } else {
      out_.data = true;
      out_.sources.push_back(argument);
    }
    push(*load.getPointerOperand());
  }

  void visit_call(const llvm::CallInst& call) {
    const std::string name = builtin_name(call);
    if (is_work_item_function(name)) {
      if (name == "get_group_id")
        out_.group_id = true;
      else if (name.find("local_id") != std::string::npos || name.find("sub_group_id") != std::string::npos ||
               name == "get_local_linear_id")
        out_.local_id = true;
      else if (name == "get_global_id" || name == "get_global_linear_id")
        out_.group_id = out_.local_id = true;
      else
        out_.sizes = true;
      return;
    }
    if (is_atomic(name)) out_.atomic = true;
    // Whatever is not known to be arithmetic may bring data from anywhere.
    if (!call.doesNotAccessMemory()) {
      out_.data = true;
      bool found = false;
      for (const llvm::Value* operand : call.args()) {
        if (!operand->getType()->isPointerTy()) continue;
        const int argument = argument_of(*operand);
        if (argument != private_memory) out_.sources.push_back(argument), found = true;
      }
      if (!found) out_.local_data = true;
    }
  }

  // Which value a phi has depends on the branches between it and where the ways parted.
  void visit_choice(const llvm::PHINode& phi) {
    const auto* node = analysis_.dominators.getNode(phi.getParent());
    const auto* parted = node ? node->getIDom() : nullptr;
    if (!parted) return;
    std::vector<const llvm::DomTreeNodeBase<llvm::BasicBlock>*> below = {parted};
    while (!below.empty()) {
      const auto* next = below.back();
      below.pop_back();
      const auto* terminator = next->getBlock()->getTerminator();
      if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(terminator); branch && branch->isConditional())
        push(*branch->getCondition());
      if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(terminator)) push(*choice->getCondition());
      for (const auto* child : next->children()) below.push_back(child);
    }
  }

  const Analysis& analysis_;
  core::Dependence& out_;
  std::set<const llvm::Value*> seen_;
  std::vector<const llvm::Value*> waiting_;
};

}  // namespace

void add_dependence(const Analysis& analysis, const llvm::Value& value, core::Dependence& out) {
  Walk(analysis, out).run(value);
}

void merge(core::Dependence& to, const core::Dependence& more) {
  to.arguments |= more.arguments, to.sizes |= more.sizes, to.group_id |= more.group_id, to.local_id |= more.local_id;
  to.data |= more.data, to.local_data |= more.local_data, to.floating |= more.floating, to.atomic |= more.atomic;
  to.sources.insert(to.sources.end(), more.sources.begin(), more.sources.end());
  std::sort(to.sources.begin(), to.sources.end());
  to.sources.erase(std::unique(to.sources.begin(), to.sources.end()), to.sources.end());
}

core::Dependence dependence_of(const Analysis& analysis, const llvm::Value& value) {
  core::Dependence out;
  add_dependence(analysis, value, out);
  return out;
}

void add_ways_between(const Analysis& analysis, const llvm::BasicBlock& above, const llvm::BasicBlock& here,
                      core::Dependence& out) {
  // Whatever lies between is dominated by `above`, too.
  std::vector<const llvm::DomTreeNodeBase<llvm::BasicBlock>*> waiting = {analysis.dominators.getNode(&above)};
  while (!waiting.empty()) {
    const auto* next = waiting.back();
    waiting.pop_back();
    add_choice(analysis, *next->getBlock(), out);
    for (const auto* child : next->children()) {
      if (child->getBlock() != &here) waiting.push_back(child);
    }
  }
}

void add_choice(const Analysis& analysis, const llvm::BasicBlock& block, core::Dependence& out) {
  const llvm::Instruction* terminator = block.getTerminator();
  if (terminator->getNumSuccessors() < 2) return;
  const auto [at, fresh] = analysis.choices.try_emplace(&block);
  core::Dependence& on = at->second;
  if (fresh) {
    if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(terminator))
      add_dependence(analysis, *branch->getCondition(), on);
    else if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(terminator))
      add_dependence(analysis, *choice->getCondition(), on);
    else
      on.data = true, on.sources = {-1};
  }
  merge(out, on);
}

int argument_of(const llvm::Value& pointer) {
  const llvm::Value* object = llvm::getUnderlyingObject(&pointer, 0);
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
    const unsigned space = argument->getType()->getPointerAddressSpace();
    return space == 3 ? private_memory : static_cast<int>(argument->getArgNo());
  }
  if (llvm::isa<llvm::AllocaInst>(object)) return private_memory;
  if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object))
    return variable->getAddressSpace() == 3 || variable->isConstant() ? private_memory : -1;
  const unsigned space = object->getType()->isPointerTy() ? object->getType()->getPointerAddressSpace() : 4;
  return space == 3 || space == 0 ? private_memory : -1;
}

}  // namespace heddle::kernelc

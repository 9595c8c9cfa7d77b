// Loads, stores, atomics, and builtins that are handed a pointer. A pointer that cannot be followed is an access to any
// argument; a builtin that is not known may read and write all that its pointers reach.
#include "tools/kernelc/access_facts.hpp"

#include <algorithm>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include "core/spans.hpp"
#include "tools/kernelc/builtins.hpp"
#include "tools/kernelc/dependence.hpp"
#include "tools/kernelc/guards.hpp"
#include "tools/kernelc/lower.hpp"
#include "tools/kernelc/vector_lanes.hpp"

namespace heddle::kernelc {

using core::AccessFacts;
using core::AccessKind;
using core::Polynomial;

namespace {

constexpr unsigned constant_space = 2;  // in clang's IR for SPIR
constexpr const char* result_is_used = " is used: groups depend on each other";

class Collector {
 public:
  Collector(Analysis& analysis, Formulas& formulas) : analysis_(analysis), formulas_(formulas) {}

  void run() {
    for (llvm::BasicBlock& block : analysis_.function) {
      for (llvm::Instruction& instruction : block) visit(instruction);
    }
    look_for_counters();
  }

 private:
  struct Pointed {
    int argument = -1;
    std::optional<Polynomial> index;
  };

  // Where a pointer points. Casts between address spaces are looked through.
  Pointed follow(llvm::Value* pointer, const llvm::BasicBlock& block) {
    const llvm::Loop* scope = analysis_.loops.getLoopFor(&block);
    auto& evolution = analysis_.evolution;
    Polynomial offset;
    for (int casts = 0; casts < 16; ++casts) {
      const llvm::SCEV* whole = evolution.getSCEVAtScope(pointer, scope);
      const auto* base = llvm::dyn_cast<llvm::SCEVUnknown>(evolution.getPointerBase(whole));
      if (!base) break;
      const llvm::SCEV* distance = evolution.getMinusSCEV(whole, base);
      if (llvm::isa<llvm::SCEVCouldNotCompute>(distance)) break;
      offset = formulas_.sum(offset, formulas_.of(distance, block));
      if (auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(base->getValue())) {
        pointer = cast->getPointerOperand();
        continue;
      }
      const int argument = argument_of(*base->getValue());
      if (llvm::isa<llvm::Argument>(base->getValue()) || argument == private_memory) return {argument, offset};
      break;
    }
    return {argument_of(*pointer), std::nullopt};
  }

  // All arguments that a pointer may point into; -1 alone where that cannot be told.
  std::vector<int> targets(llvm::Value* pointer) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, &analysis_.loops, 0);
    std::vector<int> out;
    for (const llvm::Value* object : objects) {
      const int argument = argument_of(*object);
      if (argument == -1) return {-1};
      if (argument != private_memory && std::find(out.begin(), out.end(), argument) == out.end())
        out.push_back(argument);
    }
    return out;
  }

  // Adds an access like `prototype` through the pointer, or one per argument where it may be several.
  void add(AccessFacts prototype, llvm::Value* pointer, const llvm::Instruction& at, const Polynomial& further,
           bool precise) {
    const llvm::BasicBlock& block = *at.getParent();
    Pointed pointed = follow(pointer, block);
    if (pointed.argument == private_memory) return;
    const auto is_value = [&](int argument) {
      return argument >= 0 && analysis_.function.getArg(static_cast<unsigned>(argument))->hasByValAttr();
    };
    if (is_value(pointed.argument)) return;
    add_dependence(analysis_, *pointer, prototype.address);
    const auto [known, fresh] = guards_.try_emplace(&block);
    if (fresh) known->second.first = guards_of(analysis_, formulas_, block, known->second.second);
    const auto& [guards, on] = known->second;
    prototype.guards.insert(prototype.guards.end(), guards.all.begin(), guards.all.end());
    prototype.guards_suffice = guards.suffice;
    merge(prototype.address, on);
    for (const llvm::Loop* loop = analysis_.loops.getLoopFor(&block); loop; loop = loop->getParentLoop())
      prototype.loops.insert(prototype.loops.begin(), analysis_.loop_numbers.at(loop));
    std::vector<int> arguments = {pointed.argument};
    if (pointed.index && precise && !is_image(pointed.argument))
      prototype.index = formulas_.wrap(formulas_.sum(*pointed.index, further), pointer_bits(), true);
    else
      arguments = targets(pointer);
    for (int argument : arguments) {
      if (is_value(argument)) continue;
      // It may lead out of a program-scope variable, or be an address that only one device knows. What lies in constant
      // memory is the same everywhere.
      if (argument == -1 && pointer->getType()->getPointerAddressSpace() != constant_space) {
        add_obstacle("a pointer that cannot be followed may lead to memory that is no argument");
        analysis_.facts.elsewhere = true;
      }
      prototype.argument = argument;
      analysis_.facts.accesses.push_back(prototype);
    }
  }

  bool is_image(int argument) const {
    return argument >= 0 &&
           analysis_.facts.arguments[static_cast<std::size_t>(argument)].space == core::AddressSpace::image;
  }

  unsigned pointer_bits() const { return analysis_.function.getParent()->getDataLayout().getPointerSizeInBits(1); }

  int store_size(llvm::Type* type) const {
    return static_cast<int>(analysis_.function.getParent()->getDataLayout().getTypeStoreSize(type).getFixedValue());
  }

  void visit(llvm::Instruction& instruction) {
    if (instruction.isAtomic() && !llvm::isa<llvm::FenceInst>(instruction))
      return visit_atomic_instruction(instruction);
    AccessFacts access;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      access.bytes = store_size(load->getType());
      access.is_volatile = load->isVolatile();
      add(access, load->getPointerOperand(), *load, {}, true);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      visit_store(*store);
    } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      visit_call(*call);
    }
  }

  // Vectors of three lie in memory as four. Some devices write the fourth, some do not; nobody's data is there.
  void visit_store(llvm::StoreInst& store) {
    const llvm::Value* value = store.getValueOperand();
    AccessFacts access;
    access.kind = AccessKind::write;
    access.bytes = store_size(value->getType());
    access.alignment = static_cast<int>(std::min<std::uint64_t>(store.getAlign().value(), 1 << 20));
    access.is_volatile = store.isVolatile();
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    if (vector && vector->getNumElements() == 4) {
      const LaneContent fourth = content_of({value, 3});
      if (fourth == LaneContent::undefined) {
        access.padding = access.bytes / 4;
        access.bytes -= access.padding;
      } else if (fourth == LaneContent::either) {
        access.guards.push_back({core::GuardKind::opaque, {}});
      }
    }
    add(access, store.getPointerOperand(), store, {}, true);
  }

  // From clang's own builtins only. Which of them could be done in any order is not looked into.
  void visit_atomic_instruction(llvm::Instruction& instruction) {
    for (llvm::Value* operand : instruction.operands()) {
      if (!operand->getType()->isPointerTy()) continue;
      add_unordered(operand, instruction, instruction.getOpcodeName());
    }
  }

  void add_unordered(llvm::Value* pointer, const llvm::Instruction& at, const std::string& what) {
    AccessFacts access;
    access.kind = AccessKind::atomic;
    access.operation = what;
    access.result_used = true;
    const std::size_t before = analysis_.facts.accesses.size();
    add(access, pointer, at, {}, false);
    if (analysis_.facts.accesses.size() > before) add_obstacle("the result of " + what + result_is_used);
  }

  // Counting by atomics, then reading the count in another way: the result is used all the same.
  void look_for_counters() {
    const auto& all = analysis_.facts.accesses;
    for (const AccessFacts& a : all) {
      if (a.kind != AccessKind::atomic) continue;
      const bool read = std::any_of(all.begin(), all.end(), [&](const AccessFacts& b) {
        return b.kind == AccessKind::read && (b.argument == a.argument || b.argument == -1 || a.argument == -1);
      });
      if (read) add_obstacle("what atomic operations change is also read: groups depend on each other");
    }
  }

  // Reads and writes anywhere behind the pointer.
  void add_anything(llvm::Value* pointer, const llvm::Instruction& at, const std::string& what) {
    for (AccessKind kind : {AccessKind::read, AccessKind::write}) {
      AccessFacts access;
      access.kind = kind;
      access.operation = what;
      add(access, pointer, at, {}, false);
    }
  }

  // A copy of an object that was taken apart into its members. Where these are not all of its bytes, the others may
  // be copied or not.
  void visit_copied_object(llvm::CallInst& call) {
    llvm::Value* object = call.getArgOperand(0);
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(1));
    const bool known = length && length->getValue().ult(1 << 30);
    const auto bytes = known ? static_cast<std::int64_t>(length->getZExtValue()) : 0;
    core::SpanSet stored;
    const auto note = [&](llvm::Value* pointer, std::int64_t size) {
      const auto* distance = llvm::dyn_cast<llvm::SCEVConstant>(
          analysis_.evolution.getMinusSCEV(analysis_.evolution.getSCEV(pointer), analysis_.evolution.getSCEV(object)));
      if (!distance || distance->getAPInt().getSignificantBits() > 32) return;
      const std::int64_t begin = distance->getAPInt().getSExtValue();
      stored.add({begin, begin + size});
    };
    for (llvm::Instruction& other : *call.getParent()) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&other))
        note(store->getPointerOperand(), store_size(store->getValueOperand()->getType()));
      auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&other);
      const auto* size = copy ? llvm::dyn_cast<llvm::ConstantInt>(copy->getLength()) : nullptr;
      if (size && size->getValue().ult(1 << 30))
        note(copy->getRawDest(), static_cast<std::int64_t>(size->getZExtValue()));
    }
    if (known && stored.covers(core::Span{0, bytes})) return;
    AccessFacts access;
    access.kind = AccessKind::write;
    access.bytes = static_cast<int>(bytes);
    access.guards.push_back({core::GuardKind::opaque, {}});
    add(access, object, call, {}, known);
  }

  void visit_call(llvm::CallInst& call) {
    if (auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&call)) return visit_copy(*copy);
    if (llvm::isa<llvm::IntrinsicInst>(call))
      return;  // the rest of LLVM's own either compute or say something about a place
    if (call.getCalledFunction() && !call.getCalledFunction()->isDeclaration()) return visit_recursion(call);
    const std::string name = builtin_name(call);
    if (is_copied_object(name)) return visit_copied_object(call);
    if (is_atomic(name)) return visit_atomic(call, name);
    if (const auto move = vector_move(call, name)) return visit_vector_move(call, name, *move);
    if (name == "prefetch") return;  // a hint
    for (llvm::Value* operand : call.args()) {
      if (!operand->getType()->isPointerTy()) continue;
      const int argument = argument_of(*operand);
      if (argument == private_memory) continue;
      if (name.rfind("read_image", 0) == 0 || name.rfind("get_image", 0) == 0) {
        if (is_image(argument)) add_through(operand, call, AccessKind::read, name);
      } else if (name.rfind("write_image", 0) == 0) {
        add_through(operand, call, AccessKind::write, name);
      } else if (name.rfind("async_work_group", 0) == 0 && operand != call.getArgOperand(0)) {
        add_through(operand, call, AccessKind::read, name);
      } else {
        add_anything(operand, call, name);
      }
    }
    if (call.getCalledFunction() == nullptr) {
      analysis_.facts.obstacles.push_back("calls through something that cannot be told");
      analysis_.facts.elsewhere = true;
    }
  }

  // A function that could not be inlined, so it calls itself. It may hold pointers that are not among its arguments.
  void visit_recursion(const llvm::CallInst& call) {
    const std::string name = builtin_name(call);
    add_obstacle("'" + name + "' calls itself");
    analysis_.facts.elsewhere = true;
    for (AccessKind kind : {AccessKind::read, AccessKind::write}) {
      AccessFacts access;
      access.kind = kind;
      access.operation = name;
      access.address.data = true;
      access.address.sources = {-1};
      access.guards = {{core::GuardKind::opaque, {}}};
      analysis_.facts.accesses.push_back(std::move(access));
    }
  }

  void add_through(llvm::Value* pointer, const llvm::Instruction& at, AccessKind kind, const std::string& what) {
    AccessFacts access;
    access.kind = kind;
    access.operation = what;
    add(access, pointer, at, {}, false);
  }

  void visit_copy(llvm::AnyMemIntrinsic& copy) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength());
    const bool known = length && length->getValue().ult(1 << 30);
    AccessFacts access;
    access.bytes = known ? static_cast<int>(length->getZExtValue()) : 0;
    access.kind = AccessKind::write;
    add(access, copy.getRawDest(), copy, {}, known);
    if (auto* transfer = llvm::dyn_cast<llvm::AnyMemTransferInst>(&copy)) {
      access.kind = AccessKind::read;
      add(access, transfer->getRawSource(), copy, {}, known);
    }
  }

  void visit_atomic(llvm::CallInst& call, const std::string& name) {
    if (is_clangs_own_atomic(name)) {
      for (llvm::Value* operand : call.args()) {
        if (operand->getType()->isPointerTy()) add_unordered(operand, call, name);
      }
      return;
    }
    if (name == "atomic_work_item_fence" || call.arg_size() == 0 || !call.getArgOperand(0)->getType()->isPointerTy())
      return;
    AccessFacts access;
    access.kind = AccessKind::atomic;
    access.operation = atomic_operation(name);
    // A compare-exchange also writes what it found to where the expected value was.
    access.result_used = !call.use_empty() || access.operation.rfind("compare_exchange", 0) == 0;
    llvm::Type* type =
        call.getType()->isVoidTy() && call.arg_size() > 1 ? call.getArgOperand(1)->getType() : call.getType();
    const bool whole = type->isIntegerTy() && !type->isIntegerTy(1);
    access.commutative = whole && is_commutative(access.operation);  // sums of floats depend on their order
    // In which order words are, only the type says.
    if (access.operation == "min" || access.operation == "max") {
      const auto is_signed = call.getCalledFunction() ? atomic_is_signed(*call.getCalledFunction()) : std::nullopt;
      if (whole && is_signed) access.operation = (*is_signed ? "signed_" : "unsigned_") + access.operation;
    }
    access.bytes = whole || type->isFloatingPointTy() ? store_size(type) : 8;
    const std::size_t before = analysis_.facts.accesses.size();
    add(access, call.getArgOperand(0), call, {}, whole || type->isFloatingPointTy());
    if (analysis_.facts.accesses.size() == before) return;  // on local memory
    if (access.result_used) add_obstacle("the result of " + name + result_is_used);
    if (access.operation == "load") add_obstacle(name + ": groups may wait for each other");
    for (unsigned i = 1; i < call.arg_size(); ++i) {  // expected values of compare-exchange
      if (call.getArgOperand(i)->getType()->isPointerTy() && argument_of(*call.getArgOperand(i)) != private_memory)
        add_anything(call.getArgOperand(i), call, name);
    }
  }

  void add_obstacle(const std::string& what) {
    auto& all = analysis_.facts.obstacles;
    if (std::find(all.begin(), all.end(), what) == all.end()) all.push_back(what);
  }

  void visit_vector_move(llvm::CallInst& call, const std::string& name, const VectorMove& move) {
    const unsigned offset_at = move.store ? 1 : 0, pointer_at = offset_at + 1;
    if (call.arg_size() <= pointer_at || !call.getArgOperand(pointer_at)->getType()->isPointerTy()) {
      for (llvm::Value* operand : call.args()) {
        if (operand->getType()->isPointerTy()) add_anything(operand, call, name);
      }
      return;
    }
    AccessFacts access;
    access.kind = move.store ? AccessKind::write : AccessKind::read;
    access.bytes = move.elements * move.element_bytes;
    access.operation = name;
    if (move.store && move.spacing > move.elements) {  // PoCL writes what lies in between
      access.bytes = move.spacing * move.element_bytes;
      access.guards.push_back({core::GuardKind::opaque, {}});
    }
    add_dependence(analysis_, *call.getArgOperand(offset_at), access.address);
    const Polynomial offset = formulas_.of(call.getArgOperand(offset_at), *call.getParent());
    add(access, call.getArgOperand(pointer_at), call,
        formulas_.product(Formulas::constant(move.spacing * move.element_bytes), offset), true);
  }

  Analysis& analysis_;
  Formulas& formulas_;
  std::map<const llvm::BasicBlock*, std::pair<Guards, core::Dependence>> guards_;
};

}  // namespace

void collect_accesses(Analysis& analysis, Formulas& formulas) { Collector(analysis, formulas).run(); }

}  // namespace heddle::kernelc

// The pass pipeline, and the lowering of work-item functions.
#include "tools/kernelc/lower.hpp"

#include <map>
#include <tuple>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/ModRef.h>

#include "tools/kernelc/builtins.hpp"
#include "tools/kernelc/dependence.hpp"
#include "tools/kernelc/vector_lanes.hpp"

namespace heddle::kernelc {

namespace {

void make_pure(llvm::Function& function) {
  function.setDoesNotThrow();
  function.setMemoryEffects(llvm::MemoryEffects::none());
  function.addFnAttr(llvm::Attribute::WillReturn);
  function.addFnAttr(llvm::Attribute::Speculatable);
  function.removeFnAttr(llvm::Attribute::Convergent);
}

// Helpers are to disappear into the kernels; builtins return and do not throw.
void mark_functions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) {
      if (function.isIntrinsic()) continue;
      function.setDoesNotThrow();
      function.addFnAttr(llvm::Attribute::WillReturn);
      if (!is_work_item_function(builtin_name(function))) continue;
      make_pure(function);
      for (llvm::User* user : function.users()) {
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) call->removeFnAttr(llvm::Attribute::Convergent);
      }
      continue;
    }
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr(llvm::Attribute::NoInline);
    if (function.getCallingConv() != llvm::CallingConv::SPIR_KERNEL) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
  }
  // Kernels that call kernels are inlined too, but stay kernels.
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call || !call->getCalledFunction() || call->getCalledFunction()->isDeclaration()) continue;
      call->removeFnAttr(llvm::Attribute::NoInline);
      call->addFnAttr(llvm::Attribute::AlwaysInline);
    }
  }
}

// Writes work-item functions as sums and products of the few that remain.
class WorkItemFunctions {
 public:
  explicit WorkItemFunctions(llvm::Module& module) : module_(module) {}

  void lower() {
    std::vector<llvm::CallInst*> calls;
    for (llvm::Function& function : module_) {
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
          if (is_work_item_function(builtin_name(*call))) calls.push_back(call);
        }
      }
    }
    for (llvm::CallInst* call : calls) {
      llvm::IRBuilder<> builder(call);
      if (llvm::Value* value = formula(*call, builder)) {
        call->replaceAllUsesWith(builder.CreateZExtOrTrunc(value, call->getType()));
        call->eraseFromParent();
      }
    }
  }

 private:
  // Asked once, where the kernel begins: in a loop nobody would know that the answer is always the same.
  llvm::Value* ask(llvm::IRBuilder<>& where, const std::string& name, unsigned dimension) {
    llvm::Function& kernel = *where.GetInsertBlock()->getParent();
    llvm::Value*& known = asked_[{&kernel, name, dimension}];
    if (known) return known;
    llvm::IRBuilder<> b(&kernel.getEntryBlock(), kernel.getEntryBlock().getFirstInsertionPt());
    auto* type = llvm::FunctionType::get(size_type(), {b.getInt32Ty()}, false);
    auto callee = module_.getOrInsertFunction("_Z" + std::to_string(name.size()) + name + "j", type);
    auto* function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    make_pure(*function);
    auto* call = b.CreateCall(callee, {b.getInt32(dimension)});
    call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    return known = call;
  }
  llvm::IntegerType* size_type() const {
    return llvm::IntegerType::get(module_.getContext(), module_.getDataLayout().getPointerSizeInBits(1));
  }
  llvm::Value* item(llvm::IRBuilder<>& b, unsigned d) {  // without the offset
    return b.CreateAdd(b.CreateMul(ask(b, "get_group_id", d), ask(b, "get_local_size", d)), ask(b, "get_local_id", d));
  }
  llvm::Value* global_size(llvm::IRBuilder<>& b, unsigned d) {
    return b.CreateMul(ask(b, "get_num_groups", d), ask(b, "get_local_size", d));
  }

  llvm::Value* formula(const llvm::CallInst& call, llvm::IRBuilder<>& b) {
    const std::string name = builtin_name(call);
    const auto d = dimension_of(call);
    if (!d) return nullptr;
    if (*d > 2) {  // ids are 0; sizes are 1 by the standard, but PoCL has 0
      const bool size = name.find("size") != std::string::npos || name == "get_num_groups";
      return size ? nullptr : llvm::ConstantInt::get(call.getType(), 0);
    }
    if (name == "get_global_id") return b.CreateAdd(item(b, *d), ask(b, "get_global_offset", *d));
    if (name == "get_global_size") return global_size(b, *d);
    for (const char* plain :
         {"get_group_id", "get_local_id", "get_local_size", "get_num_groups", "get_global_offset"}) {
      if (name == plain) return ask(b, name, *d);
    }
    if (name == "get_enqueued_local_size") return ask(b, "get_local_size", *d);  // equal in uniform launches
    if (name == "get_global_linear_id")
      return b.CreateAdd(
          b.CreateMul(b.CreateAdd(b.CreateMul(item(b, 2), global_size(b, 1)), item(b, 1)), global_size(b, 0)),
          item(b, 0));
    if (name == "get_local_linear_id") {
      auto local = [&](unsigned k) { return ask(b, "get_local_id", k); };
      auto size = [&](unsigned k) { return ask(b, "get_local_size", k); };
      return b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(local(2), size(1)), local(1)), size(0)), local(0));
    }
    return nullptr;
  }

  llvm::Module& module_;
  std::map<std::tuple<llvm::Function*, std::string, unsigned>, llvm::Value*> asked_;
};

bool is_shared(const llvm::Value& pointer) {
  return pointer.getType()->isPointerTy() && argument_of(pointer) != private_memory;
}

// Clang writes one lane of a vector by loading all, changing it and storing all. Only the lanes that change are
// written: the others may be somebody else's.
void store_single_lanes(llvm::Module& module) {
  std::vector<llvm::StoreInst*> stores;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store && is_shared(*store->getPointerOperand()) &&
          llvm::isa<llvm::FixedVectorType>(store->getValueOperand()->getType()))
        stores.push_back(store);
    }
  }
  for (llvm::StoreInst* store : stores) {
    llvm::Value *pointer = store->getPointerOperand(), *value = store->getValueOperand();
    auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
    const auto is_kept = [&](const llvm::Value* from) {
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(from);
      return load && load->getPointerOperand() == pointer && load->getType() == type;
    };
    llvm::IRBuilder<> b(store);
    const auto store_lane = [&](llvm::Value* lane, llvm::Value* place) {
      b.CreateStore(lane, b.CreateGEP(type, pointer, {b.getInt64(0), place}), store->isVolatile());
    };
    if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(value);
        insert && is_kept(insert->getOperand(0)) && !llvm::isa<llvm::ConstantInt>(insert->getOperand(2))) {
      store_lane(insert->getOperand(1), insert->getOperand(2));
      store->eraseFromParent();
      continue;
    }
    std::vector<unsigned> changed;
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      const Lane origin = origin_of({value, static_cast<int>(i)});
      if (!is_kept(origin.value) || origin.number != static_cast<int>(i)) changed.push_back(i);
    }
    if (changed.size() == type->getNumElements()) continue;
    for (unsigned i : changed) store_lane(b.CreateExtractElement(value, i), b.getInt64(i));
    store->eraseFromParent();
  }
}

std::map<const llvm::Function*, std::set<int>> loaded_arguments(llvm::Module& module) {
  std::map<const llvm::Function*, std::set<int>> out;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!instruction.mayReadFromMemory()) continue;
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        out[&function].insert(argument_of(*load->getPointerOperand()));
        continue;
      }
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call && builtin_name(*call).rfind("vstore", 0) == 0) continue;
      for (const llvm::Value* operand : instruction.operands()) {
        if (operand->getType()->isPointerTy() && !llvm::isa<llvm::Function>(operand))
          out[&function].insert(argument_of(*operand));
      }
    }
    out[&function].erase(private_memory);
  }
  return out;
}

constexpr const char* object_prefix = "heddle.object.";  // no name that a source could have

// Before copies are taken apart into members.
void note_copied_objects(llvm::Module& module) {
  std::vector<llvm::MemTransferInst*> copies;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
      if (copy && llvm::isa<llvm::ConstantInt>(copy->getLength()) && is_shared(*copy->getRawDest()))
        copies.push_back(copy);
    }
  }
  for (llvm::MemTransferInst* copy : copies) {
    llvm::IRBuilder<> b(copy);
    llvm::Type* pointer = copy->getRawDest()->getType();
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, b.getInt64Ty()}, false);
    auto callee = module.getOrInsertFunction(object_prefix + std::to_string(pointer->getPointerAddressSpace()), type);
    auto* function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setDoesNotThrow();
    function->addFnAttr(llvm::Attribute::WillReturn);
    function->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());  // no pass may drop it
    function->addParamAttr(0, llvm::Attribute::NoCapture);
    b.CreateCall(callee, {copy->getRawDest(), b.CreateZExtOrTrunc(copy->getLength(), b.getInt64Ty())});
  }
}

}  // namespace

bool is_copied_object(const std::string& name) { return name.rfind(object_prefix, 0) == 0; }

Passes::Passes() {
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(components_);
  builder_.registerFunctionAnalyses(functions);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions, components_, modules_);
}

void Passes::run(llvm::Module& module, const char* pipeline) {
  llvm::ModulePassManager passes;
  if (auto error = builder_.parsePassPipeline(passes, pipeline)) llvm::report_fatal_error(std::move(error), false);
  passes.run(module, modules_);
}

void Passes::forget() {
  functions.clear();
  modules_.clear();
}

std::map<const llvm::Function*, std::set<int>> lower(llvm::Module& module, Passes& passes) {
  mark_functions(module);
  store_single_lanes(module);  // first: later nobody can tell it from a program that loads and stores all lanes
  passes.run(module, "always-inline,globaldce,function(mem2reg,instsimplify,dce)");
  const auto loaded = loaded_arguments(module);
  note_copied_objects(module);
  passes.forget();
  passes.run(module, "function(sroa,early-cse,simplifycfg)");
  WorkItemFunctions(module).lower();
  passes.forget();
  // Nothing here needs LLVM's alias analyses, which would cost more than the rest; and no indvars: it would rewrite the
  // tests of loops into ones that say less.
  passes.run(
      module,
      "function(scalarizer,early-cse,instsimplify,simplifycfg<hoist-common-insts;sink-common-insts>,loop-simplify,"
      "lcssa,loop(loop-rotate),instcombine,early-cse,simplifycfg<hoist-common-insts;sink-common-insts>,loop-simplify,"
      "lcssa)");
  return loaded;
}

}  // namespace heddle::kernelc

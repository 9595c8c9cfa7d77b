// Brings the parts together, kernel by kernel.
#include "tools/kernelc/kernel_facts.hpp"

#include <algorithm>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "tools/kernelc/access_facts.hpp"
#include "tools/kernelc/control_facts.hpp"
#include "tools/kernelc/lower.hpp"
#include "tools/kernelc/nest.hpp"
#include "tools/kernelc/obstacles.hpp"

namespace heddle::kernelc {

namespace {

core::ArgumentFacts argument(clang::ASTContext& context, const clang::ParmVarDecl& parameter) {
  core::ArgumentFacts out;
  const clang::QualType type = parameter.getType();
  out.name = parameter.getNameAsString();
  out.type = type.getUnqualifiedType().getAsString(context.getPrintingPolicy());
  out.space = space_of(parameter);
  // Formulas read scalars by their canonical type, whatever a typedef calls it.
  if (out.space == core::AddressSpace::value) {
    out.type = type.getCanonicalType().getUnqualifiedType().getAsString(context.getPrintingPolicy());
    if (out.type.rfind("unsigned ", 0) == 0) out.type = "u" + out.type.substr(9);
    out.size = static_cast<core::Bytes>(context.getTypeSizeInChars(type).getQuantity());
  }
  return out;
}

core::IdUses uses_of(const Syntax& syntax, const clang::FunctionDecl& kernel) {
  core::IdUses out;
  for (const clang::FunctionDecl* function : syntax.reached_from(&kernel)) {
    const std::string n = function->getNameAsString();
    out.global_id |= n == "get_global_id" || n == "get_global_linear_id";
    out.local_id |= n == "get_local_id" || n == "get_local_linear_id" || n.rfind("get_sub_group", 0) == 0;
    out.group_id |= n == "get_group_id" || n == "get_global_linear_id";
    out.global_size |= n == "get_global_size" || n == "get_global_linear_id";
    out.local_size |= n == "get_local_size" || n == "get_enqueued_local_size" || n == "get_local_linear_id";
    out.num_groups |= n == "get_num_groups";
    out.global_offset |= n == "get_global_offset" || n == "get_global_linear_id";
  }
  return out;
}

core::Bytes local_memory(const llvm::Module& module, const llvm::Function& kernel) {
  core::Bytes out = 0;
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (variable.getAddressSpace() != 3) continue;
    const bool used = std::any_of(variable.user_begin(), variable.user_end(), [&](const llvm::User* user) {
      std::vector<const llvm::User*> waiting = {user};
      while (!waiting.empty()) {
        const llvm::User* next = waiting.back();
        waiting.pop_back();
        if (const auto* i = llvm::dyn_cast<llvm::Instruction>(next)) {
          if (i->getFunction() == &kernel) return true;
        } else {
          waiting.insert(waiting.end(), next->user_begin(), next->user_end());
        }
      }
      return false;
    });
    if (used) out += module.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue();
  }
  return out;
}

void read_required_group(const llvm::Function& kernel, core::KernelFacts& out) {
  const llvm::MDNode* node = kernel.getMetadata("reqd_work_group_size");
  if (!node) return;
  for (const llvm::MDOperand& operand : node->operands()) {
    if (const auto* extent = llvm::mdconst::dyn_extract<llvm::ConstantInt>(operand))
      out.required_group.push_back(extent->getSExtValue());
  }
  if (out.required_group.size() != 3) out.required_group.clear();
}

// A kernel whose first declaration does not say so is an ordinary function to clang.
void mark_kernel(llvm::Function& function) {
  function.setCallingConv(llvm::CallingConv::SPIR_KERNEL);
  for (llvm::User* user : function.users()) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) call->setCallingConv(llvm::CallingConv::SPIR_KERNEL);
  }
}

}  // namespace

std::map<std::string, KernelSyntax> kernel_syntax(clang::ASTContext& context, const Syntax& syntax) {
  std::map<std::string, KernelSyntax> out;
  auto reasons = obstacles(syntax);
  for (clang::FunctionDecl* function : syntax.declarations) {
    if (!is_kernel(*function) || !function->doesThisDeclarationHaveABody()) continue;
    KernelSyntax& kernel = out[function->getNameAsString()];
    kernel.uses = uses_of(syntax, *function);
    kernel.obstacles = reasons[function->getNameAsString()];
    kernel.elsewhere = std::any_of(kernel.obstacles.begin(), kernel.obstacles.end(),
                                   [](const std::string& reason) { return reason != prints; });
    kernel.nest = nest_of(context, syntax, *function).facts;
    for (const clang::ParmVarDecl* parameter : function->parameters())
      kernel.arguments.push_back(argument(context, *parameter));
  }
  return out;
}

core::ProgramFacts program_facts(llvm::Module& module, std::map<std::string, KernelSyntax> syntax) {
  for (const auto& [name, kernel] : syntax) {
    if (llvm::Function* function = module.getFunction(name)) mark_kernel(*function);
  }
  Passes passes;
  const auto loaded = lower(module, passes);
  core::ProgramFacts out;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.getCallingConv() != llvm::CallingConv::SPIR_KERNEL) continue;
    const auto known = syntax.find(function.getName().str());
    if (known == syntax.end() || known->second.arguments.size() != function.arg_size()) continue;
    core::KernelFacts& facts = out.kernels.emplace_back();
    facts.name = function.getName().str();
    facts.arguments = std::move(known->second.arguments);
    facts.uses = known->second.uses;
    if (const auto at = loaded.find(&function); at != loaded.end())
      facts.loaded = {at->second.begin(), at->second.end()};
    facts.obstacles = std::move(known->second.obstacles);
    facts.elsewhere = known->second.elsewhere;
    facts.nest = std::move(known->second.nest);
    facts.local_memory = local_memory(module, function);
    read_required_group(function, facts);
    Analysis analysis{function,
                      passes.functions.getResult<llvm::ScalarEvolutionAnalysis>(function),
                      passes.functions.getResult<llvm::LoopAnalysis>(function),
                      passes.functions.getResult<llvm::DominatorTreeAnalysis>(function),
                      passes.functions.getResult<llvm::PostDominatorTreeAnalysis>(function),
                      facts,
                      {}};
    Formulas formulas(analysis);
    number_loops(analysis);
    collect_accesses(analysis, formulas);
    collect_loops(analysis, formulas);
    collect_branches(analysis, formulas);
    count_features(analysis);
  }
  return out;
}

}  // namespace heddle::kernelc

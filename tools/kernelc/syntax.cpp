// One walk over the syntax tree.
#include "tools/kernelc/syntax.hpp"

#include <algorithm>

#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>

#include "tools/kernelc/builtins.hpp"

namespace heddle::kernelc {

namespace {

class Walk : public clang::RecursiveASTVisitor<Walk> {
 public:
  Walk(clang::ASTContext& context, Syntax& out) : context_(context), out_(out) {}

  bool TraverseFunctionDecl(clang::FunctionDecl* function) {
    const auto& sources = context_.getSourceManager();
    if (!sources.isInMainFile(sources.getSpellingLoc(function->getLocation())) || function->isImplicit()) return true;
    // A builtin that the program declares once more is still none of its own.
    if (is_work_item_function(function->getNameAsString()) && !function->isDefined()) return true;
    out_.declarations.push_back(function);
    const clang::FunctionDecl* outer = current_;
    current_ = function->getCanonicalDecl();
    RecursiveASTVisitor::TraverseFunctionDecl(function);
    current_ = outer;
    return true;
  }

  bool VisitCallExpr(clang::CallExpr* call) {
    if (!current_) return true;
    const clang::FunctionDecl* callee = call->getDirectCallee();
    out_.calls.push_back({current_, callee ? callee->getCanonicalDecl() : nullptr, call,
                          callee ? callee->getNameAsString() : std::string()});
    return true;
  }

  bool VisitAsmStmt(clang::AsmStmt*) { return odd("inline assembly may ask for the group's place"); }
  bool VisitGCCAsmStmt(clang::GCCAsmStmt*) { return true; }
  bool VisitBlockExpr(clang::BlockExpr*) { return odd("a block: work that a device enqueues itself"); }
  bool VisitBinaryOperator(clang::BinaryOperator* operation) {
    const auto is_pointer = [&](const clang::Expr* side) {
      return side->getType()->isPointerType() &&
             !side->isNullPointerConstant(context_, clang::Expr::NPC_ValueDependentIsNull);
    };
    if ((operation->isComparisonOp() || operation->getOpcode() == clang::BO_Sub) && is_pointer(operation->getLHS()) &&
        is_pointer(operation->getRHS()))
      out_.looks_at_addresses = true;
    return true;
  }
  bool VisitCastExpr(clang::CastExpr* cast) {
    if (cast->getCastKind() == clang::CK_PointerToIntegral) out_.looks_at_addresses = true;
    return true;
  }
  bool VisitNamedDecl(clang::NamedDecl* declaration) {
    const auto& sources = context_.getSourceManager();
    if (llvm::isa<clang::FunctionDecl, clang::FieldDecl>(declaration)) return true;
    if (sources.isInMainFile(sources.getSpellingLoc(declaration->getLocation())))
      out_.other_names.insert(declaration->getNameAsString());
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* use) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(use->getDecl());
    if (!variable || !variable->hasGlobalStorage()) return true;
    const auto space = variable->getType().getAddressSpace();
    if (space == clang::LangAS::opencl_local) return true;
    const bool fixed = space == clang::LangAS::opencl_constant || variable->getType().isConstQualified();
    std::set<const clang::Type*> seen;
    if (fixed && !leads_elsewhere(variable->getType(), seen)) return true;
    return odd("program-scope variable '" + variable->getNameAsString() + "' would differ between devices");
  }

 private:
  // Whether a value of this type holds a pointer to memory that may change.
  bool leads_elsewhere(clang::QualType type, std::set<const clang::Type*>& seen) const {
    type = context_.getBaseElementType(type).getCanonicalType();
    if (!seen.insert(type.getTypePtr()).second) return false;
    if (const auto* pointer = type->getAs<clang::PointerType>()) {
      const clang::QualType to = pointer->getPointeeType();
      return to.getAddressSpace() != clang::LangAS::opencl_constant || leads_elsewhere(to, seen);
    }
    if (const auto* record = type->getAsRecordDecl()) {
      for (const clang::FieldDecl* field : record->fields()) {
        if (leads_elsewhere(field->getType(), seen)) return true;
      }
    }
    return type->isBlockPointerType();
  }

  bool odd(const std::string& what) {
    if (current_) out_.oddities.push_back({current_, what});
    return true;
  }

  clang::ASTContext& context_;
  Syntax& out_;
  const clang::FunctionDecl* current_ = nullptr;
};

}  // namespace

bool is_kernel(const clang::FunctionDecl& function) {
  return std::any_of(function.redecls_begin(), function.redecls_end(),
                     [](const clang::FunctionDecl* one) { return one->hasAttr<clang::OpenCLKernelAttr>(); });
}

core::AddressSpace space_of(const clang::ParmVarDecl& parameter) {
  const clang::QualType type = parameter.getType();
  if (type->isImageType()) return core::AddressSpace::image;
  if (type->isSamplerT()) return core::AddressSpace::sampler;
  if (type->isPipeType() || type->isEventT() || type->isQueueT()) return core::AddressSpace::other;
  if (!type->isPointerType()) return core::AddressSpace::value;
  switch (type->getPointeeType().getAddressSpace()) {
    case clang::LangAS::opencl_global:
      return core::AddressSpace::global;
    case clang::LangAS::opencl_constant:
      return core::AddressSpace::constant;
    case clang::LangAS::opencl_local:
      return core::AddressSpace::local;
    default:
      return core::AddressSpace::other;
  }
}

std::set<const clang::FunctionDecl*> Syntax::that_reach(const std::set<std::string>& names) const {
  std::vector<const clang::FunctionDecl*> callers;
  for (const Call& call : calls) {
    if (!call.callee) continue;
    if ((names.count(call.name) && !is_own(call.callee)) || is_kernel(*call.callee)) callers.push_back(call.caller);
  }
  return with_callers(std::move(callers));
}

std::set<const clang::FunctionDecl*> Syntax::with_callers(std::vector<const clang::FunctionDecl*> waiting) const {
  std::map<const clang::FunctionDecl*, std::vector<const clang::FunctionDecl*>> callers;
  for (const Call& call : calls) {
    if (call.callee) callers[call.callee].push_back(call.caller);
  }
  std::set<const clang::FunctionDecl*> out;
  while (!waiting.empty()) {
    const clang::FunctionDecl* next = waiting.back();
    waiting.pop_back();
    if (out.insert(next).second) waiting.insert(waiting.end(), callers[next].begin(), callers[next].end());
  }
  return out;
}

std::set<const clang::FunctionDecl*> Syntax::reached_from(const clang::FunctionDecl* from) const {
  std::set<const clang::FunctionDecl*> out;
  std::vector<const clang::FunctionDecl*> waiting = {from->getCanonicalDecl()};
  while (!waiting.empty()) {
    const clang::FunctionDecl* next = waiting.back();
    waiting.pop_back();
    if (!out.insert(next).second) continue;
    const auto mine = calls_of.find(next);
    if (mine == calls_of.end()) continue;
    for (std::size_t i : mine->second) {
      if (calls[i].callee) waiting.push_back(calls[i].callee);
    }
  }
  return out;
}

Syntax read_syntax(clang::ASTContext& context) {
  Syntax out;
  Walk(context, out).TraverseDecl(context.getTranslationUnitDecl());
  for (const clang::FunctionDecl* declaration : out.declarations) out.own.insert(declaration->getCanonicalDecl());
  for (std::size_t i = 0; i < out.calls.size(); ++i) out.calls_of[out.calls[i].caller].push_back(i);
  return out;
}

}  // namespace heddle::kernelc

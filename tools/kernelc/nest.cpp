// Reads the nest, and looks for whatever makes the order of work-items matter.
#include "tools/kernelc/nest.hpp"

#include <algorithm>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include "tools/kernelc/builtins.hpp"

namespace heddle::kernelc {

namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// Why a builtin's answer or effect depends on the group or on the order of work-items; empty: it does not.
std::string matters(const std::string& name) {
  if (name == "get_global_id" || begins(name, "get_image_")) return "";
  if (begins(name, "get_")) return "it asks for " + name;
  if (is_atomic(name) || is_clangs_own_atomic(name)) return "it uses atomics, whose order may matter";
  for (const char* work : {"barrier", "work_group_", "sub_group_", "intel_", "mem_fence", "read_mem_fence",
                           "write_mem_fence", "atomic_work_item_fence", "async_", "wait_group_events"}) {
    if (begins(name, work)) return "its work-items work together: " + name;
  }
  for (const char* order : {"printf", "enqueue_", "ndrange_", "__builtin_"}) {
    if (begins(name, order)) return "it calls " + name;
  }
  return name.find("_pipe") != std::string::npos ? "it calls " + name : "";
}

// What no text can be taken apart around, in the kernel and its helpers.
class Oddities : public clang::RecursiveASTVisitor<Oddities> {
 public:
  std::string found;

  bool VisitGotoStmt(clang::GotoStmt*) { return odd("it jumps by goto"); }
  bool VisitIndirectGotoStmt(clang::IndirectGotoStmt*) { return odd("it jumps by goto"); }
  bool VisitLabelStmt(clang::LabelStmt*) { return odd("it jumps by goto"); }
  bool VisitAsmStmt(clang::AsmStmt*) { return odd("it holds inline assembly"); }
  bool VisitBlockExpr(clang::BlockExpr*) { return odd("it holds a block"); }
  bool VisitStmtExpr(clang::StmtExpr*) { return odd("it holds a statement in an expression"); }
  bool VisitAtomicExpr(clang::AtomicExpr*) { return odd("it uses atomics, whose order may matter"); }
  bool VisitExpr(clang::Expr* expression) {
    const clang::QualType type = expression->getType();
    return type->isAtomicType() ? odd("it uses atomics, whose order may matter") : true;
  }
  bool VisitVarDecl(clang::VarDecl* variable) {
    const bool private_memory =
        variable->hasLocalStorage() && variable->getType().getAddressSpace() != clang::LangAS::opencl_local;
    return private_memory ? true : odd("it declares '" + variable->getNameAsString() + "', which is not private");
  }

 private:
  bool odd(const std::string& what) {
    if (found.empty()) found = what;
    return true;
  }
};

class Loops : public clang::RecursiveASTVisitor<Loops> {
 public:
  bool any = false;
  bool VisitForStmt(clang::ForStmt*) { return !(any = true); }
  bool VisitWhileStmt(clang::WhileStmt*) { return !(any = true); }
  bool VisitDoStmt(clang::DoStmt*) { return !(any = true); }
};

bool holds_loop(clang::Stmt* statement) {
  Loops loops;
  loops.TraverseStmt(statement);
  return loops.any;
}

// break and continue of the loop whose body this is, not of others inside.
bool leaves_early(const clang::Stmt* body, bool breaks_are_ours = true) {
  if (!body) return false;
  if (llvm::isa<clang::ContinueStmt>(body)) return true;
  if (llvm::isa<clang::BreakStmt>(body)) return breaks_are_ours;
  if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(body)) return false;
  const bool ours = breaks_are_ours && !llvm::isa<clang::SwitchStmt>(body);
  return std::any_of(body->child_begin(), body->child_end(),
                     [&](const clang::Stmt* child) { return leaves_early(child, ours); });
}

class Returns : public clang::RecursiveASTVisitor<Returns> {
 public:
  std::set<const clang::Stmt*> all;
  bool VisitReturnStmt(clang::ReturnStmt* statement) { return all.insert(statement), true; }
};

class UseVisitor : public clang::RecursiveASTVisitor<UseVisitor> {
 public:
  Uses found;
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) {
    if (cast->getCastKind() != clang::CK_LValueToRValue) return true;
    const clang::Expr* place = cast->getSubExpr()->IgnoreParens();
    while (const auto* lanes = llvm::dyn_cast<clang::ExtVectorElementExpr>(place))
      place = lanes->getBase()->IgnoreParens();
    for (const auto* member = llvm::dyn_cast<clang::MemberExpr>(place); member && !member->isArrow();
         member = llvm::dyn_cast<clang::MemberExpr>(place))
      place = member->getBase()->IgnoreParens();
    if (const auto* use = llvm::dyn_cast<clang::DeclRefExpr>(place)) found.reads.insert(use);
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* use) { return found.all.insert(use), true; }
};

class Reader {
 public:
  Reader(clang::ASTContext& context, const Syntax& syntax, clang::FunctionDecl& kernel)
      : context_(context), syntax_(syntax), kernel_(kernel) {
    out_.kernel = &kernel;
  }

  LoopNest read() {
    look_for_reasons();
    std::set<int> dimensions;
    for (const Call& call : syntax_.calls) {
      if (call.caller != kernel_.getCanonicalDecl() || call.name != "get_global_id" || !call.callee) continue;
      clang::Expr::EvalResult value;
      if (call.expression->getNumArgs() != 1 || !call.expression->getArg(0)->EvaluateAsInt(value, context_) ||
          value.Val.getInt().isNegative() || value.Val.getInt().getZExtValue() > 2)
        refuse("it asks for the global id of a dimension that is computed");
      else
        dimensions.insert(static_cast<int>(value.Val.getInt().getZExtValue()));
    }
    if (dimensions.empty()) refuse("it does not ask for its global id");
    out_.facts.dimensions.assign(dimensions.begin(), dimensions.end());
    level(statements(kernel_.getBody()), true);
    Returns returns;
    returns.TraverseStmt(kernel_.getBody());
    if (returns.all != returns_) refuse("it returns from within");
    return std::move(out_);
  }

 private:
  void refuse(const std::string& why) {
    if (out_.facts.refused.empty()) out_.facts.refused = why;
  }

  void look_for_reasons() {
    for (const clang::ParmVarDecl* parameter : kernel_.parameters()) {
      if (space_of(*parameter) == core::AddressSpace::local) refuse("it has local memory");
    }
    if (kernel_.hasAttr<clang::ReqdWorkGroupSizeAttr>() || kernel_.hasAttr<clang::OpenCLIntelReqdSubGroupSizeAttr>())
      refuse("it says how large its groups must be");
    std::set<std::string> why;  // sorted, not by where functions lie in memory
    for (const clang::FunctionDecl* function : syntax_.reached_from(&kernel_)) {
      const bool own = function == kernel_.getCanonicalDecl();
      const clang::FunctionDecl* definition = function->getDefinition();
      if (!syntax_.is_own(function)) continue;
      if (!own && is_kernel(*function)) why.insert("it calls a kernel");
      if (!definition || !definition->getBody()) {
        why.insert("it calls '" + function->getNameAsString() + "', whose text is not here");
        continue;
      }
      Oddities oddities;
      oddities.TraverseStmt(definition->getBody());
      if (!oddities.found.empty()) why.insert(oddities.found);
      const auto mine = syntax_.calls_of.find(function);
      if (mine == syntax_.calls_of.end()) continue;
      for (std::size_t i : mine->second) {
        const Call& call = syntax_.calls[i];
        if (!call.callee) {
          why.insert("it calls through something that cannot be told");
        } else if (!syntax_.is_own(call.callee)) {
          if (!own && call.name == "get_global_id") why.insert("a helper asks for the global id");
          const std::string reason = matters(call.name);
          if (!reason.empty()) why.insert(reason);
        }
      }
    }
    if (!why.empty()) refuse(*why.begin());
    for (const char* name : {"size_t", "uint", "uchar", "get_global_id"}) {
      if (syntax_.other_names.count(name) > 0) refuse(std::string("a name of OpenCL C means something else: ") + name);
    }
    const Uses uses = uses_in(kernel_.getBody());
    for (const clang::DeclRefExpr* use : uses.all) {  // the points that come next would see it
      if (llvm::isa<clang::ParmVarDecl>(use->getDecl()) && !uses.reads.count(use))
        refuse("it changes its parameters, or takes an address of one");
    }
  }

  static std::vector<clang::Stmt*> statements(clang::Stmt* body) {
    if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(body)) return {block->body_begin(), block->body_end()};
    return {body};
  }

  // if (condition) return;
  static const clang::Stmt* early_return(clang::Stmt* statement) {
    const auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    if (!branch || branch->getElse()) return nullptr;
    const auto then = statements(const_cast<clang::Stmt*>(branch->getThen()));
    return then.size() == 1 && llvm::isa<clang::ReturnStmt>(then.front()) ? then.front() : nullptr;
  }

  bool can_be_entered(clang::ForStmt* loop) const {
    return loop && loop->getCond() && loop->getInc() && !loop->getConditionVariable() &&
           !leaves_early(loop->getBody()) && out_.facts.loops < core::most_nested_loops;
  }

  // `last`: nothing of the kernel follows behind these.
  void level(std::vector<clang::Stmt*> all, bool last) {
    if (last && !all.empty() && llvm::isa<clang::ReturnStmt>(all.back())) {
      returns_.insert(all.back());
      all.pop_back();
    }
    const std::size_t number = out_.levels.size();
    out_.levels.emplace_back();
    const auto loops = std::count_if(all.begin(), all.end(), holds_loop);
    for (std::size_t i = 0; i < all.size(); ++i) {
      Level& here = out_.levels[number];
      const std::vector<clang::Stmt*> rest(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
      const clang::Stmt* early = last ? early_return(all[i]) : nullptr;
      auto* branch = llvm::dyn_cast<clang::IfStmt>(all[i]);
      auto* loop = llvm::dyn_cast<clang::ForStmt>(all[i]);
      if (early) {
        returns_.insert(early);
        here.condition = branch->getCond(), here.negated = true;
        return level(rest, true);
      }
      if (loops == 1 && branch && !branch->getElse() && holds_loop(branch)) {
        here.condition = branch->getCond(), here.after = rest;
        check(rest);
        return level(statements(branch->getThen()), last && rest.empty());
      }
      if (loops == 1 && can_be_entered(loop)) {
        here.loop = loop, here.after = rest;
        check(rest);
        ++out_.facts.loops;
        return level(statements(loop->getBody()), false);
      }
      check({all[i]});
      here.before.push_back(all[i]);
    }
  }

  void check(const std::vector<clang::Stmt*>& all) {
    for (const clang::Stmt* s : all) {
      const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(s);
      if (declaration && !std::all_of(declaration->decl_begin(), declaration->decl_end(),
                                      [](const clang::Decl* d) { return llvm::isa<clang::VarDecl>(d); }))
        refuse("it declares something other than variables");
    }
  }

  clang::ASTContext& context_;
  const Syntax& syntax_;
  clang::FunctionDecl& kernel_;
  LoopNest out_;
  std::set<const clang::Stmt*> returns_;  // those that levels stand for
};

}  // namespace

Uses uses_in(clang::Stmt* statement) {
  UseVisitor visitor;
  visitor.TraverseStmt(statement);
  return std::move(visitor.found);
}

LoopNest nest_of(clang::ASTContext& context, const Syntax& syntax, clang::FunctionDecl& kernel) {
  return Reader(context, syntax, kernel).read();
}

}  // namespace heddle::kernelc

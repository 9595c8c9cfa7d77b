// One walk along the levels to place dimensions, one over the variables to say how each lives.
#include "tools/kernelc/schedule_plan.hpp"

#include <algorithm>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>

namespace heddle::kernelc {

namespace {

bool is_dimension(char c) { return c >= 'x' && c <= 'z'; }

std::vector<LevelPlan> placed(const LoopNest& nest, const std::string& order) {
  std::vector<LevelPlan> out;
  std::size_t at = 0;
  for (const Level& level : nest.levels) {
    LevelPlan& here = out.emplace_back();
    while (at < order.size() && is_dimension(order[at])) here.opened += order[at++];
    std::copy_if(order.begin() + static_cast<std::ptrdiff_t>(at), order.end(), std::back_inserter(here.inner),
                 is_dimension);
    if (level.loop) ++at;
  }
  return out;
}

bool of_kind(clang::CastKind kind, bool alike) {
  switch (kind) {
    case clang::CK_LValueToRValue:
    case clang::CK_NoOp:
    case clang::CK_IntegralCast:
    case clang::CK_IntegralToBoolean:
    case clang::CK_BooleanToSignedIntegral:
      return true;
    case clang::CK_IntegralToFloating:
    case clang::CK_FloatingToIntegral:
    case clang::CK_FloatingCast:
      return alike;
    default:
      return false;
  }
}

class Planner {
 public:
  Planner(const LoopNest& nest, const std::string& order, const std::string& prefix)
      : nest_(nest), prefix_(prefix), uses_(uses_in(nest.kernel->getBody())) {
    out_.levels = placed(nest, order);
  }

  Plan run() {
    for (std::size_t k = 0; k < nest_.levels.size() && !out_.levels[k].inner.empty(); ++k) {
      const Level& level = nest_.levels[k];
      for (clang::Stmt* s : level.before) declare(s, k);
      if (level.loop && level.loop->getInit()) declare(level.loop->getInit(), k);
    }
    look_for_uses();
    for (std::size_t k = 0; k < nest_.levels.size() && !out_.levels[k].inner.empty(); ++k) {
      for (const Variable* v : declared_[k]) decide(out_.variables.at(v->declaration));
      if (nest_.levels[k].loop) count_alike(k);
    }
    for (auto& [declaration, v] : out_.variables) {
      if (v.life == Life::shared && !v.elsewhere) v.life = Life::kept;
    }
    return std::move(out_);
  }

 private:
  void declare(clang::Stmt* statement, std::size_t level) {
    const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
    if (!declaration) return;
    for (const clang::Decl* d : declaration->decls()) {
      const auto* variable = llvm::cast<clang::VarDecl>(d);
      Variable& v = out_.variables[variable];
      v.declaration = variable, v.level = level;
      v.name = prefix_ + std::to_string(out_.variables.size()) + "_" + variable->getNameAsString();
      declared_.resize(nest_.levels.size());
      declared_[level].push_back(&v);
    }
  }

  // Parts: before a level, behind it, its loop's or its branch's head.
  void look_for_uses() {
    declared_.resize(nest_.levels.size());
    for (std::size_t k = 0; k < nest_.levels.size(); ++k) {
      const Level& level = nest_.levels[k];
      const bool own = !out_.levels[k].inner.empty();  // parts; else all further inside is one with what is around
      for (clang::Stmt* s : level.before) used(s, own, k);
      for (clang::Stmt* s : level.after) used(s, false, k);
      if (level.condition) used(level.condition, false, k);
      if (!level.loop) continue;
      for (clang::Stmt* s : {level.loop->getInit(), static_cast<clang::Stmt*>(level.loop->getCond()),
                             static_cast<clang::Stmt*>(level.loop->getInc())}) {
        if (s) used(s, false, k);
      }
    }
    std::set<const clang::VarDecl*> set;
    for (const clang::DeclRefExpr* use : uses_.all) {
      if (!uses_.reads.count(use)) set.insert(llvm::dyn_cast<clang::VarDecl>(use->getDecl()));
    }
    for (auto& [declaration, v] : out_.variables) {
      // A pointer to it may live longer than the part in which it is set.
      v.elsewhere |= set.count(declaration) > 0;
      v.never_set = !set.count(declaration) && declaration->hasInit() && !declaration->getType().isVolatileQualified();
    }
  }

  void used(clang::Stmt* in, bool in_before, std::size_t level) {
    for (const clang::DeclRefExpr* use : uses_in(in).all) {
      const auto found = out_.variables.find(llvm::dyn_cast<clang::VarDecl>(use->getDecl()));
      if (found != out_.variables.end() && !(in_before && found->second.level == level)) found->second.elsewhere = true;
    }
  }

  void decide(Variable& v) {
    const clang::QualType type = v.declaration->getType();
    if (v.never_set && type->isArithmeticType()) {
      const clang::Expr& from = *v.declaration->getInit();
      v.alike = computable(out_, from, true);
      v.life = type->isIntegralOrEnumerationType() && computable(out_, from, false) ? Life::computed
               : v.alike                                                            ? Life::shared
                                                                                    : Life::kept;
      if (v.life == Life::computed) {  // whatever it is computed from must be there in every part
        for (const clang::DeclRefExpr* use : uses_in(const_cast<clang::Expr*>(&from)).all) {
          const auto source = out_.variables.find(llvm::dyn_cast<clang::VarDecl>(use->getDecl()));
          if (source != out_.variables.end()) source->second.elsewhere = true;
        }
      }
    }
    if (v.life == Life::kept && v.elsewhere) v.life = Life::each;
  }

  // for (T i = from; condition on i; i = ...), where all of that is alike.
  void count_alike(std::size_t k) {
    const clang::ForStmt& loop = *nest_.levels[k].loop;
    const auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(loop.getInit());
    if (!init || !init->isSingleDecl()) return;
    Variable& counter = out_.variables.at(llvm::cast<clang::VarDecl>(init->getSingleDecl()));
    const clang::VarDecl* variable = counter.declaration;
    if (!variable->hasInit() || !variable->getType()->isArithmeticType() || variable->getType().isVolatileQualified() ||
        !computable(out_, *variable->getInit(), true))
      return;
    const clang::Expr* step = loop.getInc()->IgnoreParens();
    const clang::Expr* target = nullptr;
    const clang::Expr* by = nullptr;
    if (const auto* one = llvm::dyn_cast<clang::UnaryOperator>(step); one && one->isIncrementDecrementOp()) {
      target = one->getSubExpr();
    } else if (const auto* many = llvm::dyn_cast<clang::BinaryOperator>(step); many && many->isAssignmentOp()) {
      target = many->getLHS(), by = many->getRHS();
    }
    const auto* stepped = target ? llvm::dyn_cast<clang::DeclRefExpr>(target->IgnoreParens()) : nullptr;
    if (!stepped || stepped->getDecl() != variable) return;
    for (const clang::DeclRefExpr* use : uses_.all) {
      if (use->getDecl() == variable && use != stepped && !uses_.reads.count(use)) return;
    }
    const Variable before = counter;
    counter.life = Life::shared, counter.alike = true, counter.elsewhere = true;
    out_.levels[k].alike = computable(out_, *loop.getCond(), true) && (!by || computable(out_, *by, true));
    if (!out_.levels[k].alike) counter = before;
  }

  const LoopNest& nest_;
  const std::string prefix_;
  const Uses uses_;
  Plan out_;
  std::vector<std::vector<const Variable*>> declared_;  // by level, in the order of the text
};

}  // namespace

const Variable* Plan::find(const clang::DeclRefExpr& use) const {
  const auto found = variables.find(llvm::dyn_cast<clang::VarDecl>(use.getDecl()));
  return found == variables.end() || found->second.life == Life::kept ? nullptr : &found->second;
}

bool computable(const Plan& plan, const clang::Expr& whole, bool alike) {
  const clang::Expr* e = whole.IgnoreParens();
  if (!e->getType()->isArithmeticType() || (!alike && !e->getType()->isIntegralOrEnumerationType())) return false;
  if (llvm::isa<clang::IntegerLiteral, clang::CharacterLiteral, clang::FloatingLiteral,
                clang::UnaryExprOrTypeTraitExpr>(e))
    return true;
  if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(e))
    return of_kind(cast->getCastKind(), alike) && computable(plan, *cast->getSubExpr(), alike);
  if (const auto* use = llvm::dyn_cast<clang::DeclRefExpr>(e)) {
    if (llvm::isa<clang::ParmVarDecl, clang::EnumConstantDecl>(use->getDecl())) return true;
    const Variable* v = plan.find(*use);
    return v && (alike ? v->alike : v->life == Life::computed || v->life == Life::shared);
  }
  if (const auto* one = llvm::dyn_cast<clang::UnaryOperator>(e)) {
    const auto code = one->getOpcode();
    return (code == clang::UO_Plus || code == clang::UO_Minus || code == clang::UO_Not || code == clang::UO_LNot) &&
           computable(plan, *one->getSubExpr(), alike);
  }
  if (const auto* two = llvm::dyn_cast<clang::BinaryOperator>(e)) {
    // Divisions are too slow to be done again and again.
    const auto code = two->getOpcode();
    if (two->isAssignmentOp() || code == clang::BO_Comma ||
        (!alike && two->isMultiplicativeOp() && code != clang::BO_Mul))
      return false;
    return computable(plan, *two->getLHS(), alike) && computable(plan, *two->getRHS(), alike);
  }
  if (const auto* either = llvm::dyn_cast<clang::ConditionalOperator>(e))
    return computable(plan, *either->getCond(), alike) && computable(plan, *either->getTrueExpr(), alike) &&
           computable(plan, *either->getFalseExpr(), alike);
  const auto* call = llvm::dyn_cast<clang::CallExpr>(e);
  const clang::FunctionDecl* callee = call ? call->getDirectCallee() : nullptr;
  return !alike && callee && callee->getName() == "get_global_id";
}

Plan plan_of(const LoopNest& nest, const std::string& order, const std::string& prefix) {
  return Planner(nest, order, prefix).run();
}

}  // namespace heddle::kernelc

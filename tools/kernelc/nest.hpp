// The nest of a kernel: the conditions and loops around its innermost work, one inside the other, and what stands
// before and behind them. Schedules are orders of its loops and of the dimensions of work-items.
#pragma once

#include "tools/kernelc/syntax.hpp"

namespace clang {
class DeclRefExpr;
class Expr;
class ForStmt;
class Stmt;
}  // namespace clang

namespace heddle::kernelc {

struct Level {
  std::vector<clang::Stmt*> before, after;
  // At most one of the two is around the next level; at the innermost there is none.
  clang::Expr* condition = nullptr;
  bool negated = false;  // if (condition) return;
  clang::ForStmt* loop = nullptr;
};

struct LoopNest {
  clang::FunctionDecl* kernel = nullptr;
  std::vector<Level> levels;  // outermost first
  core::Nest facts;
};

// Every use of a variable in a text, and those among them that only read it.
struct Uses {
  std::set<const clang::DeclRefExpr*> all, reads;
};
Uses uses_in(clang::Stmt* statement);

// Of a kernel's definition.
LoopNest nest_of(clang::ASTContext& context, const Syntax& syntax, clang::FunctionDecl& kernel);

}  // namespace heddle::kernelc

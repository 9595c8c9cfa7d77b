// What becomes of a kernel's levels and of its variables in one order of dimensions and loops.
#pragma once

#include "tools/kernelc/nest.hpp"

namespace clang {
class VarDecl;
}

namespace heddle::kernelc {

// Where dimensions are inside of a loop, what stands before, in and behind it is done by all their points in turn. A
// variable that lives longer than one of these parts is
enum class Life {
  kept,      // not such a one: it stays as it is
  computed,  // again in every part, from ids and parameters, which leaves indices to be seen through
  shared,    // one for all points: they agree on its value
  each       // an element of an array per point
};

struct Variable {
  const clang::VarDecl* declaration = nullptr;
  std::size_t level = 0;
  Life life = Life::kept;
  std::string name;        // in the new text, where it is not kept
  bool never_set = false;  // but by its initialiser
  bool alike = false;      // at all points
  bool elsewhere = false;  // it is used in another part than its declaration
};

struct LevelPlan {
  std::string opened;  // dimensions whose loops begin right before this level
  std::string inner;   // those that are still to begin further inside
  bool alike = false;  // its loop counts the same for all points
};

struct Plan {
  std::vector<LevelPlan> levels;
  std::map<const clang::VarDecl*, Variable>
      variables;  // declared where `inner` is not empty, and not within statements

  const Variable* find(const clang::DeclRefExpr& use) const;
};

Plan plan_of(const LoopNest& nest, const std::string& order, const std::string& prefix);

// An integer that every part can compute for itself; `alike`: a number that is the same at all points.
bool computable(const Plan& plan, const clang::Expr& expression, bool alike);

}  // namespace heddle::kernelc

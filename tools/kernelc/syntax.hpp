// The functions of a program and the calls between them, as the syntax tree has them, with positions in the text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/facts.hpp"

namespace clang {
class ASTContext;
class CallExpr;
class FunctionDecl;
class ParmVarDecl;
}  // namespace clang

namespace heddle::kernelc {

struct Call {
  const clang::FunctionDecl* caller;  // canonical declarations, as everywhere here
  const clang::FunctionDecl* callee;  // null where it cannot be told
  clang::CallExpr* expression;
  std::string name;  // of the callee
};

// What a function does that has to do with cutting, beside calling others.
struct Oddity {
  const clang::FunctionDecl* function;
  std::string what;  // as it reads in "cannot be cut: ..."
};

struct Syntax {
  std::vector<clang::FunctionDecl*> declarations;  // every declaration of every function of the program, in order
  std::vector<Call> calls;
  std::vector<Oddity> oddities;
  bool looks_at_addresses = false;  // pointers are compared, subtracted or made numbers

  std::set<const clang::FunctionDecl*> own;                                 // all of them
  std::set<std::string> other_names;                                        // of variables, types and enumerators
  std::map<const clang::FunctionDecl*, std::vector<std::size_t>> calls_of;  // places in `calls`

  bool is_own(const clang::FunctionDecl* function) const { return own.count(function) > 0; }  // so no builtin
  // Functions that call one of `names`, or a function that does; with them those that call a kernel.
  std::set<const clang::FunctionDecl*> that_reach(const std::set<std::string>& names) const;
  // These functions, and those that call one of them.
  std::set<const clang::FunctionDecl*> with_callers(std::vector<const clang::FunctionDecl*> functions) const;
  // `from` and everything it calls.
  std::set<const clang::FunctionDecl*> reached_from(const clang::FunctionDecl* from) const;
};

// Whether any declaration of the function says so: the others need not.
bool is_kernel(const clang::FunctionDecl& function);

// Where what an argument of a kernel points to is, or what else it is.
core::AddressSpace space_of(const clang::ParmVarDecl& parameter);

Syntax read_syntax(clang::ASTContext& context);

}  // namespace heddle::kernelc

// The text of a kernel's statements and expressions as a schedule needs it: ids and variables under their new names.
#pragma once

#include <utility>

#include <clang/Basic/SourceLocation.h>

#include "tools/kernelc/schedule_plan.hpp"

namespace clang {
class DeclStmt;
class SourceManager;
}  // namespace clang

namespace heddle::kernelc {

// A piece of the new text, and the variables that must be computed before it.
struct Piece {
  std::string text;
  std::set<const Variable*> needs = {};

  void add(const Piece& more) {
    text += more.text;
    needs.insert(more.needs.begin(), more.needs.end());
  }
};

class RenamedText {
 public:
  RenamedText(clang::ASTContext& context, const std::string& text, const Plan& plan, const std::string& prefix);

  // From the first token to behind the last.
  std::pair<std::size_t, std::size_t> range(clang::SourceLocation first, clang::SourceLocation last) const;

  Piece expression(const clang::Expr* expression);
  Piece statement(clang::Stmt* statement);
  Piece statements(const std::vector<clang::Stmt*>& all);
  Piece condition(const Level& level);
  Piece head(const clang::ForStmt& loop);  // for (...)

  // The declaration of something that can be set later: `type name`, with the variable's own extents.
  std::string declared(const Variable& variable, const std::string& name);

  // What things are called: a variable, the part behind an array's name that says which point, the first id of a tile,
  // and the place in it.
  std::string element(const Variable& variable) const;
  std::string element(std::size_t level) const;
  std::string first(int dimension) const { return prefix_ + "first_" + "xyz"[dimension]; }
  std::string at(char dimension) const { return prefix_ + dimension; }

  const std::string& refused() const { return refused_; }  // why something has no text; empty: all has

 private:
  Piece renamed(clang::SourceLocation first, clang::SourceLocation last, const std::vector<clang::Stmt*>& parts);
  Piece declarations(const clang::DeclStmt& all);
  void refuse(const std::string& why);

  clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  const std::string& text_;
  const Plan& plan_;
  const std::string prefix_;
  std::string refused_;
};

}  // namespace heddle::kernelc

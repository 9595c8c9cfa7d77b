// What forms with hidden arguments share: places in the text of a program's functions, and adding to parameters and
// calls there.
#pragma once

#include <optional>
#include <string>

#include <clang/Basic/SourceLocation.h>

#include "tools/kernelc/edits.hpp"
#include "tools/kernelc/syntax.hpp"

namespace clang {
class Stmt;
class Token;
}  // namespace clang

namespace heddle::kernelc {

// In a form's own text `@` stands for the prefix of all its names, one that the program does not use.
std::string with_prefix(std::string text, const std::string& prefix);

// Defines @STATIC, which stands before functions of a form: OpenCL C has `static` from 1.2 on.
extern const char* const static_macro;

class KernelText {
 public:
  KernelText(clang::ASTContext& context, const Syntax& syntax, const std::string& text);

  // Where a token of the text stands; nothing for what a macro of the standard library made.
  std::optional<std::size_t> position(clang::SourceLocation location) const;
  // The place behind a token.
  std::optional<std::size_t> behind(clang::SourceLocation location) const;
  // Where a body's own text begins: behind its brace, and behind pragmas that must be first.
  std::optional<std::size_t> inside(const clang::Stmt& body) const;
  std::optional<clang::Token> token_after(clang::SourceLocation location) const;

  // The parentheses around the parameters of a declaration. Nothing where there are none, or no room in them: then it
  // is refused, unless the declaration is not needed.
  struct Parameters {
    std::size_t open, close;
    bool any;
  };
  std::optional<Parameters> parameters(clang::FunctionDecl& function);

  // From its name on. Nothing where it was found before: a tree may hold one call twice, as initialisers do.
  struct CallText {
    std::size_t name, open, close;
    bool any;
  };
  std::optional<CallText> call(const Call& call);

  void refuse(const std::string& why) {
    if (refused_.empty()) refused_ = why;
  }
  const std::string& refused() const { return refused_; }

  Edits edits;
  const std::string prefix;

 private:
  std::optional<std::size_t> parenthesis(clang::SourceLocation name) const;
  bool rename(const clang::FunctionDecl& function);

  clang::ASTContext& context_;
  const Syntax& syntax_;
  const std::string& text_;
  std::string refused_;
  std::set<std::size_t> found_;
};

}  // namespace heddle::kernelc

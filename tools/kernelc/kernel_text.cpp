// Positions by the syntax tree and the lexer.
#include "tools/kernelc/kernel_text.hpp"

#include <algorithm>
#include <cstring>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

namespace heddle::kernelc {

namespace {

// Pragmas that must stand where a body begins. Others, as one that belongs to a loop, stay with what follows them.
bool begins_body(const std::string& text, std::size_t at) {
  for (const char* pragma : {"#pragma OPENCL ", "#pragma STDC ", "#pragma clang fp "}) {
    if (text.compare(at, std::strlen(pragma), pragma) == 0) return true;
  }
  return false;
}

}  // namespace

std::string with_prefix(std::string text, const std::string& prefix) {
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += prefix.size())
    text.replace(at, 1, prefix);
  return text;
}

const char* const static_macro = R"(#if defined(__OPENCL_C_VERSION__) && __OPENCL_C_VERSION__ < 120
#define @STATIC
#else
#define @STATIC static
#endif
)";

KernelText::KernelText(clang::ASTContext& context, const Syntax& syntax, const std::string& text)
    : prefix(free_prefix(text)), context_(context), syntax_(syntax), text_(text) {}

std::optional<std::size_t> KernelText::position(clang::SourceLocation location) const {
  const auto& sources = context_.getSourceManager();
  const auto spelt = sources.getSpellingLoc(location);
  if (!location.isValid() || !sources.isInMainFile(spelt)) return std::nullopt;
  return sources.getFileOffset(spelt);
}

std::optional<std::size_t> KernelText::behind(clang::SourceLocation location) const {
  const auto at = position(location);
  if (!at) return std::nullopt;
  const auto& sources = context_.getSourceManager();
  return *at + clang::Lexer::MeasureTokenLength(sources.getSpellingLoc(location), sources, context_.getLangOpts());
}

std::optional<std::size_t> KernelText::inside(const clang::Stmt& body) const {
  auto out = behind(body.getBeginLoc());  // the brace may be written as <%
  for (;;) {
    const std::size_t next = out ? text_.find_first_not_of(" \t\r\n", *out) : std::string::npos;
    if (next == std::string::npos || !begins_body(text_, next)) return out;
    out = std::min(text_.find('\n', next), text_.size());
  }
}

std::optional<clang::Token> KernelText::token_after(clang::SourceLocation location) const {
  const auto& sources = context_.getSourceManager();
  return clang::Lexer::findNextToken(sources.getSpellingLoc(location), sources, context_.getLangOpts());
}

std::optional<KernelText::Parameters> KernelText::parameters(clang::FunctionDecl& function) {
  const auto* written = function.getTypeSourceInfo();
  const auto type = written ? written->getTypeLoc().getAsAdjusted<clang::FunctionTypeLoc>() : clang::FunctionTypeLoc();
  const auto open = type ? position(type.getLParenLoc()) : std::nullopt;
  const auto close = type ? position(type.getRParenLoc()) : std::nullopt;
  const bool any = function.getNumParams() > 0;
  if (!type && rename(function)) return std::nullopt;
  if (!open || !close || (any && !function.hasPrototype())) {
    refuse("'" + function.getNameAsString() + "' is declared in a way that has no place for arguments");
    return std::nullopt;
  }
  if (!any) edits.erase(*open + 1, *close - *open - 1);  // (void)
  return Parameters{*open, *close, any};
}

// `fn helper;`, where fn is a type. There is nothing to add an argument to, but where the function is only called
// after its definition it is not needed: it becomes the declaration of something that nobody calls.
bool KernelText::rename(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* definition = function.getDefinition();
  const auto defined = definition ? position(definition->getLocation()) : std::nullopt;
  const auto name = position(function.getLocation());
  if (!defined || !name) return false;
  for (const Call& call : syntax_.calls) {
    const auto at = position(call.expression->getBeginLoc());
    if (call.callee == function.getCanonicalDecl() && (!at || *at < *defined)) return false;
  }
  edits.insert(*name, prefix + "unused_");
  return true;
}

// The parenthesis after a callee's name, found by the lexer: there may be anything between them.
std::optional<std::size_t> KernelText::parenthesis(clang::SourceLocation name) const {
  const auto next = token_after(name);
  if (!next || !next->is(clang::tok::l_paren)) return std::nullopt;
  return position(next->getLocation());
}

std::optional<KernelText::CallText> KernelText::call(const Call& call) {
  const auto name = position(call.expression->getCallee()->getBeginLoc());
  const auto open = parenthesis(call.expression->getCallee()->getEndLoc());
  const auto close = position(call.expression->getRParenLoc());
  if (!name || !open || !close) {
    refuse("the call of '" + call.name + "' cannot be found in the text");
    return std::nullopt;
  }
  if (!found_.insert(*name).second) return std::nullopt;
  return CallText{*name, *open, *close, call.expression->getNumArgs() > 0};
}

}  // namespace heddle::kernelc

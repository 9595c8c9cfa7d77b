// Box form: the kernel computes any box of groups of a launch. Four hidden arguments at the end of every kernel say
// which (core/box_form.hpp fills them); calls that ask for the group's place answer for the whole launch; local ids and
// sizes stay as they are. Built with -DHEDDLE_COUNTED, a launch with a count of zero does nothing, and so prepares a
// kernel.
// Window form: the box form of a kernel whose buffers hold only a part of its arguments. One more hidden argument per
// pointer to global memory says with which byte that part begins, and the pointer is moved back by so much.
#include "core/box_form.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include "tools/kernelc/edits.hpp"
#include "tools/kernelc/rewrite.hpp"

namespace heddle::kernelc {

namespace {

const std::set<std::string> place_functions = {"get_global_id",   "get_group_id",      "get_num_groups",
                                               "get_global_size", "get_global_offset", "get_global_linear_id"};

// What the sums in place of calls are written with.
constexpr const char* written_names[] = {"get_global_id", "get_group_id", "get_local_size", "size_t"};

// uint4: vectors of 16 bytes travel in registers; those of 32 are passed in memory on Arm and x86.
// HEDDLE_COUNTED: the test of the count stands in the middle of the loop that PoCL makes over work-items, and costs up
// to 12 % where it keeps that from being vectorised well, so only those who need it have it.
// `@` becomes the prefix of all names, one that the program does not use.
constexpr const char* preamble = R"(typedef struct { uint4 base, count, groups, offset; } @box_t;
)";
// For dimensions that the kernel computes.
constexpr const char* functions = R"(#if defined(__OPENCL_C_VERSION__) && __OPENCL_C_VERSION__ < 120
#define @STATIC
#else
#define @STATIC static
#endif
@STATIC size_t @of(uint4 v, uint d, size_t other) {
  return d == 0 ? (size_t)v.s0 : d == 1 ? (size_t)v.s1 : d == 2 ? (size_t)v.s2 : other;
}
@STATIC size_t @get_group_id(@box_t b, uint d) { return get_group_id(d) + @of(b.base, d, 0); }
@STATIC size_t @get_num_groups(@box_t b, uint d) { return @of(b.groups, d, get_num_groups(d)); }
@STATIC size_t @get_global_offset(@box_t b, uint d) { return @of(b.offset, d, 0); }
@STATIC size_t @get_global_size(@box_t b, uint d) {
  return d < 3 ? @of(b.groups, d, 1) * get_local_size(d) : get_global_size(d);
}
@STATIC size_t @get_global_id(@box_t b, uint d) {
  return get_global_id(d) + @of(b.base, d, 0) * get_local_size(d) + @of(b.offset, d, 0);
}
@STATIC size_t @get_global_linear_id(@box_t b) {
  size_t x = get_global_id(0) + (size_t)b.base.s0 * get_local_size(0);
  size_t y = get_global_id(1) + (size_t)b.base.s1 * get_local_size(1);
  size_t z = get_global_id(2) + (size_t)b.base.s2 * get_local_size(2);
  return (z * @get_global_size(b, 1) + y) * @get_global_size(b, 0) + x;
}
)";

std::string with_prefix(std::string text, const std::string& prefix) {
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += prefix.size())
    text.replace(at, 1, prefix);
  return text;
}

// Pragmas that must stand where a body begins. Others, as one that belongs to a loop, stay with what follows them.
bool begins_body(const std::string& text, std::size_t at) {
  for (const char* pragma : {"#pragma OPENCL ", "#pragma STDC ", "#pragma clang fp "}) {
    if (text.compare(at, std::strlen(pragma), pragma) == 0) return true;
  }
  return false;
}

class BoxForm {
 public:
  BoxForm(clang::ASTContext& context, const Syntax& syntax, const std::string& text, bool windows)
      : context_(context),
        syntax_(syntax),
        text_(text),
        windows_(windows),
        prefix_(free_prefix(text)),
        places_(syntax.that_reach(place_functions)),
        shadowed_(std::any_of(std::begin(written_names), std::end(written_names),
                              [&](const char* name) { return syntax.other_names.count(name) > 0; })) {}

  Rewritten run() {
    if (windows_ && syntax_.looks_at_addresses) refuse("it looks at addresses, which differ in windows");
    for (clang::FunctionDecl* declaration : syntax_.declarations) declare(*declaration);
    for (const Call& call : syntax_.calls) change(call);
    if (!refused_.empty()) return {"", refused_};
    return {with_prefix(std::string(preamble) + (computes_dimensions_ ? functions : ""), prefix_) + edits_.apply(text_),
            ""};
  }

 private:
  // Where a token of the text stands; nothing for what a macro of the standard library made.
  std::optional<std::size_t> position(clang::SourceLocation location) const {
    const auto& sources = context_.getSourceManager();
    const auto spelt = sources.getSpellingLoc(location);
    if (!location.isValid() || !sources.isInMainFile(spelt)) return std::nullopt;
    return sources.getFileOffset(spelt);
  }

  void refuse(const std::string& why) {
    if (refused_.empty()) refused_ = why;
  }

  void declare(clang::FunctionDecl& function) {
    const bool kernel = is_kernel(function);
    if (!kernel && !places_.count(function.getCanonicalDecl())) return;
    const auto* written = function.getTypeSourceInfo();
    const auto type =
        written ? written->getTypeLoc().getAsAdjusted<clang::FunctionTypeLoc>() : clang::FunctionTypeLoc();
    const auto open = type ? position(type.getLParenLoc()) : std::nullopt;
    const auto close = type ? position(type.getRParenLoc()) : std::nullopt;
    const bool any = function.getNumParams() > 0;
    if (!type && rename(function)) return;
    if (!open || !close || (any && !function.hasPrototype()))
      return refuse("'" + function.getNameAsString() + "' is declared in a way that has no place for arguments");
    if (!any) edits_.erase(*open + 1, *close - *open - 1);  // (void)
    if (!kernel)
      return edits_.insert(*open + 1, with_prefix(any ? "const @box_t @box, " : "const @box_t @box", prefix_));
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      const llvm::StringRef name = parameter->getName();
      if (name == "uint4" || (windows_ && (name == "ulong" || name == "size_t")))
        return refuse("a parameter has the name of a type, " + name.str());
    }
    std::string hidden = any ? ", " : "";
    hidden += "const uint4 @base, const uint4 @count, const uint4 @groups, const uint4 @offset";
    for (unsigned i : windowed(function)) hidden += ", const ulong @begin" + std::to_string(i);
    edits_.insert(*close, with_prefix(hidden, prefix_));
    if (!function.doesThisDeclarationHaveABody()) return;
    const auto body = inside(function.getBody()->getBeginLoc());
    if (!body) return refuse("the body of '" + function.getNameAsString() + "' cannot be found in the text");
    std::string begin = "\n#ifdef HEDDLE_COUNTED\n  if (@count.s0 == 0) return;\n#endif\n";
    if (places_.count(function.getCanonicalDecl()))
      begin += "  const @box_t @box = {@base, @count, @groups, @offset};\n";
    for (unsigned i : windowed(function)) begin += moved_back(*function.getParamDecl(i), i);
    edits_.insert(*body, with_prefix(begin, prefix_));
  }

  // The numbers of the parameters that have windows.
  std::vector<unsigned> windowed(const clang::FunctionDecl& kernel) const {
    std::vector<unsigned> out;
    for (unsigned i = 0; windows_ && i < kernel.getNumParams(); ++i) {
      if (core::windowed({.space = space_of(*kernel.getParamDecl(i))})) out.push_back(i);
    }
    return out;
  }

  // In whole numbers, as there is no pointer to a place before an object; through void*, which becomes any pointer.
  std::string moved_back(const clang::ParmVarDecl& parameter, unsigned number) {
    const std::string name = parameter.getNameAsString();
    if (name.empty()) return "";
    if (parameter.getType().isConstQualified() && !erase_const(parameter))
      refuse("the const of parameter '" + name + "' cannot be found in the text");
    return "  " + name + " = (__global void*)((size_t)" + name + " - (size_t)@begin" + std::to_string(number) + ");\n";
  }

  // That of the pointer itself, between its star and its name. A type's name or an array may say it, too.
  bool erase_const(const clang::ParmVarDecl& parameter) {
    const auto* written = parameter.getTypeSourceInfo();
    const auto pointer = written ? written->getTypeLoc().getUnqualifiedLoc().getAsAdjusted<clang::PointerTypeLoc>()
                                 : clang::PointerTypeLoc();
    const auto name = position(parameter.getLocation());
    if (!pointer || !position(pointer.getStarLoc()) || !name) return false;
    bool found = false;
    int depth = 0;  // of parentheses: attributes may be const as well
    for (auto token = token_after(pointer.getStarLoc()); token; token = token_after(token->getLocation())) {
      const auto at = position(token->getLocation());
      if (!at || *at >= *name) break;
      depth += token->is(clang::tok::l_paren) - token->is(clang::tok::r_paren);
      if (depth > 0 || !token->is(clang::tok::raw_identifier)) continue;
      const llvm::StringRef word = token->getRawIdentifier();
      if (word != "const" && word != "__const" && word != "__const__") continue;
      edits_.erase(*at, token->getLength());
      found = true;
    }
    return found;
  }

  // `fn helper;`, where fn is a type. There is nothing to add an argument to, but where the function is only called
  // after its definition it is not needed: it becomes the declaration of something that nobody calls.
  bool rename(const clang::FunctionDecl& function) {
    const clang::FunctionDecl* definition = function.getDefinition();
    const auto defined = definition ? position(definition->getLocation()) : std::nullopt;
    const auto name = position(function.getLocation());
    if (!defined || !name) return false;
    for (const Call& call : syntax_.calls) {
      const auto at = position(call.expression->getBeginLoc());
      if (call.callee == function.getCanonicalDecl() && (!at || *at < *defined)) return false;
    }
    edits_.insert(*name, prefix_ + "unused_");
    return true;
  }

  // Where a body's own text begins: behind its brace, which may be written as <%, and behind pragmas that must be
  // first.
  std::optional<std::size_t> inside(clang::SourceLocation brace) const {
    const auto at = position(brace);
    if (!at) return std::nullopt;
    const auto& sources = context_.getSourceManager();
    std::size_t out =
        *at + clang::Lexer::MeasureTokenLength(sources.getSpellingLoc(brace), sources, context_.getLangOpts());
    for (;;) {
      const std::size_t next = text_.find_first_not_of(" \t\r\n", out);
      if (next == std::string::npos || !begins_body(text_, next)) return out;
      out = std::min(text_.find('\n', next), text_.size());
    }
  }

  std::optional<clang::Token> token_after(clang::SourceLocation location) const {
    const auto& sources = context_.getSourceManager();
    return clang::Lexer::findNextToken(sources.getSpellingLoc(location), sources, context_.getLangOpts());
  }

  // The parenthesis after a callee's name, found by the lexer: there may be anything between them.
  std::optional<std::size_t> parenthesis(clang::SourceLocation name) const {
    const auto next = token_after(name);
    if (!next || !next->is(clang::tok::l_paren)) return std::nullopt;
    return position(next->getLocation());
  }

  void change(const Call& call) {
    if (!call.callee) return;
    const bool asks = place_functions.count(call.name) && !syntax_.is_own(call.callee);
    const bool kernel = is_kernel(*call.callee);
    if (!asks && !kernel && !places_.count(call.callee)) return;
    const auto name = position(call.expression->getCallee()->getBeginLoc());
    const auto open = parenthesis(call.expression->getCallee()->getEndLoc());
    const auto close = position(call.expression->getRParenLoc());
    if (!name || !open || !close) return refuse("the call of '" + call.name + "' cannot be found in the text");
    if (!changed_.insert(*name).second) return;  // a tree may hold one call twice, as initialisers do
    const bool any = call.expression->getNumArgs() > 0;
    if (kernel) {
      std::string hidden = "@box.base, @box.count, @box.groups, @box.offset";
      for (std::size_t i = windowed(*call.callee).size(); i > 0; --i) hidden += ", 0";  // they are moved already
      return edits_.insert(*close, with_prefix((any ? ", " : "") + hidden, prefix_));
    }
    if (!asks) return edits_.insert(*open + 1, with_prefix(any ? "@box, " : "@box", prefix_));
    ask(call, *name, *open, *close);
  }

  // Constant dimensions, which is nearly all, become plain sums: what compilers vectorise.
  void ask(const Call& call, std::size_t name, std::size_t open, std::size_t close) {
    const bool any = call.expression->getNumArgs() > 0;
    clang::Expr::EvalResult value;
    std::optional<unsigned> dimension;
    if (any && !shadowed_ && call.expression->getArg(0)->EvaluateAsInt(value, context_) && !value.HasSideEffects) {
      const llvm::APSInt d = value.Val.getInt();
      if (d.isNonNegative() && d.getActiveBits() <= 2 && d.getZExtValue() < 3) dimension = d.getZExtValue();
    }
    if (!dimension) {
      computes_dimensions_ = true;
      edits_.insert(name, prefix_);
      return edits_.insert(open + 1, with_prefix(any ? "@box, " : "@box", prefix_));
    }
    const std::string s = ".s" + std::to_string(*dimension), d = std::to_string(*dimension);
    std::string text = "((size_t)@box.offset" + s + ")";
    if (call.name == "get_group_id") text = "(get_group_id(" + d + ") + (size_t)@box.base" + s + ")";
    if (call.name == "get_num_groups") text = "((size_t)@box.groups" + s + ")";
    if (call.name == "get_global_size") text = "((size_t)@box.groups" + s + " * get_local_size(" + d + "))";
    if (call.name == "get_global_id")
      text = "(get_global_id(" + d + ") + ((size_t)@box.base" + s + " * get_local_size(" + d +
             ") + (size_t)@box.offset" + s + "))";
    edits_.erase(name, close + 1 - name);
    edits_.insert(name, with_prefix(text, prefix_));
  }

  clang::ASTContext& context_;
  const Syntax& syntax_;
  const std::string& text_;
  const bool windows_;
  const std::string prefix_;
  const std::set<const clang::FunctionDecl*> places_;  // functions that need to know the box
  const bool shadowed_;                                // calls cannot be written out where they stand
  Edits edits_;
  std::set<std::size_t> changed_;
  std::string refused_;
  bool computes_dimensions_ = false;
};

}  // namespace

Rewritten box_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text, const std::string&) {
  return BoxForm(context, syntax, text, false).run();
}

Rewritten window_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text, const std::string&) {
  return BoxForm(context, syntax, text, true).run();
}

}  // namespace heddle::kernelc

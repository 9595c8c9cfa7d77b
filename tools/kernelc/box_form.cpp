// Box form: the kernel computes any box of groups of a launch. Four hidden arguments at the end of every kernel say
// which (core/box_form.hpp fills them); calls that ask for the group's place answer for the whole launch; local ids and
// sizes stay as they are. Built with -DHEDDLE_COUNTED, a launch with a count of zero does nothing, and so prepares a
// kernel.
// Window form: the box form of a kernel whose buffers hold only a part of its arguments. One more hidden argument per
// pointer to global memory says with which byte that part begins, and the pointer is moved back by so much.
// Merge form: the box form of a kernel that stores what another memory holds at the same place (stores.cpp). Two more
// hidden arguments per pointer to global memory are that other memory and its size.
#include "core/box_form.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/TypeLoc.h>
#include <clang/Lex/Token.h>

#include "tools/kernelc/kernel_text.hpp"
#include "tools/kernelc/rewrite.hpp"
#include "tools/kernelc/stores.hpp"

namespace heddle::kernelc {

namespace {

const std::set<std::string> place_functions = {"get_global_id",   "get_group_id",      "get_num_groups",
                                               "get_global_size", "get_global_offset", "get_global_linear_id"};

// What the sums in place of calls are written with.
constexpr const char* written_names[] = {"get_global_id", "get_group_id", "get_local_size", "size_t"};

// uint4: vectors of 16 bytes travel in registers; those of 32 are passed in memory on Arm and x86.
// HEDDLE_COUNTED: the test of the count stands in the middle of the loop that PoCL makes over work-items, and costs up
// to 12 % where it keeps that from being vectorised well, so only those who need it have it.
constexpr const char* preamble = R"(typedef struct { uint4 base, count, groups, offset; } @box_t;
)";
constexpr const char* merging_preamble = R"(typedef struct {
  uint4 base, count, groups, offset;
  __global uchar *begin[@PAIRS], *other[@PAIRS];
  ulong bytes[@PAIRS];
} @box_t;
)";
// What is written between the program's own text.
constexpr const char* merging_names[] = {"size_t", "uint", "uchar", "ulong"};
// For dimensions that the kernel computes.
constexpr const char* functions = R"(@STATIC size_t @of(uint4 v, uint d, size_t other) {
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

class BoxForm {
 public:
  enum class Kind { box, window, merge };
  BoxForm(clang::ASTContext& context, const Syntax& syntax, const std::string& text, Kind kind)
      : context_(context),
        syntax_(syntax),
        text_(text),
        windows_(kind == Kind::window),
        merges_(kind == Kind::merge),
        at_(context, syntax, text),
        places_(syntax.that_reach(place_functions)),
        shadowed_(std::any_of(std::begin(written_names), std::end(written_names),
                              [&](const char* name) { return syntax.other_names.count(name) > 0; })) {}

  Rewritten run() {
    if (windows_ && syntax_.looks_at_addresses) at_.refuse("it looks at addresses, which differ in windows");
    if (merges_ && syntax_.looks_at_addresses) at_.refuse("it looks at addresses, which differ between memories");
    if (merges_) replace_stores();
    for (clang::FunctionDecl* declaration : syntax_.declarations) declare(*declaration);
    for (const Call& call : syntax_.calls) change(call);
    if (merges_ && most_pairs_ == 0) at_.refuse("it stores to no buffer");
    if (!at_.refused().empty()) return {"", at_.refused()};
    std::string begin = merges_ ? "#define @PAIRS " + std::to_string(most_pairs_) + "\n" + merging_preamble : preamble;
    if (computes_dimensions_ || merges_) begin += static_macro;
    if (computes_dimensions_) begin += functions;
    if (merges_) begin += taking_functions;
    return {named(begin) + at_.edits.apply(text_), ""};
  }

 private:
  std::string named(const std::string& text) const { return with_prefix(text, at_.prefix); }

  void replace_stores() {
    for (const char* name : merging_names) {
      if (syntax_.other_names.count(name)) at_.refuse(std::string("something of its own is called ") + name);
    }
    const auto storing = syntax_.with_callers(take_instead_of_stores(context_, syntax_, at_));
    places_.insert(storing.begin(), storing.end());
  }

  void declare(clang::FunctionDecl& function) {
    const bool kernel = is_kernel(function);
    if (!kernel && !places_.count(function.getCanonicalDecl())) return;
    const auto parameters = at_.parameters(function);
    if (!parameters) return;
    if (!kernel)
      return at_.edits.insert(parameters->open + 1,
                              named(parameters->any ? "const @box_t @box, " : "const @box_t @box"));
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      const llvm::StringRef name = parameter->getName();
      if (name == "uint4" || (windows_ && (name == "ulong" || name == "size_t")))
        return at_.refuse("a parameter has the name of a type, " + name.str());
    }
    std::string hidden = parameters->any ? ", " : "";
    hidden += "const uint4 @base, const uint4 @count, const uint4 @groups, const uint4 @offset";
    const std::vector<unsigned> buffers = buffers_of(function);
    for (unsigned i : buffers) {
      const std::string number = std::to_string(i);
      if (windows_) hidden += ", const ulong @begin" + number;
      if (merges_) hidden += ", __global uchar* const @other" + number + ", const ulong @bytes" + number;
    }
    at_.edits.insert(parameters->close, named(hidden));
    if (!function.doesThisDeclarationHaveABody()) return;
    const auto body = at_.inside(*function.getBody());
    if (!body) return at_.refuse("the body of '" + function.getNameAsString() + "' cannot be found in the text");
    std::string begin = "\n#ifdef HEDDLE_COUNTED\n  if (@count.s0 == 0) return;\n#endif\n";
    if (places_.count(function.getCanonicalDecl()))
      begin +=
          "  const @box_t @box = {@base, @count, @groups, @offset" + (merges_ ? pairs(function, buffers) : "") + "};\n";
    for (unsigned i : buffers) {
      if (windows_) begin += moved_back(*function.getParamDecl(i), i);
    }
    at_.edits.insert(*body, named(begin));
  }

  // The numbers of the parameters that have hidden arguments of their own.
  std::vector<unsigned> buffers_of(const clang::FunctionDecl& kernel) const {
    std::vector<unsigned> out;
    for (unsigned i = 0; (windows_ || merges_) && i < kernel.getNumParams(); ++i) {
      if (core::windowed({.space = space_of(*kernel.getParamDecl(i))})) out.push_back(i);
    }
    return out;
  }

  // Where each buffer begins here, and what the other memory has for it. Nobody stores to what has no name or is const.
  std::string pairs(const clang::FunctionDecl& kernel, const std::vector<unsigned>& buffers) {
    std::string begins, others, sizes;
    std::size_t count = 0;
    for (unsigned i : buffers) {
      const std::string name = kernel.getParamDecl(i)->getNameAsString();
      if (name.empty() || kernel.getParamDecl(i)->getType()->getPointeeType().isConstQualified()) continue;
      begins += (begins.empty() ? "(__global uchar*)" : ", (__global uchar*)") + name;
      others += (others.empty() ? "@other" : ", @other") + std::to_string(i);
      sizes += (sizes.empty() ? "@bytes" : ", @bytes") + std::to_string(i);
      ++count;
    }
    most_pairs_ = std::max(most_pairs_, count);
    return begins.empty() ? "" : ", {" + begins + "}, {" + others + "}, {" + sizes + "}";
  }

  // In whole numbers, as there is no pointer to a place before an object; through void*, which becomes any pointer.
  std::string moved_back(const clang::ParmVarDecl& parameter, unsigned number) {
    const std::string name = parameter.getNameAsString();
    if (name.empty()) return "";
    if (parameter.getType().isConstQualified() && !erase_const(parameter))
      at_.refuse("the const of parameter '" + name + "' cannot be found in the text");
    return "  " + name + " = (__global void*)((size_t)" + name + " - (size_t)@begin" + std::to_string(number) + ");\n";
  }

  // That of the pointer itself, between its star and its name. A type's name or an array may say it, too.
  bool erase_const(const clang::ParmVarDecl& parameter) {
    const auto* written = parameter.getTypeSourceInfo();
    const auto pointer = written ? written->getTypeLoc().getUnqualifiedLoc().getAsAdjusted<clang::PointerTypeLoc>()
                                 : clang::PointerTypeLoc();
    const auto name = at_.position(parameter.getLocation());
    if (!pointer || !at_.position(pointer.getStarLoc()) || !name) return false;
    bool found = false;
    int depth = 0;  // of parentheses: attributes may be const as well
    for (auto token = at_.token_after(pointer.getStarLoc()); token; token = at_.token_after(token->getLocation())) {
      const auto at = at_.position(token->getLocation());
      if (!at || *at >= *name) break;
      depth += token->is(clang::tok::l_paren) - token->is(clang::tok::r_paren);
      if (depth > 0 || !token->is(clang::tok::raw_identifier)) continue;
      const llvm::StringRef word = token->getRawIdentifier();
      if (word != "const" && word != "__const" && word != "__const__") continue;
      at_.edits.erase(*at, token->getLength());
      found = true;
    }
    return found;
  }

  void change(const Call& call) {
    if (!call.callee) return;
    const bool asks = place_functions.count(call.name) && !syntax_.is_own(call.callee);
    const bool kernel = is_kernel(*call.callee);
    if (!asks && !kernel && !places_.count(call.callee)) return;
    const auto where = at_.call(call);
    if (!where) return;
    if (kernel) {
      if (merges_) return at_.refuse("a kernel calls a kernel");
      std::string hidden = "@box.base, @box.count, @box.groups, @box.offset";
      for (std::size_t i = buffers_of(*call.callee).size(); i > 0; --i) hidden += ", 0";  // they are moved already
      return at_.edits.insert(where->close, named((where->any ? ", " : "") + hidden));
    }
    if (!asks) return at_.edits.insert(where->open + 1, named(where->any ? "@box, " : "@box"));
    ask(call, *where);
  }

  // Constant dimensions, which is nearly all, become plain sums: what compilers vectorise.
  void ask(const Call& call, const KernelText::CallText& where) {
    clang::Expr::EvalResult value;
    std::optional<unsigned> dimension;
    if (where.any && !shadowed_ && call.expression->getArg(0)->EvaluateAsInt(value, context_) &&
        !value.HasSideEffects) {
      const llvm::APSInt d = value.Val.getInt();
      if (d.isNonNegative() && d.getActiveBits() <= 2 && d.getZExtValue() < 3) dimension = d.getZExtValue();
    }
    if (!dimension) {
      computes_dimensions_ = true;
      at_.edits.insert(where.name, at_.prefix);
      return at_.edits.insert(where.open + 1, named(where.any ? "@box, " : "@box"));
    }
    const std::string s = ".s" + std::to_string(*dimension), d = std::to_string(*dimension);
    std::string text = "((size_t)@box.offset" + s + ")";
    if (call.name == "get_group_id") text = "(get_group_id(" + d + ") + (size_t)@box.base" + s + ")";
    if (call.name == "get_num_groups") text = "((size_t)@box.groups" + s + ")";
    if (call.name == "get_global_size") text = "((size_t)@box.groups" + s + " * get_local_size(" + d + "))";
    if (call.name == "get_global_id")
      text = "(get_global_id(" + d + ") + ((size_t)@box.base" + s + " * get_local_size(" + d +
             ") + (size_t)@box.offset" + s + "))";
    at_.edits.erase(where.name, where.close + 1 - where.name);
    at_.edits.insert(where.name, named(text));
  }

  clang::ASTContext& context_;
  const Syntax& syntax_;
  const std::string& text_;
  const bool windows_, merges_;
  KernelText at_;
  std::set<const clang::FunctionDecl*> places_;  // functions that need to know the box
  const bool shadowed_;                          // calls cannot be written out where they stand
  bool computes_dimensions_ = false;
  std::size_t most_pairs_ = 0;  // that a kernel has
};

}  // namespace

Rewritten box_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text, const std::string&) {
  return BoxForm(context, syntax, text, BoxForm::Kind::box).run();
}

Rewritten window_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text, const std::string&) {
  return BoxForm(context, syntax, text, BoxForm::Kind::window).run();
}

Rewritten merge_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text, const std::string&) {
  return BoxForm(context, syntax, text, BoxForm::Kind::merge).run();
}

}  // namespace heddle::kernelc

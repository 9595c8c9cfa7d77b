// Changes of names by the positions that the syntax tree has.
#include "tools/kernelc/renamed_text.hpp"

#include <algorithm>

#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

namespace heddle::kernelc {

namespace {

class Calls : public clang::RecursiveASTVisitor<Calls> {
 public:
  std::vector<clang::CallExpr*> ids;
  bool VisitCallExpr(clang::CallExpr* call) {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee && callee->getName() == "get_global_id") ids.push_back(call);
    return true;
  }
};

// A statement's text ends with its last token but for the semicolon of an expression.
bool needs_semicolon(const clang::Stmt& s) {
  if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(&s))
    return needs_semicolon(branch->getElse() ? *branch->getElse() : *branch->getThen());
  if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(&s)) return needs_semicolon(*loop->getBody());
  if (const auto* loop = llvm::dyn_cast<clang::WhileStmt>(&s)) return needs_semicolon(*loop->getBody());
  if (const auto* some = llvm::dyn_cast<clang::SwitchStmt>(&s)) return needs_semicolon(*some->getBody());
  if (const auto* hinted = llvm::dyn_cast<clang::AttributedStmt>(&s)) return needs_semicolon(*hinted->getSubStmt());
  return !llvm::isa<clang::DeclStmt, clang::CompoundStmt, clang::NullStmt>(s);
}

}  // namespace

RenamedText::RenamedText(clang::ASTContext& context, const std::string& text, const Plan& plan,
                         const std::string& prefix)
    : context_(context), sources_(context.getSourceManager()), text_(text), plan_(plan), prefix_(prefix) {}

void RenamedText::refuse(const std::string& why) {
  if (refused_.empty()) refused_ = why;
}

// A macro of the standard library counts as what it is called by.
std::pair<std::size_t, std::size_t> RenamedText::range(clang::SourceLocation from, clang::SourceLocation to) const {
  const auto last = sources_.getExpansionRange(to).getEnd();
  return {sources_.getFileOffset(sources_.getExpansionLoc(from)),
          sources_.getFileOffset(last) + clang::Lexer::MeasureTokenLength(last, sources_, context_.getLangOpts())};
}

// The text of a range, which holds `parts`, with ids and variables as they are called in the new one.
Piece RenamedText::renamed(clang::SourceLocation begins, clang::SourceLocation ends,
                           const std::vector<clang::Stmt*>& parts) {
  const auto where = range(begins, ends);
  std::map<std::size_t, std::pair<std::size_t, std::string>> changes;  // begin -> length, text
  Piece out;
  auto change = [&](clang::SourceLocation from, clang::SourceLocation to, const std::string& text) {
    const auto begin = sources_.getSpellingLoc(from), last = sources_.getSpellingLoc(to);
    if (!sources_.isInMainFile(begin) || !sources_.isInMainFile(last))
      return refuse("a name cannot be found in the text");
    const std::size_t place = sources_.getFileOffset(begin),
                      end = sources_.getFileOffset(last) +
                            clang::Lexer::MeasureTokenLength(last, sources_, context_.getLangOpts());
    if (place < where.first || end > where.second) return refuse("a name cannot be found in the text");
    changes[place] = {end - place, text};
  };
  for (clang::Stmt* part : parts) {
    if (!part) continue;
    for (const clang::DeclRefExpr* use : uses_in(part).all) {
      const Variable* v = plan_.find(*use);
      if (!v) continue;
      change(use->getLocation(), use->getLocation(), element(*v));
      if (v->life == Life::computed) out.needs.insert(v);
    }
    Calls calls;
    calls.TraverseStmt(part);
    for (const clang::CallExpr* call : calls.ids) {
      clang::Expr::EvalResult value;
      if (!call->getArg(0)->EvaluateAsInt(value, context_)) return refuse("a dimension is computed"), out;
      const auto d = static_cast<int>(value.Val.getInt().getZExtValue());
      change(call->getBeginLoc(), call->getRParenLoc(), "(" + first(d) + " + " + at("xyz"[d]) + ")");
    }
  }
  std::size_t done = where.first;
  for (const auto& [begin, to] : changes) {
    out.text += text_.substr(done, begin - done) + to.second;
    done = begin + to.first;
  }
  out.text += text_.substr(done, where.second - done);
  return out;
}

Piece RenamedText::expression(const clang::Expr* of) {
  return renamed(of->getBeginLoc(), of->getEndLoc(), {const_cast<clang::Expr*>(of)});
}

Piece RenamedText::head(const clang::ForStmt& of) {
  auto& loop = const_cast<clang::ForStmt&>(of);
  return renamed(loop.getForLoc(), loop.getRParenLoc(), {loop.getInit(), loop.getCond(), loop.getInc()});
}

Piece RenamedText::statement(clang::Stmt* s) {
  if (const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(s)) {
    if (std::any_of(declaration->decl_begin(), declaration->decl_end(), [&](const clang::Decl* d) {
          const auto found = plan_.variables.find(llvm::cast<clang::VarDecl>(d));
          return found != plan_.variables.end() && found->second.life != Life::kept;
        }))
      return declarations(*declaration);
  }
  Piece out = renamed(s->getBeginLoc(), s->getEndLoc(), {s});
  out.text += needs_semicolon(*s) ? ";\n" : "\n";
  return out;
}

Piece RenamedText::statements(const std::vector<clang::Stmt*>& all) {
  Piece out;
  for (clang::Stmt* s : all) out.add(statement(s));
  return out;
}

Piece RenamedText::condition(const Level& level) {
  Piece out = expression(level.condition);
  if (level.negated) out.text = "!(" + out.text + ")";
  return out;
}

// Variable by variable, as each lives otherwise.
Piece RenamedText::declarations(const clang::DeclStmt& all) {
  Piece out;
  for (const clang::Decl* d : all.decls()) {
    const auto* variable = llvm::cast<clang::VarDecl>(d);
    const Variable& v = plan_.variables.at(variable);
    if (v.life == Life::computed) continue;
    const std::string name = v.life == Life::kept ? declared(v, variable->getNameAsString()) : element(v);
    Piece value;
    if (const clang::Expr* from = variable->getInit()) {
      if (llvm::isa<clang::InitListExpr>(from->IgnoreParens()))
        refuse("'" + variable->getNameAsString() + "' begins with a list, beside or as what lives across a loop");
      value = expression(from);
      value.text = " = " + value.text;
    } else if (v.life != Life::kept) {
      continue;
    }
    out.add({name + value.text + ";\n", value.needs});
  }
  return out;
}

std::string RenamedText::declared(const Variable& v, const std::string& name) {
  const clang::QualType whole = v.declaration->getType();
  clang::QualType type = whole;
  std::string elements;
  while (const auto* array = context_.getAsConstantArrayType(type)) {
    elements += "[" + std::to_string(array->getSize().getZExtValue()) + "]";
    type = array->getElementType();
  }
  const clang::QualType to = type->isPointerType() ? type->getPointeeType() : type;
  const bool named =
      to->isArithmeticType() || to->isExtVectorType() ||
      (to->isRecordType() && (to->getAsRecordDecl()->getIdentifier() || to->getAs<clang::TypedefType>()));
  if (!named || whole.isVolatileQualified())
    refuse("'" + v.declaration->getNameAsString() +
           "' lives across a loop and is of a type that cannot be written down: " + whole.getAsString());
  return type.getUnqualifiedType().getAsString(context_.getPrintingPolicy()) + " " + name + elements;
}

std::string RenamedText::element(const Variable& v) const {
  std::string out = v.name;
  if (v.life == Life::each) out += element(v.level);
  return out;
}
std::string RenamedText::element(std::size_t level) const {
  std::string out;
  for (char d : plan_.levels[level].inner) out += "[" + at(d) + "]";
  return out;
}
}  // namespace heddle::kernelc

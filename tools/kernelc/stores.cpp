// Finds stores in the syntax tree, and writes others around their text:
//   p[i] = x      becomes  (@take4(@box, (__global void*)&(p[i]), 1), (void)(x))
//   p[i].xz += x  becomes  (@lanes4(@box, (__global void*)&(p[i]), 5), (void)(x))
//   vstore4(...)  becomes  @VSTORE(@take4, 4, 16, @box, ...)
// All that is in front of and behind the operator stays where it is, so that changes inside of it go on working.
#include "tools/kernelc/stores.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/RecursiveASTVisitor.h>

namespace heddle::kernelc {

// In pieces of 1, 2, 4 or 8 bytes, as what is stored is aligned.
const char* const taking_functions = R"(@STATIC __global uchar* @place(const @box_t b, __global void* to) {
  for (uint i = 0; i < @PAIRS; ++i) {
    const size_t at = (size_t)to - (size_t)b.begin[i];
    if (at < b.bytes[i]) return b.other[i] + at;
  }
  return 0;
}
#define @TAKE(name, type) \
  @STATIC void @take##name(const @box_t b, __global void* to, uint count) { \
    __global type* from = (__global type*)@place(b, to); \
    if (from) for (uint i = 0; i < count; ++i) ((__global type*)to)[i] = from[i]; \
  } \
  @STATIC void @lanes##name(const @box_t b, __global void* to, uint lanes) { \
    __global type* from = (__global type*)@place(b, to); \
    if (from) for (uint i = 0; i < 16; ++i) if (lanes >> i & 1) ((__global type*)to)[i] = from[i]; \
  }
@TAKE(1, uchar)
@TAKE(2, ushort)
@TAKE(4, uint)
@TAKE(8, ulong)
#define @VSTORE(take, count, bytes, box, value, offset, to) \
  ((void)(value), take(box, (__global void*)((__global uchar*)(to) + (size_t)(offset) * bytes), count))
)";

namespace {

enum class Memory { here, global, unknown };  // here: of the work-item or its group

Memory memory_of(clang::LangAS space) {
  switch (space) {
    case clang::LangAS::Default:  // variables, before they have an address space
    case clang::LangAS::opencl_private:
    case clang::LangAS::opencl_local:
      return Memory::here;
    case clang::LangAS::opencl_global:
      return Memory::global;
    default:
      return Memory::unknown;
  }
}

// What a place in memory is part of, where its own type need not say that: a lane of a vector.
const clang::Expr* vector_of(const clang::Expr& place, bool& through_pointer) {
  through_pointer = false;
  if (const auto* lanes = llvm::dyn_cast<clang::ExtVectorElementExpr>(&place)) {
    through_pointer = lanes->isArrow();
    return lanes->getBase();
  }
  const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(&place);
  return element && element->getBase()->getType()->isVectorType() ? element->getBase() : nullptr;
}

Memory memory_of(const clang::Expr& place) {
  bool through_pointer = false;
  const clang::Expr& bare = *place.IgnoreParens();
  if (const clang::Expr* vector = vector_of(bare, through_pointer))
    return through_pointer ? memory_of(vector->getType()->getPointeeType().getAddressSpace()) : memory_of(*vector);
  return memory_of(bare.getType().getAddressSpace());
}

// Whether evaluating an expression changes variables, so that it matters when it is done.
class ChangesVariables : public clang::RecursiveASTVisitor<ChangesVariables> {
 public:
  bool found = false;
  bool VisitBinaryOperator(clang::BinaryOperator* operation) {
    found |= operation->isAssignmentOp() && memory_of(*operation->getLHS()) != Memory::global;
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) {
    found |= operation->isIncrementDecrementOp() && memory_of(*operation->getSubExpr()) != Memory::global;
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) {
    for (const clang::Expr* argument : call->arguments()) {
      if (!argument->getType()->isPointerType()) continue;
      const clang::QualType to = argument->getType()->getPointeeType();
      found |= !to.isConstQualified() && memory_of(to.getAddressSpace()) != Memory::global;
    }
    return true;
  }
};

class Stores : public clang::RecursiveASTVisitor<Stores> {
 public:
  Stores(clang::ASTContext& context, const Syntax& syntax, KernelText& at)
      : context_(context), syntax_(syntax), at_(at) {}

  std::vector<const clang::FunctionDecl*> run() {
    for (clang::FunctionDecl* function : syntax_.declarations) {
      if (!function->doesThisDeclarationHaveABody()) continue;
      current_ = function->getCanonicalDecl();
      TraverseStmt(function->getBody());
    }
    for (const Call& call : syntax_.calls) look_at(call);
    return std::move(storing_);
  }

  // Statements whose value nobody asks for.
  bool VisitCompoundStmt(clang::CompoundStmt* statement) {
    for (const clang::Stmt* one : statement->body()) discard(one);
    return true;
  }
  bool VisitIfStmt(clang::IfStmt* statement) {
    discard(statement->getThen()), discard(statement->getElse());
    return true;
  }
  bool VisitForStmt(clang::ForStmt* statement) {
    discard(statement->getInit()), discard(statement->getInc()), discard(statement->getBody());
    return true;
  }
  bool VisitWhileStmt(clang::WhileStmt* statement) { return discard(statement->getBody()); }
  bool VisitDoStmt(clang::DoStmt* statement) { return discard(statement->getBody()); }
  bool VisitSwitchStmt(clang::SwitchStmt* statement) { return discard(statement->getBody()); }
  bool VisitSwitchCase(clang::SwitchCase* statement) { return discard(statement->getSubStmt()); }
  bool VisitLabelStmt(clang::LabelStmt* statement) { return discard(statement->getSubStmt()); }

  bool VisitBinaryOperator(clang::BinaryOperator* operation) {
    if (operation->getOpcode() == clang::BO_Comma) discard(operation->getLHS());
    if (!operation->isAssignmentOp()) return true;
    store(*operation, *operation->getLHS(), operation->getOperatorLoc(), operation->getRHS());
    return true;
  }
  // What is const is taken for what nobody stores to, and pointers for what the facts follow.
  bool VisitCastExpr(clang::CastExpr* cast) {
    const clang::QualType from = cast->getSubExpr()->getType(), to = cast->getType();
    if (!from->isPointerType() || !to->isPointerType()) return true;
    const clang::QualType was = from->getPointeeType(), is = to->getPointeeType();
    if (was.isConstQualified() && !is.isConstQualified()) at_.refuse("a cast from a pointer to what is const");
    if ((was->isPointerType() || is->isPointerType()) && !context_.hasSameUnqualifiedType(was, is))
      at_.refuse("a cast of a pointer to a pointer");
    return true;
  }
  bool VisitAsTypeExpr(clang::AsTypeExpr* cast) {
    if (cast->getType()->isPointerType() || cast->getSrcExpr()->getType()->isPointerType())
      at_.refuse("it looks at addresses, which differ between memories");
    return true;
  }
  bool VisitStmtExpr(clang::StmtExpr*) {
    at_.refuse("a statement that is an expression");
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) {
    if (operation->isIncrementDecrementOp())
      store(*operation, *operation->getSubExpr(), operation->getOperatorLoc(), nullptr);
    return true;
  }

 private:
  std::string named(const std::string& text) const { return with_prefix(text, at_.prefix); }

  bool discard(const clang::Stmt* statement) {
    const auto* expression = llvm::dyn_cast_or_null<clang::Expr>(statement);
    if (!expression) return true;
    expression = expression->IgnoreParens();
    discarded_.insert(expression);
    if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(expression); cast && cast->getType()->isVoidType())
      discard(cast->getSubExpr());
    if (const auto* both = llvm::dyn_cast<clang::BinaryOperator>(expression);
        both && both->getOpcode() == clang::BO_Comma)
      discard(both->getRHS());
    return true;
  }

  void note() { storing_.push_back(current_); }

  // The largest piece that divides what is stored and its address.
  std::int64_t unit(clang::QualType type) const {
    const auto size = context_.getTypeSizeInChars(type).getQuantity();
    const auto aligned = context_.getTypeAlignInChars(type).getQuantity();
    std::int64_t out = 8;
    while (size % out != 0 || aligned % out != 0) out /= 2;
    return out;
  }

  void store(const clang::Expr& whole, const clang::Expr& to, clang::SourceLocation sign, const clang::Expr* value) {
    switch (memory_of(to)) {
      case Memory::here:
        return;
      case Memory::unknown:
        return at_.refuse("a store through a pointer to any memory");
      case Memory::global:
        break;
    }
    if (!discarded_.count(&whole)) return at_.refuse("what a store gives is used");
    if (value) discard(value->IgnoreParenImpCasts());
    // Compilers compute the value first; here the place comes first.
    ChangesVariables changes;
    if (value) changes.TraverseStmt(const_cast<clang::Expr*>(value));
    if (changes.found) return at_.refuse("what is stored changes variables");
    if (packed(to)) return at_.refuse("a store to a field of bits, or one that is not aligned");
    // Its lanes have no address of their own.
    const clang::Expr& bare = *to.IgnoreParens();
    bool through_pointer = false, again = false;
    const clang::Expr* vector = vector_of(bare, through_pointer);
    const auto* lanes = llvm::dyn_cast<clang::ExtVectorElementExpr>(&bare);
    if (vector && (!lanes || &bare != &to || vector_of(*vector->IgnoreParens(), again)))
      return at_.refuse("a store to a lane of a vector in a way that is not followed");
    const clang::Expr& place = vector ? *vector : to;
    const clang::QualType stored = through_pointer ? vector->getType()->getPointeeType() : place.getType();
    // What is not set, or lies between members, nobody need have written.
    if (stored->isRecordType()) return at_.refuse("a store of a whole object");
    const bool prefix = !value && llvm::cast<clang::UnaryOperator>(whole).isPrefix();
    const auto begin = at_.position(whole.getBeginLoc()), end = at_.behind(whole.getEndLoc());
    const auto place_begin = at_.position(place.getBeginLoc()), place_end = at_.behind(place.getEndLoc());
    const auto to_end = at_.behind(to.getEndLoc());
    const auto sign_begin = at_.position(sign), sign_end = at_.behind(sign);
    if (!begin || !end || !place_begin || !place_end || !to_end || !sign_begin || !sign_end || *place_begin < *begin ||
        *end < *to_end)
      return at_.refuse("a store cannot be found in the text");
    std::string how, count;
    std::int64_t size = 0;
    if (vector) {
      const auto* type = stored->getAs<clang::ExtVectorType>();
      llvm::SmallVector<std::uint32_t, 16> numbers;
      lanes->getEncodedElementAccess(numbers);
      std::uint32_t bits = 0;
      for (std::uint32_t lane : numbers) bits |= lane < type->getNumElements() ? std::uint32_t{1} << lane : 0;
      size = context_.getTypeSizeInChars(type->getElementType()).getQuantity();
      how = "@lanes", count = std::to_string(bits);
      if (size > 8) return at_.refuse("a lane of a vector that is too large");
    } else if (const auto* three = stored->getAs<clang::ExtVectorType>(); three && three->getNumElements() == 3) {
      size = context_.getTypeSizeInChars(three->getElementType()).getQuantity();
      how = "@take", count = "3";  // the place of the fourth is nobody's
    } else {
      size = unit(stored), how = "@take";
      count = std::to_string(context_.getTypeSizeInChars(stored).getQuantity() / size);
    }
    note();
    if (prefix) at_.edits.erase(*sign_begin, *sign_end - *sign_begin);
    at_.edits.insert(prefix ? *place_begin : *begin, named("(" + how + std::to_string(size) +
                                                           "(@box, (__global void*)" + (through_pointer ? "(" : "&(")));
    const std::string close = "), " + count + ")";
    if (vector) at_.edits.erase(*place_end, *to_end - *place_end);  // its lanes
    if (!value) {
      if (!prefix) at_.edits.erase(*sign_begin, *sign_end - *sign_begin);
      return at_.edits.insert_first(*end, close + ")");
    }
    at_.edits.insert(*sign_begin, close + ", (void)(");
    at_.edits.erase(*sign_begin, *sign_end - *sign_begin);
    at_.edits.insert_first(*end, "))");  // before those of what it is part of
  }

  static bool packed(const clang::Expr& place) {
    const clang::Expr* bare = place.IgnoreParens();
    for (;;) {
      if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(bare)) {
        const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
        if (!field || field->isBitField() || field->hasAttr<clang::PackedAttr>() ||
            field->getParent()->hasAttr<clang::PackedAttr>() ||
            field->getParent()->hasAttr<clang::MaxFieldAlignmentAttr>())
          return true;
        if (member->isArrow()) return false;
        bare = member->getBase()->IgnoreParens();
      } else if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(bare)) {
        bare = element->getBase()->IgnoreParenImpCasts();
      } else if (const auto* lanes = llvm::dyn_cast<clang::ExtVectorElementExpr>(bare)) {
        bare = lanes->getBase()->IgnoreParens();
      } else {
        return false;
      }
    }
  }

  // Builtins that store, or may.
  void look_at(const Call& call) {
    if (!call.callee || syntax_.is_own(call.callee)) return;
    current_ = call.caller;
    if (call.name.starts_with("write_image")) return at_.refuse("it writes images");
    if (call.name.find("sub_group") != std::string::npos)
      return at_.refuse("'" + call.name + "' differs between devices");
    const bool vector = call.name.starts_with("vstore") && !call.name.starts_with("vstore_") &&
                        !call.name.starts_with("vstorea") && call.expression->getNumArgs() == 3;
    // As it is given: some builtins declare no parameters.
    for (unsigned i = 0; i < call.expression->getNumArgs(); ++i) {
      const clang::QualType type = call.expression->getArg(i)->getType();
      if (!type->isPointerType() || type->getPointeeType().isConstQualified()) continue;
      const Memory memory = memory_of(type->getPointeeType().getAddressSpace());
      if (memory == Memory::here || type->getPointeeType().getAddressSpace() == clang::LangAS::opencl_constant)
        continue;
      if (!vector || i != 2 || memory != Memory::global)
        return at_.refuse("'" + call.name + "' may store to global memory");
      vstore(call, type->getPointeeType());
    }
  }

  void vstore(const Call& call, clang::QualType element) {
    const std::string digits = call.name.substr(std::string("vstore").size());
    const bool number =
        !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number || digits.size() > 2 || !llvm::isa<clang::DeclRefExpr>(call.expression->getCallee()->IgnoreImpCasts()))
      return at_.refuse("'" + call.name + "' is not followed");
    const auto where = at_.call(call);
    if (!where) return;
    ChangesVariables changes;
    changes.TraverseStmt(call.expression);
    if (changes.found) return at_.refuse("what is stored changes variables");
    const std::int64_t size = context_.getTypeSizeInChars(element).getQuantity(), lanes = std::stoi(digits);
    if (size > 8) return at_.refuse("'" + call.name + "' of elements that are too large");
    note();
    at_.edits.erase(where->name, call.name.size());
    at_.edits.insert(where->name, named("@VSTORE"));
    at_.edits.insert(where->open + 1, named("@take" + std::to_string(size) + ", " + digits + ", " +
                                            std::to_string(lanes * size) + ", @box, "));
    for (const clang::Expr* argument : call.expression->arguments()) {  // there may be commas in braces
      const auto begin = at_.position(argument->getBeginLoc()), end = at_.behind(argument->getEndLoc());
      if (!begin || !end) return at_.refuse("a store cannot be found in the text");
      at_.edits.insert(*begin, "(");
      at_.edits.insert_first(*end, ")");
    }
  }

  clang::ASTContext& context_;
  const Syntax& syntax_;
  KernelText& at_;
  const clang::FunctionDecl* current_ = nullptr;
  std::set<const clang::Expr*> discarded_;
  std::vector<const clang::FunctionDecl*> storing_;
};

}  // namespace

std::vector<const clang::FunctionDecl*> take_instead_of_stores(clang::ASTContext& context, const Syntax& syntax,
                                                               KernelText& at) {
  return Stores(context, syntax, at).run();
}

}  // namespace heddle::kernelc

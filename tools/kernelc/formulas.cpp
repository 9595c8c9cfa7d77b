// Scalar evolution by scalar evolution. Whatever is not understood becomes an opaque symbol, never a guess.
#include "tools/kernelc/formulas.hpp"

#include <algorithm>
#include <set>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Instructions.h>

#include "tools/kernelc/builtins.hpp"

namespace heddle::kernelc {

using core::FunctionKind;
using core::Polynomial;
using core::Symbol;
using core::SymbolKind;
using core::Term;

namespace {

// Larger polynomials describe nothing that a person or a launch could use, and multiply without end.
constexpr std::size_t most_terms = 48, most_factors = 6;

bool is_constant(const Polynomial& p) { return p.empty() || (p.size() == 1 && p[0].symbols.empty()); }
std::int64_t constant_of(const Polynomial& p) { return p.empty() ? 0 : p[0].coefficient; }

// Whether memory that is passed by value still holds what was passed: nothing but loads ever sees its address.
bool only_loaded(const llvm::Value& pointer) {
  for (const llvm::User* user : pointer.users()) {
    if (llvm::isa<llvm::LoadInst>(user)) continue;
    if (llvm::isa<llvm::GetElementPtrInst>(user) || llvm::isa<llvm::BitCastInst>(user)) {
      if (only_loaded(*user)) continue;
    }
    return false;
  }
  return true;
}

}  // namespace

Polynomial Formulas::constant(std::int64_t value) { return value ? Polynomial{{value, {}}} : Polynomial{}; }

Polynomial Formulas::symbol(const Symbol& symbol) {
  auto& all = analysis_.facts.symbols;
  const auto found = std::find(all.begin(), all.end(), symbol);
  const int number = static_cast<int>(found - all.begin());
  if (found == all.end()) all.push_back(symbol);
  return {{1, {number}}};
}

Polynomial Formulas::opaque() { return symbol({.kind = SymbolKind::opaque, .index = opaque_count_++}); }

Polynomial Formulas::sum(const Polynomial& a, const Polynomial& b, std::int64_t factor) {
  Polynomial out = a;
  for (const Term& term : b) {
    std::int64_t add = 0;
    if (__builtin_mul_overflow(term.coefficient, factor, &add)) return opaque();
    auto at = std::lower_bound(out.begin(), out.end(), term,
                               [](const Term& x, const Term& y) { return x.symbols < y.symbols; });
    if (at == out.end() || at->symbols != term.symbols) at = out.insert(at, {0, term.symbols});
    if (__builtin_add_overflow(at->coefficient, add, &at->coefficient)) return opaque();
    if (at->coefficient == 0) out.erase(at);
  }
  return out.size() > most_terms ? opaque() : out;
}

Polynomial Formulas::product(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const Term& x : a) {
    Polynomial row;
    for (const Term& y : b) {
      Term term;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &term.coefficient)) return opaque();
      term.symbols = x.symbols;
      term.symbols.insert(term.symbols.end(), y.symbols.begin(), y.symbols.end());
      if (term.symbols.size() > most_factors) return opaque();
      std::sort(term.symbols.begin(), term.symbols.end());
      row = sum(row, {term});
    }
    out = sum(out, row);
  }
  return out;
}

Polynomial Formulas::function(FunctionKind kind, int bits, std::vector<Polynomial> operands) {
  auto& all = analysis_.facts.functions;
  const core::Function wanted{kind, bits, std::move(operands)};
  auto found = std::find(all.begin(), all.end(), wanted);
  if (found == all.end()) found = all.insert(all.end(), wanted);
  return symbol({.kind = SymbolKind::function, .index = static_cast<int>(found - all.begin())});
}

bool Formulas::never_negative(const Polynomial& polynomial) const {
  for (const Term& term : polynomial) {
    if (term.coefficient < 0) return false;
    for (int s : term.symbols) {
      const Symbol& symbol = analysis_.facts.symbols[static_cast<std::size_t>(s)];
      const bool unsigned_wrap =
          symbol.kind == SymbolKind::function &&
          analysis_.facts.functions[static_cast<std::size_t>(symbol.index)].kind == FunctionKind::wrap_unsigned;
      const bool known = symbol.known && symbol.known->low >= 0;
      const bool scalar = symbol.kind == SymbolKind::scalar && !symbol.is_signed;
      if (symbol.kind >= SymbolKind::scalar && symbol.kind != SymbolKind::loop && !unsigned_wrap && !known && !scalar)
        return false;
    }
  }
  return true;
}

Polynomial Formulas::wrap(const Polynomial& p, unsigned bits, bool is_signed) {
  if (bits > 64) return opaque();
  if (is_constant(p)) {
    const llvm::APInt value = llvm::APInt(64, static_cast<std::uint64_t>(constant_of(p)), true).trunc(bits);
    if (!is_signed && bits == 64 && value.isNegative()) return opaque();  // beyond what coefficients can hold
    return constant(is_signed ? value.getSExtValue() : static_cast<std::int64_t>(value.getZExtValue()));
  }
  // 64-bit signed: whoever evaluates notices numbers that do not fit into 64 bits anyway.
  if (bits == 64 && (is_signed || never_negative(p))) return p;
  if (p.size() == 1 && p[0].coefficient == 1 && p[0].symbols.size() == 1) {
    const Symbol& only = analysis_.facts.symbols[static_cast<std::size_t>(p[0].symbols[0])];
    if (only.kind == SymbolKind::scalar) {
      const unsigned size = static_cast<unsigned>(only.size) * 8;
      if (only.is_signed == is_signed ? size <= bits : is_signed && size < bits) return p;
    }
    if (only.known && bits < 64) {
      const std::int64_t low = is_signed ? -(1LL << (bits - 1)) : 0, high = (1LL << (is_signed ? bits - 1 : bits)) - 1;
      if (only.known->low >= low && only.known->high <= high) return p;
    }
    if (only.kind == SymbolKind::function) {
      const core::Function& f = analysis_.facts.functions[static_cast<std::size_t>(only.index)];
      const unsigned inner = static_cast<unsigned>(f.bits);
      if (f.kind == FunctionKind::wrap_signed && is_signed && inner <= bits) return p;
      if (f.kind == FunctionKind::wrap_unsigned && (is_signed ? inner < bits : inner <= bits)) return p;
      // Neither a choice among operands nor a division by a positive number leaves a type that holds the operands.
      const bool chooses =
          f.kind == FunctionKind::minimum || f.kind == FunctionKind::maximum || f.kind == FunctionKind::choose;
      const bool divides = (f.kind == FunctionKind::divide || f.kind == FunctionKind::remainder ||
                            f.kind == FunctionKind::floor_divide) &&
                           is_constant(f.operands[1]) && constant_of(f.operands[1]) > 0;
      const std::vector<Polynomial> operands = f.operands;  // wrapping may add functions and so move them
      const std::size_t concerned = chooses ? operands.size() : divides ? 1 : 0;
      const auto fits = [&](const Polynomial& operand) { return wrap(operand, bits, is_signed) == operand; };
      if (concerned && std::all_of(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(concerned), fits))
        return p;
    }
  }
  return function(is_signed ? FunctionKind::wrap_signed : FunctionKind::wrap_unsigned, static_cast<int>(bits), {p});
}

Polynomial Formulas::of(llvm::Value* value, const llvm::BasicBlock& block) {
  if (!value->getType()->isIntegerTy()) return opaque();
  const llvm::Loop* scope = analysis_.loops.getLoopFor(&block);
  return of(analysis_.evolution.getSCEVAtScope(value, scope), block);
}

Polynomial Formulas::of(const llvm::SCEV* evolution, const llvm::BasicBlock& block) {
  const llvm::BasicBlock* outer = std::exchange(block_, &block);
  Polynomial out = convert(evolution);
  block_ = outer;
  return out;
}

Polynomial Formulas::exact(llvm::Value* value, bool is_signed, const llvm::BasicBlock& block) {
  if (!value->getType()->isIntegerTy()) return opaque();
  return wrap(of(value, block), value->getType()->getIntegerBitWidth(), is_signed);
}

Polynomial Formulas::exact(const llvm::SCEV* evolution, bool is_signed, const llvm::BasicBlock& block) {
  if (!evolution->getType()->isIntegerTy()) return opaque();
  return wrap(of(evolution, block), evolution->getType()->getIntegerBitWidth(), is_signed);
}

Polynomial Formulas::many(FunctionKind kind, const llvm::SCEV* evolution, bool is_signed) {
  std::vector<Polynomial> operands;
  for (const llvm::SCEV* operand : llvm::cast<llvm::SCEVNAryExpr>(evolution)->operands())
    operands.push_back(exact(operand, is_signed, *block_));
  return function(kind, 64, std::move(operands));
}

Polynomial Formulas::convert(const llvm::SCEV* evolution) {
  if (!evolution->getType()->isIntegerTy()) return opaque();
  switch (evolution->getSCEVType()) {
    case llvm::scConstant: {
      const llvm::APInt& value = llvm::cast<llvm::SCEVConstant>(evolution)->getAPInt();
      return value.getSignificantBits() <= 64 ? constant(value.getSExtValue()) : opaque();
    }
    case llvm::scTruncate:
      return convert(llvm::cast<llvm::SCEVCastExpr>(evolution)->getOperand());
    case llvm::scSignExtend:
      return exact(llvm::cast<llvm::SCEVCastExpr>(evolution)->getOperand(), true, *block_);
    case llvm::scZeroExtend:
      return exact(llvm::cast<llvm::SCEVCastExpr>(evolution)->getOperand(), false, *block_);
    case llvm::scAddExpr: {
      Polynomial out;
      for (const llvm::SCEV* operand : llvm::cast<llvm::SCEVNAryExpr>(evolution)->operands())
        out = sum(out, convert(operand));
      return out;
    }
    case llvm::scMulExpr: {
      Polynomial out = constant(1);
      for (const llvm::SCEV* operand : llvm::cast<llvm::SCEVNAryExpr>(evolution)->operands())
        out = product(out, convert(operand));
      return out;
    }
    case llvm::scUDivExpr: {
      const auto* division = llvm::cast<llvm::SCEVUDivExpr>(evolution);
      return function(FunctionKind::divide, 64,
                      {exact(division->getLHS(), false, *block_), exact(division->getRHS(), false, *block_)});
    }
    case llvm::scSMaxExpr:
      return many(FunctionKind::maximum, evolution, true);
    case llvm::scUMaxExpr:
      return many(FunctionKind::maximum, evolution, false);
    case llvm::scSMinExpr:
      return many(FunctionKind::minimum, evolution, true);
    case llvm::scUMinExpr:
      return many(FunctionKind::minimum, evolution, false);
    case llvm::scAddRecExpr: {
      const auto* recurrence = llvm::cast<llvm::SCEVAddRecExpr>(evolution);
      const auto loop = analysis_.loop_numbers.find(recurrence->getLoop());
      // Outside of its loop a recurrence stands for no iteration in particular.
      if (!recurrence->isAffine() || loop == analysis_.loop_numbers.end() || !recurrence->getLoop()->contains(block_))
        return known_only_by_range(evolution);
      const Polynomial iteration = symbol({.kind = SymbolKind::loop, .index = loop->second});
      return sum(convert(recurrence->getStart()),
                 product(convert(recurrence->getStepRecurrence(analysis_.evolution)), iteration));
    }
    case llvm::scUnknown:
      return unknown(llvm::cast<llvm::SCEVUnknown>(evolution)->getValue());
    default:
      return known_only_by_range(evolution);
  }
}

// An opaque symbol stands for the value read as signed.
Polynomial Formulas::known_only_by_range(const llvm::SCEV* evolution) {
  if (const auto known = opaque_.find(evolution); known != opaque_.end()) return symbol(known->second);
  Symbol out{.kind = SymbolKind::opaque, .loaded_from = loaded_from(evolution)};
  out.index = opaque_count_++;
  const llvm::ConstantRange range = analysis_.evolution.getSignedRange(evolution);
  if (range.getBitWidth() <= 64 && !range.isFullSet() && !range.isEmptySet())
    out.known = core::Interval{range.getSignedMin().getSExtValue(), range.getSignedMax().getSExtValue()};
  else if (range.getBitWidth() < 64)
    out.known = core::Interval{-(1LL << (range.getBitWidth() - 1)), (1LL << (range.getBitWidth() - 1)) - 1};
  return symbol(opaque_[evolution] = out);
}

// The symbols of the place in an argument from which a value was loaded.
std::optional<std::vector<int>> Formulas::loaded_from(const llvm::SCEV* evolution) {
  const auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(evolution);
  auto* load = unknown ? llvm::dyn_cast<llvm::LoadInst>(unknown->getValue()) : nullptr;
  if (!load) return std::nullopt;
  const llvm::BasicBlock& block = *load->getParent();
  const llvm::SCEV* place =
      analysis_.evolution.getSCEVAtScope(load->getPointerOperand(), analysis_.loops.getLoopFor(&block));
  const auto* base = llvm::dyn_cast<llvm::SCEVUnknown>(analysis_.evolution.getPointerBase(place));
  if (!base || !llvm::isa<llvm::Argument>(base->getValue())) return std::nullopt;
  const llvm::SCEV* distance = analysis_.evolution.getMinusSCEV(place, base);
  if (llvm::isa<llvm::SCEVCouldNotCompute>(distance)) return std::nullopt;
  std::set<int> out;
  for (const Term& term : of(distance, block)) out.insert(term.symbols.begin(), term.symbols.end());
  return std::vector<int>(out.begin(), out.end());
}

Polynomial Formulas::scalar(int argument, int byte, int size, bool is_signed) {
  return symbol({.kind = SymbolKind::scalar, .index = argument, .byte = byte, .size = size, .is_signed = is_signed});
}

Polynomial Formulas::unknown(llvm::Value* value) {
  const llvm::DataLayout& layout = analysis_.function.getParent()->getDataLayout();
  const unsigned bits = value->getType()->getIntegerBitWidth();
  const bool whole_bytes = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  const int size = static_cast<int>(bits / 8);
  auto exact_of = [&](llvm::Value* operand, bool is_signed) { return exact(operand, is_signed, *block_); };
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(value); argument && whole_bytes) {
    const int number = static_cast<int>(argument->getArgNo());
    const std::string& type = analysis_.facts.arguments[static_cast<std::size_t>(number)].type;
    const bool is_unsigned = type.rfind("u", 0) == 0 || type == "size_t" || type == "bool";
    return scalar(number, 0, size, !is_unsigned);
  }
  if (auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(value)) return of(frozen->getOperand(0), *block_);
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(value)) return unknown_call(*call);
  if (auto* element = llvm::dyn_cast<llvm::ExtractElementInst>(value); element && whole_bytes) {
    auto* argument = llvm::dyn_cast<llvm::Argument>(element->getVectorOperand());
    auto* lane = llvm::dyn_cast<llvm::ConstantInt>(element->getIndexOperand());
    if (argument && lane) {
      const int number = static_cast<int>(argument->getArgNo());
      const bool is_unsigned = analysis_.facts.arguments[static_cast<std::size_t>(number)].type.rfind("u", 0) == 0;
      return scalar(number, static_cast<int>(lane->getZExtValue()) * size, size, !is_unsigned);
    }
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(value); load && whole_bytes && !load->isVolatile()) {
    // A member of a struct that is passed by value.
    llvm::APInt offset(layout.getIndexTypeSizeInBits(load->getPointerOperandType()), 0);
    const llvm::Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    const auto* argument = llvm::dyn_cast<llvm::Argument>(base);
    if (argument && argument->hasByValAttr() && !offset.isNegative() && only_loaded(*argument) &&
        analysis_.facts.arguments[argument->getArgNo()].size >= offset.getZExtValue() + static_cast<unsigned>(size))
      return scalar(static_cast<int>(argument->getArgNo()), static_cast<int>(offset.getZExtValue()), size, true);
  }
  if (auto* chosen = llvm::dyn_cast<llvm::SelectInst>(value)) {
    return function(FunctionKind::choose, 64,
                    {exact_of(chosen->getTrueValue(), true), exact_of(chosen->getFalseValue(), true)});
  }
  auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!operation) return known_only_by_range(analysis_.evolution.getUnknown(value));
  llvm::Value *left = operation->getOperand(0), *right = operation->getOperand(1);
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(right);
  switch (operation->getOpcode()) {
    case llvm::Instruction::SDiv:
      return function(FunctionKind::divide, 64, {exact_of(left, true), exact_of(right, true)});
    case llvm::Instruction::UDiv:
      return function(FunctionKind::divide, 64, {exact_of(left, false), exact_of(right, false)});
    case llvm::Instruction::SRem:
      return function(FunctionKind::remainder, 64, {exact_of(left, true), exact_of(right, true)});
    case llvm::Instruction::URem:
      return function(FunctionKind::remainder, 64, {exact_of(left, false), exact_of(right, false)});
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
      if (by && by->getValue().ult(std::min(bits, 62u))) {
        const bool is_signed = operation->getOpcode() == llvm::Instruction::AShr;
        return function(FunctionKind::floor_divide, 64,
                        {exact_of(left, is_signed), constant(1LL << by->getZExtValue())});
      }
      break;
    case llvm::Instruction::And:
      if (by && by->getValue().isNegatedPowerOf2()) {  // x & -32 is x without its remainder
        const unsigned low = by->getValue().countTrailingZeros();
        return sum(of(left, *block_), wrap(of(left, *block_), low ? low : 1, false), low ? -1 : 0);
      }
      if (by && by->getValue().isMask() && by->getValue().countTrailingOnes() < bits)
        return wrap(of(left, *block_), by->getValue().countTrailingOnes(), false);
      return function(FunctionKind::bit_and, 64, {exact_of(left, true), exact_of(right, true)});
    case llvm::Instruction::Or:
      return function(FunctionKind::bit_or, 64, {exact_of(left, true), exact_of(right, true)});
    default:
      break;
  }
  return known_only_by_range(analysis_.evolution.getUnknown(value));
}

Polynomial Formulas::unknown_call(llvm::CallInst& call) {
  const std::string name = builtin_name(call);
  const auto fallback = [&] { return known_only_by_range(analysis_.evolution.getUnknown(&call)); };
  if (is_work_item_function(name)) {
    const auto dimension = dimension_of(call);
    if (!dimension || *dimension > 2) return fallback();
    const int d = static_cast<int>(*dimension);
    if (name == "get_group_id") return symbol({.kind = SymbolKind::group_id, .index = d});
    if (name == "get_local_id") return symbol({.kind = SymbolKind::local_id, .index = d});
    if (name == "get_local_size") return symbol({.kind = SymbolKind::local_size, .index = d});
    if (name == "get_num_groups") return symbol({.kind = SymbolKind::num_groups, .index = d});
    if (name == "get_global_offset") return symbol({.kind = SymbolKind::global_offset, .index = d});
    if (name == "get_work_dim") return symbol({.kind = SymbolKind::work_dim});
    return fallback();
  }
  const llvm::Function* callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration()) return fallback();
  const bool is_signed = first_argument_signed(*callee);
  auto operand = [&](unsigned i) { return exact(call.getArgOperand(i), is_signed, *block_); };
  if ((name == "min" || name == "max") && call.arg_size() == 2)
    return function(name == "min" ? FunctionKind::minimum : FunctionKind::maximum, 64, {operand(0), operand(1)});
  if (name == "clamp" && call.arg_size() == 3)
    return function(FunctionKind::minimum, 64,
                    {function(FunctionKind::maximum, 64, {operand(0), operand(1)}), operand(2)});
  if ((name == "mul24" || name == "mad24") && call.arg_size() >= 2) {
    // Only defined for factors of 24 bits; devices differ beyond.
    const Polynomial x = operand(0), y = operand(1);
    const Polynomial small = product(wrap(x, 24, is_signed), wrap(y, 24, is_signed));
    const Polynomial whole = wrap(product(x, y), 32, is_signed);
    const Polynomial out = function(FunctionKind::choose, 64, {wrap(small, 32, is_signed), whole});
    return name == "mul24" ? out : sum(out, operand(2));
  }
  return fallback();
}

}  // namespace heddle::kernelc

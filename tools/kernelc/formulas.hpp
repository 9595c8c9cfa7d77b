// LLVM's scalar evolutions as polynomials over what a launch knows.
#pragma once

#include <map>
#include <tuple>

#include <llvm/ADT/APInt.h>

#include "tools/kernelc/analysis.hpp"

namespace llvm {
class BasicBlock;
class CallInst;
class SCEV;
class Value;
}  // namespace llvm

namespace heddle::kernelc {

// Polynomials here are congruent to the value that they stand for, modulo its type; `exact` makes one that equals it.
class Formulas {
 public:
  explicit Formulas(Analysis& analysis) : analysis_(analysis) {}

  // Of a value as it is in `block`.
  core::Polynomial of(llvm::Value* value, const llvm::BasicBlock& block);
  core::Polynomial of(const llvm::SCEV* evolution, const llvm::BasicBlock& block);
  // The value itself, read as signed or unsigned.
  core::Polynomial exact(llvm::Value* value, bool is_signed, const llvm::BasicBlock& block);
  core::Polynomial exact(const llvm::SCEV* evolution, bool is_signed, const llvm::BasicBlock& block);

  core::Polynomial wrap(const core::Polynomial& polynomial, unsigned bits, bool is_signed);
  core::Polynomial sum(const core::Polynomial& a, const core::Polynomial& b, std::int64_t factor = 1);
  core::Polynomial product(const core::Polynomial& a, const core::Polynomial& b);
  static core::Polynomial constant(std::int64_t value);
  core::Polynomial symbol(const core::Symbol& symbol);
  core::Polynomial opaque();  // a value of which nothing is known

 private:
  core::Polynomial function(core::FunctionKind kind, int bits, std::vector<core::Polynomial> operands);
  core::Polynomial many(core::FunctionKind kind, const llvm::SCEV* evolution, bool is_signed);
  core::Polynomial convert(const llvm::SCEV* evolution);
  core::Polynomial unknown(llvm::Value* value);
  core::Polynomial unknown_call(llvm::CallInst& call);
  core::Polynomial known_only_by_range(const llvm::SCEV* evolution);
  std::optional<std::vector<int>> loaded_from(const llvm::SCEV* evolution);
  core::Polynomial scalar(int argument, int byte, int size, bool is_signed);
  bool never_negative(const core::Polynomial& polynomial) const;

  Analysis& analysis_;
  const llvm::BasicBlock* block_ = nullptr;
  std::map<const llvm::SCEV*, core::Symbol> opaque_;  // one for one value
  int opaque_count_ = 0;
};

}  // namespace heddle::kernelc

// Names, and what follows from them.
#include "tools/kernelc/builtins.hpp"

#include <set>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>

namespace heddle::kernelc {

namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// What follows the name in a mangled one: the types of the arguments.
llvm::StringRef mangled_arguments(const llvm::Function& function) {
  llvm::StringRef rest = function.getName();
  unsigned length = 0;
  if (!rest.consume_front("_Z") || rest.consumeInteger(10, length) || rest.size() < length) return "";
  return rest.drop_front(length);
}

}  // namespace

std::string builtin_name(const llvm::Function& function) {
  llvm::StringRef rest = function.getName();
  unsigned length = 0;
  if (!rest.consume_front("_Z") || rest.consumeInteger(10, length) || rest.size() < length)
    return function.getName().str();
  return rest.take_front(length).str();
}

std::string builtin_name(const llvm::CallInst& call) {
  const llvm::Function* function = call.getCalledFunction();
  return function ? builtin_name(*function) : std::string();
}

bool is_work_item_function(const std::string& name) {
  static const std::set<std::string> known = {"get_work_dim",
                                              "get_global_size",
                                              "get_global_id",
                                              "get_local_size",
                                              "get_local_id",
                                              "get_num_groups",
                                              "get_group_id",
                                              "get_global_offset",
                                              "get_global_linear_id",
                                              "get_local_linear_id",
                                              "get_enqueued_local_size",
                                              "get_sub_group_size",
                                              "get_sub_group_id",
                                              "get_sub_group_local_id",
                                              "get_num_sub_groups",
                                              "get_max_sub_group_size",
                                              "get_enqueued_num_sub_groups"};
  return known.count(name) > 0;
}

std::optional<unsigned> dimension_of(const llvm::CallInst& call) {
  if (call.arg_size() == 0) return 0;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0)))
    return static_cast<unsigned>(constant->getValue().getLimitedValue(3));  // from 3 on all dimensions are alike
  return std::nullopt;
}

bool first_argument_signed(const llvm::Function& function) {
  llvm::StringRef arguments = mangled_arguments(function);
  return arguments.startswith("i") || arguments.startswith("l") || arguments.startswith("s") ||
         arguments.startswith("c");
}

bool is_atomic(const std::string& name) {
  return begins(name, "atomic_") || begins(name, "atom_") || is_clangs_own_atomic(name);
}

bool is_clangs_own_atomic(const std::string& name) {
  return begins(name, "__opencl_atomic_") || begins(name, "__atomic_") || begins(name, "__sync_");
}

bool is_barrier(const std::string& name) {
  return name == "barrier" || name == "work_group_barrier" || name == "sub_group_barrier";
}

std::string atomic_operation(const std::string& name) {
  std::string out = name.substr(name.find('_') + 1);
  if (begins(out, "fetch_")) out = out.substr(6);
  if (const auto at = out.find("_explicit"); at != std::string::npos) out.resize(at);
  return out;
}

std::optional<bool> atomic_is_signed(const llvm::Function& function) {
  // A pointer, its address space, qualifiers, and then the type: PU3AS1Vi, PU3AS1VU7_Atomicj.
  llvm::StringRef type = mangled_arguments(function);
  if (!type.consume_front("P")) return std::nullopt;
  for (unsigned length = 0; !type.empty();) {
    if (type.consume_front("V") || type.consume_front("K")) continue;
    if (!type.consume_front("U")) break;
    if (type.consumeInteger(10, length) || type.size() < length) return std::nullopt;
    type = type.drop_front(length);
  }
  if (type.startswith("i") || type.startswith("l")) return true;
  if (type.startswith("j") || type.startswith("m")) return false;
  return std::nullopt;
}

bool is_commutative(const std::string& operation) {
  static const std::set<std::string> known = {"add", "sub", "inc", "dec", "min", "max", "and", "or", "xor"};
  return known.count(operation) > 0;
}

std::optional<VectorMove> vector_move(const llvm::CallInst& call, const std::string& name) {
  VectorMove out;
  out.store = begins(name, "vstore");
  if (!out.store && !begins(name, "vload")) return std::nullopt;
  const llvm::Type* moved = out.store ? call.getArgOperand(0)->getType() : call.getType();
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(moved))
    out.elements = static_cast<int>(vector->getNumElements());
  const bool half = name.find("half") != std::string::npos;
  out.element_bytes = half ? 2 : static_cast<int>(moved->getScalarSizeInBits() / 8);
  out.spacing = out.elements;
  const bool aligned = begins(name, "vloada") || begins(name, "vstorea");
  if (aligned && out.elements == 3) out.spacing = 4;
  if (out.element_bytes == 0) return std::nullopt;
  return out;
}

}  // namespace heddle::kernelc

// What this program knows about OpenCL C's builtin functions once they are calls in LLVM IR.
#pragma once

#include <optional>
#include <string>

namespace llvm {
class CallInst;
class Function;
}  // namespace llvm

namespace heddle::kernelc {

// The name as the source has it: "_Z13get_global_idj" is get_global_id. A name that is not mangled is its own.
std::string builtin_name(const llvm::Function& function);
std::string builtin_name(const llvm::CallInst& call);  // empty for a call through a pointer

// get_global_id and its kin: no effect on memory, the same answer whenever a work-item asks.
bool is_work_item_function(const std::string& name);

// The constant dimension that a work-item function is asked for; 0 where it takes none; nothing where it is computed.
std::optional<unsigned> dimension_of(const llvm::CallInst& call);

// Whether the mangled name says that its first argument is a signed integer.
bool first_argument_signed(const llvm::Function& function);

bool is_atomic(const std::string& name);             // this or the next
bool is_clangs_own_atomic(const std::string& name);  // __opencl_atomic_*, __sync_* and their library calls
bool is_barrier(const std::string& name);
// "atomic_fetch_add_explicit" -> "add"; "atom_inc" -> "inc".
std::string atomic_operation(const std::string& name);
// Whether what an atomic's pointer points to is signed; nothing where its name does not say so.
std::optional<bool> atomic_is_signed(const llvm::Function& function);
bool is_commutative(const std::string& operation);

// vloadN, vstoreN and their half relatives: elements moved, and the bytes of an element in memory.
struct VectorMove {
  bool store = false;
  int elements = 1;  // moved
  int spacing = 1;   // elements from one offset to the next: differs for vloada_half3
  int element_bytes = 0;
};
std::optional<VectorMove> vector_move(const llvm::CallInst& call, const std::string& name);

}  // namespace heddle::kernelc

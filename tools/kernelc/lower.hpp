// Brings LLVM IR into the shape that the analyses understand.
#pragma once

#include <map>
#include <set>
#include <string>

#include <llvm/Passes/PassBuilder.h>

namespace heddle::kernelc {

// LLVM's passes and analyses, set up once for a module.
class Passes {
 public:
  Passes();
  void run(llvm::Module& module, const char* pipeline);
  void forget();  // after a change that no pass made

  llvm::FunctionAnalysisManager functions;

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
};

// What remains of a copy of an object into memory, beside the members that are stored: "heddle.object.SPACE"(pointer,
// bytes). Members that were never set, and padding, are not stored, but a device may copy them.
bool is_copied_object(const std::string& name);

// Everything inlined into the kernels, variables in registers, work-item functions expressed by group id, local id,
// sizes and offset, loops rotated and simplified, vector arithmetic taken apart.
// Returns for each function the arguments that its text loads from, ascending, -1 for some that cannot be told: later
// nobody sees a load of what was just stored.
std::map<const llvm::Function*, std::set<int>> lower(llvm::Module& module, Passes& passes);

}  // namespace heddle::kernelc

// Brings LLVM IR into the shape that the analyses understand.
#pragma once

namespace llvm {
class Module;
}

namespace heddle::kernelc {

// Everything inlined into the kernels, variables in registers, work-item functions expressed by group id, local id,
// sizes and offset, loops rotated and simplified, vector arithmetic taken apart.
void lower(llvm::Module& module);

}  // namespace heddle::kernelc

// All facts of a program.
#pragma once

#include <map>
#include <string>

#include "core/facts.hpp"
#include "tools/kernelc/syntax.hpp"

namespace llvm {
class Module;
}

namespace heddle::kernelc {

// What has to be asked of the syntax tree while it lives, by the kernel's name.
struct KernelSyntax {
  std::vector<core::ArgumentFacts> arguments;
  core::IdUses uses;
  std::vector<std::string> obstacles;
  bool elsewhere = false;
  core::Nest nest;
};
std::map<std::string, KernelSyntax> kernel_syntax(clang::ASTContext& context, const Syntax& syntax);

// Lowers the module and reads the facts of every kernel in it, in the order of the text.
core::ProgramFacts program_facts(llvm::Module& module, std::map<std::string, KernelSyntax> syntax);

}  // namespace heddle::kernelc

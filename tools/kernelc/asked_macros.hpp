// Macros that a source asks for, though only the device's compiler knows them: the analysis might take another way
// through #if than that compiler.
#pragma once

#include <memory>
#include <string>

namespace clang {
class PPCallbacks;
class Preprocessor;
}  // namespace clang

namespace heddle::kernelc {

struct Program;

// `asked` gets the name of one such macro when all is preprocessed. Reserved names count, as compilers define: those
// that neither the program nor its options define, that the target does not tell, and that OpenCL does not fix.
std::unique_ptr<clang::PPCallbacks> watch_asked_macros(const clang::Preprocessor& preprocessor, const Program& program,
                                                       std::string& asked);

}  // namespace heddle::kernelc

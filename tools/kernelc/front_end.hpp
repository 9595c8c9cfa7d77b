// Clang as this program uses it: preprocess a source once, parse the result once, for text edits and for IR alike.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/kernelc/build_options.hpp"

namespace clang {
class ASTContext;
}
namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace heddle::kernelc {

// The compiler of the device that a program is for. What is not given is as clang has it.
struct Target {
  std::vector<std::string> extensions;        // cl_khr_fp64, ...; empty: all that clang knows
  std::map<std::string, std::string> macros;  // predefined by that compiler
  std::vector<std::string> absent_macros;     // not predefined, though clang may do so
  int address_bits = 64;
};

struct Program {
  std::string source;
  BuildOptions options;
  Target target;
  std::string folder;  // where relative names of included files begin; empty: they are not found
};

struct Preprocessed {
  std::string text;
  std::string unsupported;  // why the text may not be what the device's compiler sees; empty: it is
  // The user's definitions of names that the text keeps. Which counts is for the device's compiler to say.
  std::string passed_on;
  bool includes = false;  // files went into it, or were asked for
};

// The source with all its macros, conditions and included files resolved, except the names of the standard library.
// Nothing where it has errors; `log` gets clang's words.
std::optional<Preprocessed> preprocess(const Program& program, std::string& log);

// Parses a preprocessed text. `look` sees the syntax tree while it lives; the module belongs to `context`. Null where
// the text has errors.
std::unique_ptr<llvm::Module> parse(const Program& program, const std::string& preprocessed, llvm::LLVMContext& context,
                                    const std::function<void(clang::ASTContext&)>& look, std::string& log);

// Laid out to be read, as clang-format does.
std::string formatted(const std::string& text);

}  // namespace heddle::kernelc

// Looks at conditions and at what is expanded.
#include "tools/kernelc/asked_macros.hpp"

#include <algorithm>
#include <set>

#include <clang/Basic/CharInfo.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include "tools/kernelc/front_end.hpp"

namespace heddle::kernelc {

namespace {

bool reserved(llvm::StringRef name) {
  return name.size() > 1 && name[0] == '_' && (name[1] == '_' || clang::isUppercase(name[1]));
}

// By the standards of OpenCL and of C. What differs there between devices is told by the target, or is the same on all
// that there are.
bool same_everywhere(llvm::StringRef name) {
  static const std::set<llvm::StringRef> known = {"__OPENCL_VERSION__",
                                                  "__OPENCL_C_VERSION__",
                                                  "__ENDIAN_LITTLE__",
                                                  "__IMAGE_SUPPORT__",
                                                  "__FAST_RELAXED_MATH__",
                                                  "__EMBEDDED_PROFILE__",
                                                  "__kernel_exec",
                                                  "__FILE__",
                                                  "__LINE__",
                                                  "__DATE__",
                                                  "__TIME__",
                                                  "__COUNTER__",
                                                  "__VA_ARGS__",
                                                  "__VA_OPT__",
                                                  "_Pragma",
                                                  "__cplusplus"};
  return known.count(name) > 0 || name.startswith("__opencl_c_");
}

// Names that keep a file from being read twice.
bool guards_a_file(llvm::StringRef name) {
  name = name.rtrim('_');
  return name.endswith_insensitive("_H") || name.endswith_insensitive("_HPP") || name.endswith_insensitive("_CL") ||
         name.endswith_insensitive("_CLH");
}

class AskedMacros : public clang::PPCallbacks {
 public:
  AskedMacros(const clang::Preprocessor& preprocessor, const Program& program, std::string& asked)
      : preprocessor_(preprocessor), target_(program.target), asked_(asked) {
    const std::vector<std::string>& words = program.options.preprocessing;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "-U") own_.insert(words[i + 1]);
    }
  }

  void Ifdef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override { ask(name); }
  void Ifndef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override { ask(name); }
  void Elifdef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override { ask(name); }
  void Elifndef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override { ask(name); }
  void If(clang::SourceLocation at, clang::SourceRange, ConditionValueKind) override { ask_all(at); }
  void Elif(clang::SourceLocation at, clang::SourceRange, ConditionValueKind value, clang::SourceLocation) override {
    if (value != CVK_NotEvaluated) ask_all(at);
  }
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition&, clang::SourceRange,
                    const clang::MacroArgs*) override {
    ask(name);
  }

  void MacroDefined(const clang::Token& name, const clang::MacroDirective* directive) override {
    if (from_clang(directive->getLocation())) return;
    // "#ifndef X, #define X": a file that is read once, or a mark. With a value it may be a default for what other
    // compilers define.
    const llvm::StringRef text = name.getIdentifierInfo()->getName();
    if (directive->getMacroInfo()->tokens_empty() || guards_a_file(text)) not_defined_.erase(text.str());
  }
  void MacroUndefined(const clang::Token& name, const clang::MacroDefinition&, const clang::MacroDirective*) override {
    if (!from_clang(name.getLocation()) &&
        !preprocessor_.getSourceManager().isWrittenInCommandLineFile(name.getLocation()))
      own_.insert(name.getIdentifierInfo()->getName().str());
  }

  void EndOfMainFile() override {
    if (asked_.empty() && !not_defined_.empty()) asked_ = *not_defined_.begin();
  }

 private:
  bool from_clang(clang::SourceLocation at) const {
    return at.isInvalid() || preprocessor_.getSourceManager().isWrittenInBuiltinFile(at);
  }

  void ask(const clang::Token& name) {
    if (name.getIdentifierInfo()) ask(*name.getIdentifierInfo());
  }

  void ask(const clang::IdentifierInfo& identifier) {
    const std::string name = identifier.getName().str();
    if (!reserved(name) || same_everywhere(name) || own_.count(name) || target_.macros.count(name)) return;
    const auto& absent = target_.absent_macros;
    if (std::find(absent.begin(), absent.end(), name) != absent.end()) return;
    const clang::MacroInfo* macro = preprocessor_.getMacroInfo(&identifier);
    if (!macro)
      not_defined_.insert(name);
    else if (macro->isBuiltinMacro() || from_clang(macro->getDefinitionLoc()))
      asked_ = name;
  }

  // All names in a condition, also through macros: those that are not defined count as zero there, without a word.
  void ask_all(clang::SourceLocation at) {
    const auto& sources = preprocessor_.getSourceManager();
    const auto [file, offset] = sources.getDecomposedLoc(at);
    const llvm::StringRef text = sources.getBufferData(file);
    clang::Lexer lexer(sources.getLocForStartOfFile(file), preprocessor_.getLangOpts(), text.begin(),
                       text.begin() + offset, text.end());
    std::set<const clang::IdentifierInfo*> seen;
    clang::Token token;
    for (bool first = true; !lexer.LexFromRawLexer(token) && (first || !token.isAtStartOfLine()); first = false) {
      if (token.is(clang::tok::raw_identifier) && !first)
        ask_through(*preprocessor_.getIdentifierInfo(token.getRawIdentifier()), seen);
    }
  }

  void ask_through(const clang::IdentifierInfo& identifier, std::set<const clang::IdentifierInfo*>& seen) {
    if (!seen.insert(&identifier).second || identifier.getName() == "defined") return;
    ask(identifier);
    const clang::MacroInfo* macro = preprocessor_.getMacroInfo(&identifier);
    if (!macro) return;
    for (const clang::Token& token : macro->tokens()) {
      if (token.getIdentifierInfo()) ask_through(*token.getIdentifierInfo(), seen);
    }
  }

  const clang::Preprocessor& preprocessor_;
  const Target& target_;
  std::string& asked_;
  std::set<std::string> own_;          // not defined, because the program or its options say so
  std::set<std::string> not_defined_;  // asked for, and not defined so far
};

}  // namespace

std::unique_ptr<clang::PPCallbacks> watch_asked_macros(const clang::Preprocessor& preprocessor, const Program& program,
                                                       std::string& asked) {
  return std::make_unique<AskedMacros>(preprocessor, program, asked);
}

}  // namespace heddle::kernelc

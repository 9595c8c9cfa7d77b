// One compiler instance per step, on files in memory; included files come from the disk.
#include "tools/kernelc/front_end.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Format/Format.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Tooling/Core/Replacement.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/VirtualFileSystem.h>

#include "tools/kernelc/standard_names.hpp"

namespace heddle::kernelc {

namespace {

constexpr const char* program_file = "/heddle/program.cl";
constexpr const char* names_file = "/heddle/standard_names.h";
constexpr const char* resource_folder = "/heddle/clang";
constexpr std::size_t longest_log = 1 << 16;  // a source of errors makes more than anybody reads

struct Instance {
  std::string words;
  llvm::raw_string_ostream out{words};
  clang::CompilerInstance compiler;
};

std::string extension_option(const Target& target) {
  if (target.extensions.empty()) return "";
  std::string out = "-cl-ext=-all";
  for (const std::string& extension : target.extensions) out += ",+" + extension;
  for (const auto& [name, value] : target.macros) {
    if (name.rfind("__opencl_c_", 0) == 0) out += ",+" + name;
  }
  return out;
}

// Macros that clang derives from the standard and the extensions, which are told to it as such.
bool clangs_own(const std::string& name) {
  return name == "__OPENCL_C_VERSION__" || name.rfind("__opencl_c_", 0) == 0 || name.rfind("CL_VERSION_", 0) == 0;
}

std::unique_ptr<Instance> make(const Program& program, const std::string& text, bool preprocessing) {
  auto instance = std::make_unique<Instance>();
  clang::CompilerInstance& compiler = instance->compiler;
  auto* diagnostics = new clang::DiagnosticOptions;  // owned by reference counts below
  diagnostics->ShowCarets = false;
  compiler.createDiagnostics(new clang::TextDiagnosticPrinter(instance->out, diagnostics), true);

  // -fwrapv: a kernel whose index overflows is broken by the standard but may still work on every device. Without it
  // LLVM would assume that it cannot happen, and ranges would be wrong instead of unknown.
  std::vector<std::string> words = {
      "-triple",
      program.target.address_bits == 32 ? "spir-unknown-unknown" : "spir64-unknown-unknown",
      "-x",
      "cl",
      "-O0",
      "-disable-O0-optnone",
      "-disable-llvm-passes",
      "-fwrapv",
      "-ffp-contract=on",
      "-w",
      "-resource-dir",
      resource_folder,
      "-internal-isystem",
      std::string(resource_folder) + "/include",
      "-cl-std=" + program.options.standard};
  words.insert(words.end(), program.options.language.begin(), program.options.language.end());
  if (std::string extensions = extension_option(program.target); !extensions.empty()) words.push_back(extensions);
  if (preprocessing) {
    words.insert(words.end(), {"-U", "__SPIR__", "-U", "__SPIRV__", "-U", "__SPIR64__", "-U", "__SPIR32__"});
    for (const auto& [name, value] : program.target.macros) {
      if (!clangs_own(name)) words.insert(words.end(), {"-U", name, "-D", name + "=" + value});
    }
    words.insert(words.end(), {"-include", names_file});
    words.insert(words.end(), program.options.preprocessing.begin(), program.options.preprocessing.end());
    if (!program.folder.empty())
      words.insert(words.end(), {"-working-directory", program.folder, "-I", program.folder});
  } else {
    words.insert(words.end(), {"-finclude-default-header", "-fdeclare-opencl-builtins"});
  }
  words.push_back(program_file);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, compiler.getDiagnostics())) return instance;
  invocation->getFrontendOpts().DisableFree = false;  // this process may live long
  compiler.setInvocation(std::move(invocation));

  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  auto add = [&](const std::string& name, const std::string& content) {
    memory->addFile(name, 0, llvm::MemoryBuffer::getMemBufferCopy(content, name));
  };
  add(program_file, text);
  add(names_file, standard_names());
  add(std::string(resource_folder) + "/include/opencl-c-base.h", opencl_base_header);
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
  files->pushOverlay(memory);
  compiler.createFileManager(files);
  return instance;
}

// Notices files that are included, or asked for.
class Inclusions : public clang::PPCallbacks {
 public:
  explicit Inclusions(bool& any) : any_(any) {}
  void InclusionDirective(clang::SourceLocation, const clang::Token&, llvm::StringRef name, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, llvm::StringRef, llvm::StringRef,
                          const clang::Module*, clang::SrcMgr::CharacteristicKind) override {
    any_ |= name != names_file;
  }
  void HasInclude(clang::SourceLocation, llvm::StringRef, bool, clang::OptionalFileEntryRef,
                  clang::SrcMgr::CharacteristicKind) override {
    any_ = true;
  }

 private:
  bool& any_;
};

class Preprocess : public clang::PreprocessorFrontendAction {
 public:
  Preprocess(llvm::raw_ostream& out, bool& includes) : out_(out), includes_(includes) {}

 private:
  void ExecuteAction() override {
    getCompilerInstance().getPreprocessor().addPPCallbacks(std::make_unique<Inclusions>(includes_));
    auto& options = getCompilerInstance().getPreprocessorOutputOpts();
    options.ShowCPP = 1, options.ShowLineMarkers = 0, options.ShowComments = 0;
    clang::DoPrintPreprocessedInput(getCompilerInstance().getPreprocessor(), &out_, options);
  }
  llvm::raw_ostream& out_;
  bool& includes_;
};

class Look : public clang::ASTConsumer {
 public:
  explicit Look(const std::function<void(clang::ASTContext&)>& look) : look_(look) {}
  void HandleTranslationUnit(clang::ASTContext& context) override {
    if (!context.getDiagnostics().hasErrorOccurred()) look_(context);
  }

 private:
  const std::function<void(clang::ASTContext&)>& look_;
};

// Syntax tree and IR out of one parse.
class LookAndEmit : public clang::EmitLLVMOnlyAction {
 public:
  LookAndEmit(llvm::LLVMContext& context, const std::function<void(clang::ASTContext&)>& look)
      : EmitLLVMOnlyAction(&context), look_(look) {}

 private:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(std::make_unique<Look>(look_));
    consumers.push_back(EmitLLVMOnlyAction::CreateASTConsumer(compiler, file));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }
  const std::function<void(clang::ASTContext&)>& look_;
};

bool execute(Instance& instance, clang::FrontendAction& action, std::string& log) {
  const bool ready = !instance.compiler.getDiagnostics().hasErrorOccurred();
  const bool done =
      ready && instance.compiler.ExecuteAction(action) && !instance.compiler.getDiagnostics().hasErrorOccurred();
  instance.out.flush();
  log = instance.words.substr(0, longest_log);
  return done;
}

}  // namespace

std::optional<Preprocessed> preprocess(const Program& program, std::string& log) {
  auto instance = make(program, program.source, true);
  std::string text;
  bool includes = false;
  llvm::raw_string_ostream out(text);
  Preprocess action(out, includes);
  if (!execute(*instance, action, log)) return std::nullopt;
  out.flush();
  const std::size_t begin = text.find_first_not_of('\n');
  return Preprocessed{begin == std::string::npos ? "" : text.substr(begin), includes};
}

std::unique_ptr<llvm::Module> parse(const Program& program, const std::string& preprocessed, llvm::LLVMContext& context,
                                    const std::function<void(clang::ASTContext&)>& look, std::string& log) {
  auto instance = make(program, preprocessed, false);
  LookAndEmit action(context, look);
  if (!execute(*instance, action, log)) return nullptr;
  return action.takeModule();
}

std::string formatted(const std::string& text) {
  auto style = clang::format::getGoogleStyle(clang::format::FormatStyle::LK_Cpp);
  style.ColumnLimit = 100;
  style.SortIncludes = clang::format::FormatStyle::SI_Never;
  const auto changes =
      clang::format::reformat(style, text, clang::tooling::Range(0, static_cast<unsigned>(text.size())));
  auto out = clang::tooling::applyAllReplacements(text, changes);
  if (out) return *out;
  llvm::consumeError(out.takeError());
  return text;
}

}  // namespace heddle::kernelc

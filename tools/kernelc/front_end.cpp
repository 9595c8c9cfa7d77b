// One compiler instance per step, on files in memory; included files come from the disk.
#include "tools/kernelc/front_end.hpp"

#include <set>
#include <tuple>

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/CharInfo.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Format/Format.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Tooling/Core/Replacement.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/VirtualFileSystem.h>

#include "tools/kernelc/asked_macros.hpp"
#include "tools/kernelc/standard_names.hpp"

namespace heddle::kernelc {

namespace {

constexpr const char* program_file = "/heddle/program.cl";
constexpr const char* names_file = "/heddle/standard_names.h";
constexpr const char* resource_folder = "/heddle/clang";
constexpr const char* nowhere = "/heddle/nowhere";  // a folder that is not there
constexpr std::size_t longest_log = 1 << 16;        // a source of errors makes more than anybody reads

struct Instance {
  std::string words;
  llvm::raw_string_ostream out{words};
  clang::CompilerInstance compiler;
};

std::string extension_option(const Target& target) {
  if (target.extensions.empty()) return "";
  // Features of OpenCL C 3.0 that are extensions too: clang refuses to work where only one of both is there. A device
  // that was asked for its macros in an older standard told of extensions alone.
  static const std::map<std::string, std::string> same = {
      {"cl_khr_fp64", "__opencl_c_fp64"}, {"cl_khr_3d_image_writes", "__opencl_c_3d_image_writes,+__opencl_c_images"}};
  std::string out = "-cl-ext=-all";
  for (const std::string& extension : target.extensions) {
    out += ",+" + extension;
    if (const auto feature = same.find(extension); feature != same.end()) out += ",+" + feature->second;
  }
  for (const auto& [name, value] : target.macros) {
    if (name.rfind("__opencl_c_", 0) != 0) continue;
    if (name != "__opencl_c_fp64" && name != "__opencl_c_3d_image_writes") out += ",+" + name;
  }
  return out;
}

// Macros that clang derives from the standard, the extensions and other options, which are told to it as such.
bool clangs_own(const std::string& name) {
  return name == "__OPENCL_C_VERSION__" || name == "__FAST_RELAXED_MATH__" || name.rfind("__opencl_c_", 0) == 0 ||
         name.rfind("CL_VERSION_", 0) == 0;
}

// `names`: the standard's macros for preprocessing; without them, the text is to be parsed.
// "CL1.2" is 120.
std::string version_of(const std::string& standard) {
  std::string out;
  for (char c : standard) {
    if (clang::isDigit(c)) out += c;
  }
  return out + "0";
}

std::unique_ptr<Instance> make(const Program& program, const std::string& text, const std::string* names) {
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
  if (names) {
    words.insert(words.end(), {"-U", "__SPIR__", "-U", "__SPIRV__", "-U", "__SPIR64__", "-U", "__SPIR32__"});
    // Every compiler of OpenCL C defines it, but clang leaves it to vendors.
    words.insert(words.end(), {"-D", "__OPENCL_VERSION__=" + version_of(program.options.standard)});
    for (const std::string& name : program.target.absent_macros) {
      if (!clangs_own(name)) words.insert(words.end(), {"-U", name});
    }
    for (const auto& [name, value] : program.target.macros) {
      if (!clangs_own(name)) words.insert(words.end(), {"-U", name, "-D", name + "=" + value});
    }
    words.insert(words.end(), {"-include", names_file});
    words.insert(words.end(), program.options.preprocessing.begin(), program.options.preprocessing.end());
    words.insert(words.end(), {"-working-directory", program.folder.empty() ? nowhere : program.folder});
    if (!program.folder.empty()) words.insert(words.end(), {"-I", program.folder});
  } else {
    // asm: a keyword of NVIDIA's compiler, though not of the standard.
    words.insert(words.end(), {"-finclude-default-header", "-fdeclare-opencl-builtins", "-D", "asm=__asm__"});
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
  if (names) add(names_file, *names);
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

// #if cannot know the value of a macro that stands for itself.
class AskedValues : public clang::PPCallbacks {
 public:
  AskedValues(const clang::Preprocessor& preprocessor, std::string& asked)
      : preprocessor_(preprocessor), asked_(asked) {}
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition, clang::SourceRange,
                    const clang::MacroArgs*) override {
    const clang::MacroInfo* macro = definition.getMacroInfo();
    if (!macro || !preprocessor_.isParsingIfOrElifDirective() || macro->tokens_empty()) return;
    const auto& sources = preprocessor_.getSourceManager();
    const bool standard = sources.getFilename(sources.getFileLoc(macro->getDefinitionLoc())) == names_file;
    if (standard && macro->getReplacementToken(0).getIdentifierInfo() == name.getIdentifierInfo())
      asked_ = name.getIdentifierInfo()->getName().str();
  }

 private:
  const clang::Preprocessor& preprocessor_;
  std::string& asked_;
};

// Clang's printer leaves macros in pragmas as they are, but the text that it prints defines none. So this prints those
// whose words every compiler expands; names of extensions and switches, as after OPENCL, are no macros.
class PragmaPrinter : public clang::PragmaHandler {
 public:
  PragmaPrinter(const char* space, const char* name, llvm::raw_ostream& out)
      : PragmaHandler(name), space_(space), out_(out) {}
  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer, clang::Token& first) override {
    out_ << "\n#pragma" << space_;
    for (clang::Token token = first; token.isNot(clang::tok::eod); preprocessor.Lex(token))
      out_ << ' ' << preprocessor.getSpelling(token);
    out_ << '\n';
  }

 private:
  const char* space_;
  llvm::raw_ostream& out_;
};

class Preprocess : public clang::PreprocessorFrontendAction {
 public:
  Preprocess(const Program& program, llvm::raw_ostream& out, bool& includes, std::string& asked, std::string& unknown)
      : program_(program), out_(out), includes_(includes), asked_(asked), unknown_(unknown) {}

 private:
  void ExecuteAction() override {
    clang::Preprocessor& preprocessor = getCompilerInstance().getPreprocessor();
    preprocessor.addPPCallbacks(std::make_unique<Inclusions>(includes_));
    preprocessor.addPPCallbacks(std::make_unique<AskedValues>(preprocessor, asked_));
    preprocessor.addPPCallbacks(watch_asked_macros(preprocessor, program_, unknown_));
    // They belong to the preprocessor then.
    for (const char* name : {"unroll", "nounroll", "unroll_and_jam", "nounroll_and_jam"})
      preprocessor.AddPragmaHandler(new PragmaPrinter("", name, out_));
    for (const char* name : {"loop", "fp"})
      preprocessor.AddPragmaHandler("clang", new PragmaPrinter(" clang", name, out_));
    auto& options = getCompilerInstance().getPreprocessorOutputOpts();
    options.ShowCPP = 1, options.ShowLineMarkers = 0, options.ShowComments = 0;
    clang::DoPrintPreprocessedInput(preprocessor, &out_, options);
  }
  const Program& program_;
  llvm::raw_ostream& out_;
  bool& includes_;
  std::string& asked_;
  std::string& unknown_;
};

// The macros that clang's header of OpenCL C defines for the standard and the extensions at hand.
class HeaderMacros : public clang::PreprocessorFrontendAction {
 public:
  std::set<std::string> names;

 private:
  void ExecuteAction() override {
    clang::Preprocessor& preprocessor = getCompilerInstance().getPreprocessor();
    preprocessor.EnterMainSourceFile();
    clang::Token token;
    do preprocessor.Lex(token);
    while (token.isNot(clang::tok::eof));
    for (const auto& [identifier, state] : preprocessor.macros()) {
      if (preprocessor.getMacroInfo(identifier)) names.insert(identifier->getName().str());
    }
  }
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

// The user's definitions of a name, as build options.
std::string definition_of(const std::string& name, const std::vector<std::string>& preprocessing) {
  std::string out;
  for (std::size_t i = 0; i + 1 < preprocessing.size(); i += 2) {
    const auto& [flag, value] = std::tie(preprocessing[i], preprocessing[i + 1]);
    if ((flag == "-D" || flag == "-U") && value.substr(0, value.find_first_of("=(")) == name)
      out += " " + quoted(flag + value);
  }
  return out;
}

bool execute(Instance& instance, clang::FrontendAction& action, std::string& log) {
  const bool ready = !instance.compiler.getDiagnostics().hasErrorOccurred();
  const bool done =
      ready && instance.compiler.ExecuteAction(action) && !instance.compiler.getDiagnostics().hasErrorOccurred();
  instance.out.flush();
  log = instance.words.substr(0, longest_log);
  return done;
}

// The standard's macros for this program, as standard_names() defines them; null where clang does not take the options.
// Kept, as reading the header takes half as long as a small program does.
const std::map<std::string, std::string>* standard_macros(const Program& program, std::string& log) {
  static std::map<std::string, std::map<std::string, std::string>> known;
  std::string key = program.options.standard + " " + std::to_string(program.target.address_bits) + " " +
                    extension_option(program.target);
  for (const std::string& option : program.options.language) key += " " + option;
  if (const auto found = known.find(key); found != known.end()) return &found->second;
  HeaderMacros header;
  if (auto instance = make(program, "", nullptr); !execute(*instance, header, log)) return nullptr;
  return &known.emplace(key, standard_names(header.names)).first->second;
}

}  // namespace

std::optional<Preprocessed> preprocess(const Program& program, std::string& log) {
  const auto* standard = standard_macros(program, log);
  if (!standard) return std::nullopt;
  Preprocessed out;
  std::string names;
  for (const auto& [name, definition] : *standard) {
    names += definition + "\n";
    out.passed_on += definition_of(name, program.options.preprocessing);
  }
  auto instance = make(program, program.source, &names);
  std::string text, asked, unknown;
  llvm::raw_string_ostream stream(text);
  Preprocess action(program, stream, out.includes, asked, unknown);
  if (!execute(*instance, action, log)) return std::nullopt;
  stream.flush();
  if (!asked.empty()) out.unsupported = "#if asks for the value of " + asked + ", which differs between vendors";
  if (!unknown.empty()) out.unsupported = "the source asks for " + unknown + ", which only the device's compiler knows";
  const std::size_t begin = text.find_first_not_of('\n');
  if (begin != std::string::npos) out.text = text.substr(begin);
  return out;
}

std::unique_ptr<llvm::Module> parse(const Program& program, const std::string& preprocessed, llvm::LLVMContext& context,
                                    const std::function<void(clang::ASTContext&)>& look, std::string& log) {
  auto instance = make(program, preprocessed, nullptr);
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

// The whole compiler on a page: preprocess, parse, rewrite, facts.
#include "tools/kernelc/answer.hpp"

#include <set>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <nlohmann/json.hpp>

#include "core/wire_text.hpp"
#include "tools/kernelc/front_end.hpp"
#include "tools/kernelc/kernel_facts.hpp"
#include "tools/kernelc/rewrite.hpp"

namespace heddle::kernelc {

namespace {

using Json = nlohmann::json;

Json refused(const std::string& error) { return {{"ok", false}, {"error", core::text_of_bytes(error)}}; }

// What is not wrong, but beyond this compiler.
Json unsupported(const std::string& what) {
  Json out = refused(what);
  out["unsupported"] = true;
  return out;
}

bool known_standard(const std::string& name) {
  static const std::set<std::string> known = {"CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0"};
  return known.count(name) > 0;
}

// Where the options do not say, it is what the device's compiler takes by itself, which its version tells.
std::string standard_of(const Target& target) {
  const auto version = target.macros.find("__OPENCL_C_VERSION__");
  if (version == target.macros.end() || version->second.size() != 3) return "CL1.2";
  return "CL" + version->second.substr(0, 1) + "." + version->second.substr(1, 1);
}

Program program_of(const Json& request) {
  Program out;
  out.source = core::bytes_of_text(request.at("source").get<std::string>());
  // Programs hand over sizeof of an array.
  out.source.erase(out.source.find_last_not_of('\0') + 1);
  out.options = parse_build_options(core::bytes_of_text(request.value("options", "")));
  out.folder = request.value("folder", "");
  out.target.extensions = request.value("extensions", std::vector<std::string>{});
  out.target.macros = request.value("macros", std::map<std::string, std::string>{});
  out.target.absent_macros = request.value("absent_macros", std::vector<std::string>{});
  out.target.address_bits = request.value("address_bits", 64);
  if (out.options.standard.empty()) out.options.standard = standard_of(out.target);
  return out;
}

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string work(const Json& request) {
  const Program program = program_of(request);
  const auto wanted = request.value("want", std::vector<std::string>{"facts"});
  const bool pretty = request.value("pretty", false);
  std::string log;
  if (program.source.find('\0') != std::string::npos) return line(unsupported("the source holds a byte of value zero"));
  if (!known_standard(program.options.standard))
    return line(unsupported("-cl-std=" + program.options.standard + " is not analysed"));
  const auto text = preprocess(program, log);
  if (!text) return line(refused(log.empty() ? "it cannot be preprocessed" : log));
  if (!text->unsupported.empty()) return line(unsupported(text->unsupported));

  Json forms = Json::object();
  std::map<std::string, KernelSyntax> syntax_of_kernels;
  auto look = [&](clang::ASTContext& context) {
    const Syntax syntax = read_syntax(context);
    syntax_of_kernels = kernel_syntax(context, syntax);
    for (const std::string& form : wanted) {
      const std::string name = form.substr(0, form.find(':'));
      for (const Rewrite& rewrite : rewrites()) {
        if (name != rewrite.name) continue;
        const Rewritten out = rewrite.run(context, syntax, text->text, form);
        forms[form] = out.refused.empty()
                          ? Json{{"source", core::text_of_bytes(pretty ? formatted(out.text) : out.text)}}
                          : Json{{"refused", out.refused}};
      }
    }
  };
  llvm::LLVMContext context;
  const auto module = parse(program, text->text, context, look, log);
  if (!module) return line(refused(log.empty() ? "it cannot be parsed" : log));

  const Json out = {{"ok", true},
                    {"options", core::text_of_bytes(program.options.others + text->passed_on)},
                    {"forms", forms},
                    {"includes", text->includes}};
  if (std::find(wanted.begin(), wanted.end(), "facts") != wanted.end())
    return line(out) + "\n" + core::to_json(program_facts(*module, std::move(syntax_of_kernels)));
  return line(out);
}

}  // namespace

std::string answer(const std::string& request) {
  try {
    return work(Json::parse(request));
  } catch (const std::exception& error) {
    return line(refused(error.what()));
  }
}

}  // namespace heddle::kernelc

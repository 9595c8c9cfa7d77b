// The whole compiler on a page: preprocess, parse, rewrite, facts.
#include "tools/kernelc/answer.hpp"

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

Program program_of(const Json& request) {
  Program out;
  out.source = core::bytes_of_text(request.at("source").get<std::string>());
  out.options = parse_build_options(core::bytes_of_text(request.value("options", "")));
  out.folder = request.value("folder", "");
  out.target.extensions = request.value("extensions", std::vector<std::string>{});
  out.target.macros = request.value("macros", std::map<std::string, std::string>{});
  out.target.address_bits = request.value("address_bits", 64);
  return out;
}

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string work(const Json& request) {
  const Program program = program_of(request);
  const auto wanted = request.value("want", std::vector<std::string>{"facts"});
  const bool pretty = request.value("pretty", false);
  std::string log;
  if (program.source.find('\0') != std::string::npos) return line(refused("the source holds a byte of value zero"));
  if (program.options.standard.find("++") != std::string::npos) return line(refused("C++ for OpenCL is not analysed"));
  const auto text = preprocess(program, log);
  if (!text) return line(refused(log.empty() ? "it cannot be preprocessed" : log));

  Json forms = Json::object();
  std::map<std::string, KernelSyntax> syntax_of_kernels;
  auto look = [&](clang::ASTContext& context) {
    const Syntax syntax = read_syntax(context);
    syntax_of_kernels = kernel_syntax(context, syntax);
    for (const Rewrite& rewrite : rewrites()) {
      if (std::find(wanted.begin(), wanted.end(), rewrite.name) == wanted.end()) continue;
      const Rewritten out = rewrite.run(context, syntax, text->text);
      forms[rewrite.name] = out.refused.empty()
                                ? Json{{"source", core::text_of_bytes(pretty ? formatted(out.text) : out.text)}}
                                : Json{{"refused", out.refused}};
    }
  };
  llvm::LLVMContext context;
  const auto module = parse(program, text->text, context, look, log);
  if (!module) return line(refused(log.empty() ? "it cannot be parsed" : log));

  const Json out = {{"ok", true},
                    {"options", core::text_of_bytes(program.options.others)},
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

// Collects reasons along the calls of each kernel.
#include "tools/kernelc/obstacles.hpp"

#include <algorithm>

#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>

namespace heddle::kernelc {

namespace {

// What a call means for cutting; empty: nothing.
std::string reason(const Syntax& syntax, const Call& call) {
  if (!call.callee) return "calls through something that cannot be told";
  const bool own = syntax.is_own(call.callee);
  if (own && !call.callee->hasBody()) return "calls '" + call.name + "', whose text is not here";
  if (own) return "";
  if (call.name == "printf") return prints;
  if (call.name.starts_with("enqueue_") || call.name.starts_with("get_kernel_") || call.name == "get_default_queue" ||
      call.name.starts_with("ndrange_") || call.name.starts_with("__enqueue"))
    return call.name + ": work that a device enqueues itself";
  if (call.name.find("_pipe") != std::string::npos) return call.name + ": the order of packets in a pipe";
  if (call.name.starts_with("__builtin_") && call.name.find("workgroup") != std::string::npos)
    return call.name + ": a vendor's own way to ask for the group's place";
  return "";
}

}  // namespace

std::map<std::string, std::vector<std::string>> obstacles(const Syntax& syntax) {
  std::map<std::string, std::vector<std::string>> out;
  for (const clang::FunctionDecl* kernel : syntax.declarations) {
    if (!is_kernel(*kernel)) continue;
    std::vector<std::string>& reasons = out[kernel->getNameAsString()];
    auto add = [&](const std::string& text) {
      if (!text.empty() && std::find(reasons.begin(), reasons.end(), text) == reasons.end()) reasons.push_back(text);
    };
    const auto reached = syntax.reached_from(kernel);
    for (const clang::FunctionDecl* function : reached) {
      const auto mine = syntax.calls_of.find(function);
      if (mine == syntax.calls_of.end()) continue;
      for (std::size_t i : mine->second) add(reason(syntax, syntax.calls[i]));
    }
    for (const Oddity& oddity : syntax.oddities) {
      if (reached.count(oddity.function)) add(oddity.what);
    }
    std::sort(reasons.begin(), reasons.end());  // not by where functions happen to lie in memory
  }
  return out;
}

}  // namespace heddle::kernelc

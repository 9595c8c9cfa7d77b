// Reads the names out of clang's own header, which knows them all.
#include "tools/kernelc/standard_names.hpp"

#include <sstream>

namespace heddle::kernelc {

namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// Extensions, features and what clang needs for itself are the device's business.
bool foreign(const std::string& name) { return name.empty() || name[0] == '_' || begins(name, "cl_"); }

// Integers that are the same for every vendor. FP_ILOGB0 and FP_ILOGBNAN are not.
bool fixed(const std::string& name) {
  const bool floating = begins(name, "FLT_") || begins(name, "DBL_") || begins(name, "HALF_");
  if (floating) return name.ends_with("_DIG") || name.ends_with("_EXP") || name.ends_with("_RADIX");
  return name.ends_with("_MAX") || name.ends_with("_MIN") || name == "CHAR_BIT";
}

}  // namespace

std::map<std::string, std::string> standard_names(const std::set<std::string>& defined) {
  std::istringstream header(opencl_base_header);
  std::map<std::string, std::string> out;
  std::string line;
  while (std::getline(header, line)) {
    while (line.ends_with('\\')) {  // a definition over several lines
      std::string next;
      if (!std::getline(header, next)) break;
      line.pop_back();
      line += next;
    }
    if (!begins(line, "#define ")) continue;
    const std::size_t from = 8;
    std::size_t to = from;
    while (to < line.size() && (std::isalnum(static_cast<unsigned char>(line[to])) || line[to] == '_')) ++to;
    const std::string name = line.substr(from, to - from);
    if (foreign(name) || !defined.count(name) || out.count(name)) continue;
    std::string parameters;
    if (to < line.size() && line[to] == '(') parameters = line.substr(to, line.find(')', to) - to + 1);
    if (parameters.find("...") != std::string::npos) continue;
    out[name] = fixed(name) ? line : "#define " + name + parameters + " " + name + parameters;
  }
  return out;
}

}  // namespace heddle::kernelc

// Reads the names out of clang's own header, which knows them all.
#include "tools/kernelc/standard_names.hpp"

#include <set>
#include <sstream>

namespace heddle::kernelc {

namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// Extensions, features and what clang needs for itself are the device's business.
bool foreign(const std::string& name) { return name.empty() || name[0] == '_' || begins(name, "cl_"); }

bool integer_limit(const std::string& name) {
  const bool limit = name.ends_with("_MAX") || name.ends_with("_MIN") || name == "CHAR_BIT";
  return limit && !begins(name, "FLT") && !begins(name, "DBL") && !begins(name, "HALF");
}

std::string read() {
  std::istringstream header(opencl_base_header);
  std::string out, line;
  std::set<std::string> seen;
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
    if (foreign(name) || !seen.insert(name).second) continue;
    std::string definition;
    if (integer_limit(name)) {
      definition = line;
    } else if (to < line.size() && line[to] == '(') {
      const std::string parameters = line.substr(to, line.find(')', to) - to + 1);
      if (parameters.find("...") != std::string::npos) continue;
      definition = "#define " + name + parameters + " " + name + parameters;
    } else {
      definition = "#define " + name + " " + name;
    }
    out += definition + "\n";
  }
  return out;
}

}  // namespace

const std::string& standard_names() {
  static const std::string names = read();
  return names;
}

}  // namespace heddle::kernelc

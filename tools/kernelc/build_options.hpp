// The options of clBuildProgram, sorted by who needs them.
#pragma once

#include <string>
#include <vector>

namespace heddle::kernelc {

struct BuildOptions {
  std::string standard;                    // -cl-std; empty: not given
  std::vector<std::string> preprocessing;  // -D, -U, -I, -include as clang wants them
  std::vector<std::string> language;       // others that change what is parsed
  std::string others;                      // what a source that has been preprocessed is still to be built with
};

// A word as it stands among build options.
std::string quoted(const std::string& word);

// Splits at white space, but not within quotes; a backslash takes what follows as it is. Options that only a vendor's
// compiler knows are kept in `others` and mean nothing here.
BuildOptions parse_build_options(const std::string& text);

}  // namespace heddle::kernelc

// What every rewrite of a source is: one function from a parsed text to a text, or to the reason why not. A new one is
// a file, a line in the list below and a .cl test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/kernelc/syntax.hpp"

namespace heddle::kernelc {

struct Rewritten {
  std::string text;
  std::string refused;  // why there is no text; empty: there is one
};

struct Rewrite {
  const char* name;  // of the form, up to a colon
  Rewritten (*run)(clang::ASTContext& context, const Syntax& syntax, const std::string& text, const std::string& form);
};

Rewritten box_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text, const std::string& form);
Rewritten window_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text,
                      const std::string& form);
Rewritten merge_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text,
                     const std::string& form);
Rewritten clock_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text,
                     const std::string& form);
Rewritten schedule_form(clang::ASTContext& context, const Syntax& syntax, const std::string& text,
                        const std::string& form);

inline const std::vector<Rewrite>& rewrites() {
  static const std::vector<Rewrite> all = {{"box", box_form},
                                           {"window", window_form},
                                           {"merge", merge_form},
                                           {"clock", clock_form},
                                           {"schedule", schedule_form}};
  return all;
}

}  // namespace heddle::kernelc

// Splitting and sorting of build options.
#include "tools/kernelc/build_options.hpp"

#include <set>

namespace heddle::kernelc {

namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  bool open = false;  // a word has begun, though it may be empty
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size() && quote != '\'') {
      word += text[++i], open = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c, open = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (open) out.push_back(word);
      word.clear(), open = false;
    } else {
      word += c, open = true;
    }
  }
  if (open) out.push_back(word);
  return out;
}

// Those that define macros or change types; the others only steer code generation.
bool concerns_language(const std::string& word) {
  static const std::set<std::string> known = {"-cl-single-precision-constant", "-cl-fast-relaxed-math",
                                              "-cl-finite-math-only", "-cl-unsafe-math-optimizations"};
  return known.count(word) > 0;
}

}  // namespace

std::string quoted(const std::string& word) {
  if (word.find_first_of(" \t\"'\\") == std::string::npos) return word;
  std::string out = "\"";
  for (char c : word) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

BuildOptions parse_build_options(const std::string& text) {
  BuildOptions out;
  const std::vector<std::string> words = split(text);
  auto keep = [&](const std::string& word) { out.others += (out.others.empty() ? "" : " ") + quoted(word); };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-include") {
      if (i + 1 < words.size()) out.preprocessing.insert(out.preprocessing.end(), {word, words[++i]});
    } else if (word.size() >= 2 && word[0] == '-' && (word[1] == 'D' || word[1] == 'U' || word[1] == 'I')) {
      const std::string flag = word.substr(0, 2);
      if (word.size() > 2)
        out.preprocessing.insert(out.preprocessing.end(), {flag, word.substr(2)});
      else if (i + 1 < words.size())
        out.preprocessing.insert(out.preprocessing.end(), {flag, words[++i]});
    } else {
      if (word.rfind("-cl-std=", 0) == 0) out.standard = word.substr(8);
      if (concerns_language(word)) out.language.push_back(word);
      keep(word);
    }
  }
  return out;
}

}  // namespace heddle::kernelc

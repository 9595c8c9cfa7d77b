// Applying edits.
#include "tools/kernelc/edits.hpp"

#include <algorithm>

namespace heddle::kernelc {

void Edits::erase(std::size_t at, std::size_t length) { erased_[at] = std::max(erased_[at], at + length); }

std::string Edits::apply(const std::string& text) const {
  std::string out;
  std::size_t resume = 0;
  auto insertion = inserted_.begin();
  auto erasure = erased_.begin();
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (; insertion != inserted_.end() && insertion->first == i; ++insertion) {
      if (i >= resume) out += insertion->second;
    }
    for (; erasure != erased_.end() && erasure->first == i; ++erasure) resume = std::max(resume, erasure->second);
    if (i < text.size() && i >= resume) out += text[i];
  }
  return out;
}

std::string free_prefix(const std::string& text) {
  std::string prefix = "heddle_";
  for (int i = 1; text.find(prefix) != std::string::npos; ++i) prefix = "heddle" + std::to_string(i) + "_";
  return prefix;
}

}  // namespace heddle::kernelc

// Bytes of any kind as UTF-8 text and back, for what travels in JSON: sources of kernels need not be UTF-8 (comments in
// old encodings are common), and every byte of them must arrive.
#pragma once

#include <string>

namespace heddle::core {

// Each byte as the character of its number.
std::string text_of_bytes(const std::string& bytes);
// The inverse; UsageError for a text that has other characters.
std::string bytes_of_text(const std::string& text);

}  // namespace heddle::core

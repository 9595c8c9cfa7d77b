// Latin-1 to UTF-8 and back.
#include "core/wire_text.hpp"

#include "core/errors.hpp"

namespace heddle::core {

std::string text_of_bytes(const std::string& bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return out;
}

std::string bytes_of_text(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out += text[i];
      continue;
    }
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((byte != 0xC2 && byte != 0xC3) || (next & 0xC0) != 0x80)
      throw UsageError("text of bytes: a character that is none");
    out += static_cast<char>((byte & 0x03) << 6 | (next & 0x3F));
    ++i;
  }
  return out;
}

}  // namespace heddle::core

// Everything here goes through the text code point by code point.
#include "profile/printable.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace heddle::profile {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

struct CodePoint {
  char32_t value;
  std::string_view bytes;
  bool valid;
};

// The one at the beginning of `text`, which is not empty. What is not UTF-8 is taken byte by byte.
CodePoint first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::size_t length = byte(0) < 0x80             ? 1
                             : (byte(0) & 0xe0) == 0xc0 ? 2
                             : (byte(0) & 0xf0) == 0xe0 ? 3
                             : (byte(0) & 0xf8) == 0xf0 ? 4
                                                        : 0;
  const CodePoint invalid{0xfffd, text.substr(0, 1), false};
  if (length == 0 || length > text.size()) return invalid;
  char32_t value = length == 1 ? byte(0) : byte(0) & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    value = value << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};  // that needs so many bytes
  if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return invalid;
  return {value, text.substr(0, length), true};
}

template <class Action>
void each(std::string_view text, Action action) {
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    action(c);
    text.remove_prefix(c.bytes.size());
  }
}

struct Range {
  char32_t first, last;
};

template <std::size_t n>
bool any(const Range (&ranges)[n], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](Range r) { return c >= r.first && c <= r.last; });
}

// C0 and C1 with DEL; marks that are not seen; ends of lines; turns of direction.
constexpr Range steering[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f},  {0x2028, 0x202e},
                              {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
constexpr Range without_width[] = {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
// As terminals do, by Unicode's East Asian Width: Hangul, CJK, full-width forms and pictographs.
constexpr Range of_double_width[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xac00, 0xd7a3},
                                     {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6},
                                     {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

std::size_t width_of(char32_t c) { return any(without_width, c) ? 0 : any(of_double_width, c) ? 2 : 1; }

}  // namespace

std::string valid_utf8(const std::string& text) {
  std::string out;
  each(text, [&](const CodePoint& c) { out += c.valid ? c.bytes : replacement; });
  return out;
}

std::string printable(const std::string& text) {
  std::string out;
  each(text, [&](const CodePoint& c) { out += !c.valid ? replacement : any(steering, c.value) ? "?" : c.bytes; });
  return out;
}

std::size_t width(const std::string& printable) {
  std::size_t columns = 0;
  each(printable, [&](const CodePoint& c) { columns += width_of(c.value); });
  return columns;
}

std::string cut(const std::string& printable, std::size_t columns) {
  if (width(printable) <= columns) return printable;
  const std::size_t room = columns > 2 ? columns - 2 : 0;
  std::string out;
  std::size_t used = 0;
  each(printable, [&](const CodePoint& c) {
    used += width_of(c.value);
    if (used <= room) out += c.bytes;
  });
  return out + "..";
}

}  // namespace heddle::profile

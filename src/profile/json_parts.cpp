// One loop over the bytes and a count of brackets instead of a recursive parser: nesting costs nothing, and every byte
// is read once for each level that is looked at.
#include "profile/json_parts.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <nlohmann/json.hpp>

namespace heddle::profile {

namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view blanks = " \t\r\n", opening = "{[", closing = "}]";

bool one_of(std::string_view set, char c) { return set.find(c) != npos; }

// One behind the quote that ends the string that begins at `at`. A string never spans lines: one that does was torn.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return npos;
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return npos;
  if (text[at] == '"') return end_of_string(text, at);
  if (!one_of(opening, text[at])) return text.find_first_of(" \t\r\n,:\"{}[]", at);
  for (std::size_t depth = 0; at < text.size();) {
    if (text[at] == '"') {
      at = end_of_string(text, at);
      if (at == npos) return npos;
      continue;
    }
    if (one_of(opening, text[at])) ++depth;
    if (one_of(closing, text[at]) && --depth == 0) return at + 1;
    ++at;
  }
  return npos;
}

}  // namespace

Parts::Parts(std::string_view text) : text_(text) {
  at_ = std::min(text.find_first_not_of(blanks), text.size());
  if (at_ == text.size() || !one_of(opening, text[at_])) return;
  close_ = text[at_++] == '{' ? '}' : ']';
}

void Parts::skip(std::string_view set) { at_ = std::min(text_.find_first_not_of(set, at_), text_.size()); }

// The member's name and the colon; false where something else stands there.
bool Parts::read_name(Part& part) {
  if (text_[at_] != '"') return false;
  const std::size_t end = end_of_string(text_, at_);
  const std::string_view quoted = text_.substr(at_, end == npos ? npos : end - at_);
  part.name = word(quoted).value_or(std::string(quoted));
  part.torn = end == npos;
  if (part.torn) return true;
  at_ = end;
  skip(blanks);
  part.torn = at_ == text_.size();
  if (part.torn) return true;
  if (text_[at_] != ':') return false;
  ++at_;
  skip(blanks);
  return true;
}

bool Parts::next(Part& part) {
  while (close_) {
    skip(" \t\r\n,");
    if (at_ == text_.size() || text_[at_] == close_) {
      closed_ = at_ < text_.size();
      at_ += closed_;
      close_ = 0;
      return false;
    }
    const std::size_t begin = at_;
    part = {};
    if (close_ == ']' || read_name(part)) {
      const std::size_t end = part.torn ? npos : end_of_value(text_, at_);
      part.torn = end == npos;
      part.text = text_.substr(at_, part.torn ? npos : end - at_);
      at_ = part.torn ? text_.size() : end;
      if (part.torn) close_ = 0;
      if (at_ > begin) return true;
    }
    if (spoilt_ == 0) first_spoilt_ = begin;
    at_ = std::max(at_, begin + 1);
    spoilt_ += at_ - begin;
  }
  return false;
}

std::optional<core::Value> scalar(std::string_view text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "true") return true;
  if (text == "false") return false;
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return infinity;
  if (text == "-Infinity") return -infinity;
  if (text.empty()) return {};
  if (text[0] == '"') {
    if (text.size() < 2 || text.back() != '"') return {};
    const std::string_view inside = text.substr(1, text.size() - 2);
    if (std::all_of(inside.begin(), inside.end(), [](char c) { return c >= ' ' && c < 127 && c != '\\' && c != '"'; }))
      return std::string(inside);
    const auto parsed = nlohmann::json::parse(text, nullptr, false);
    if (!parsed.is_string()) return {};
    return parsed.get<std::string>();
  }
  const std::size_t first = text[0] == '-';
  if (first == text.size() || text[first] < '0' || text[first] > '9') return {};  // from_chars would take "inf"
  const auto whole = [&](auto& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (std::int64_t i; whole(i)) return i;
  if (double d; whole(d)) return d;
  return {};
}

std::optional<double> number(std::string_view text) {
  const auto value = scalar(text);
  if (!value) return {};
  if (const auto* i = std::get_if<std::int64_t>(&*value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&*value)) return *d;
  return {};
}

std::optional<std::string> word(std::string_view text) {
  auto value = scalar(text);
  if (!value || !std::holds_alternative<std::string>(*value)) return {};
  return std::get<std::string>(std::move(*value));
}

}  // namespace heddle::profile

// JSON taken apart piece by piece, so that one spoilt piece does not spoil the others: files that grow by appending end
// where a crash ended them, and other programs write NaN, which JSON does not know.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/parameters.hpp"

namespace heddle::profile {

struct Part {
  std::string name;       // of an object's member; empty in an array
  std::string_view text;  // the value as it stands there
  bool torn = false;      // the text ends within it
};

// Goes through the members of an object or the elements of an array once, from front to back, without looking into
// them. Commas may be missing or too many. A text that is neither has no parts. The text must outlive its parts.
class Parts {
 public:
  explicit Parts(std::string_view text);

  bool next(Part& part);
  bool closed() const { return closed_; }                     // the closing bracket was seen
  std::size_t position() const { return at_; }                // bytes read so far
  std::size_t spoilt() const { return spoilt_; }              // bytes that are no JSON and were passed over
  std::size_t first_spoilt() const { return first_spoilt_; }  // where these begin

 private:
  void skip(std::string_view set);
  bool read_name(Part& part);

  std::string_view text_;
  std::size_t at_ = 0, spoilt_ = 0, first_spoilt_ = 0;
  char close_ = 0;  // the closing bracket that ends the parts; none once they have ended
  bool closed_ = false;
};

// A number, truth value or string; nothing for all else. NaN and infinite numbers in Python's spelling are real ones.
std::optional<core::Value> scalar(std::string_view text);
std::optional<double> number(std::string_view text);
std::optional<std::string> word(std::string_view text);

}  // namespace heddle::profile

// Changes to a text by position, applied all at once. What is inserted inside an erased part goes with it; at its begin
// or its end it stays.
#pragma once

#include <map>
#include <string>

namespace heddle::kernelc {

class Edits {
 public:
  void insert(std::size_t at, const std::string& text) { inserted_[at] += text; }  // before what stands there
  void insert_first(std::size_t at, const std::string& text) { inserted_[at] = text + inserted_[at]; }  // before others
  void erase(std::size_t at, std::size_t length);
  std::string apply(const std::string& text) const;

 private:
  std::map<std::size_t, std::string> inserted_;
  std::map<std::size_t, std::size_t> erased_;  // begin -> end
};

// A beginning of names that occurs nowhere in the text.
std::string free_prefix(const std::string& text);

}  // namespace heddle::kernelc

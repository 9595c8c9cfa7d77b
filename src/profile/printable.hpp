// Text of unknown origin, such as a driver's or an imported name: made fit to be exchanged, printed and lined up.
#pragma once

#include <string>

namespace heddle::profile {

std::string valid_utf8(const std::string& text);  // each byte that is not UTF-8 becomes U+FFFD
std::string printable(const std::string& text);   // also one line that cannot steer a terminal: control characters
                                                  // and marks of direction become '?'

// Of printable text, in columns of a terminal.
std::size_t width(const std::string& printable);
std::string cut(const std::string& printable, std::size_t columns);  // ends in ".." where something is missing

}  // namespace heddle::profile

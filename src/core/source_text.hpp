// OpenCL C as text: what can be told of it without a compiler.
#pragma once

#include <string>
#include <string_view>

namespace heddle::core {

// The text as the language sees it, with comments as blanks. What looks like one behind the first string or character
// may be part of that, and stays in.
std::string without_comments(std::string_view source);

// True: source and options are all that is compiled. False: it may include a file, however that is spelt ("# include",
// "%:include", a word broken over two lines, "-include FILE"), which may be another the next time. Of what looks like a
// directive in a string that is said, too.
bool includes_nothing(std::string_view source, std::string_view options);

}  // namespace heddle::core

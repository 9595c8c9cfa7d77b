// One request in, one answer out, both JSON.
#pragma once

#include <string>

namespace heddle::kernelc {

// Request: {"source": text, "options": text, "folder": text, "want": ["facts", "box", "window", "merge", "clock",
//           "schedule:..."], "pretty": bool,
//           "extensions": [names], "macros": {name: value}, "absent_macros": [names], "address_bits": 64}; only
//           "source" must be there. Source and options, and in the answer forms, options and errors, are bytes as
//           core/wire_text.hpp has them.
// Answer:  {"ok": true, "options": what rewritten sources are to be built with,
//           "includes": whether files went into it,
//           "forms": {"box": {"source": text} or {"refused": why}}}, or {"ok": false, "error": text}, with
//           "unsupported": true where the source need not be wrong;
//           facts come as a second line, as core/facts.hpp writes them.
// Never throws: whatever is wrong with a request is told in the answer.
std::string answer(const std::string& request);

}  // namespace heddle::kernelc

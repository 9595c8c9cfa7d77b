// Whether a source says anything of groups, by its words alone: for who wants to know that before, or without, the
// kernel compiler.
#pragma once

#include <string_view>

namespace heddle::kernel {

// True: no kernel of this source, built with these options, can tell how its work-items are grouped. False: one may.
bool blind_to_groups(std::string_view source, std::string_view options);

}  // namespace heddle::kernel

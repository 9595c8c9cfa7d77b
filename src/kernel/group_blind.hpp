// What a source says of groups, by its words alone: for who wants to know that before, or without, the kernel compiler.
#pragma once

#include <string_view>

namespace heddle::kernel {

// True: no kernel of this source, built with these options, can tell how its work-items are grouped. False: one may.
bool blind_to_groups(std::string_view source, std::string_view options);

// True: its work-items have no arrays of their own. False: they may; and drivers for CPUs hold those of a whole group
// on the stack of a thread, whatever their size (PoCL), so that a larger group ends the process.
bool without_private_arrays(std::string_view source);

}  // namespace heddle::kernel

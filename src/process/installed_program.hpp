// Programs of ours that are installed beside the library or program in which this code is.
#pragma once

#include <string>

namespace heddle::process {

// Its path, wherever Heddle is installed; empty where it is not there.
std::string installed_program(const std::string& name);

}  // namespace heddle::process

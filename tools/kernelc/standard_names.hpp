// The macros of OpenCL C's standard library, so that a source can be preprocessed for any vendor's compiler.
#pragma once

#include <map>
#include <set>
#include <string>

namespace heddle::kernelc {

extern const char* const opencl_base_header;  // clang's opencl-c-base.h

// Definitions, by name, of the standard macros among `defined` as themselves: #ifdef sees them, but the text keeps
// their names, because their values differ from vendor to vendor. Limits of integers and properties of floating-point
// types keep their values, which the standard fixes and #if may ask for.
std::map<std::string, std::string> standard_names(const std::set<std::string>& defined);

}  // namespace heddle::kernelc

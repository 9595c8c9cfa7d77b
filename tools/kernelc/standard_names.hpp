// The macros of OpenCL C's standard library, so that a source can be preprocessed for any vendor's compiler.
#pragma once

#include <string>

namespace heddle::kernelc {

extern const char* const opencl_base_header;  // clang's opencl-c-base.h

// Definitions of all standard macros as themselves: #ifdef sees them, but the text keeps their names, because their
// values differ from vendor to vendor. Limits of integers keep their values, which the standard fixes and #if may ask
// for.
const std::string& standard_names();

}  // namespace heddle::kernelc

// Where Heddle's own OpenCL driver lies.
#pragma once

#include <string>

namespace heddle::device {

// A folder with its .icd file and no other, which loaders take in OCL_ICD_VENDORS; it lies beside the running program
// in a build folder and in an installation alike. UsageError where it is not there.
std::string own_driver_folder();

}  // namespace heddle::device

// Where Heddle's own OpenCL driver lies.
#pragma once

#include <string>

namespace heddle::device {

struct OwnDriver {
  std::string folder;   // holds its .icd file and no other
  std::string library;  // as that file names it
};

// Beside the running program, in a build folder and in an installation alike. UsageError where it is not there.
OwnDriver own_driver();

}  // namespace heddle::device

// The results of a tuning run in the T4 format, which other tuners and their tools read.
#pragma once

#include <string>
#include <vector>

#include "profile/progress.hpp"

namespace heddle::profile {

// T4 results 1.0.0. What was tuned stands in the metadata; read_recorded reads all of it back to the same values.
struct Tuned {
  std::string kernel, device, problem;
};
std::string t4_text(const Tuned& tuned, const std::vector<Tried>& tried);

}  // namespace heddle::profile

// The suites; each is defined in the file of its name.
#pragma once

#include "bench/frame.hpp"

namespace heddle::bench {

Suite clock_suite();
Suite device_suite();
Suite dropin_suite();
Suite engine_suite();
Suite forms_suite();
Suite kernelc_suite();
Suite overhead_suite();
Suite search_suite();
Suite select_suite();
Suite split_suite();

}  // namespace heddle::bench

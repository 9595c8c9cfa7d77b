// Names of the kinds of devices, as reports and selectors spell them.
#include "device/device.hpp"

namespace heddle::device {

const char* to_string(Kind kind) { return kind == Kind::cpu ? "cpu" : kind == Kind::gpu ? "gpu" : "accelerator"; }

}  // namespace heddle::device

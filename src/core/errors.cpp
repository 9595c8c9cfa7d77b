// Names of the kinds of failure, as the store and the log spell them.
#include "core/errors.hpp"

namespace heddle::core {

const char* to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::build:
      return "build";
    case FailureKind::allocation:
      return "allocation";
    case FailureKind::launch:
      return "launch";
    case FailureKind::transfer:
      return "transfer";
    case FailureKind::lost:
      return "lost";
    case FailureKind::hang:
      return "hang";
    case FailureKind::unsupported:
      return "unsupported";
  }
  throw InternalError("FailureKind out of range");
}

}  // namespace heddle::core

// Messages over a socket: the length as four bytes, lowest first, then that many bytes.
#pragma once

#include <string>

#include "core/errors.hpp"
#include "process/child.hpp"

namespace heddle::process {

// Both fail with `lost` where the other side is gone, and with `hang` where time is up; the socket is of no use then.
core::Status send_frame(int socket, const std::string& message, Clock::time_point until);
// Also `transfer` for one that is too long to be a message, and `allocation` where there is no memory for it.
core::Result<std::string> receive_frame(int socket, Clock::time_point until);

}  // namespace heddle::process

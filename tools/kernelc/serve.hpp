// Requests over a socket, one after the other.
#pragma once

#include <cstdint>

namespace heddle::kernelc {

// Each message is its length as four bytes, lowest first, then that many bytes. Ends when the other side is gone. A
// request that takes longer than `seconds` ends the process.
int serve(int socket, unsigned seconds);

// This process can have no more memory than that; an allocation beyond it ends it.
void limit_memory(std::uint64_t bytes);

}  // namespace heddle::kernelc

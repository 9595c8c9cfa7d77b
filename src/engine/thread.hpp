// Threads of ours.
#pragma once

namespace heddle::engine {

// The calling thread does little, but at once: it is woken on time, and does not wait until others that compute on all
// cores have had their turn.
void be_prompt();

}  // namespace heddle::engine

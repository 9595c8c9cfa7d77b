// The driver's one thread: callbacks of the program run on it, with no lock held, ours or an inner driver's.
#pragma once

#include <functional>

#include "front/icd/objects.hpp"

namespace heddle::front::icd {

// Runs `call` soon, in the order of the calls of this function.
void call_back(std::function<void()> call);

using EventCallback = void(CL_CALLBACK*)(cl_event, cl_int, void*);

// Runs `callback` once, when the event has reached `status` or has failed. The inner driver says when, and the thread
// looks after it: PoCL 3.1 says nothing about events that fail.
cl_int call_back_at(Event& event, cl_int status, EventCallback callback, void* user);

// The process ends: from now on the thread calls neither an inner driver nor the program.
void stop_callbacks();

}  // namespace heddle::front::icd

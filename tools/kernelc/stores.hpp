// The merge form's stores: in place of what a kernel computes, it stores what another memory holds at the same place.
#pragma once

#include <vector>

#include "tools/kernelc/kernel_text.hpp"

namespace heddle::kernelc {

// Changes every store to global memory, and returns the functions that have one: they need the variable `@box`, from
// which taking_functions, to be written before them, know the other memory. What the kernel computed is still written
// in the text, as it may change variables that addresses come from; the device's compiler drops what is not needed.
// Refuses where a store cannot be changed.
std::vector<const clang::FunctionDecl*> take_instead_of_stores(clang::ASTContext& context, const Syntax& syntax,
                                                               KernelText& at);

// Of `@box_t`, with arrays of @PAIRS: where each buffer begins here, the other memory's bytes of it, and how many.
// What lies in none of them is not stored at all.
extern const char* const taking_functions;

}  // namespace heddle::kernelc

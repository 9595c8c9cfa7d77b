// The entry points, declared with the types of the table's slots, so that a definition cannot differ from them
// unnoticed.
#pragma once

#include "front/icd/handle.hpp"

namespace heddle::front::icd {

#define ENTRY(name) std::remove_pointer_t<decltype(cl_icd_dispatch::name)> name;
#define ABSENT(name)
#include "front/icd/entries.def"
#undef ENTRY
#undef ABSENT

}  // namespace heddle::front::icd

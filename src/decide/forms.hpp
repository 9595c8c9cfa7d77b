// Which form of a kernel should compute part of a launch on a CPU: the original with an offset, or the box form.
// Drivers compile each form apart, and how its code happens to lie in memory may make it a third slower, so they are
// timed. Values and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace heddle::decide {

enum class Form {
  from_zero,  // the original, for what begins where the launch does
  offset,     // the original with an offset
  box
};

// What was seen of launches of one kind on one device.
struct Forms {
  std::array<std::vector<double>, 3> costs;  // seconds per point, by form: the last of each that were long enough
};

// How long work of one form took; what is over sooner tells little.
void learn(Forms& forms, Form form, double seconds, double points);

// Whether an offset makes it slower, so that a box form is worth to be built.
bool suspects_offset(const Forms& forms);

// The form for the next part that does not begin at zero, where there is a box form: if an offset is suspected, both in
// turn until they are known, then the faster one. Of what is compared with others, the offset's until that is known.
Form form_of_part(const Forms& forms, bool compared = false);

}  // namespace heddle::decide

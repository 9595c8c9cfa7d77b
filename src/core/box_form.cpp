// Launches of box forms and window forms.
#include "core/box_form.hpp"

#include <limits>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

HiddenArgument hidden(const Index& index) {
  return {static_cast<std::uint32_t>(index[0]), static_cast<std::uint32_t>(index[1]),
          static_cast<std::uint32_t>(index[2]), 0};
}

}  // namespace

bool fits_box_form(const Grid& whole) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t d = 0; d < 3; ++d) {
    if (whole.groups[d] < 1 || whole.groups[d] > most || whole.offset[d] < 0 || whole.offset[d] > most) return false;
  }
  return true;
}

BoxLaunch box_launch(const Grid& whole, const Box& groups) {
  if (!fits_box_form(whole)) throw InternalError("a launch too large for the box form");
  const Box all{{0, 0, 0}, whole.groups};
  if (groups.empty() || !all.contains(groups))
    throw InternalError("box " + to_string(groups) + " of a launch of groups " + to_string(all));
  BoxLaunch out;
  const Index count{groups.extent(0), groups.extent(1), groups.extent(2)};
  for (std::size_t d = 0; d < 3; ++d) out.range.global[d] = count[d] * whole.local[d];
  out.range.local = whole.local;
  out.range.dimensions = whole.dimensions;
  out.arguments = {hidden(groups.begin), hidden(count), hidden(whole.groups), hidden(whole.offset)};
  return out;
}

BoxLaunch preparing_launch(const Grid& whole) {
  BoxLaunch out = box_launch(whole, Box{{0, 0, 0}, {1, 1, 1}});
  out.arguments.count = {0, 0, 0, 0};
  return out;
}

bool windowed(const ArgumentFacts& argument) { return argument.space == AddressSpace::global; }

Span window_around(const Span& touched, Bytes size) {
  const Span whole{0, static_cast<std::int64_t>(size)};
  const Span inside = intersect(touched, whole);
  if (inside.empty()) return intersect(whole, {0, window_alignment});
  const std::int64_t begin = inside.begin / window_alignment * window_alignment;
  const std::int64_t end = (inside.end - 1) / window_alignment * window_alignment + window_alignment;
  return intersect(whole, {begin, end});
}

}  // namespace heddle::core

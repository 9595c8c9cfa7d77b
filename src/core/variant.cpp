// From points to work-items, and the name under which a kernel's times are kept.
#include "core/variant.hpp"

#include "core/errors.hpp"
#include "core/fingerprint.hpp"

namespace heddle::core {

std::string fingerprint_of(const Variant& variant) {
  return Fingerprint().add(variant.source).add(variant.options).add(variant.entry).hex();
}

NdRange nd_range(const Variant& variant, const Box& box, const Box& space) {
  if (box.empty() || align(box, variant.footprint, space) != box || !space.contains(box)) {
    throw InternalError("variant " + variant.name + ": box " + to_string(box) + " of " + to_string(space) +
                        " is not made of whole footprints");
  }
  if (variant.cut == Cut::none && box != space) {
    throw InternalError("variant " + variant.name + " cannot be cut, but was given " + to_string(box));
  }
  NdRange out;
  out.dimensions = 1;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t f = variant.footprint.points[d];
    if (space.begin[d] != 0 && f != variant.group[d]) {
      throw InternalError("variant " + variant.name + ": " + to_string(space) +
                          " does not begin at zero, and points are not work-items");
    }
    if (space.extent(d) > 1) out.dimensions = d + 1;
    out.local[d] = variant.group[d];
    out.offset[d] = space.begin[d] + (box.begin[d] - space.begin[d]) / f * variant.group[d];
    out.global[d] = (box.extent(d) + f - 1) / f * variant.group[d];
  }
  return out;
}

}  // namespace heddle::core

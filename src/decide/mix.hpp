// Launches whose regions favour different variants: where parts differ, each region has a selection of its own, which
// begins with the winner of all and competes only if that takes another time here.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/box.hpp"
#include "decide/select.hpp"

namespace heddle::decide {

// Into how many regions the rest of a launch should be divided, of which `points` are left: none are worth their probes
// below two. `begun`: the launch is at work already, so that what is found must pay in this very one.
int count_of_regions(const Selection& all, std::int64_t points, bool begun);

// About so many boxes along the axis, of whole parts each, in order; together they are the space.
std::vector<core::Box> regions_of(const core::Box& space, const core::Footprint& part, int axis, int count);

// What is known of a region: who won in all of the launch, if what was compared there in this launch took as long per
// point, and nobody was faster. Where nothing was, the winner has to show that.
Selection selection_in_region(const Selection& all, const core::Box& region, std::uint64_t launch = 0);

// How many times as long a launch takes with the winner of all everywhere as with each region's own. Regions with their
// points; 1 where one of them has no winner.
double gain_of(const std::vector<std::pair<const Selection*, std::int64_t>>& regions, std::size_t winner);

}  // namespace heddle::decide

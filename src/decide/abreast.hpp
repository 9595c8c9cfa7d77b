// Variants of a CPU, compared side by side: at several places of a launch each computes a part of its own next to those
// of the others. A part is one group where that takes long enough, and occupies one core, while the others compute by
// the best so far; or as many as keep all cores busy. For select.cpp, whose values these rules work on.
#pragma once

#include "decide/select.hpp"

namespace heddle::decide {

// Whether launches of this kind are compared so now.
bool is_abreast(const Selection& s);
// The next part; nothing where the winner is known, or what is pending must end first. Single groups are on their way
// together, one that keeps all cores busy is alone.
std::optional<Probe> next_abreast(const Selection& s, std::int64_t points);
// Whether all that is pending are single groups, and all that are due are on their way: others may compute beside.
bool leaves_cores(const Selection& s, std::int64_t points);
// Slices of a single group that may be on their way at once: a few more than cores, so that none of these waits for the
// next.
int most_singles(const Selection& s);
// Whose parts must keep all cores busy, by what each took per point in other launches.
void recall_abreast(Selection& s, const std::vector<std::optional<double>>& costs);
// Where of the launch, from 0 to 1, the next part of that rival should lie.
double place_abreast(const Selection& s, std::size_t rival);
// Seconds in which all cores would compute such a part, if each had one; the last run of a form that may have been
// compiled is not counted.
void learn_abreast(Selection& s, const Probe& probe, double seconds);
// Whoever is out, and the winner if that is known; also where somebody has failed.
void settle_abreast(Selection& s, std::int64_t points);

// Seconds per point in all of a launch, from all places where the one was seen; and how many times as long as the
// other, from those that both have seen.
std::optional<double> cost_abreast(const Selection& s, std::size_t rival);
double factor_abreast(const Selection& s, std::size_t rival, std::size_t other);
// Whether another variant than the winner was clearly faster at some place: then regions may gain.
bool places_differ(const Selection& s);
// Who seems best so far; nobody before the first part.
std::optional<std::size_t> lead_abreast(const Selection& s);

}  // namespace heddle::decide

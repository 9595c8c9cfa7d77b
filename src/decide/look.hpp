// At first sight: who of the rivals is far off, and how long the probes of the others are. For select.cpp, which has
// the rounds among those; and what both need.
#pragma once

#include "decide/select.hpp"

namespace heddle::decide {

bool runs(const Rival& rival);
// Whether rivals compute the same parts.
bool same_parts(const Selection& s);
// Whole footprints, as many as keep every unit equally busy; of a probe that is no look, enough to fill the device.
std::int64_t rounded(const Selection& s, std::size_t rival, std::int64_t points, bool look);
// The one that is looked at first: the base, or the first that is there.
std::size_t lead_of(const Selection& s);
// Of a launch that takes `all` seconds: whether it is too short to be shared by rivals.
bool too_short(const Selection& s, double all);
// Points of a probe, where the best takes so many seconds per point.
void set_length(Selection& s, double best, std::int64_t points);

// Seconds per point of the best look; infinite where there was none.
double best_look(const Selection& s);
// The next one, until all have been seen well enough.
std::optional<Probe> next_look(const Selection& s, std::int64_t points);
void learn_look(Selection& s, const Probe& probe, double seconds);
// When all have been seen: who is left, and how long their probes are.
void settle_looks(Selection& s, std::int64_t points);

}  // namespace heddle::decide

// At first sight: who of the rivals is far off, and how long the probes of the others are. For select.cpp, which has
// the rounds among those; and what both need.
#pragma once

#include "decide/select.hpp"

namespace heddle::decide {

// A part that takes longer than so many probes is not computed twice.
constexpr double long_part = 10;
// Nor is one that was disturbed computed again if it was a larger part of the launch than one in so many.
constexpr std::int64_t little_of = 50;

bool runs(const Rival& rival);
// Whether rivals compute the same parts.
bool same_parts(const Selection& s);
// Whole footprints, as many as keep every unit equally busy; of a probe that is no look, enough to fill the device.
std::int64_t rounded(const Selection& s, std::size_t rival, std::int64_t points, bool look, std::int64_t waves = 1);
// Whether a unit that comes late may make a part take twice as long: where it has few footprints for each unit another
// one then computes two of them, and of many units one is always late. A GPU's units do not come late.
bool is_coarse(const Selection& s, const Rival& rival, std::int64_t points);
// The one that is looked at first: the base, or the first that is there.
std::size_t lead_of(const Selection& s);
// Of a launch that takes `all` seconds: whether it is too short to be shared by rivals. If it is not, points of a probe
// and footprints for each unit in it, where its best takes so many seconds per point.
bool too_short(const Selection& s, double all);
// Whether a round of probes is a good part of a launch: then another one costs more than a choice among those who are
// near each other.
bool is_round_costly(const Selection& s, std::int64_t points);
// Whether two rounds of probes would be more than half of a launch: then whole launches are compared.
bool leave_too_little(double points_of_round, std::int64_t points);
void set_length(Selection& s, double best, std::int64_t points);

// Seconds per point of the best look; infinite where there was none.
double best_look(const Selection& s);
// The next one, until all have been seen well enough.
std::optional<Probe> next_look(const Selection& s, std::int64_t points);
void learn_look(Selection& s, const Probe& probe, double seconds);
// When all have been seen: who is left, and how long their probes are.
void settle_looks(Selection& s, std::int64_t points);

}  // namespace heddle::decide

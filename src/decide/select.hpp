// Which variant of a kernel a device should use, found out on work that counts (DySel). Values and pure functions: what
// is known of the rivals in, the next probe out; a probe's time in, what is known then out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/box.hpp"

namespace heddle::decide {

// One variant on one device.
struct Rival {
  // Points of the smallest part of a launch that it can take without leaving pieces that the base cannot: a multiple of
  // its own footprint and of the base's.
  core::Footprint footprint;
  // Points with which the device is full, if one footprint on each unit is not enough for that: with fewer, more of
  // them might take no longer.
  std::int64_t wave = 0;
  // All of its points take the same, by its source: it takes that everywhere, which says nothing of others.
  bool uniform = false;
  // One of its groups alone is a part: it can be timed on one core (abreast.hpp).
  bool single = false;
  bool wide = false;      // but takes too little for that
  bool pending = false;   // such a part of it, or one that keeps all cores busy, is on its way
  bool ready = false;     // the device has built it
  bool prepared = false;  // and has run it: a first run may compile, and says nothing
  bool out = false;       // another one is better
  bool failed = false;    // and for good
  // At first sight, on a part that takes just long enough to be timed: seconds per point, the least of all looks; how
  // many there were; and the points of the part.
  std::optional<double> look;
  int looks = 0;
  std::int64_t reach = 0;
  std::int64_t first_reach = 0;  // of its first look, where more is known than nothing
  // A first one that was too short to count, but may be enough when a better one was seen: its points and seconds.
  std::int64_t glimpsed = 0;
  double glimpse = 0;
  std::vector<double> samples;  // seconds per point, one per probe
  // Where each of them was taken.
  struct Place {
    core::Box box;
    std::uint64_t launch = 0;  // its number
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> places;
  Place at;  // of the one that is pending
};

enum class Mode {
  fully,   // each probe is another part of the launch, and counts
  hybrid,  // all rivals compute the same part in turn, as parts differ; one result counts
  swap     // the same where computing a part again would change something: the first result counts, the others go
           // elsewhere
};

struct Selection {
  Mode mode = Mode::fully;
  bool abreast = false;       // of a CPU that runs several queues at once: parts lie side by side (abreast.hpp)
  int units = 1;              // compute units of the device: a probe keeps all of them busy
  std::vector<Rival> rivals;  // the base first
  std::optional<std::size_t> winner;
  // Who won in earlier runs, and with how many seconds per point: one probe must agree.
  std::optional<std::size_t> believed;
  // Seconds per point that the winner should take, and how often in a row it was far from that; negative: below it.
  std::optional<double> expected;
  int surprises = 0;
  int reopened = 0;         // how often all competed again
  bool doubted = false;     // the last launch took twice what parts side by side had shown
  bool misled = false;      // parts did not show what launches take: those are compared
  bool looked = false;      // all were looked at
  std::int64_t points = 0;  // of launches of this kind
  std::int64_t length = 0;  // points of a probe, then
  // Seconds that a probe takes, down to a quarter of it in launches that are short themselves; a look takes an eighth.
  double shortest = 200e-6;
  double least = 0;  // that anything takes on this device; 0: not known
  // Seconds of all launches in which something was probed, and their points; launches since the winner is known.
  double spent = 0;
  std::int64_t done = 0;
  int since = 0;
  double usual = 0;    // seconds per point that the winner takes for real work; 0: not known
  bool whole = false;  // launches are too short to be shared by rivals: each of them is a probe
  // Hybrid and swap: what parts are made of, the part that is being compared, and who has computed it.
  core::Footprint together;
  core::Box region;
  std::uint64_t region_of = 0;  // number of the launch that it is a part of
  std::vector<std::size_t> visitors;
  Rival::Place latest;   // of the probe that has begun last
  int regions = 0;       // that were begun
  bool piloted = false;  // little of the next one took little
  bool heavy = false;    // little of this one, or the least part, took long: others compute what lies beside it
  bool alike = false;    // they took the same: from now on each rival computes parts of its own
  bool longer = false;   // which are longer than those before
};

// Slower than the best by this: out at first sight, or after one sample; the same where parts differ, so that another
// may show the contrary, and where launches are so short that whole ones are compared; at first sight where parts
// differ, on one that takes long; after two samples; after five.
constexpr double far_off = 1.3, far_off_elsewhere = 2.5, far_off_when_long = 2, worse = 1.1, close = 1.05;
// Another time per point than was expected: so many times as much, or as little.
constexpr double surprising = 1.25, pleasing = 1.5;

struct Probe {
  std::size_t rival = 0;
  std::int64_t points = 0;
  bool whole = false;   // all of the launch: it is too small to be shared by all rivals
  bool repeat = false;  // hybrid, swap: the region once more, by another rival
  std::int64_t of = 0;  // points of the launch
  bool look = false;    // at first sight: only who is far off is out
  bool pilot = false;   // little of a region, which may be all of it where that takes long
  bool beside = false;  // what lies beside the region, as computing that again would take too long
  bool single = false;  // one group, which takes one core: others compute meanwhile

  bool operator==(const Probe&) const = default;
};

Selection selection_of(Mode mode, int units, std::vector<Rival> rivals, double shortest = 200e-6);

// What to run next; nothing where the winner is known. `points` are those of the launch, which has a number.
std::optional<Probe> next_probe(const Selection& selection, std::int64_t points, std::uint64_t launch = 0);

// Whether the device is a CPU of many cores: where a part ends, all of them wait for whoever is late.
constexpr int many_units = 8;
bool crowded(const Selection& selection);

// Whether other rivals will compute the part of this probe, too, if all goes well.
bool to_be_repeated(const Selection& selection, const Probe& probe);

// A probe begins, on this part of the launch.
void begin(Selection& selection, const Probe& probe, const core::Box& box, std::uint64_t launch = 0);
// It has ended.
void learn(Selection& selection, const Probe& probe, double seconds);
// Whether a look of so many seconds shows the work, and not only what any launch costs: on 16 cores that may be more
// than a look would take.
bool tells(const Selection& selection, double seconds);
// Whether a launch that wants to find out once more should: all of those since the last time together lasted twenty
// times as long as that cost.
bool worth_repeating(const Selection& selection);
// It ended otherwise, and tells nothing.
void drop(Selection& selection, const Probe& probe);
// A rival failed, or is not there.
void give_up(Selection& selection, std::size_t rival);
// What each rival took in earlier runs, in seconds per point; where nothing is known of one, all compete. `points` are
// those of the launch.
void recall(Selection& selection, const std::vector<std::optional<double>>& costs, std::int64_t points);
// What the winner took for the rest of a launch, if that was long enough to tell. Where it is more than it was chosen
// for, several times running, all compete again; the next time only after twice as many. Where parts differ, and those
// that were compared take less than half or more than twice what launches do per point, launches are compared.
void watch(Selection& selection, double seconds, std::int64_t points);

// All compete again, as if nothing were known.
void begin_again(Selection& selection);

// How many times as long as the winner it took, where both were compared best; infinite where nothing is known.
double factor_of(const Selection& selection, std::size_t rival);
// Which part of a launch's work probes have done, by what they took.
double share_compared(const Selection& selection, std::int64_t points, std::uint64_t launch);

// The winner, or who won in earlier runs, or who is best so far.
std::size_t best_of(const Selection& selection);

// Seconds per point; nothing where it was never timed. The second counts looks, too; the third only those, or, if all
// who are not out have as many samples, all of them: else parts would be compared that differ.
std::optional<double> cost_of(const Rival& rival);
std::optional<double> guess_of(const Rival& rival);
std::optional<double> fair_guess_of(const Selection& selection, std::size_t rival);

}  // namespace heddle::decide

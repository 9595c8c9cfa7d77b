// One launch on devices in different memories, again and again: which part each of them gets, from how long launches
// alike took with other parts. What copies, waiting and disturbing each other cost is in those times; nobody predicts
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::decide {

// Of a launch, per member; they add up to one.
using Parts = std::vector<double>;

Parts all_on(std::size_t member, std::size_t count);

struct Took {
  double seconds = 0;         // until all members were ready
  std::vector<double> ready;  // seconds until each was; 0: it had no part
};

struct Outcome {
  Parts parts;
  Took usual;                // of the last launches the one in the middle, of few the least
  std::vector<Took> latest;  // the oldest first
};

// What launches of one shape have shown.
struct Experience {
  std::vector<Outcome> outcomes;
  std::optional<Outcome> recalled;  // what an earlier run of the program settled on; forgotten when it no longer holds
  double usual = 0;                 // seconds of what was settled on, before launches took longer
  int slower = 0;                   // launches in a row that took much longer than what was settled on had
  int restarts = 0;                 // how often all was tried anew for that: each needs twice as many as the one before
  std::vector<int> failures;        // per member: launches in which its part was not computed as it should
  int lost = 0, pause = 0;          // tries in a row that told nothing; launches until the next
};

// What an earlier run has settled on, and how long that took.
void recall(Experience& experience, const Parts& parts, double seconds);

// A part of this member had to be computed by others, or again. After a few of them it is left out.
void note_failure(Experience& experience, std::size_t member);

// What was tried was disturbed, and tells nothing. Where that goes on, less and less is tried.
void note_lost(Experience& experience);

// What was seen with a part of this member no longer holds.
void forget(Experience& experience, std::size_t member);

// A launch with these parts is over.
void note(Experience& experience, const Parts& parts, const std::vector<double>& ready, double seconds);

struct Candidates {
  std::vector<bool> can;                       // per member: it could take part
  std::size_t lead = 0;                        // whom to begin with
  std::int64_t steps = std::int64_t{1} << 40;  // that a launch can be cut into
  bool in_turn = false;                        // one after the other: all is for one of them
};

// The parts to try next; or that are best, where nothing is left to try.
struct Next {
  Parts parts;
  bool settled = false;
};
Next next_parts(const Experience& experience, const Candidates& candidates);

// Seconds of a launch that one member did alone, where it was seen.
std::optional<double> alone(const Experience& experience, std::size_t member);

// A piece of a launch, of which all is from 0 to 1.
struct Piece {
  double begin = 0, end = 0, seconds = 0;
};

// For so many members, equally fast and side by side: what took as long for each. The pieces are all of the launch.
Parts of_equal_time(std::vector<Piece> pieces, std::size_t members);

// The same in whole steps, at least one for whoever has a part; none where there are not as many.
Parts in_steps(const Parts& parts, std::int64_t steps);

}  // namespace heddle::decide

// The whole policy on one page: what is known of a launch in, the slices to start now out. It is called when a launch
// arrives and whenever a slice is done, a build is ready or something failed; it waits for nothing, reads no clock and
// touches no device.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/box.hpp"
#include "core/units.hpp"
#include "decide/select.hpp"
#include "decide/split.hpp"

namespace heddle::decide {

// Slices that may wait in one queue: one that runs and one behind it, so that the device never idles and the rest can
// still go to another.
constexpr int slices_per_queue = 2;

// A device as a decision sees it.
struct Member {
  bool ready = false;                    // has built the kernel, and was not set aside
  Worker worker;                         // what it needs for so many points
  bool known = false;                    // something is known of how fast it computes
  std::vector<int> queued;               // slices on the way, per queue
  int beside = 0;                        // and of those that may overlap
  int singles = 0;                       // and of those of one group
  std::vector<bool> can;                 // per variant: it has built it; empty: all
  std::vector<bool> compiled;            // per variant: for all of the launch; empty: all
  const Selection* selection = nullptr;  // of variants; none: the base is the only one
  bool probing = false;                  // a probe of that is on its way
  std::int64_t given = 0;                // points of this launch that it got so far
  core::BoxSet own;                      // with `settled`: what is left of its part
  std::int64_t least = 1;                // points of a part that is worth starting by itself
};

struct State {
  std::uint64_t launch = 0;  // its number
  core::Box space;           // of the launch
  // Per variant, the base first: points of the smallest part that it can take, so that the base can take the rest.
  std::vector<core::Footprint> footprints;
  core::BoxSet remaining;   // not given to anyone yet
  int in_flight = 0;        // slices on the way
  bool whole = false;       // must run in one piece
  bool one_space = false;   // what different memories wrote could not be joined
  std::optional<int> home;  // with one_space: the memory that earlier slices used
  int axis = 0;             // along which to cut
  std::size_t initial = 0;  // the variant for devices that know of none yet
  std::size_t primary = 0;  // the member that an undivided launch runs on
  bool meanwhile = false;   // devices that compare variants compute other parts, too
  bool spread = false;      // all members take part, whether that pays or not
  bool uniform = true;      // a point takes as long as any other
  bool again = false;       // whatever is computed twice does no harm, and all of it is in the host's memory
  bool settled = false;     // each member has a part of its own, as in launches before: there its data is
  std::vector<Member> members;
};

// Start this slice.
struct Action {
  std::size_t member = 0;
  std::size_t queue = 0;
  core::Box box;
  std::string_view reason;
  std::size_t variant = 0;
  std::optional<Probe> probe;
  bool again = false;   // also points that were computed before
  bool beside = false;  // may overlap with others of the launch
  bool single = false;  // and is one group

  bool operator==(const Action&) const = default;
};

// Whether a device should compute all of a launch of which probes have computed a little: in one piece from the
// beginning it is the very launch that the program wrote.
bool begins_anew(const State& state, const Member& member);

std::vector<Action> step(const State& state);

}  // namespace heddle::decide

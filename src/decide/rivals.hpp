// Rivals that do the same work, tried on launches alike as a program makes them. Each takes whole launches, so nothing
// is computed twice and only time can be lost, of which there is a limit; and nobody waits: a time is noted when it is
// known.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/units.hpp"

namespace heddle::decide {

// Who takes a launch, and whether its time is wanted.
struct Turn {
  std::size_t rival = 0;
  bool timed = false;

  bool operator==(const Turn&) const = default;
};

class Rivals {
 public:
  struct Limits {
    double loss = 1.0 / 32;  // of what the first would have taken for all, as far as that can be known before a trial
    core::Nanoseconds shortest = std::chrono::microseconds(50);  // what is over sooner is left alone
    core::Nanoseconds preparing{0};  // before a rival's first launch, until that is known: devices may compile
    core::Nanoseconds timing{0};     // that taking a time costs
    std::int64_t first_look = 1;     // launches before that are not timed
  };
  // The first of them is whoever would do it anyway.
  Rivals(std::size_t count, const Limits& limits) : limits_(limits), rivals_(count), look_(limits.first_look) {}

  Turn next();
  Turn next_untimed();  // of a launch whose time cannot be known
  // How many of the next will be the best's, and not timed, whatever else happens; and so many of them have been.
  std::int64_t plain() const;
  void pass(std::int64_t launches);
  // A launch whose time was wanted: how long it ran, and how long it was kept waiting.
  void note(const Turn& turn, core::Nanoseconds run, core::Nanoseconds waited);
  void drop();                     // one whose time was wanted will not tell it
  void refuse(std::size_t rival);  // it cannot run
  // From an earlier run: these were tried, and this one was the best of them. It has to show it once more, at once. And
  // what preparing took there.
  void expect(const std::vector<std::size_t>& tried, std::size_t best, core::Nanoseconds preparing);

  // Whether launches are known, and worth it.
  bool worthwhile() const { return times_ >= 2 && time_ >= limits_.shortest; }
  bool comparing() const { return trial_.has_value(); }
  std::size_t best() const { return best_; }
  core::Nanoseconds time() const { return time_; }            // of the best, of late
  core::Nanoseconds preparing() const { return preparing_; }  // the longest seen

 private:
  struct Rival {
    bool launched = false, out = false;
  };
  bool affordable(std::size_t rival) const;
  std::optional<std::size_t> challenger() const;
  void compare(core::Nanoseconds run, core::Nanoseconds waited);
  void end_trial();
  void adopt(core::Nanoseconds time);

  Limits limits_;
  std::vector<Rival> rivals_;
  std::size_t best_ = 0;
  std::int64_t launches_ = 0, times_ = 0;
  std::int64_t look_;       // at which launch the best is timed in any case
  std::int64_t again_ = 0;  // from which on the first may show that it was put out wrongly
  core::Nanoseconds time_{0}, first_time_{0}, so_far_{0}, lost_{0};  // so far: what the first would have taken
  core::Nanoseconds waited_{0}, preparing_{0};
  bool waiting_ = false;              // for a time
  std::optional<std::size_t> trial_;  // who is compared with the best
  core::Nanoseconds beside_{0};       // what that has just taken; 0: it is its turn
  int wins_ = 0, losses_ = 0;
  std::uint64_t skip_ = 0;  // launches until the next is timed: theirs may come in turns, too
};

}  // namespace heddle::decide

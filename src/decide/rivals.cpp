#include "decide/rivals.hpp"

#include <algorithm>

namespace heddle::decide {

using core::Nanoseconds;

namespace {

constexpr int wins_needed =
    4;  // in a row, each against a launch of the best one: launches alike may differ in their work
constexpr double better = 0.95;    // as long as the best at most
constexpr double hopeless = 1.5;   // as long: not looked at again
constexpr std::int64_t later = 4;  // times as many launches until the first is compared again

}  // namespace

bool Rivals::settled() const {
  if (trial_ || !known()) return false;
  for (std::size_t r = 0; r < rivals_.size(); ++r) {
    if (r != best_ && !rivals_[r].out) return false;
  }
  return true;
}

// Nobody while trials have lost enough: it is taken for twice as slow as the best.
std::optional<std::size_t> Rivals::challenger() const {
  for (std::size_t r = 0; r < rivals_.size(); ++r) {
    if (r == best_ || (rivals_[r].out && !(r == 0 && settled() && launches_ >= again_))) continue;
    const Nanoseconds cost = time_ + (rivals_[r].launched ? Nanoseconds{0} : limits_.preparing);
    if (core::seconds(lost_ + cost) <= limits_.loss * core::seconds(so_far_)) return r;
    return std::nullopt;
  }
  return std::nullopt;
}

Turn Rivals::next() {
  ++launches_;
  so_far_ += first_time_;
  // The first may have to be compiled.
  if (launches_ == 1 || waiting_ || rivals_.size() < 2) return {best_, false};
  if (known()) {
    if (time_ < limits_.shortest) return {best_, false};
    if (!trial_) trial_ = challenger();
    if (!trial_) return {best_, false};
  }
  waiting_ = true;
  return {known() && its_time_.count() == 0 ? *trial_ : best_, true};
}

void Rivals::note(const Turn& turn, Nanoseconds run, Nanoseconds waited) {
  waiting_ = false;
  if (turn.rival != best_ && turn.rival != trial_) return;  // it was refused meanwhile
  run = std::max(run, Nanoseconds{1});
  waited = std::min(waited, most_waited_);
  if (turn.rival == 0) {
    if (first_time_.count() == 0) so_far_ = launches_ * run;
    first_time_ = run;
  }
  if (!trial_) {
    time_ = run;
  } else if (turn.rival == *trial_) {
    lost_ += std::max(Nanoseconds{0}, run - time_);
    if (Rival& rival = rivals_[turn.rival]; !rival.launched) {
      rival.launched = true;
      lost_ += waited;
      limits_.preparing = waited;
    }
    its_time_ = run;
    if (core::seconds(run) > hopeless * core::seconds(time_)) end_trial(false);
  } else {
    time_ = run;
    const bool won = core::seconds(its_time_) <= better * core::seconds(run);
    if (won && ++wins_ < wins_needed) {
      its_time_ = Nanoseconds{0};
    } else {
      end_trial(won);
    }
  }
}

void Rivals::end_trial(bool won) {
  rivals_[won ? best_ : *trial_].out = true;
  if (won) {
    best_ = *trial_, time_ = its_time_;
    rivals_[best_].out = false;
  }
  trial_.reset();
  its_time_ = Nanoseconds{0};
  wins_ = 0;
  if (settled()) again_ = later * launches_;
}

void Rivals::drop() { waiting_ = false; }

void Rivals::refuse(std::size_t rival) {
  if (rival == 0) return;
  rivals_[rival].out = true;
  if (trial_ == rival) end_trial(false);
  if (best_ == rival) {
    best_ = 0;
    rivals_[0].out = false;
    if (trial_ == best_) end_trial(false), rivals_[0].out = false;
  }
}

void Rivals::expect(const std::vector<std::size_t>& tried, std::size_t best) {
  for (const std::size_t r : tried) rivals_[r].out = r != best_;
  if (best == best_) return;
  rivals_[best].out = false;
  rivals_[best].launched = true;  // what it has to wait for was paid for
  trial_ = best;
}

}  // namespace heddle::decide

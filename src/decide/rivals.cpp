#include "decide/rivals.hpp"

#include <algorithm>

namespace heddle::decide {

using core::Nanoseconds;

namespace {

// Launches alike may differ in their work, so the best is timed anew before each launch of whoever is compared with it.
constexpr int wins_needed = 4, losses_allowed = 1;
constexpr double better = 0.95;     // as long as the best at most: a win
constexpr double hopeless = 1.5;    // as long: out at once
constexpr std::int64_t slower = 8;  // times, as a guess: so much is set aside before a rival is tried
constexpr std::int64_t later = 4;   // times as many launches until the first is compared again

}  // namespace

bool Rivals::affordable(std::size_t rival) const {
  const Nanoseconds preparing = rivals_[rival].launched ? Nanoseconds{0} : std::max(limits_.preparing, preparing_);
  return core::seconds(lost_ + slower * time_ + preparing) <= limits_.loss * core::seconds(so_far_);
}

// Nobody while trials have lost enough.
std::optional<std::size_t> Rivals::challenger() const {
  if (best_ != 0 && launches_ >= again_ && affordable(0)) return 0;
  for (std::size_t r = 0; r < rivals_.size(); ++r) {
    if (r != best_ && !rivals_[r].out) return affordable(r) ? std::optional(r) : std::nullopt;
  }
  return std::nullopt;
}

std::int64_t Rivals::plain() const {
  if (rivals_.size() < 2) return std::int64_t{1} << 30;
  return waiting_ || worthwhile() ? 0 : std::max<std::int64_t>(0, look_ - launches_ - 1);
}

void Rivals::pass(std::int64_t launches) {
  launches_ += launches;
  so_far_ += launches * first_time_;
}

Turn Rivals::next_untimed() {
  pass(1);
  return {best_, false};
}

Turn Rivals::next() {
  pass(1);
  if (rivals_.size() < 2 || waiting_) return {best_, false};
  if (launches_ >= look_) {
    look_ = 2 * launches_;
    waiting_ = true;
    return {best_, true};
  }
  if (!worthwhile() || (skip_ > 0 && skip_--)) return {best_, false};
  if (!trial_) trial_ = challenger();
  if (!trial_) return {best_, false};
  waiting_ = true;
  return {beside_.count() == 0 ? best_ : *trial_, true};
}

void Rivals::note(const Turn& turn, Nanoseconds run, Nanoseconds waited) {
  waiting_ = false;
  lost_ += limits_.timing;
  run = std::max(run, Nanoseconds{1});
  // Of what is left alone anyway, times that cost something are taken rarely.
  if (limits_.timing.count() > 0 && run < limits_.shortest) look_ = std::max(look_, 8 * launches_);
  if (turn.rival == 0) {
    // The work may have become less, and what was taken for more than it was must not be spent.
    so_far_ = first_time_.count() == 0 ? launches_ * run : std::min(so_far_, launches_ * run);
    first_time_ = run;
    rivals_[0].launched = true;
  }
  if (trial_ == turn.rival) return compare(run, waited);
  if (turn.rival != best_) return;  // it was refused meanwhile
  // Whatever the first launch of all had to wait for, other rivals may have to.
  if (times_++ == 1) preparing_ = std::max(preparing_, waited_ - waited);
  time_ = run, waited_ = waited;
  if (trial_) beside_ = run;
}

void Rivals::compare(Nanoseconds run, Nanoseconds waited) {
  Rival& rival = rivals_[*trial_];
  lost_ += std::max(Nanoseconds{0}, run - beside_);
  if (!rival.launched) {
    rival.launched = true;
    const Nanoseconds prepared = std::max(Nanoseconds{0}, waited - waited_);
    lost_ += prepared;
    preparing_ = std::max(preparing_, prepared);
    limits_.preparing = Nanoseconds{0};  // no longer a guess
  }
  const double ratio = core::seconds(run) / core::seconds(beside_);
  beside_ = Nanoseconds{0};
  skip_ = (static_cast<std::uint64_t>(launches_) * 0x9E3779B97F4A7C15u) >> 62;
  if (ratio <= better) {
    if (++wins_ >= wins_needed) adopt(run);
  } else if (ratio > hopeless || ++losses_ > losses_allowed) {
    rival.out = true;
    if (trial_ == 0) again_ = later * launches_;
    end_trial();
  }
}

void Rivals::adopt(Nanoseconds time) {
  rivals_[best_].out = true;
  best_ = *trial_, time_ = time;
  rivals_[best_].out = false;
  again_ = later * launches_;
  end_trial();
}

void Rivals::end_trial() {
  trial_.reset();
  beside_ = Nanoseconds{0};
  wins_ = losses_ = 0;
}

void Rivals::drop() { waiting_ = false; }

void Rivals::refuse(std::size_t rival) {
  if (rival == 0) return;
  rivals_[rival].out = true;
  if (trial_ == rival) end_trial();
  if (best_ != rival) return;
  if (trial_) end_trial();  // it was compared with that
  best_ = 0;
  rivals_[0].out = false;
}

void Rivals::expect(const std::vector<std::size_t>& tried, std::size_t best, Nanoseconds preparing) {
  preparing_ = std::max(preparing_, preparing);
  for (const std::size_t r : tried) rivals_[r].out = r != best_;
  if (trial_) end_trial();
  if (best == best_) return;
  rivals_[best].out = false;
  rivals_[best].launched = true;  // what it has to wait for was paid for
  trial_ = best;
}

}  // namespace heddle::decide

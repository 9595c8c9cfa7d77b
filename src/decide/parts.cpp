// First one device alone; then looks at what others do, which grow; then parts by the rates that were seen, corrected
// by what came of them.
#include "decide/parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace heddle::decide {

namespace {

constexpr double first_look = 1.0 / 1024, largest_look = 1.0 / 16;
constexpr double least_gain = 0.02;  // that a launch on several devices must have
constexpr double much_gain = 0.1;    // that is not chance
constexpr std::size_t tries = 4;     // before what is usual counts, and not the least
constexpr std::size_t latest = 9;    // launches of which it is the one in the middle
constexpr double worth = 0.04;       // of all rates: who adds less is left out
constexpr double same = 0.01;        // parts that differ by less are the same
constexpr double much_slower = 1.3;
constexpr int most_shared = 6;    // ways to share that are tried
constexpr int most_failures = 3;  // of a member, before it is left out
constexpr int most_restarts = 6;  // that make the next one later
constexpr double too_slow = 4;    // times as long as a launch: a look that is not repeated
constexpr double start = 0.3e-3;  // seconds that a part may take however little it is

bool alike(const Parts& a, const Parts& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return (x == 0) == (y == 0) && std::abs(x - y) < std::max(1e-9, std::min(same, 0.5 * std::min(x, y)));
  });
}

std::size_t taking_part(const Parts& parts) {
  return static_cast<std::size_t>(std::count_if(parts.begin(), parts.end(), [](double part) { return part > 0; }));
}

bool is_look(const Parts& parts) {
  return taking_part(parts) > 1 &&
         std::any_of(parts.begin(), parts.end(), [](double part) { return part > 0 && part <= 1.05 * largest_look; }) &&
         std::all_of(parts.begin(), parts.end(), [](double part) { return part <= 1.05 * largest_look || part > 0.5; });
}

class Chooser {
 public:
  Chooser(const Experience& experience, const Candidates& candidates)
      : can_(candidates.can), lead_(candidates.lead), steps_(candidates.steps), in_turn_(candidates.in_turn) {
    for (std::size_t m = 0; m < can_.size() && m < experience.failures.size(); ++m)
      can_[m] = can_[m] && (m == lead_ || experience.failures[m] < most_failures);
    const auto counts = [&](const Parts& parts) {
      return possible(parts) && (!in_turn_ || taking_part(parts) == 1 || is_look(parts));
    };
    if (experience.recalled && counts(experience.recalled->parts))
      recalled_ = in_steps(experience.recalled->parts, steps_);
    for (const Outcome& one : experience.outcomes) {
      if (counts(one.parts)) outcomes_.push_back(&one);
    }
  }

  Next choose() const {
    if (!recalled_.empty()) return {recalled_, true};
    if (!find(all_on(lead_, can_.size()))) return {all_on(lead_, can_.size())};
    const Outcome& single = *best([](const Outcome& one) { return taking_part(one.parts) == 1; });
    if (const Outcome* unsure = unconfirmed()) return {unsure->parts};
    if (const auto looks = next_looks(single)) return {*looks};
    // Alone, where that may be faster: beside others it may have been disturbed.
    for (std::size_t m = 0; m < can_.size(); ++m) {
      const auto rate = rate_of(m);
      if (!rate || find(all_on(m, can_.size()))) continue;
      const auto [largest, before] = largest_parts(m);
      // In little parts, what it takes to begin may hide that it is faster.
      const bool promising =
          1 / *rate < 6 * single.usual.seconds && expected(largest, before, 1) < single.usual.seconds;
      if (1 / *rate < 2 * single.usual.seconds || promising) return {all_on(m, can_.size())};
    }
    if (in_turn_) return {single.parts, true};
    if (const auto shared = next_shared()) return {*shared};
    if (const auto others = without_lead(single)) return {*others};
    const Outcome* several = best([](const Outcome& one) { return taking_part(one.parts) > 1 && !is_look(one.parts); });
    // Where one is nearly as good as the other, each is tried until the least no longer counts: it is chance.
    const bool near = several && several->usual.seconds < (1 + much_gain) * single.usual.seconds &&
                      single.usual.seconds < (1 + much_gain) * several->usual.seconds;
    for (const Outcome* one : {&single, several}) {
      if (near && one->latest.size() < tries) return {one->parts};
    }
    const bool shares = several && several->usual.seconds < (1 - least_gain) * single.usual.seconds;
    return {shares ? several->parts : single.parts, true};
  }

 private:
  bool possible(const Parts& parts) const {
    bool out = parts.size() == can_.size();
    for (std::size_t m = 0; out && m < can_.size(); ++m) out = parts[m] == 0 || can_[m];
    return out;
  }

  const Outcome* find(const Parts& parts) const {
    for (const Outcome* one : outcomes_) {
      if (alike(one->parts, parts)) return one;
    }
    return nullptr;
  }

  template <class Which>
  const Outcome* best(const Which& which) const {
    const Outcome* out = nullptr;
    for (const Outcome* one : outcomes_) {
      if (which(*one) && (!out || one->usual.seconds < out->usual.seconds)) out = one;
    }
    return out;
  }

  // What may be the best, but ran only once: the first time, bytes may have moved that will stay.
  const Outcome* unconfirmed() const {
    const Outcome* fastest = best([](const Outcome&) { return true; });
    for (const Outcome* one : outcomes_) {
      if (one->latest.size() < 2 && !is_look(one->parts) && one->usual.seconds < 1.5 * fastest->usual.seconds)
        return one;
    }
    return nullptr;
  }

  // Launches a second that a member would do alone: from the largest part that it had.
  std::optional<double> rate_of(std::size_t m) const {
    const Outcome* largest = nullptr;
    for (const Outcome* one : outcomes_) {
      if (one->parts[m] > 0 && one->usual.ready[m] > 0 && (!largest || one->parts[m] > largest->parts[m]))
        largest = one;
    }
    return largest ? std::optional(largest->parts[m] / largest->usual.ready[m]) : std::nullopt;
  }

  // The largest part that a member had, and the largest of those below it.
  struct Seen {
    double part = 0, took = 0;
    std::size_t times = 0;
  };
  std::pair<Seen, Seen> largest_parts(std::size_t m) const {
    Seen largest, before;
    for (const Outcome* one : outcomes_) {
      const double part = one->parts[m];
      if (part > 1.001 * largest.part)
        before = std::exchange(largest, {part, one->usual.ready[m], one->latest.size()});
      else if (part > 0.999 * largest.part)
        largest = {largest.part, std::min(largest.took, one->usual.ready[m]), largest.times + one->latest.size()};
      else if (part > before.part)
        before = {part, one->usual.ready[m], one->latest.size()};
    }
    return {largest, before};
  }

  // Seconds that a larger part would take, as those two tell; at the worst, in proportion.
  static double expected(const Seen& largest, const Seen& before, double part) {
    double slope = largest.took / largest.part;
    if (before.part > 0 && largest.took > before.took)
      slope = (largest.took - before.took) / (largest.part - before.part);
    return largest.took + slope * (part - largest.part);
  }

  // A little for whoever is not known. A little more for whoever is slow in little parts, unless it took long, twice:
  // once may be chance.
  std::optional<Parts> next_looks(const Outcome& single) const {
    Parts out = single.parts;
    bool any = false;
    const auto base = static_cast<std::size_t>(std::max_element(out.begin(), out.end()) - out.begin());
    for (std::size_t m = 0; m < can_.size(); ++m) {
      if (!can_[m] || m == base || out[base] < 0.6) continue;
      const auto [largest, before] = largest_parts(m);
      double wanted = first_look;
      if (largest.part > 0) {
        wanted = std::min(8 * largest.part, largest_look);
        const bool affordable = before.part > 0 ? expected(largest, before, wanted) < single.usual.seconds / 2 + start
                                                : largest.took < single.usual.seconds / 4 + start;
        if (!affordable)
          wanted = largest.times < 2 && largest.took < too_slow * single.usual.seconds ? largest.part : 0;
        if (largest.part > largest_look / 1.5) wanted = 0;
      }
      if (wanted > 0) any = true, out[m] = wanted, out[base] -= wanted;
    }
    if (any) out = in_steps(out, steps_);
    const Outcome* seen = any && !out.empty() ? find(out) : nullptr;
    // One after the other, a look that is not little would be all that a launch does.
    const bool useful = any && !out.empty() && (!in_turn_ || is_look(out)) && (!seen || seen->latest.size() < 2);
    return useful ? std::optional(out) : std::nullopt;
  }

  // All but the first together, where that may be faster than any alone: it may need much, however little it computes.
  std::optional<Parts> without_lead(const Outcome& single) const {
    const auto tried = [&](const Outcome* one) {
      return one->parts[lead_] == 0 && taking_part(one->parts) > 1 && !is_look(one->parts);
    };
    if (std::any_of(outcomes_.begin(), outcomes_.end(), tried)) return std::nullopt;
    Parts rates(can_.size(), 0);
    for (std::size_t m = 0; m < can_.size(); ++m) {
      const auto [largest, before] = largest_parts(m);
      if (can_[m] && m != lead_ && largest.part > 0) rates[m] = 1 / expected(largest, before, 1);
    }
    leave_out_the_slow(rates);
    if (taking_part(rates) < 2 || std::accumulate(rates.begin(), rates.end(), 0.0) * single.usual.seconds < 1)
      return std::nullopt;
    const Parts out = in_steps(rates, steps_);
    return out.empty() || find(out) ? std::nullopt : std::optional(out);
  }

  static void leave_out_the_slow(Parts& rates) {
    const double fastest = std::accumulate(rates.begin(), rates.end(), 0.0);
    for (double& rate : rates) rate = rate < worth * fastest ? 0 : rate;
  }

  // By the rates of whoever is worth it; once several have worked together, by what they did then.
  std::optional<Parts> next_shared() const {
    const auto shared = [](const Outcome& one) { return taking_part(one.parts) > 1 && !is_look(one.parts); };
    if (std::count_if(outcomes_.begin(), outcomes_.end(), [&](const Outcome* one) { return shared(*one); }) >=
        most_shared)
      return std::nullopt;
    const Outcome* together = best(shared);
    Parts rates(can_.size(), 0);
    for (std::size_t m = 0; m < can_.size(); ++m) {
      if (together)
        rates[m] = together->parts[m] > 0 ? together->parts[m] / together->usual.ready[m] : 0;
      else if (can_[m])
        rates[m] = rate_of(m).value_or(0);
    }
    leave_out_the_slow(rates);
    const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
    for (double& rate : rates) rate /= all;
    rates = in_steps(rates, steps_);
    if (taking_part(rates) < 2 || find(rates)) return std::nullopt;
    return rates;
  }

  std::vector<bool> can_;
  std::size_t lead_;
  std::int64_t steps_;
  bool in_turn_;
  Parts recalled_;                        // none: nothing is
  std::vector<const Outcome*> outcomes_;  // that are still possible
};

}  // namespace

Parts all_on(std::size_t member, std::size_t count) {
  Parts out(count, 0);
  out[member] = 1;
  return out;
}

void recall(Experience& experience, const Parts& parts, double seconds) {
  experience.recalled = Outcome{parts, {seconds, {}}, {}};
}

void note_failure(Experience& experience, std::size_t member) {
  if (experience.failures.size() <= member) experience.failures.resize(member + 1);
  ++experience.failures[member];
}

void forget(Experience& experience, std::size_t member) {
  const auto takes_part = [&](const Outcome& one) { return one.parts[member] > 0; };
  std::erase_if(experience.outcomes, takes_part);
  if (experience.recalled && takes_part(*experience.recalled)) experience.recalled.reset();
  experience.slower = 0;
}

void note_lost(Experience& experience) {
  ++experience.lost;
  experience.pause = experience.lost < 4 ? 0 : 1 << std::min(experience.lost, 12);
}

void note(Experience& experience, const Parts& parts, const std::vector<double>& ready, double seconds) {
  experience.lost = 0;
  if (auto& recalled = experience.recalled) {
    // It was another machine, or another time.
    const bool as_before = seconds <= 2 * recalled->usual.seconds && seconds >= 0.5 * recalled->usual.seconds;
    if (alike(recalled->parts, parts) && !as_before) recalled.reset();
  }
  const auto at = std::find_if(experience.outcomes.begin(), experience.outcomes.end(),
                               [&](const Outcome& one) { return alike(one.parts, parts); });
  if (at == experience.outcomes.end()) {
    experience.outcomes.push_back({parts, {seconds, ready}, {{seconds, ready}}});
    return;
  }
  // Where all has become slower, what was seen before holds no more.
  if (experience.slower == 0) experience.usual = at->usual.seconds;
  if (at->latest.size() >= 2) experience.slower = seconds > much_slower * experience.usual ? experience.slower + 1 : 0;
  if (experience.slower >= 3 << std::min(experience.restarts, most_restarts)) {
    experience.outcomes = {{parts, {seconds, ready}, {{seconds, ready}}}};
    experience.recalled.reset();
    experience.slower = 0, ++experience.restarts;
    return;
  }
  // The luckiest of many is no promise, and the unluckiest no threat. Of few the least counts: whenever parts change,
  // bytes move that stay.
  at->latest.push_back({seconds, ready});
  if (at->latest.size() > latest) at->latest.erase(at->latest.begin());
  const bool few = at->latest.size() < tries;
  std::vector<const Took*> sorted;
  for (const Took& one : at->latest) sorted.push_back(&one);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(few ? 0 : (sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end(),
                   [](const Took* a, const Took* b) { return a->seconds < b->seconds; });
  at->usual = **middle;
  for (std::size_t m = 0; few && m < ready.size(); ++m) {
    for (const Took& one : at->latest) at->usual.ready[m] = std::min(at->usual.ready[m], one.ready[m]);
  }
}

std::optional<double> alone(const Experience& experience, std::size_t member) {
  for (const Outcome& one : experience.outcomes) {
    if (member < one.parts.size() && one.parts[member] == 1) return one.usual.seconds;
  }
  return std::nullopt;
}

Next next_parts(const Experience& experience, const Candidates& candidates) {
  return Chooser(experience, candidates).choose();
}

Parts of_equal_time(std::vector<Piece> pieces, std::size_t members) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  double all = 0;
  for (const Piece& piece : pieces) all += piece.seconds;
  Parts out;
  double begin = 0, before = 0;  // of the member; of the piece
  std::size_t at = 0;
  while (out.size() + 1 < members) {
    const double until = all * static_cast<double>(out.size() + 1) / static_cast<double>(members);
    while (at + 1 < pieces.size() && before + pieces[at].seconds <= until) before += pieces[at++].seconds;
    const Piece& piece = pieces[at];
    const double end = piece.begin + (piece.end - piece.begin) * std::min(1.0, (until - before) / piece.seconds);
    out.push_back(end - begin);
    begin = end;
  }
  out.push_back(1 - begin);
  return out;
}

Parts in_steps(const Parts& parts, std::int64_t steps) {
  const auto positive = [](double part) { return part > 0; };
  std::int64_t later = std::count_if(parts.begin(), parts.end(), positive), begin = 0;
  const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (later > steps || !(all > 0)) return {};
  Parts out(parts.size(), 0);
  double done = 0;
  for (std::size_t m = 0; m < parts.size(); ++m) {
    if (!positive(parts[m])) continue;
    done += parts[m], --later;
    const auto wanted = static_cast<std::int64_t>(std::llround(done / all * static_cast<double>(steps)));
    const std::int64_t end = later == 0 ? steps : std::clamp(wanted, begin + 1, steps - later);
    out[m] = static_cast<double>(end - begin) / static_cast<double>(steps);
    begin = end;
  }
  return out;
}

}  // namespace heddle::decide

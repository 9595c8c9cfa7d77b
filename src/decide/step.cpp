// Undivided launches, then shares in equal tasks to whoever has room.
#include "decide/step.hpp"

#include <algorithm>
#include <cmath>

namespace heddle::decide {

namespace {

// The member for work that only one can do: the primary, or whoever else is ready.
std::optional<std::size_t> one_of(const State& s) {
  auto may = [&](std::size_t m) {
    return s.members[m].ready && (!s.one_space || !s.home || s.members[m].space == *s.home);
  };
  if (may(s.primary)) return s.primary;
  for (std::size_t m = 0; m < s.members.size(); ++m) {
    if (may(m)) return m;
  }
  return std::nullopt;
}

std::size_t emptiest_queue(const Member& member) {
  return static_cast<std::size_t>(std::min_element(member.queued.begin(), member.queued.end()) - member.queued.begin());
}

// A launch that cannot be cut, or whose devices are one that takes it in one task.
std::optional<std::vector<Action>> run_whole(const State& s) {
  if (!s.whole) return std::nullopt;
  const auto member = one_of(s);
  if (s.remaining.empty() || s.in_flight > 0 || !member) return std::vector<Action>{};
  const std::size_t queue = emptiest_queue(s.members[*member]);
  if (s.members[*member].queued[queue] >= slices_per_queue) return std::vector<Action>{};
  return std::vector<Action>{{*member, queue, s.remaining.hull(), "cannot be cut"}};
}

// Who takes part, with its share of the points.
std::vector<std::pair<std::size_t, double>> shares(const State& s) {
  std::vector<std::pair<std::size_t, double>> out;
  const auto lead = one_of(s);
  if (!lead) return out;
  double known = 0, unknown = 0;
  for (std::size_t m = 0; m < s.members.size(); ++m) {
    const Member& member = s.members[m];
    const bool together = member.space == s.members[*lead].space;
    if (!member.ready || (!together && (s.one_space || !s.spread))) continue;
    out.emplace_back(m, member.rate);
    member.rate > 0 ? known += member.rate : ++unknown;
  }
  // Those of whom nothing is known count as the average of the others.
  const double average = known > 0 ? known / (static_cast<double>(out.size()) - unknown) : 1;
  const double all = known + unknown * average;
  for (auto& [member, share] : out) share = (share > 0 ? share : average) / all;
  return out;
}

// Tasks of equal size to whoever has room, the emptiest queues first.
std::vector<Action> stream(const State& s, const std::vector<std::pair<std::size_t, double>>& shares) {
  std::vector<Action> out;
  core::BoxSet remaining = s.remaining;
  std::vector<Member> members = s.members;
  const auto volume = static_cast<double>(s.space.volume());
  while (!remaining.empty()) {
    const std::pair<std::size_t, double>* next = nullptr;
    int least = slices_per_queue;
    for (const auto& share : shares) {
      const Member& member = members[share.first];
      if (const int queued = member.queued[emptiest_queue(member)]; queued < least) least = queued, next = &share;
    }
    if (!next) break;
    const auto points = static_cast<std::int64_t>(std::ceil(volume * next->second / s.tasks));
    const auto box = remaining.take(s.footprint, s.space, std::max<std::int64_t>(1, points), s.axis);
    if (!box) break;
    const std::size_t queue = emptiest_queue(members[next->first]);
    ++members[next->first].queued[queue];
    out.push_back({next->first, queue, *box, shares.size() > 1 ? "share of several devices" : "task of its device"});
  }
  return out;
}

}  // namespace

std::vector<Action> step(const State& s) {
  if (auto whole = run_whole(s)) return *whole;
  return stream(s, shares(s));
}

}  // namespace heddle::decide

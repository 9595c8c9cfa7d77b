// Shares by descent: move points between two devices as long as the launch gets shorter.
#include "decide/split.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace heddle::decide {

namespace {

using Points = std::vector<std::int64_t>;

struct Stages {
  double in = 0, compute = 0, out = 0;
};

Stages stages(const Worker& worker, std::int64_t points) {
  const auto count = static_cast<double>(points);
  return {worker.first + worker.in * count, worker.compute(count), worker.out * count};
}

// With its copies to the device begun at `begin`. The longest stage sets the pace, the others show at the first and the
// last part only.
double ready(const Worker& worker, const Stages& s, double begin) {
  const double longest = std::max({s.in, s.compute, s.out}), sum = s.in + s.compute + s.out;
  return begin + longest + (sum - longest) / worker.tasks;
}

struct Estimate {
  std::size_t last = 0;  // who is ready last
  double duration = 0;   // of the launch
  double sum = 0;        // of all ready times: what is shorter in sum leaves more room, where the duration is the same
};

template <class Each>
Estimate estimate(const Job& job, const Points& points, const Each& each) {
  Estimate out;
  double latest = 0, merges = 0;
  int space = -1;
  bool several = false;
  std::array<double, 16> busy{};  // per link
  for (std::size_t w = 0; w < job.workers.size(); ++w) {
    if (points[w] == 0) continue;
    const Worker& worker = job.workers[w];
    const Stages s = stages(worker, points[w]);
    double begin = 0;
    if (worker.link >= 0) {
      double& link = busy[static_cast<std::size_t>(worker.link) % busy.size()];
      begin = link;
      link += s.in;
    }
    const double at = ready(worker, s, begin);
    each(w, at);
    if (at > latest) latest = at, out.last = w;
    out.sum += at;
    merges += worker.merge;
    several |= space >= 0 && worker.space != space;
    space = worker.space;
  }
  out.duration = latest + (several ? merges : 0);
  return out;
}

Estimate estimate(const Job& job, const Points& points) {
  return estimate(job, points, [](std::size_t, double) {});
}

Shares alone(const Job& job, std::size_t worker) {
  Points points(job.workers.size(), 0);
  points[worker] = job.points;
  const double seconds = duration(job, points);
  return {std::move(points), seconds};
}

// So many granules, from one worker to another; false where `from` has not as many.
bool move(const Job& job, Points& points, std::size_t from, std::size_t to, std::int64_t granules) {
  const std::int64_t moved = granules * job.granule;
  if (moved > points[from]) return false;
  points[from] -= moved, points[to] += moved;
  return true;
}

std::int64_t granules_of(const Job& job) { return (job.points + job.granule - 1) / job.granule; }

// Moves points from whoever is ready last to whoever gains the most, first in large steps, then in small ones.
Shares descend(const Job& job, Points points) {
  const std::size_t count = job.workers.size();
  const std::int64_t all = granules_of(job);
  Estimate now = estimate(job, points);
  const auto better = [](const Estimate& a, const Estimate& b) {
    return a.duration < b.duration * (1 - 1e-9) || (a.duration <= b.duration && a.sum < b.sum * (1 - 1e-9));
  };
  for (std::int64_t step = std::max<std::int64_t>(1, all / 2); step > 0;) {
    Estimate best = now;
    std::size_t best_to = count;
    for (std::size_t to = 0; to < count; ++to) {
      if (to == now.last || !move(job, points, now.last, to, step)) continue;
      const Estimate trial = estimate(job, points);
      move(job, points, to, now.last, step);
      if (better(trial, best)) best = trial, best_to = to;
    }
    if (best_to < count) {
      move(job, points, now.last, best_to, step);
      now = best;
    } else {
      // Below a thousandth of the launch nothing is gained that could be seen.
      if (step <= std::max<std::int64_t>(1, all / 1024)) break;
      step = (step + 1) / 2;
    }
  }
  return {std::move(points), now.duration};
}

}  // namespace

std::vector<double> ready_times(const Job& job, const Points& points) {
  std::vector<double> out(job.workers.size(), 0);
  estimate(job, points, [&](std::size_t w, double at) { out[w] = at; });
  return out;
}

double duration(const Job& job, const Points& points) { return estimate(job, points).duration; }

Shares fastest_alone(const Job& job) {
  Shares best;
  for (std::size_t w = 0; w < job.workers.size(); ++w) {
    Shares one = alone(job, w);
    if (w == 0 || one.seconds < best.seconds) best = std::move(one);
  }
  return best;
}

Shares in_proportion(const Job& job) {
  std::vector<double> rates;
  for (const Worker& worker : job.workers)
    rates.push_back(static_cast<double>(job.points) / worker.compute(static_cast<double>(job.points)));
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  Points points(rates.size(), 0);
  std::int64_t left = job.points;
  for (std::size_t w = 0; w < rates.size(); ++w) {
    const double exact = static_cast<double>(job.points) * rates[w] / all;
    const auto granules = static_cast<std::int64_t>(std::round(exact / static_cast<double>(job.granule)));
    points[w] = std::min(left, granules * job.granule);
    left -= points[w];
  }
  points[static_cast<std::size_t>(std::max_element(rates.begin(), rates.end()) - rates.begin())] += left;
  const double seconds = duration(job, points);
  return {std::move(points), seconds};
}

Shares skmd(const Job& job, int steps) {
  Shares out = fastest_alone(job);
  const auto base =
      static_cast<std::size_t>(std::max_element(out.points.begin(), out.points.end()) - out.points.begin());
  const std::int64_t all = granules_of(job), step = (all + steps - 1) / steps;
  // The least that pays for joining results: without that it would never begin.
  const auto least = [&](std::size_t to) {
    const double cost = job.workers[to].merge + job.workers[base].merge;
    if (cost <= 0 || job.workers[to].space == job.workers[base].space) return step;
    const Stages whole = stages(job.workers[base], job.points);
    std::int64_t granules = step;
    while (granules < all) {
      const Stages rest = stages(job.workers[base], std::max<std::int64_t>(0, job.points - granules * job.granule));
      if (ready(job.workers[base], whole, 0) - ready(job.workers[base], rest, 0) > cost) break;
      granules *= 2;
    }
    return granules;
  };
  for (int tolerated = 0; tolerated < 10;) {
    std::int64_t best_trial = 0;
    double best_balance = 0;
    Shares next;
    for (std::size_t w = 0; w < job.workers.size(); ++w) {
      if (w == base) continue;
      const std::int64_t trial = (out.points[w] == 0 ? least(w) : step) << tolerated;
      Points points = out.points;
      if (!move(job, points, base, w, trial)) continue;
      const double seconds = duration(job, points);
      if (seconds >= out.seconds) continue;
      const std::vector<double> times = ready_times(job, points);
      // How far the one that gets more stays below the time so far: the paper's text; its listing takes the base's.
      const double balance = out.seconds - times[w];
      if (best_trial == 0 || balance > best_balance)
        best_trial = trial, best_balance = balance, next = {std::move(points), seconds};
    }
    if (best_trial == 0) {
      ++tolerated;
    } else {
      out = std::move(next);
      tolerated = 0;
    }
    if (best_trial > 0 && out.points[base] == 0) break;
  }
  return out;
}

Shares split(const Job& job) {
  Shares single = fastest_alone(job);
  const std::size_t count = job.workers.size();
  if (count < 2 || granules_of(job) < 2) return single;
  Shares best = descend(job, single.points);
  // From the other side, too: who begins with everything may stay with it.
  if (Shares other = descend(job, in_proportion(job).points); other.seconds < best.seconds) best = std::move(other);

  if (job.begun) return best;
  // A split is for those whose times are known: the doubt of each counts by its part of the work.
  double doubt = 0;
  for (std::size_t w = 0; w < count; ++w) {
    const double part = static_cast<double>(best.points[w]) / static_cast<double>(job.points);
    doubt += part * part * job.workers[w].compute.error * job.workers[w].compute.error;
  }
  constexpr double least_gain = 0.02;
  const double margin = std::min(0.25, least_gain + 0.25 * std::sqrt(doubt));
  return best.seconds > single.seconds * (1 - margin) ? single : best;
}

}  // namespace heddle::decide

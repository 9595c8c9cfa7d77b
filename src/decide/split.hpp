// One launch on several devices: how many points each of them gets. From what each is expected to need for computing
// and for moving bytes, without asking any device.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/time_model.hpp"

namespace heddle::decide {

// A device as somebody to share with.
struct Worker {
  predict::Curve compute;
  int space = 0;     // its memory
  int link = -1;     // copies of devices with one number go one after the other; none: they do not wait for each other
  double first = 0;  // seconds of copies that it needs however little it gets: what every point reads
  double in = 0;     // seconds a point: of copies to it, only those of bytes that are not there yet
  double out = 0;    // and from it, where the host reads the result
  double merge = 0;  // seconds to join its results with those of others, where that is more than a copy
  int tasks = 1;     // parts whose copies and computing overlap
};

struct Job {
  std::int64_t points = 0;
  std::int64_t granule = 1;  // shares are multiples of it, but for one
  std::vector<Worker> workers;
  bool begun = false;  // on several of them: what goes on so gains, however little that is
};

struct Shares {
  std::vector<std::int64_t> points;  // per worker
  double seconds = 0;                // that all of it is expected to take
};

// When each worker is ready, and when all of the launch is: joined results, too.
std::vector<double> ready_times(const Job& job, const std::vector<std::int64_t>& points);
double duration(const Job& job, const std::vector<std::int64_t>& points);

// All of it on the one that needs the least time.
Shares fastest_alone(const Job& job);
// In proportion to rates of computing, as systems before SKMD did.
Shares in_proportion(const Job& job);
// SKMD's Algorithm 1: from the fastest device, step by step, to whoever is then the most balanced. At most `steps`
// steps.
Shares skmd(const Job& job, int steps = 2048);
// The one that is used: from whoever is ready last to whoever gains the most, first in large steps, then in small ones.
// Shared only where that is expected to gain more than predictions may be wrong by.
Shares split(const Job& job);

}  // namespace heddle::decide

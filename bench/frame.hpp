// The frame of every benchmark: interleaved repetitions, medians with confidence intervals, progress, results that can
// be resumed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/settings.hpp"
#include "device/machine.hpp"

namespace heddle::bench {

// One line of a result.
struct Row {
  std::string name;    // what was measured
  std::string device;  // where; empty for what concerns no single device
  std::string unit;
  double median = 0, low = 0, high = 0;  // with its 95 % confidence interval
  int samples = 0;
  double build_ms = 0;  // time spent building for it, in no other figure
};

// Median and the confidence interval of the median by order statistics: no assumption about the distribution of times.
// With too few samples for 95 % the interval is the whole range.
Row summarise(std::string name, std::string device, std::string unit, std::vector<double> samples);

// One of several things that are compared: `once` runs it and returns its figure.
struct Case {
  std::string name;
  std::string unit;
  std::function<double()> once;
  int samples = 0;  // where fewer than of the others are enough, spread over all rounds; 0: one in each round
};

// Which cases are to be run once more, their numbers; none: it is enough.
using More = std::function<std::vector<std::size_t>()>;

struct Options {
  bool quick = false;
  bool resume = false;
  int repetitions = 0;                                       // of each measurement, at most; 0: what its suite wants
  std::string only;                                          // shards with this text in their names; empty: all
  std::string spaces;                                        // folder of recorded spaces; empty: none
  std::string json;                                          // file for the result; empty: none
  std::string partial;                                       // file that holds finished shards until the end
  std::function<void(double, const std::string&)> progress;  // share done, what is running; empty: silent
};

// What a suite's shards are given.
struct Context {
  device::Machine& machine;
  const core::Settings& settings;
  const Options& options;

  // Runs all cases in turn, again and again, rotating the order so that none always comes first; one row each. Then
  // once more, as often as `more` names cases to be run again, unless the user has said how often.
  std::vector<Row> interleave(const std::string& device, const std::vector<Case>& cases, int asked,
                              const More& more = {}) const;
};

// A part of a suite that is measured in one go and kept as a whole: what an interrupted run loses at most.
struct Shard {
  std::string name;
  std::function<std::vector<Row>(Context&)> run;
};

struct Suite {
  std::string name;
  std::string what;
  std::function<std::vector<Shard>(Context&)> shards;
  std::function<nlohmann::json(const std::vector<Row>&)> summary;
};

const std::vector<Suite>& suites();
const Suite& find_suite(std::string_view name);  // UsageError that lists the suites there are

struct Outcome {
  std::vector<Row> rows;
  nlohmann::json document;            // {"suite","machine","devices","rows","summary"}
  std::vector<std::string> problems;  // shards that could not be measured, and why
  bool interrupted = false;
  bool others_kept = false;  // the partial file also holds shards that were not asked for
};

// Runs a suite. After each shard the partial file holds it; `resume` continues from there, whatever `only` was then.
// The file stays: whoever keeps the result removes it. SIGINT ends after the running case. UsageError that lists the
// shards where `only` matches none.
Outcome run(const Suite& suite, Context& context);

// The result as a person reads it, at most 100 columns wide.
std::string table(const Outcome& outcome);

// A failed measurement ends its shard: the message goes to the log, the other shards go on.
struct Failed {
  core::Failure failure;
};
template <class T>
T take(core::Result<T> result) {
  if (!result) throw Failed{result.failure()};
  return std::move(result).value();
}

}  // namespace heddle::bench

// The search around the trials: what is tried first, when it ends, what is kept; and the best measured side by side.
#include "engine/tuning.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "core/median.hpp"
#include "engine/tuner.hpp"
#include "profile/store.hpp"

namespace heddle::engine {

namespace {

using core::FailureKind;
using core::Nanoseconds;
using device::Device;

constexpr double close = 1.05;  // to the best: measured again beside it
constexpr std::size_t finalists = 4;
constexpr int final_rounds = 9;
constexpr std::uint64_t most_references = 16;  // tried for a reference
constexpr int ahead = 4;                       // candidates that are built while others run

using Keep = std::function<void(const core::Configuration&, double)>;

std::vector<std::optional<double>> in_turn(Tuner& tuner, const std::vector<core::Configuration>& configurations,
                                           int rounds, const Keep& keep) {
  const std::size_t count = configurations.size();
  std::vector<std::vector<double>> times(count);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(round)) % count;
      const auto ms = tuner.again(configurations[at]);
      if (!ms) continue;
      times[at].push_back(*ms);
      if (keep) keep(configurations[at], *ms);
    }
  }
  std::vector<std::optional<double>> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!times[i].empty()) out[i] = core::median(times[i]);
  }
  return out;
}

// Configurations with the groups of the base, which somebody chose who knew the kernel.
std::vector<std::uint64_t> like_base(const core::Tunable& tunable, const core::Variant& base) {
  constexpr std::uint64_t most_looked_at = 20'000;
  constexpr std::size_t most = 4;
  std::vector<std::uint64_t> out;
  for (std::uint64_t n = 0; n < std::min(tunable.space.size(), most_looked_at) && out.size() < most; ++n) {
    try {
      const core::Variant variant = variant_of(tunable, tunable.space.at(n));
      if (variant.group == base.group && variant.footprint.points == base.footprint.points) out.push_back(n);
    } catch (const core::UsageError&) {  // extents that are none
    }
  }
  return out;
}

// The best, measured in turn with those that are nearly as good: a single time may be luck.
void settle(Tuner& tuner, Tuned& out, const Keep& keep) {
  std::vector<const Trial*> good;
  for (const Trial& trial : out.trials) {
    if (trial.ms) good.push_back(&trial);
  }
  std::stable_sort(good.begin(), good.end(), [](const Trial* a, const Trial* b) { return *a->ms < *b->ms; });
  const bool hurry = out.stopped == "interrupted";
  while (!good.empty() && !out.best) {  // again where none of the best is right any more
    std::vector<core::Configuration> last;
    const double least = *good.front()->ms;
    while (!good.empty() && last.size() < (hurry ? 1 : finalists) && *good.front()->ms <= close * least)
      last.push_back(good.front()->configuration), good.erase(good.begin());
    const auto times = in_turn(tuner, last, hurry ? 1 : final_rounds, keep);
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (times[i] && (!out.best || *times[i] < out.ms)) out.ms = *times[i], out.best = last[i];
    }
  }
}

}  // namespace

core::Result<Tuned> tune(Device& device, const core::Tunable& tunable, const core::Box& space,
                         const std::vector<TuningArgument>& arguments, const std::optional<core::Variant>& base,
                         const TuningOptions& options) {
  if (space.empty()) throw core::UsageError("nothing to tune for: the launch has no points");
  if (base && align(space, base->footprint, space) != space)
    throw core::UsageError(fmt::format("the base '{}' cannot compute all of the launch", base->name));
  const decide::Strategy& strategy = decide::find_strategy(options.strategy);
  const decide::Stop stop(options.until);
  Tuner tuner(device, tunable, space, arguments, base, options);
  if (auto opened = tuner.open(); !opened) return opened.failure();
  if (auto made = tuner.make_reference(); !made) return made.failure();

  const auto key = [&](const core::Configuration& configuration) {
    return key_of(tunable, configuration, device.info(), space, arguments);
  };
  const auto keep = [&](const core::Configuration& configuration, std::optional<double> ms,
                        FailureKind kind = FailureKind::launch) {
    if (!options.store) return;
    if (!ms) return options.store->add_failure(key(configuration), kind);
    core::Sample sample{.points = space.volume()};
    sample.duration = Nanoseconds(std::llround(*ms * 1e6));
    options.store->add(key(configuration), sample);
  };
  std::vector<core::Configuration> good = options.first;
  if (options.store) {
    const core::SampleKey like = key({});
    const auto known = remembered(options.store->load(like.kernel), tunable, like, finalists);
    good.insert(good.end(), known.begin(), known.end());
    options.store->name(like.kernel, tunable.name);
    options.store->name(device.info().fingerprint, device.info().name);
  }
  std::vector<std::uint64_t> first;
  for (const core::Configuration& configuration : good) first.push_back(tunable.space.number_of(configuration));
  if (base) {
    const auto alike = like_base(tunable, *base);
    first.insert(first.end(), alike.begin(), alike.end());
  }
  const int width = tuner.builds_ahead() ? ahead : 1;
  decide::Search search(tunable.space, strategy, options.seed, first, width);
  Tuned out;
  decide::Progress progress{.floor = options.floor_ms};
  const auto began = std::chrono::steady_clock::now();
  const auto count = [&](std::uint64_t number, Trial trial) {
    search.tell(number, trial.ms.value_or(decide::Tried::failed));
    ++progress.evaluations, ++progress.since;
    if (trial.ms && (progress.best == 0 || *trial.ms < progress.best)) progress.best = *trial.ms, progress.since = 0;
    progress.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    out.trials.push_back(std::move(trial));
    return !options.heard || options.heard(out.trials.back(), progress);
  };
  for (Trial trial : options.known) {
    try {
      const std::uint64_t number = tunable.space.number_of(trial.configuration);
      if (search.tried().contains(number)) continue;
      trial.remembered = true;
      (void)count(number, std::move(trial));
    } catch (const core::UsageError& error) {  // of a space that was changed since
      core::log(core::LogLevel::warn,
                fmt::format("'{}' is not used: {}", to_string(trial.configuration), error.what()));
    }
  }
  const auto evaluate = [&](std::uint64_t number) {
    Trial trial = tuner.run(tunable.space.at(number), progress.best);
    keep(trial.configuration, trial.ms,
         trial.failure == "compile"   ? FailureKind::build
         : trial.failure == "timeout" ? FailureKind::hang
                                      : FailureKind::launch);
    const bool found = trial.ms.has_value();
    if (!search.tried().contains(number) && !count(number, std::move(trial))) out.stopped = "interrupted";
    return found;
  };
  // Without a base, the first configuration that runs says what is right, whatever is tried first.
  for (std::uint64_t n = 0; n < std::min<std::uint64_t>(tunable.space.size(), most_references); ++n) {
    if (!tuner.needs_reference() || !out.stopped.empty() || stop(progress) || evaluate(n)) break;
  }
  std::deque<std::uint64_t> next;
  while (out.stopped.empty()) {
    if (stop(progress)) {
      out.stopped = stop.text();
      break;
    }
    while (next.size() < static_cast<std::size_t>(width)) {
      const auto number = search.next();
      if (!number) break;
      next.push_back(*number);
      if (tuner.builds_ahead()) tuner.expect(tunable.space.at(*number));
    }
    if (next.empty()) {
      out.stopped = search.tried().order().size() >= tunable.space.size() ? "all were tried" : "the strategy has ended";
      break;
    }
    const std::uint64_t number = next.front();
    next.pop_front();
    (void)evaluate(number);
  }
  tuner.expect_nothing();
  settle(tuner, out, [&](const core::Configuration& configuration, double ms) { keep(configuration, ms); });
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return out;
}

core::Result<std::vector<std::optional<double>>> compare(Device& device, const core::Tunable& tunable,
                                                         const core::Box& space,
                                                         const std::vector<TuningArgument>& arguments,
                                                         const std::optional<core::Variant>& base,
                                                         const std::vector<core::Configuration>& configurations,
                                                         int rounds, const TuningOptions& options) {
  Tuner tuner(device, tunable, space, arguments, base, options);
  if (auto opened = tuner.open(); !opened) return opened.failure();
  if (auto made = tuner.make_reference(); !made) return made.failure();
  return in_turn(tuner, configurations, rounds, {});
}

}  // namespace heddle::engine

// Suite "select": what it costs to find the best variant of a kernel on the launch itself, against knowing it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/suites.hpp"
#include "core/log.hpp"
#include "core/median.hpp"
#include "kernel/compiler.hpp"
#include "workloads/placement.hpp"
#include "workloads/schedules.hpp"
#include "workloads/through_library.hpp"

namespace heddle::bench {

namespace {

using Clock = std::chrono::steady_clock;
using When = Selection::When;
using workloads::Size;

constexpr const char *overhead_name = "overhead", *each_name = "overhead, each launch", *luck_name = "luck of the best",
                     *right_name = "right choices", *gain_name = "mixed gain";
constexpr const char* small_mark = ", small, ";
constexpr double tie = 1.03;  // as good as the best

// Launches should last so long, and no longer than twenty times that: nobody waits for the rest. Many variants need
// more.
double enough_ms(const device::Info& device, std::size_t variants) {
  return device.kind != device::Kind::cpu ? 5 : variants > 8 ? 1000 : 50;
}
constexpr double too_much = 20;

// A variant that takes so many times what the best takes is measured a few times only, or once: nobody needs more of it
// than the factor; nor of one that is hopeless and takes seconds.
constexpr double may_be_best = 1.5, hopeless = 3, beyond_hope = 30, long_ms = 2000;

constexpr int launches_to_settle = 60;

// On machines that others share, launches vary by a third. So whoever may be the best, and Heddle, go on in turn until
// overheads are known to a few per cent, or time is up.
constexpr double may_still_be_best = 1.08, known_pct = 2, enough_s = 25;
constexpr std::size_t most_rounds = 60;

// The input on which no variant need be the best everywhere.
constexpr const char* mixed_input = "two_kinds";

// The variant that computed most of a launch.
std::string picked(const Report& report) {
  std::map<std::string, std::int64_t> points;
  for (const Slice& s : report.slices)
    points[s.variant] += (s.end[0] - s.begin[0]) * (s.end[1] - s.begin[1]) * (s.end[2] - s.begin[2]);
  const auto most = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto at = std::max_element(points.begin(), points.end(), most);
  return at == points.end() ? "" : at->first;
}

// A choice that does not measure, to compare with: one of some variants.
struct StaticChoice {
  std::string name;
  std::vector<std::size_t> among;
  std::size_t chosen = 0;
};

struct Subject {
  workloads::Workload workload;
  std::string input;
  device::Info device;
  std::function<std::optional<StaticChoice>(const workloads::Instance&)> choose;
};

// Variants of which each costs seconds: they are measured less often.
bool many(const Subject& subject) { return subject.workload.variants.size() > 8; }

// An instance in memory, and what is known of it without launching.
struct There {
  There(Runtime& runtime, const Subject& subject, Size s, workloads::Instance instance)
      : size(s),
        bytes(instance.bytes),
        operations(instance.operations),
        points(workloads::points_of(instance)),
        rival(subject.choose(instance)),
        buffers(runtime, std::move(instance)) {}

  Size size;
  double bytes, operations;
  Grid points;
  std::optional<StaticChoice> rival;
  workloads::InLibrary buffers;
};

// Whether the driver may have compiled for it.
bool compiled(const Report& report) {
  return std::any_of(report.slices.begin(), report.slices.end(), [](const Slice& slice) { return slice.first; });
}

// Milliseconds per launch, and what became of the last. With `once` the first finds out, or begins to, what the others
// use. Builds are not what is measured: where the driver compiled meanwhile, `again` does what it takes to repeat all.
std::pair<double, Report> go_on(
    const There& there, const Kernel& kernel, const Selection& how, int times,
    const std::function<void()>& again = [] {}) {
  for (int trial = 1;; ++trial) {
    bool built = false;
    double ms = 0;
    Launch launch;
    for (int i = 0; i < times; ++i) {
      const auto begin = Clock::now();
      launch = there.buffers.launch(kernel, there.points.select(how));
      launch.wait();
      ms += std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
      built |= compiled(launch.report());
    }
    if (!built || trial == 10) return {ms / times, launch.report()};
    again();
  }
}

std::pair<double, Report> from_nothing(const There& there, Kernel& kernel, const Selection& how, int times) {
  kernel.forget();
  return go_on(there, kernel, how, times, [&] { kernel.forget(); });
}

// Of short launches as many as fill some time.
int times_of(double ms_per_launch, double fill_ms = 100) {
  return ms_per_launch < 0.2 * fill_ms ? static_cast<int>(std::ceil(fill_ms / std::max(0.01, ms_per_launch))) : 1;
}

// Whether a launch is shorter than inputs should make it, or of many cores has few groups: one for each core, by each
// variant, are more of it than finding out may cost. Nobody can tell in it who is best, but a program that repeats it
// can. The more cores, the longer is short: a part keeps all of them busy, and who waits for the slowest of sixteen
// waits longer than for the slower of two.
bool is_small(const There& there, const Subject& subject, double ms_per_launch) {
  const bool cpu = subject.device.kind == device::Kind::cpu;
  if (ms_per_launch < (cpu ? std::max(enough_ms(subject.device, 0), 10.0 * subject.device.units) : 20)) return true;
  if (!cpu || subject.device.units < 8 || many(subject)) return false;
  double groups = 0;
  for (const core::Variant& variant : subject.workload.variants)
    groups += static_cast<double>(subject.device.units) * static_cast<double>(core::volume(variant.footprint));
  const auto& items = there.points.items;
  return groups > 0.02 * static_cast<double>(items[0]) * static_cast<double>(items[1] * items[2]);
}

// A program that repeats small launches: a hundred of them, as solvers do, but a tenth of a second at least, and about
// half a second at most, or four launches.
int times_of_program(double ms_per_launch, bool small) {
  const int about = static_cast<int>(600 / ms_per_launch);
  return std::max(times_of(ms_per_launch), small ? std::clamp(about, 4, 100) : 1);
}

// What each variant takes at first sight, the least of a few launches: one that was disturbed must not look hopeless.
// `before`: at another size; who was hopeless there is looked at once, and so are all of many.
std::vector<double> look_at(const There& there, Kernel& kernel, const Subject& subject,
                            const std::vector<double>& before) {
  std::vector<double> out;
  const auto least_of = [](const std::vector<double>& all) { return std::min_element(all.begin(), all.end()); };
  const double best = before.empty() ? 0 : *least_of(before);
  if (!before.empty()) {  // touches all memory
    const auto v = static_cast<std::size_t>(least_of(before) - before.begin());
    from_nothing(there, kernel, {.when = When::never, .initial = subject.workload.variants[v].name}, 2);
  }
  for (std::size_t v = 0; v < subject.workload.variants.size(); ++v) {
    const Selection alone{.when = When::never, .initial = subject.workload.variants[v].name};
    if (before.empty()) from_nothing(there, kernel, alone, 2);  // builds, too
    double least = from_nothing(there, kernel, alone, 1).first;
    const bool once = many(subject) || (!before.empty() && before[v] > hopeless * best);
    for (int more = before.empty() ? 2 : once ? 0 : 1; more > 0; --more)
      least = std::min(least, from_nothing(there, kernel, alone, 1).first);
    out.push_back(least);
  }
  return out;
}

// Whether arrays are small enough for the device, and for the host, which holds them twice for a while.
bool fits(const workloads::Instance& instance, const device::Info& device) {
  core::Bytes all = 0, longest = 0;
  for (const workloads::Argument& a : instance.arguments) {
    all += a.bytes.size();
    longest = std::max(longest, a.bytes.size());
  }
  const auto host = static_cast<core::Bytes>(sysconf(_SC_PHYS_PAGES)) * static_cast<core::Bytes>(sysconf(_SC_PAGESIZE));
  return longest <= device.largest_buffer / 2 && all <= device.memory / 2 && all <= host / 4;
}

// The smallest instance on which the best variant takes long enough, as far as can be told from what it takes at the
// default size; else the largest that fits. Nothing where that is the default one.
std::optional<std::pair<Size, workloads::Instance>> longer(const There& normal, const Subject& subject,
                                                           double best_ms) {
  const double enough = enough_ms(subject.device, subject.workload.variants.size());
  std::optional<std::pair<Size, workloads::Instance>> out;
  for (const Size size : {Size::medium, Size::large}) {
    if (best_ms >= enough) break;
    auto instance = workloads::make(subject.workload, size, subject.input, 1);
    const double more =
        std::max(instance.bytes / normal.bytes, normal.operations > 0 ? instance.operations / normal.operations : 1);
    if (!fits(instance, subject.device) || best_ms * more > too_much * enough) break;
    out.emplace(size, std::move(instance));
    if (best_ms * more >= enough) break;
  }
  return out;
}

std::string prefix_of(const Subject& subject, const std::string& class_mark) {
  return subject.workload.name + (subject.workload.inputs.size() > 1 ? " " + subject.input : "") + class_mark;
}

// 100 (row / best - 1), for the median and its interval.
Row over(Row row, double best, const std::string& name) {
  for (double* ms : {&row.median, &row.low, &row.high}) *ms = 100 * (*ms / best - 1);
  row.name = name, row.unit = "%", row.build_ms = 0;
  return row;
}

// A time, and when it was taken.
struct Timed {
  double ms;
  Clock::time_point when;
};

std::vector<double> times_in(const std::vector<Timed>& samples) {
  std::vector<double> out;
  for (const Timed& one : samples) out.push_back(one.ms);
  return out;
}

// The same of what was measured side by side, each against the nearest in time: what disturbs one disturbs both.
Row over(const std::vector<Timed>& mine, const std::vector<Timed>& best, const std::string& device,
         const std::string& name) {
  std::vector<double> out;
  for (const Timed& one : mine) {
    const auto apart = [&](const Timed& other) { return std::chrono::abs(other.when - one.when); };
    const auto nearer = [&](const Timed& a, const Timed& b) { return apart(a) < apart(b); };
    out.push_back(100 * (one.ms / std::min_element(best.begin(), best.end(), nearer)->ms - 1));
  }
  return summarise(name, device, "%", out);
}

// The best in one half of the rounds, timed in the other half, against the best in all, in %: of several that are alike
// the best is so by chance, and nobody who does not know the outcome is that good. Both halves.
std::pair<double, double> luck_of(const std::vector<std::vector<double>>& alone, double best) {
  const auto in_half = [&](std::size_t v, std::size_t half) {
    std::vector<double> out;
    for (std::size_t i = half; i < alone[v].size(); i += 2) out.push_back(alone[v][i]);
    return out.empty() ? std::numeric_limits<double>::infinity() : core::median(out);
  };
  const auto of = [&](std::size_t half) {
    std::size_t chosen = 0;
    for (std::size_t v = 1; v < alone.size(); ++v) chosen = in_half(v, half) < in_half(chosen, half) ? v : chosen;
    const double other = in_half(chosen, 1 - half);
    return std::isinf(other) ? 0 : 100 * (other / best - 1);
  };
  return std::minmax(of(0), of(1));
}

// Every variant alone, and Heddle: finding out first, finding out meanwhile from the best or the worst variant, and, if
// launches are so short that several are timed together, finding out at each. With `settling`, a kernel of its
// own, also what it takes when nothing is left to find out.
std::vector<Row> measure(Context& context, const Subject& subject, const There& there, Kernel& kernel,
                         const std::vector<double>& looks, const std::string& prefix, Kernel* settling) {
  const bool quick = context.options.quick;
  const auto& variants = subject.workload.variants;
  const auto best = std::min_element(looks.begin(), looks.end());
  const auto worst = std::max_element(looks.begin(), looks.end());
  const int times = times_of_program(*best, is_small(there, subject, *best));
  std::vector<Case> cases;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const Selection alone{.when = When::never, .initial = variants[v].name};
    const double factor = looks[v] / *best;
    // Of several that are alike the best is so by chance; by less where each is the mean of as many as a program has.
    const int few = factor <= may_be_best ? std::min(times, 10) : 1;
    const bool once = quick || factor > beyond_hope || looks[v] > long_ms;
    cases.push_back({prefix + "pure " + variants[v].name, "ms",
                     [&there, &kernel, alone, n = std::max(few, times_of(looks[v], quick ? 25 : 100))] {
                       return from_nothing(there, kernel, alone, n).first;
                     },
                     many(subject)        ? (factor <= may_be_best ? 2 : 1)
                     : factor <= hopeless ? 0
                     : once               ? 1
                                          : 3});
  }
  from_nothing(there, kernel, {.when = When::once}, times);  // builds what only choosing needs
  std::vector<std::pair<std::string, double>> choices;       // and the time of all
  const std::size_t heddle = cases.size();
  cases.push_back({prefix + "Heddle", "ms", [&] {
                     auto [ms, report] = from_nothing(there, kernel, {.when = When::once}, times);
                     choices.emplace_back(picked(report), ms);
                     return ms;
                   }});
  const auto name_at = [&](auto place) { return variants[static_cast<std::size_t>(place - looks.begin())].name; };
  for (const auto& [name, initial] : {std::pair("best", name_at(best)), std::pair("worst", name_at(worst))}) {
    const Selection meanwhile{.when = When::once, .initial = initial, .meanwhile = true};
    cases.push_back(
        {prefix + "Heddle meanwhile, from the " + name, "ms",
         [&there, &kernel, meanwhile, times] { return from_nothing(there, kernel, meanwhile, times).first; },
         quick ? 1 : 5});
  }
  const std::size_t each = times > 1 ? cases.size() : heddle;
  if (times > 1)
    cases.push_back({prefix + "Heddle, each launch", "ms", [&there, &kernel, times] {
                       return from_nothing(there, kernel, {.when = When::always}, times).first;
                     }});
  const std::size_t settled = cases.size();
  if (settling) {
    go_on(there, *settling, {.when = When::once}, launches_to_settle);
    cases.push_back({prefix + "settled", "ms",
                     [&there, settling, times] { return go_on(there, *settling, {.when = When::once}, times).first; }});
  }
  std::vector<std::vector<Timed>> samples(cases.size());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    cases[k].once = [once = cases[k].once, &mine = samples[k]] {
      const double ms = once();
      return mine.emplace_back(Timed{ms, Clock::now()}).ms;
    };
  }
  const auto pure_of = [&](std::size_t v) { return core::median(times_in(samples[v])); };
  const auto oracle = [&] {
    std::size_t out = 0;
    for (std::size_t v = 1; v < variants.size(); ++v) out = pure_of(v) < pure_of(out) ? v : out;
    return out;
  };
  const auto overhead = [&](std::size_t of, const std::string& name) {
    return over(samples[of], samples[oracle()], subject.device.id, prefix + name);
  };
  std::optional<Clock::time_point> begin;
  const auto more = [&] {
    if (!begin) begin = Clock::now();
    const auto known = [&](std::size_t of) {
      const Row row = overhead(of, "");
      return row.high - row.low <= 2 * known_pct;
    };
    const std::size_t rounds = samples[heddle].size();
    const bool late = std::chrono::duration<double>(Clock::now() - *begin).count() > enough_s;
    std::vector<std::size_t> out;
    if (quick || late || rounds >= most_rounds || (known(heddle) && known(each))) return out;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if (pure_of(v) <= may_still_be_best * pure_of(oracle())) out.push_back(v);
    }
    out.push_back(heddle);
    if (each != heddle) out.push_back(each);
    if (settling) out.push_back(settled);
    return out;
  };
  std::vector<Row> rows = context.interleave(subject.device.id, cases, quick || many(subject) ? 5 : 7, more);

  const double least = pure_of(oracle());
  int right = 0;
  for (const auto& [choice, ms] : choices) {
    bool good = ms <= tie * least;  // by a mixture, perhaps
    for (std::size_t v = 0; v < variants.size(); ++v) good |= variants[v].name == choice && pure_of(v) <= tie * least;
    right += good;
  }
  rows.push_back(overhead(heddle, overhead_name));
  rows.push_back(overhead(each, each_name));
  std::vector<std::vector<double>> alone;
  for (std::size_t v = 0; v < variants.size(); ++v) alone.push_back(times_in(samples[v]));
  const auto [least_luck, most_luck] = luck_of(alone, least);
  rows.push_back({prefix + luck_name, subject.device.id, "%", (least_luck + most_luck) / 2, least_luck, most_luck, 2});
  const double share = 100.0 * right / static_cast<double>(std::max<std::size_t>(1, choices.size()));
  rows.push_back(
      {prefix + right_name, subject.device.id, "%", share, share, share, static_cast<int>(choices.size()), 0});
  if (times > 1)
    rows.push_back(
        {prefix + "launches of a program", subject.device.id, "", 1.0 * times, 1.0 * times, 1.0 * times, 1, 0});
  if (there.rival) {
    double best_placed = std::numeric_limits<double>::infinity();
    for (std::size_t v : there.rival->among) best_placed = std::min(best_placed, pure_of(v));
    rows.push_back(over(rows[there.rival->chosen], best_placed, prefix + there.rival->name));
  }
  if (settling) {
    Row gain = rows[settled];
    const auto of = [&](double ms) { return 100 * (least / ms - 1); };
    gain.median = of(rows[settled].median), gain.low = of(rows[settled].high), gain.high = of(rows[settled].low);
    gain.name = prefix + gain_name, gain.unit = "%";
    rows.push_back(gain);
  }
  return rows;
}

// At the default size, or at one where launches are long enough; on GPUs, where default sizes are short, at both.
std::vector<Row> compare(Context& context, const Subject& subject, bool mixed) {
  Runtime runtime(heddle::Options{.devices = subject.device.id});
  Kernel kernel = workloads::with_variants(runtime, subject.workload);
  std::optional<Kernel> settling;
  if (mixed) settling = workloads::with_variants(runtime, subject.workload);
  std::optional<There> there;
  there.emplace(runtime, subject, Size::normal, workloads::make(subject.workload, Size::normal, subject.input, 1));
  const auto begin_builds = Clock::now();
  std::vector<double> looks = look_at(*there, kernel, subject, {});
  const double build_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin_builds).count();
  std::optional<std::pair<Size, workloads::Instance>> next;
  if (!context.options.quick) next = longer(*there, subject, *std::min_element(looks.begin(), looks.end()));
  std::vector<Row> rows;
  const auto add = [&](const std::string& class_mark) {
    const auto more = measure(context, subject, *there, kernel, looks, prefix_of(subject, class_mark),
                              settling ? &*settling : nullptr);
    rows.insert(rows.end(), more.begin(), more.end());
  };
  if (!next) {
    add(", ");
  } else {
    if (subject.device.kind != device::Kind::cpu) add(small_mark);
    there.reset();  // one of them is enough memory
    there.emplace(runtime, subject, next->first, std::move(next->second));
    looks = look_at(*there, kernel, subject, looks);
    add(fmt::format(", {}, ", to_string(there->size)));
  }
  rows.front().build_ms = build_ms;
  return rows;
}

// The variants that people wrote, and what a compiler would choose among those that differ in where data lies.
std::vector<Row> compare_variants(Context& context, const workloads::Workload& workload, const std::string& input,
                                  const device::Info& device) {
  kernel::Compiler compiler(kernel::options_of(context.settings));
  const auto choose = [&](const workloads::Instance& instance) -> std::optional<StaticChoice> {
    auto found = workloads::choose_placement(compiler, workload, instance);
    if (!found) core::log_once(core::LogLevel::warn, "no placement heuristic: " + found.failure().what);
    if (!found || found->variants.empty()) return std::nullopt;
    return StaticChoice{"placement heuristic", found->variants, found->chosen};
  };
  return compare(context, {workload, input, device, choose}, input == mixed_input);
}

// The orders in which a CPU may go through work-items and the loops of a kernel, as variants; and what a compiler would
// choose that does not measure.
std::vector<Row> compare_schedules(Context& context, const workloads::Workload& workload, const std::string& input,
                                   const device::Info& device) {
  kernel::Compiler compiler(kernel::options_of(context.settings));
  const auto schedules = [&](const workloads::Instance& instance) {
    auto found = take(workloads::schedules_of(compiler, workload, instance));
    if (!found.refused.empty()) throw Failed{{core::FailureKind::unsupported, "no schedules: " + found.refused, ""}};
    return found;
  };
  workloads::Workload scheduled = workload;
  scheduled.name += " schedules";
  scheduled.variants = schedules(workloads::make(workload, Size::normal, input, 1)).variants;
  const auto choose = [&](const workloads::Instance& instance) {
    std::vector<std::size_t> all(scheduled.variants.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return StaticChoice{"least strides", all, schedules(instance).least_strides};
  };
  return compare(context, {scheduled, input, device, choose}, false);
}

// As in DySel's first case study, with as many orders.
constexpr const char* with_schedules[] = {"cutcp", "sgemm", "kmeans", "spmv_csr", "spmv_jds", "stencil"};

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out;
  for (const auto& device : context.machine.devices) {
    const device::Info& info = device->info();
    for (const workloads::Workload* w : workloads::all()) {
      if (w->variants.size() < 2) continue;
      const bool scheduled =
          info.kind == device::Kind::cpu &&
          std::find(std::begin(with_schedules), std::end(with_schedules), w->name) != std::end(with_schedules);
      for (const std::string& input : w->inputs) {
        if (scheduled)
          out.push_back({fmt::format("{} {} schedules on {}", w->name, input, info.id),
                         [w, input, info](Context& c) { return compare_schedules(c, *w, input, info); }});
        out.push_back({fmt::format("{} {} on {}", w->name, input, info.id),
                       [w, input, info](Context& c) { return compare_variants(c, *w, input, info); }});
      }
    }
  }
  return out;
}

nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out;
  struct Figures {
    std::vector<double> overheads, each, luck, rights, small;  // `small`: those of the overheads
  };
  std::map<std::string, Figures> figures;  // by device
  for (const Row& row : rows) {
    Figures& mine = figures[row.device];
    if (row.name.ends_with(std::string(", ") + overhead_name)) {
      mine.overheads.push_back(row.median);
      if (row.name.find(small_mark) != std::string::npos) mine.small.push_back(row.median);
    }
    if (row.name.ends_with(each_name)) mine.each.push_back(row.median);
    if (row.name.ends_with(luck_name)) mine.luck.push_back(row.median);
    if (row.name.ends_with(right_name)) mine.rights.push_back(row.median);
    if (row.name.ends_with(gain_name)) out[row.device]["mixed_gain_pct"] = row.median;  // of two, the longer launches'
  }
  const auto mean = [](const std::vector<double>& all) {
    return all.empty() ? 0 : std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  for (const auto& [device, all] : figures) {
    if (all.overheads.empty()) continue;
    out[device]["worst_overhead_pct"] = *std::max_element(all.overheads.begin(), all.overheads.end());
    out[device]["mean_overhead_pct"] = mean(all.overheads);
    out[device]["right_pct"] = mean(all.rights);
    out[device]["worst_overhead_always_pct"] = *std::max_element(all.each.begin(), all.each.end());
    out[device]["worst_luck_pct"] = *std::max_element(all.luck.begin(), all.luck.end());
    out[device]["mean_luck_pct"] = mean(all.luck);
    if (all.small.empty()) continue;
    out[device]["worst_overhead_small_pct"] = *std::max_element(all.small.begin(), all.small.end());
    out[device]["mean_overhead_small_pct"] = mean(all.small);
  }
  return out;
}

}  // namespace

Suite select_suite() {
  return {"select", "finding the best variant of each workload on its first launch, against knowing it", shards,
          summary};
}

}  // namespace heddle::bench

// One configuration after the other: built, run in parts until it is hopeless or done, checked, timed; and the best of
// them measured again side by side.
#include "engine/tuning.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <future>
#include <map>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/fingerprint.hpp"
#include "core/log.hpp"
#include "device/prepare.hpp"
#include "profile/store.hpp"

namespace heddle::engine {

namespace {

using core::Failure;
using core::FailureKind;
using core::Nanoseconds;
using device::Device;

constexpr double hopeless = 8;  // times the best: the rest of it is not run
constexpr Nanoseconds least_limit = std::chrono::milliseconds(100);
constexpr Nanoseconds first_limit = std::chrono::seconds(60);  // while nothing is known
constexpr int parts = 16;                                      // of which the first is looked at
constexpr double promising = 1.3;                              // times the best: worth more than one sample
constexpr int samples = 5;
constexpr double close = 1.05;  // to the best: measured again beside it
constexpr std::size_t finalists = 4;
constexpr int final_rounds = 9;
constexpr std::uint64_t most_references = 16;  // tried for a reference
constexpr std::byte poison{0xCD};
constexpr int ahead = 4;  // candidates that are built while others run

double ms_of(Nanoseconds t) { return static_cast<double>(t.count()) * 1e-6; }

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One of several boxes that a run consists of, and who computes it.
struct Part {
  bool by_base;
  core::Box box;
};

struct Built {
  core::Variant variant;
  std::unique_ptr<device::Program> program;
  std::unique_ptr<device::Kernel> kernel;
};

struct Refused {
  std::string failure, why;
};

Refused refused(const char* word, const Failure& failure) {
  return {word, failure.log.empty() ? failure.what : failure.what + "\n" + failure.log};
}

class Tuner {
 public:
  Tuner(Device& device, const core::Tunable& tunable, const core::Box& space,
        const std::vector<TuningArgument>& arguments, const std::optional<core::Variant>& base,
        const TuningOptions& options)
      : device_(device), tunable_(tunable), space_(space), given_(arguments), base_(base), options_(options) {}

  core::Status open() {
    auto queue = device_.open_queue();
    if (!queue) return queue.failure();
    queue_ = std::move(*queue);
    for (const TuningArgument& argument : given_) {
      if (const auto* scalar = std::get_if<device::Scalar>(&argument.given)) {
        arguments_.emplace_back(*scalar);
      } else if (const auto* local = std::get_if<device::LocalMemory>(&argument.given)) {
        arguments_.emplace_back(*local);
      } else if (argument.same_as) {
        arguments_.push_back(arguments_.at(*argument.same_as));
      } else {
        const auto bytes = std::get<std::span<const std::byte>>(argument.given);
        auto buffer = device_.allocate(bytes.size());
        if (!buffer) return buffer.failure();
        arguments_.emplace_back(device::BufferArgument{buffer->get(), argument.access});
        buffers_.push_back(std::move(*buffer));
      }
    }
    expected_.resize(given_.size());
    for (std::size_t a = 0; a < given_.size(); ++a)
      expected_[a].assign(given_[a].expected.begin(), given_[a].expected.end());
    if (auto filled = fill(true); !filled) return filled;
    if (!base_) return core::Done{};
    auto built = build(*base_);
    if (!built) return built.failure();
    base_built_ = std::move(*built);
    return core::Done{};
  }

  // Whether what is right is still to be found out.
  bool needs_reference() const {
    for (std::size_t a = 0; a < given_.size(); ++a) {
      if (is_output(a) && expected_[a].empty()) return true;
    }
    return false;
  }
  core::Status make_reference() {
    if (!base_built_ || !needs_reference()) return core::Done{};
    if (auto done = run_all(nullptr, {{true, space_}}); !done) return done.failure();
    return keep_as_reference();
  }

  Trial run(const core::Configuration& configuration, double best) {
    Trial out{.configuration = configuration};
    core::Variant variant;
    try {
      variant = variant_of(tunable_, configuration);
    } catch (const core::UsageError& error) {  // extents of groups that are none
      out.failure = "constraints", out.why = error.what();
      return out;
    }
    const auto outcome = attempt(variant, best, out.build);
    if (const auto* ms = std::get_if<double>(&outcome))
      out.ms = *ms;
    else
      out.failure = std::get<Refused>(outcome).failure, out.why = std::get<Refused>(outcome).why;
    return out;
  }

  // One more sample of a configuration that ran before.
  std::optional<double> again(const core::Configuration& configuration) {
    const auto [at, first] = finalists_.try_emplace(to_string(configuration));
    std::unique_ptr<Built>& built = at->second;
    if (first) {  // checked once more: it may be known from an earlier run only
      auto made = build(variant_of(tunable_, configuration));
      if (!made || cut(made->variant, 1).empty()) return std::nullopt;
      if (!run_all(&*made, cut(made->variant, 1))) return std::nullopt;
      auto wrong = what_is_wrong();
      if (!wrong || *wrong) return std::nullopt;
      built = std::make_unique<Built>(std::move(*made));
    }
    if (!built) return std::nullopt;
    auto sample = time_of(built.get(), cut(built->variant, 1));
    return sample ? std::optional(ms_of(sample->duration)) : std::nullopt;
  }

  // What a process of its own says of those that are tried next, while others run. On a CPU that would disturb them.
  bool builds_ahead() const { return options_.worker && device_.info().kind != device::Kind::cpu; }
  void expect(const core::Configuration& configuration) {
    coming_.emplace(to_string(configuration), std::async(std::launch::async, [this, configuration] {
                      try {
                        return try_build(variant_of(tunable_, configuration), false);
                      } catch (const core::UsageError&) {  // told when it is its turn
                        return core::Status(core::Done{});
                      }
                    }));
  }
  void expect_nothing() { coming_.clear(); }  // waits for what is at work

 private:
  // Whether it can be built, and launched on zeros, in a process of its own.
  core::Status try_build(const core::Variant& variant, bool launch) const {
    const std::vector<Part> whole = cut(variant, 1);
    if (!options_.worker || whole.empty() || whole.front().by_base) return core::Done{};
    std::optional<std::vector<device::TrialArgument>> arguments;
    if (launch) {
      arguments.emplace();
      for (const TuningArgument& argument : given_) {
        if (const auto* bytes = std::get_if<std::span<const std::byte>>(&argument.given))
          arguments->emplace_back(device::ZeroBuffer{bytes->size()});
        else if (const auto* scalar = std::get_if<device::Scalar>(&argument.given))
          arguments->emplace_back(*scalar);
        else
          arguments->emplace_back(std::get<device::LocalMemory>(argument.given));
      }
    }
    return options_.worker->build({{variant.source, variant.options},
                                   variant.entry,
                                   nd_range(variant, whole.front().box, space_),
                                   std::move(arguments)},
                                  options_.build_limit);
  }

  // PoCL compiles at the first launch, so on a CPU that is tried, too. A kernel may not stand zeros, though: after
  // three that do not, and none that does, it is only built.
  core::Status try_build_now(const core::Variant& variant) {
    const auto refuses = [](const core::Status& status) {
      return !status && (status.failure().kind == FailureKind::build || status.failure().kind == FailureKind::hang);
    };
    const auto passed = [&](const core::Status& status) {
      return refuses(status) ? status : core::Status(core::Done{});
    };
    if (device_.info().kind != device::Kind::cpu || zeros_ == Zeros::harmful) return passed(try_build(variant, false));
    const core::Status tried = try_build(variant, true);
    if (tried) zeros_ = Zeros::harmless;
    if (refuses(tried) && zeros_ == Zeros::unknown && !refuses(try_build(variant, false)) && ++died_of_zeros_ == 3)
      zeros_ = Zeros::harmful;
    return passed(tried);
  }

  bool is_output(std::size_t a) const {
    return !given_[a].same_as && given_[a].access != core::Access::read &&
           std::holds_alternative<std::span<const std::byte>>(given_[a].given);
  }
  device::Buffer& buffer_of(std::size_t a) const { return *std::get<device::BufferArgument>(arguments_[a]).buffer; }

  bool in_place() const {
    return std::any_of(given_.begin(), given_.end(),
                       [](const TuningArgument& argument) { return argument.access == core::Access::read_write; });
  }

  // Inputs as they were given, outputs so that what was left out shows.
  core::Status fill(bool all) {
    for (std::size_t a = 0; a < given_.size(); ++a) {
      const auto* bytes = std::get_if<std::span<const std::byte>>(&given_[a].given);
      if (!bytes || given_[a].same_as || (!all && given_[a].access == core::Access::read)) continue;
      auto event = given_[a].access == core::Access::write ? queue_->fill(buffer_of(a), 0, bytes->size(), poison)
                                                           : queue_->copy_in(buffer_of(a), 0, *bytes);
      if (!event) return event.failure();
      if (auto done = (*event)->wait(); !done) return done;
    }
    return core::Done{};
  }

  core::Result<Built> build(const core::Variant& variant) {
    Built out{variant, nullptr, nullptr};
    auto program = device_.build({variant.source, variant.options});
    if (!program) return program.failure();
    out.program = std::move(*program);
    auto kernel = out.program->kernel(variant.entry);
    if (!kernel) return kernel.failure();
    out.kernel = std::move(*kernel);
    return out;
  }

  // The space as parts: as many as are wanted for the variant, and what its footprints leave for the base. Empty where
  // that cannot be done.
  std::vector<Part> cut(const core::Variant& variant, int wanted) const {
    if (variant.cut == core::Cut::none) {
      if (align(space_, variant.footprint, space_) != space_) return {};
      return {{false, space_}};
    }
    int axis = 2;
    while (axis > 0 && space_.extent(axis) == 1) --axis;
    std::vector<Part> out;
    core::BoxSet left(space_);
    const std::int64_t points = (space_.volume() + wanted - 1) / wanted;
    while (auto box = left.take(variant.footprint, space_, points, axis)) out.push_back({false, *box});
    if (!left.empty() && (!base_ || base_->cut == core::Cut::none)) return {};
    while (!left.empty()) {
      auto box = left.take(base_->footprint, space_, space_.volume(), axis);
      if (!box) return {};
      out.push_back({true, *box});
    }
    return out;
  }
  device::Run run_of(const Built* built, const Part& part) const {
    const Built& by = part.by_base ? *base_built_ : *built;
    return {*by.kernel, arguments_, nd_range(by.variant, part.box, space_)};
  }

  core::Status prepare(const Built* built, const std::vector<Part>& run) {
    for (const Part& part : run) {
      auto ready = device::prepare(device_, *queue_, run_of(built, part));
      if (!ready && ready.failure().kind != FailureKind::allocation) return ready;
    }
    return core::Done{};
  }

  // One after the other. What runs cannot be stopped, so it is waited for in any case.
  core::Result<Nanoseconds> run_all(const Built* built, const std::vector<Part>& run) {
    if (auto filled = fill(false); !filled) return filled.failure();
    if (auto ready = prepare(built, run); !ready) return ready.failure();
    const Nanoseconds begin = device_.now();
    for (const Part& part : run) {
      auto event = queue_->launch(run_of(built, part));
      if (!event) return event.failure();
      if (auto done = (*event)->wait(); !done) return done.failure();
    }
    return device_.now() - begin;
  }

  // A first part that the driver compiles nothing else for: PoCL has a form for parts that do not begin at zero, and
  // one for long launches.
  std::optional<Part> first_part(const Built& built, const std::vector<Part>& whole) const {
    const std::vector<Part> several = cut(built.variant, parts);
    if (several.size() < 2 || several.front().by_base) return std::nullopt;
    const auto form = [&](const Part& part) { return device::form_of(run_of(&built, part).range); };
    return form(several.front()) == form(whole.front()) ? std::optional(several.front()) : std::nullopt;
  }

  // All of it, unless a part shows that it is hopeless: a failure of kind `hang`. A part of a GPU's work may take as
  // long as all of it, a CPU's takes its share, if not exactly.
  core::Status run_watched(const Built& built, const std::vector<Part>& whole, Nanoseconds limit) {
    const auto late = [&](double ms) {
      return Failure{FailureKind::hang,
                     fmt::format("it takes {:.3g} ms, more than the limit of {:.3g}", ms, ms_of(limit)), ""};
    };
    if (const auto part = first_part(built, whole)) {
      auto spent = run_all(&built, {*part});
      if (!spent) return spent.failure();
      const double share = static_cast<double>(part->box.volume()) / static_cast<double>(space_.volume());
      const bool cpu = device_.info().kind == device::Kind::cpu;
      const double all = ms_of(*spent) / (cpu ? 2 * share : 1);
      if (all > ms_of(limit)) return late(all);
    }
    auto spent = run_all(&built, whole);
    if (!spent) return spent.failure();
    if (*spent > limit) return late(ms_of(*spent));
    return core::Done{};
  }

  core::Result<core::Sample> time_of(const Built* built, const std::vector<Part>& run) {
    if (in_place()) {  // what it left is no input of its own
      if (auto filled = fill(false); !filled) return filled.failure();
    }
    if (auto ready = prepare(built, run); !ready) return ready.failure();
    core::Sample out;
    for (const Part& part : run) {
      auto sample = device::timed(device_, *queue_, run_of(built, part), part.box.volume(), options_.clock);
      if (!sample) return sample.failure();
      out.points += sample->points, out.duration += sample->duration;
      out.contention = std::min(out.contention, sample->contention);
    }
    return out;
  }

  core::Status read(std::size_t a, std::vector<std::byte>& to) {
    to.resize(std::get<std::span<const std::byte>>(given_[a].given).size());
    auto event = queue_->copy_out(to, buffer_of(a), 0);
    return event ? (*event)->wait() : core::Status(event.failure());
  }

  core::Status keep_as_reference() {
    for (std::size_t a = 0; a < given_.size(); ++a) {
      if (!is_output(a) || !expected_[a].empty()) continue;
      if (auto done = read(a, expected_[a]); !done) return done;
    }
    return core::Done{};
  }

  template <class T>
  std::optional<std::string> compare(std::size_t a, const std::vector<std::byte>& actual) const {
    for (std::size_t i = 0; i + sizeof(T) <= actual.size(); i += sizeof(T)) {
      T got, want;
      std::memcpy(&got, &actual[i], sizeof(T)), std::memcpy(&want, &expected_[a][i], sizeof(T));
      if (got == want || (std::isnan(got) && std::isnan(want))) continue;
      const double off = std::abs(static_cast<double>(got) - static_cast<double>(want));
      const double most = options_.absolute + options_.relative * std::abs(static_cast<double>(want));
      if (std::isfinite(got) && std::isfinite(want) && off <= most) continue;
      return fmt::format("argument {}, element {}: {} instead of {}", a, i / sizeof(T), got, want);
    }
    return std::nullopt;
  }

  core::Result<std::optional<std::string>> what_is_wrong() {
    std::vector<std::byte> actual;
    for (std::size_t a = 0; a < given_.size(); ++a) {
      if (!is_output(a) || expected_[a].empty()) continue;  // nobody knows what is right
      if (auto done = read(a, actual); !done) return done.failure();
      std::optional<std::string> wrong;
      using Element = TuningArgument::Element;
      if (given_[a].element == Element::f32)
        wrong = compare<float>(a, actual);
      else if (given_[a].element == Element::f64)
        wrong = compare<double>(a, actual);
      else if (const auto [at, want] = std::mismatch(actual.begin(), actual.end(), expected_[a].begin());
               at != actual.end())
        wrong = fmt::format("argument {}, byte {}: {:#04x} instead of {:#04x}", a, at - actual.begin(),
                            std::to_integer<int>(*at), std::to_integer<int>(*want));
      if (wrong) return wrong;
    }
    return std::optional<std::string>();
  }

  std::variant<double, Refused> attempt(const core::Variant& variant, double best, Nanoseconds& build_time) {
    const device::Info& info = device_.info();
    std::int64_t group = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      group *= variant.group[d];
      if (variant.group[d] > info.largest_extents[d])
        return Refused{"constraints", fmt::format("{} work-items of a group in dimension {}; {} allows {}",
                                                  variant.group[d], d, info.id, info.largest_extents[d])};
    }
    if (group > info.largest_group)
      return Refused{"constraints",
                     fmt::format("groups of {} work-items; {} allows {}", group, info.id, info.largest_group)};
    const std::vector<Part> whole = cut(variant, 1);
    if (whole.empty())
      return Refused{"constraints", "its groups do not fit the launch, and there is no base to compute the rest"};

    const Nanoseconds begin = device_.now();
    core::Status tried = core::Done{};
    if (const auto at = coming_.find(variant.name); at != coming_.end()) {
      tried = at->second.get();
      coming_.erase(at);
    } else {
      tried = try_build_now(variant);
    }
    if (!tried && tried.failure().kind == FailureKind::hang) return refused("timeout", tried.failure());
    if (!tried && tried.failure().kind == FailureKind::build) return refused("compile", tried.failure());
    auto built = build(variant);
    build_time = device_.now() - begin;
    if (!built) return refused("compile", built.failure());
    const device::KernelLimits limits = built->kernel->limits();
    if (limits.arguments != static_cast<int>(given_.size()) && !device_.info().library.empty())
      throw core::UsageError(
          fmt::format("kernel '{}': {} arguments given, {} expected", variant.entry, given_.size(), limits.arguments));
    if (group > limits.group)
      return Refused{"constraints", fmt::format("groups of {} work-items; this kernel allows {}", group, limits.group)};
    if (limits.local_memory > info.local_memory)
      return Refused{"constraints", fmt::format("{} bytes of local memory; {} has {}", limits.local_memory, info.id,
                                                info.local_memory)};

    const Nanoseconds limit =
        best > 0 ? std::max(least_limit, Nanoseconds(static_cast<std::int64_t>(1e6 * hopeless * best))) : first_limit;
    if (auto done = run_watched(*built, whole, limit); !done)
      return refused(done.failure().kind == FailureKind::hang ? "timeout" : "runtime", done.failure());
    if (needs_reference()) {
      if (auto done = keep_as_reference(); !done) return refused("runtime", done.failure());
    }
    auto wrong = what_is_wrong();
    if (!wrong) return refused("runtime", wrong.failure());
    if (*wrong) return Refused{"correctness", **wrong};

    std::vector<double> times;
    int disturbed = 0;
    while (static_cast<int>(times.size()) < samples) {
      auto sample = time_of(&*built, whole);
      if (!sample) return refused("runtime", sample.failure());
      // A neighbour may have taken a core: once more, but not for ever.
      if (sample->contention < core::trusted_contention && ++disturbed <= samples) continue;
      times.push_back(std::max(1e-6, ms_of(sample->duration)));  // a coarse clock may say nothing
      if (best > 0 && times.front() > promising * best) break;
    }
    return median_of(times);
  }

  Device& device_;
  const core::Tunable& tunable_;
  const core::Box space_;
  const std::vector<TuningArgument>& given_;
  const std::optional<core::Variant>& base_;
  const TuningOptions& options_;
  std::unique_ptr<device::Queue> queue_;
  std::vector<std::unique_ptr<device::Buffer>> buffers_;
  std::vector<device::Argument> arguments_;
  std::vector<std::vector<std::byte>> expected_;
  std::optional<Built> base_built_;
  std::map<std::string, std::unique_ptr<Built>> finalists_;
  enum class Zeros { unknown, harmless, harmful } zeros_ = Zeros::unknown;
  int died_of_zeros_ = 0;
  std::map<std::string, std::future<core::Status>> coming_;  // last: they use what is above
};

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
    if (!times[i].empty()) out[i] = median_of(times[i]);
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

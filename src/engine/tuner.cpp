// What one configuration goes through, so that whatever is wrong with it costs nobody else anything.
#include "engine/tuner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/median.hpp"
#include "device/prepare.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using core::Nanoseconds;

namespace {

constexpr double hopeless = 8;  // times the best: the rest of it is not run
constexpr Nanoseconds least_limit = std::chrono::milliseconds(100);
constexpr Nanoseconds first_limit = std::chrono::seconds(60);  // while nothing is known
constexpr int parts = 16;                                      // of which the first is looked at
constexpr double promising = 1.3;                              // times the best: worth more than one sample
constexpr int samples = 5;
constexpr std::byte poison{0xCD};

double ms_of(Nanoseconds t) { return static_cast<double>(t.count()) * 1e-6; }

}  // namespace

Tuner::Refused Tuner::refused(const char* word, const Failure& failure) {
  return {word, failure.log.empty() ? failure.what : failure.what + "\n" + failure.log};
}

core::Status Tuner::open() {
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

bool Tuner::needs_reference() const {
  for (std::size_t a = 0; a < given_.size(); ++a) {
    if (is_output(a) && expected_[a].empty()) return true;
  }
  return false;
}

core::Status Tuner::make_reference() {
  if (!base_built_ || !needs_reference()) return core::Done{};
  if (auto done = run_all(nullptr, {{true, space_}}); !done) return done.failure();
  return keep_as_reference();
}

Trial Tuner::run(const core::Configuration& configuration, double best) {
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

std::optional<double> Tuner::again(const core::Configuration& configuration) {
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

void Tuner::expect(const core::Configuration& configuration) {
  coming_.emplace(to_string(configuration), std::async(std::launch::async, [this, configuration] {
                    try {
                      return try_build(variant_of(tunable_, configuration), false);
                    } catch (const core::UsageError&) {  // told when it is its turn
                      return core::Status(core::Done{});
                    }
                  }));
}

core::Status Tuner::try_build(const core::Variant& variant, bool launch) const {
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

core::Status Tuner::try_build_now(const core::Variant& variant) {
  const auto refuses = [](const core::Status& status) {
    return !status && (status.failure().kind == FailureKind::build || status.failure().kind == FailureKind::hang);
  };
  const auto passed = [&](const core::Status& status) { return refuses(status) ? status : core::Status(core::Done{}); };
  if (device_.info().kind != device::Kind::cpu || zeros_ == Zeros::harmful) return passed(try_build(variant, false));
  const core::Status tried = try_build(variant, true);
  if (tried) zeros_ = Zeros::harmless;
  if (refuses(tried) && zeros_ == Zeros::unknown && !refuses(try_build(variant, false)) && ++died_of_zeros_ == 3)
    zeros_ = Zeros::harmful;
  return passed(tried);
}

bool Tuner::is_output(std::size_t a) const {
  return !given_[a].same_as && given_[a].access != core::Access::read &&
         std::holds_alternative<std::span<const std::byte>>(given_[a].given);
}

bool Tuner::in_place() const {
  return std::any_of(given_.begin(), given_.end(),
                     [](const TuningArgument& argument) { return argument.access == core::Access::read_write; });
}

core::Status Tuner::fill(bool all) {
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

core::Result<Tuner::Built> Tuner::build(const core::Variant& variant) {
  Built out{variant, nullptr, nullptr};
  auto program = device_.build({variant.source, variant.options});
  if (!program) return program.failure();
  out.program = std::move(*program);
  auto kernel = out.program->kernel(variant.entry);
  if (!kernel) return kernel.failure();
  out.kernel = std::move(*kernel);
  return out;
}

std::vector<Tuner::Part> Tuner::cut(const core::Variant& variant, int wanted) const {
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

device::Run Tuner::run_of(const Built* built, const Part& part) const {
  const Built& by = part.by_base ? *base_built_ : *built;
  return {*by.kernel, arguments_, nd_range(by.variant, part.box, space_)};
}

core::Status Tuner::prepare(const Built* built, const std::vector<Part>& run) {
  for (const Part& part : run) {
    auto ready = device::prepare(device_, *queue_, run_of(built, part));
    if (!ready && ready.failure().kind != FailureKind::allocation) return ready;
  }
  return core::Done{};
}

core::Result<Nanoseconds> Tuner::run_all(const Built* built, const std::vector<Part>& run) {
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

std::optional<Tuner::Part> Tuner::first_part(const Built& built, const std::vector<Part>& whole) const {
  const std::vector<Part> several = cut(built.variant, parts);
  if (several.size() < 2 || several.front().by_base) return std::nullopt;
  const auto form = [&](const Part& part) { return device::form_of(run_of(&built, part).range); };
  return form(several.front()) == form(whole.front()) ? std::optional(several.front()) : std::nullopt;
}

core::Status Tuner::run_watched(const Built& built, const std::vector<Part>& whole, Nanoseconds limit) {
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

core::Result<core::Sample> Tuner::time_of(const Built* built, const std::vector<Part>& run) {
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

core::Status Tuner::read(std::size_t a, std::vector<std::byte>& to) {
  to.resize(std::get<std::span<const std::byte>>(given_[a].given).size());
  auto event = queue_->copy_out(to, buffer_of(a), 0);
  return event ? (*event)->wait() : core::Status(event.failure());
}

core::Status Tuner::keep_as_reference() {
  for (std::size_t a = 0; a < given_.size(); ++a) {
    if (!is_output(a) || !expected_[a].empty()) continue;
    if (auto done = read(a, expected_[a]); !done) return done;
  }
  return core::Done{};
}

template <class T>
std::optional<std::string> Tuner::compare(std::size_t a, const std::vector<std::byte>& actual) const {
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

core::Result<std::optional<std::string>> Tuner::what_is_wrong() {
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

std::variant<double, Tuner::Refused> Tuner::attempt(const core::Variant& variant, double best,
                                                    Nanoseconds& build_time) {
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
    return Refused{"constraints",
                   fmt::format("{} bytes of local memory; {} has {}", limits.local_memory, info.id, info.local_memory)};

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
  return core::median(times);
}

}  // namespace heddle::engine

// Kernels with parameters: how they are described, tuned and launched.
#include <cstring>

#include "core/errors.hpp"
#include "device/build_worker.hpp"
#include "device/facts.hpp"
#include "front/api/state.hpp"

namespace heddle {

namespace detail {

namespace {

// As the program describes it, before its space is needed.
Parametrised& described(const std::string& kernel, KernelState& state) {
  if (state.kernel) throw std::invalid_argument("kernel '" + kernel + "' has a source of its own, and no parameters");
  if (!state.parametrised)
    throw std::invalid_argument("kernel '" + kernel + "' has no source yet: call source() first");
  state.parametrised->complete = false;
  return *state.parametrised;
}

// Facts of a kernel, by the text of one variant of it; none where nothing is known.
std::optional<core::KernelFacts> facts_of(RuntimeState& runtime, const core::Variant& variant) {
  auto analysis = runtime.compiler.analyse({variant.source, variant.options, {}});
  if (!analysis) return std::nullopt;
  for (const core::KernelFacts& facts : analysis->facts.kernels) {
    if (facts.name == variant.entry) return facts;
  }
  return std::nullopt;
}

core::Tunable& complete(RuntimeState& runtime, Parametrised& p) {
  if (p.complete) return p.tunable;
  if (p.parameters.empty())
    throw std::invalid_argument("kernel '" + p.tunable.name + "' has no parameters to tune: call tune() first");
  p.tunable.space = core::ParameterSpace(p.parameters, p.derived, p.constraints);
  if (!p.points_given) p.tunable.points = p.tunable.group;
  p.facts.reset();
  try {
    p.facts = facts_of(runtime, core::variant_of(p.tunable, p.tunable.space.at(0)));
  } catch (const core::UsageError&) {  // extents that are none: told when it is tried
  }
  p.tunable.cut = p.facts ? engine::cut_of(*p.facts) : core::Cut::none;
  p.found.clear(), p.chosen.clear(), p.pools.clear();
  p.complete = true;
  return p.tunable;
}

std::array<std::string, 3> extents(const Expr& x, const Expr& y, const Expr& z) {
  return {x.text(), y.text(), z.text()};
}

core::Value value_of(const Expr& value) {
  const std::string& text = value.text();
  if (text.size() >= 2 && text.front() == '\'') return core::parse_value(text.substr(1, text.size() - 2));
  return core::parse_value(text);
}

// Buffers as what `bytes_of` gives for them.
using BytesOf = std::function<std::span<const std::byte>(const engine::View&)>;
std::vector<engine::TuningArgument> arguments_of(const Parametrised& p, const std::vector<engine::Argument>& arguments,
                                                 const BytesOf& bytes_of) {
  std::vector<engine::TuningArgument> out;
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    engine::TuningArgument& to = out.emplace_back();
    if (const auto* view = std::get_if<engine::View>(&arguments[a])) {
      to.given = bytes_of(*view);
      for (std::size_t b = 0; b < a && !to.same_as; ++b) {
        const auto* other = std::get_if<engine::View>(&arguments[b]);
        if (!other || other->memory != view->memory) continue;
        if (other->begin == view->begin && other->size == view->size)
          to.same_as = b;
        else if (other->begin < view->begin + view->size && view->begin < other->begin + other->size)
          throw std::invalid_argument("kernel '" + p.tunable.name + "': arguments " + std::to_string(b) + " and " +
                                      std::to_string(a) + " overlap, which cannot be tuned for");
      }
    } else if (const auto* scalar = std::get_if<device::Scalar>(&arguments[a])) {
      to.given = *scalar;
    } else {
      to.given = std::get<device::LocalMemory>(arguments[a]);
    }
  }
  if (p.facts) engine::describe(*p.facts, out);
  return out;
}

// Where only their sizes matter, nothing is read.
std::span<const std::byte> size_alone(const engine::View& view) {
  return {static_cast<const std::byte*>(nullptr), view.size};
}

core::Box space_of(const core::Index& items) { return core::box_of(items[0], items[1], items[2]); }

std::optional<core::Variant> base_of(const KernelState& state) {
  if (state.variants.empty()) return std::nullopt;
  const engine::VariantSource& first = state.variants.front();
  core::Variant out{.name = first.name,
                    .source = first.source.text,
                    .entry = first.source.name,
                    .options = first.source.options,
                    .group = first.group,
                    .footprint = first.footprint};
  if (const auto facts = facts_of(*state.runtime, out)) out.cut = engine::cut_of(*facts);
  return out;
}

engine::VariantSource source_of(const core::Variant& variant) {
  return {variant.name, {variant.entry, variant.source, variant.options}, variant.group, variant.footprint};
}

}  // namespace

bool has_parameters(KernelState& state) {
  std::lock_guard hold(state.mutex);
  return state.parametrised.has_value();
}

std::shared_ptr<engine::Pool> pool_for(const std::string& kernel, KernelState& state, const engine::Request& request) {
  std::lock_guard hold(state.mutex);
  Parametrised& p = *state.parametrised;
  RuntimeState& runtime = *state.runtime;
  const core::Tunable& tunable = complete(runtime, p);
  const core::Box space = space_of(request.items);
  const device::Info& device = runtime.engine.devices()[runtime.engine.primary()]->info();
  const core::SampleKey key =
      engine::key_of(tunable, {}, device, space, arguments_of(p, request.arguments, size_alone));
  const auto fits = [&](const core::Configuration& configuration) {
    const core::Variant variant = core::variant_of(tunable, configuration);
    std::int64_t group = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      if (variant.group[d] > device.largest_extents[d]) return false;
      group *= variant.group[d];
    }
    return group <= device.largest_group &&
           (!state.variants.empty() || core::align(space, variant.footprint, space) == space);
  };
  auto chosen = p.chosen.find(key.shape);
  if (chosen == p.chosen.end()) {
    std::optional<core::Configuration> best;
    if (const auto found = p.found.find(key.shape); found != p.found.end()) best = found->second;
    if (!best) {
      for (const auto& one : engine::remembered(runtime.store.load(key.kernel), tunable, key, 16)) {
        if (fits(one)) {
          best = one;
          break;
        }
      }
    }
    for (std::uint64_t n = 0; !best && n < std::min<std::uint64_t>(tunable.space.size(), 10'000); ++n) {
      if (core::Configuration one = tunable.space.at(n); fits(one)) best = std::move(one);
    }
    if (!best)
      throw std::invalid_argument("kernel '" + kernel + "': no configuration has groups that fit this launch; a " +
                                  "variant that can compute what they leave over would help");
    chosen = p.chosen.emplace(key.shape, std::move(*best)).first;
  }
  auto& pool = p.pools[to_string(chosen->second)];
  if (!pool) {
    std::vector<engine::VariantSource> variants = state.variants;
    variants.push_back(source_of(core::variant_of(tunable, chosen->second)));
    auto made = runtime.engine.make_pool(kernel, std::move(variants));
    if (!made) throw Error(made.failure().what, made.failure().log);
    pool = std::move(*made);
  }
  return pool;
}

}  // namespace detail

Kernel& Kernel::source(const std::string& text, const std::string& options) {
  if (!state_) throw std::invalid_argument("a source for a kernel that was not made by a runtime");
  std::lock_guard hold(state_->mutex);
  if (state_->kernel) throw std::invalid_argument("kernel '" + name_ + "' has a source already");
  if (state_->parametrised) throw std::invalid_argument("kernel '" + name_ + "' has a source already");
  detail::Parametrised& p = state_->parametrised.emplace();
  if (auto read = core::read_tunable(text)) {
    p.tunable = std::move(*read);
    p.points_given = true;
    p.parameters = p.tunable.space.parameters();
    p.derived = p.tunable.space.derived(), p.constraints = p.tunable.space.constraints();
  }
  p.tunable.name = p.tunable.entry = name_;
  p.tunable.source = text, p.tunable.options = options;
  return *this;
}

Expr Kernel::tune(const std::string& parameter, const std::vector<Expr>& values) {
  if (!state_) throw std::invalid_argument("a parameter of a kernel that was not made by a runtime");
  std::lock_guard hold(state_->mutex);
  core::Parameter made{parameter, {}};
  for (const Expr& value : values) made.values.push_back(detail::value_of(value));
  detail::described(name_, *state_).parameters.push_back(std::move(made));
  return Expr::text(parameter);
}

Expr Kernel::derive(const std::string& name, const Expr& value) {
  if (!state_) throw std::invalid_argument("a parameter of a kernel that was not made by a runtime");
  std::lock_guard hold(state_->mutex);
  detail::described(name_, *state_).derived.push_back({name, value.text()});
  return Expr::text(name);
}

Kernel& Kernel::constraint(const Expr& holds) {
  if (!state_) throw std::invalid_argument("a constraint of a kernel that was not made by a runtime");
  std::lock_guard hold(state_->mutex);
  detail::described(name_, *state_).constraints.push_back(holds.text());
  return *this;
}

Kernel& Kernel::group(const Expr& x, const Expr& y, const Expr& z) {
  if (!state_) throw std::invalid_argument("groups of a kernel that was not made by a runtime");
  std::lock_guard hold(state_->mutex);
  detail::described(name_, *state_).tunable.group = detail::extents(x, y, z);
  return *this;
}

Kernel& Kernel::points(const Expr& x, const Expr& y, const Expr& z) {
  if (!state_) throw std::invalid_argument("points of a kernel that was not made by a runtime");
  std::lock_guard hold(state_->mutex);
  detail::Parametrised& p = detail::described(name_, *state_);
  p.tunable.points = detail::extents(x, y, z), p.points_given = true;
  return *this;
}

Kernel& Kernel::guarded(bool checks_bounds) {
  if (!state_) throw std::invalid_argument("guarded() of a kernel that was not made by a runtime");
  std::lock_guard hold(state_->mutex);
  detail::described(name_, *state_).tunable.guarded = checks_bounds;
  return *this;
}

Tuned Runtime::tune_all(const Kernel& kernel, const Grid& grid, const Tuning& how,
                        std::vector<detail::Argument> arguments) {
  if (!kernel.state_) throw std::invalid_argument("tuning of a kernel that was not made by a runtime");
  if (kernel.state_->runtime != state_)
    throw std::invalid_argument("kernel '" + kernel.name() + "' was made by another runtime");
  if (!detail::has_parameters(*kernel.state_))
    throw std::invalid_argument("kernel '" + kernel.name() + "' has no parameters to tune");
  if (grid.offset != std::array<std::int64_t, 3>{0, 0, 0})
    throw std::invalid_argument("kernel '" + kernel.name() + "': a launch with an offset cannot be tuned for");
  const auto given = detail::engine_arguments(kernel.name(), state_, std::move(arguments));
  std::map<const engine::Memory*, std::vector<std::byte>> copies;  // others may go on with the buffers
  for (const engine::Argument& argument : given) {
    const auto* view = std::get_if<engine::View>(&argument);
    if (!view || copies.contains(view->memory.get())) continue;
    detail::must(state_->engine.to_host(view->memory, false));
    const auto bytes = view->memory->host().bytes;
    copies.emplace(view->memory.get(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  core::Tunable tunable;
  std::optional<core::Variant> base;
  std::vector<engine::TuningArgument> to_tune;
  {
    std::lock_guard hold(kernel.state_->mutex);
    tunable = detail::complete(*state_, *kernel.state_->parametrised);
    base = detail::base_of(*kernel.state_);
    to_tune = detail::arguments_of(*kernel.state_->parametrised, given, [&](const engine::View& view) {
      return std::span<const std::byte>(copies.at(view.memory.get())).subspan(view.begin, view.size);
    });
  }
  const core::Box space = detail::space_of(grid.items);
  device::Device& device = *state_->engine.devices()[state_->engine.primary()];
  const std::string shape = engine::key_of(tunable, {}, device.info(), space, to_tune).shape;

  engine::TuningOptions options{.strategy = how.strategy,
                                .seed = how.seed,
                                .until = how.until.text(),
                                .floor_ms = how.floor_ms,
                                .relative = how.relative,
                                .absolute = how.absolute,
                                .store = &state_->store};
  auto facts = device::facts_of(device, state_->settings.cache);
  if (facts) options.clock = facts->clock;
  device::BuildWorker worker(device.info(), state_->settings);
  options.worker = &worker;
  Tuned out;
  const auto told = [](const engine::Trial& trial) {
    return Trial{to_string(trial.configuration), trial.ms.value_or(0), trial.failure, trial.why};
  };
  if (how.heard)
    options.heard = [&](const engine::Trial& trial, const decide::Progress&) { return how.heard(told(trial)); };
  auto tuned = engine::tune(device, tunable, space, to_tune, base, options);
  if (!tuned) throw Error(tuned.failure().what, tuned.failure().log);
  for (const engine::Trial& trial : tuned->trials) out.trials.push_back(told(trial));
  if (!tuned->best) {
    std::string log;
    for (const Trial& trial : out.trials) log += trial.configuration + ": " + trial.failure + ": " + trial.why + "\n";
    throw Error("kernel '" + kernel.name() + "': no configuration runs", log);
  }
  out.configuration = to_string(*tuned->best), out.ms = tuned->ms, out.stopped = tuned->stopped;
  std::lock_guard hold(kernel.state_->mutex);
  kernel.state_->parametrised->found[shape] = *tuned->best;
  kernel.state_->parametrised->chosen.erase(shape);
  return out;
}

}  // namespace heddle

// The library's face: checks, and calls of the engine.
#include <cstdlib>
#include <cstring>

#include "front/api/state.hpp"

namespace heddle {

namespace detail {

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

void must(const core::Status& status) {
  if (!status) throw Error(status.failure().what, status.failure().log);
}

namespace {

core::Settings settings_of(const Options& options) {
  core::Settings out = core::read_settings(environment);
  if (!options.devices.empty()) out.devices = options.devices;
  return out;
}

std::vector<device::Device*> devices_of(const device::Machine& machine) {
  std::vector<device::Device*> out;
  for (const auto& device : machine.devices) out.push_back(device.get());
  return out;
}

}  // namespace

RuntimeState::RuntimeState(const Options& options)
    : locked(options.locked),
      settings(settings_of(options)),
      machine(device::open_machine(settings, environment)),
      compiler(kernel::options_of(settings)),
      store(settings.store),
      engine(devices_of(machine),
             {.analyse = [this](const auto& source, const auto& forms) { return compiler.analyse(source, forms); },
              .store = &store,
              .memory_limit = settings.memory_limit,
              .exact = settings.exactness == "exact"}) {}

std::size_t AnyBuffer::size() const { return state ? state->memory()->size() : 0; }

std::span<std::byte> AnyBuffer::host() {
  if (!state) throw std::invalid_argument("host() of a buffer that was not made by a runtime");
  must(state->runtime->engine.to_host(state->memory(), true));
  return state->memory()->host().bytes;
}

std::span<const std::byte> AnyBuffer::read() const {
  if (!state) throw std::invalid_argument("read() of a buffer that was not made by a runtime");
  must(state->runtime->engine.to_host(state->memory(), false));
  return state->memory()->host().bytes;
}

void AnyBuffer::write(std::span<const std::byte> bytes) {
  if (bytes.size() != size())
    throw std::invalid_argument("write() of " + std::to_string(bytes.size()) + " bytes to a buffer of " +
                                std::to_string(size()));
  if (bytes.empty()) return;
  engine::Engine& engine = state->runtime->engine;
  std::shared_ptr<engine::Memory> memory = state->memory();
  if (state->own && engine.in_use(*memory))
    state->replace(memory = engine.make_memory(bytes.size(), state->runtime->locked));
  else
    engine.discard(memory);
  std::memcpy(memory->host().bytes.data(), bytes.data(), bytes.size());
}

}  // namespace detail

Runtime::Runtime() : Runtime(Options{}) {}
Runtime::Runtime(const Options& options) : state_(std::make_shared<detail::RuntimeState>(options)) {}
Runtime::~Runtime() {
  if (state_) state_->engine.finish();
}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

detail::AnyBuffer Runtime::make_buffer(std::size_t size) {
  return {std::make_shared<detail::BufferState>(state_, state_->engine.make_memory(size, state_->locked), true)};
}

detail::AnyBuffer Runtime::make_buffer_on(std::span<std::byte> memory) {
  return {std::make_shared<detail::BufferState>(state_, state_->engine.use_memory(memory), false)};
}

Kernel Runtime::kernel(const std::string& name, const std::string& source, const std::string& options) {
  auto made = state_->engine.make_kernel({name, source, options});
  if (!made) throw Error(made.failure().what, made.failure().log);
  Kernel out;
  out.name_ = name;
  out.state_ = std::make_shared<detail::KernelState>();
  out.state_->runtime = state_, out.state_->kernel = std::move(*made);
  return out;
}

Kernel Runtime::kernel(const std::string& name) {
  Kernel out;
  out.name_ = name;
  out.state_ = std::make_shared<detail::KernelState>();
  out.state_->runtime = state_;
  return out;
}

namespace detail {
namespace {

std::vector<engine::MadeArgument> made_of(Prepared prepared) {
  std::vector<engine::MadeArgument> out;
  for (auto& one : prepared.arguments) {
    if (const auto* given = std::get_if<Given>(&one))
      out.emplace_back(given->argument);
    else if (auto* array = std::get_if<Prepared::Array>(&one))
      out.emplace_back(engine::NewArray{std::move(array->owner), array->bytes});
    else if (auto* value = std::get_if<std::vector<std::byte>>(&one))
      out.emplace_back(std::move(*value));
    else
      out.emplace_back(device::LocalMemory{std::get<LocalArgument>(one).size});
  }
  return out;
}

}  // namespace
}  // namespace detail

std::span<const std::byte> Inputs::bytes_of(std::size_t argument, bool value, std::size_t element) const {
  const auto wrong = [&](const std::string& what) {
    return std::invalid_argument("argument " + std::to_string(argument) + " " + what);
  };
  if (argument >= all_.size() || all_[argument].bytes.empty())
    throw wrong("is not among those that the preparation depends on");
  const One& one = all_[argument];
  if (one.value != value) throw wrong(value ? "is a buffer, no value" : "is a value, no buffer");
  if (value ? one.bytes.size() != element : one.bytes.size() % element != 0)
    throw wrong("has " + std::to_string(one.bytes.size()) + " bytes, which is not what was asked for");
  return one.bytes;
}

Kernel& Kernel::variant(const std::string& name, const std::string& source, const Covers& covers) {
  if (!state_) throw std::invalid_argument("a variant of a kernel that was not made by a runtime");
  if (state_->kernel) throw std::invalid_argument("kernel '" + name_ + "' has a source of its own, and no variants");
  engine::VariantSource made{name, {covers.entry.empty() ? name_ : covers.entry, source, covers.options}, {}, {}};
  made.footprint.guarded = covers.guarded;
  for (std::size_t d = 0; d < 3; ++d) {
    made.group[d] = covers.group[d] == 0 ? 1 : covers.group[d];
    made.footprint.points[d] = covers.points[d] == 0 ? 1 : covers.points[d];
  }
  made.reads = covers.reads, made.same_points = covers.same_points;
  if (covers.prepare) {
    made.prepare = [prepare = covers.prepare](const core::Index& points, const std::vector<engine::Input>& inputs) {
      Inputs seen(points);
      for (const engine::Input& input : inputs) seen.all_.push_back({input.bytes, input.value});
      return detail::made_of(prepare(seen));
    };
  }
  std::lock_guard hold(state_->mutex);
  if (made.prepare && state_->variants.empty())
    throw std::invalid_argument("kernel '" + name_ + "': its first variant '" + name +
                                "' must take the arguments of launches as they are");
  for (const engine::VariantSource& other : state_->variants) {
    if (other.name == name) throw std::invalid_argument("kernel '" + name_ + "' has a variant '" + name + "' already");
  }
  state_->variants.push_back(std::move(made));
  state_->pool = nullptr;
  if (state_->parametrised) state_->parametrised->pools.clear();
  return *this;
}

void Kernel::forget() {
  if (!state_) throw std::invalid_argument("forget() of a kernel that was not made by a runtime");
  std::lock_guard hold(state_->mutex);
  if (state_->pool) state_->runtime->engine.forget(*state_->pool);
  if (!state_->parametrised) return;
  for (const auto& [configuration, pool] : state_->parametrised->pools) state_->runtime->engine.forget(*pool);
  state_->parametrised->found.clear(), state_->parametrised->chosen.clear();
}

namespace detail {
namespace {

// Built when it is first launched, and again when variants were added.
std::shared_ptr<engine::Pool> pool_of(const std::string& name, KernelState& state) {
  std::lock_guard hold(state.mutex);
  if (state.variants.empty()) throw std::invalid_argument("kernel '" + name + "' has no variants yet");
  if (!state.pool) {
    auto made = state.runtime->engine.make_pool(name, state.variants);
    if (!made) throw Error(made.failure().what, made.failure().log);
    state.pool = std::move(*made);
  }
  return state.pool;
}

engine::Wishes wishes_of(const Grid& grid) {
  engine::Wishes out{.tasks = grid.task_count, .spread = grid.everywhere, .initial = grid.selection.initial};
  out.meanwhile = grid.selection.meanwhile;
  using When = Selection::When;
  using How = Selection::How;
  out.profiling = grid.selection.when == When::always  ? engine::Profiling::always
                  : grid.selection.when == When::never ? engine::Profiling::never
                                                       : engine::Profiling::once;
  if (grid.selection.how != How::as_known)
    out.mode = grid.selection.how == How::own_parts   ? decide::Mode::fully
               : grid.selection.how == How::same_part ? decide::Mode::hybrid
                                                      : decide::Mode::swap;
  return out;
}

}  // namespace

std::vector<engine::Argument> engine_arguments(const std::string& kernel, const std::shared_ptr<RuntimeState>& runtime,
                                               std::vector<Argument> arguments) {
  std::vector<engine::Argument> out;
  for (Argument& argument : arguments) {
    if (auto* buffer = std::get_if<BufferArgument>(&argument)) {
      if (!buffer->buffer) throw std::invalid_argument("kernel '" + kernel + "': a buffer that no runtime made");
      if (buffer->buffer->runtime != runtime)
        throw std::invalid_argument("kernel '" + kernel + "': a buffer of another runtime");
      out.emplace_back(engine::View{buffer->buffer->memory(), buffer->begin, buffer->size});
    } else if (auto* value = std::get_if<std::vector<std::byte>>(&argument)) {
      out.emplace_back(std::move(*value));
    } else {
      out.emplace_back(device::LocalMemory{std::get<LocalArgument>(argument).size});
    }
  }
  return out;
}

}  // namespace detail

Launch Runtime::launch_all(const Kernel& kernel, const Grid& grid, std::vector<detail::Argument> arguments) {
  if (!kernel.state_) throw std::invalid_argument("a launch of a kernel that was not made by a runtime");
  if (kernel.state_->runtime != state_)
    throw std::invalid_argument("kernel '" + kernel.name() + "' was made by another runtime");
  engine::Request request;
  request.items = grid.items, request.group = grid.group_size, request.offset = grid.offset;
  request.dimensions = grid.dimensions;
  request.wishes = detail::wishes_of(grid);
  request.arguments = detail::engine_arguments(kernel.name(), state_, std::move(arguments));
  request.kernel = kernel.state_->kernel;
  if (!request.kernel) {
    request.pool = detail::has_parameters(*kernel.state_) ? detail::pool_for(kernel.name(), *kernel.state_, request)
                                                          : detail::pool_of(kernel.name(), *kernel.state_);
    request.kernel = request.pool->variants.front().kernel;
  }
  Launch out;
  out.state_ =
      std::make_shared<detail::LaunchState>(detail::LaunchState{state_, state_->engine.submit(std::move(request))});
  return out;
}

std::vector<std::string> Runtime::devices() const {
  std::vector<std::string> out;
  for (const auto& device : state_->machine.devices) out.push_back(device->info().id + ": " + device->info().name);
  return out;
}

void Launch::wait() const {
  if (state_) detail::must(state_->runtime->engine.wait(state_->launch));
}

bool Launch::done() const { return !state_ || state_->runtime->engine.is_over(*state_->launch); }

Report Launch::report() const {
  Report out;
  if (!state_) return out;
  (void)state_->runtime->engine.wait(state_->launch);
  const engine::Report report = state_->runtime->engine.report(*state_->launch);
  for (const engine::SliceReport& s : report.slices)
    out.slices.push_back({s.device, s.variant, s.box.begin, s.box.end, s.begin, s.end, s.repeat, s.first});
  out.decisions = report.notes;
  out.bytes_to_devices = report.bytes_in, out.bytes_to_host = report.bytes_out;
  out.retries = report.retries;
  out.time = report.ended - report.submitted;
  return out;
}

}  // namespace heddle

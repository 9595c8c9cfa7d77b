// The world of fake devices: a small discrete-event simulation.
#include "device/fake_world.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

namespace heddle::device {

using core::Failure;
using core::FailureKind;
using core::InternalError;
using core::UsageError;
using fake::Command;
using fake::Engine;
using fake::FakeDevice;
using fake::longest;

// ---- Commands as events ---------------------------------------------------------------------------------------------

Status Command::wait(Nanoseconds limit) {
  std::unique_lock lock(world.mutex);
  const bool forever = limit > longest;
  const Nanoseconds deadline = forever ? Nanoseconds::max() : world.now + std::max(limit, Nanoseconds(0));
  if (stage == Stage::done) return outcome();
  FakeWorld::State::Turn turn(world, lock, this);
  if (stage != Stage::done) world.run(lock, deadline, this);
  if (stage == Stage::done) return outcome();
  if (!forever) world.now = std::max(world.now, deadline);
  return Failure{FailureKind::hang,
                 forever ? fmt::format("command {} will never end", number)
                         : fmt::format("command {} is not done after {} ns", number, limit.count()),
                 ""};
}

bool Command::done() {
  std::lock_guard hold(world.mutex);
  return stage == Stage::done;
}

Result<Times> Command::times() {
  std::lock_guard hold(world.mutex);
  if (stage != Stage::done) throw InternalError(fmt::format("times of command {}, which is not done", number));
  if (failure) return *failure;
  return passed;
}

void Command::notify(std::function<void()> callback) {
  {
    std::lock_guard hold(world.mutex);
    if (stage != Stage::done) {
      callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

bool Command::begun() {
  std::lock_guard hold(world.mutex);
  return stage >= Stage::running && !failure;
}

void Command::notify_begun(std::function<void()> callback) {
  std::lock_guard hold(world.mutex);
  if (stage < Stage::running) when_begun.push_back(std::move(callback));
}

// ---- Simulation -----------------------------------------------------------------------------------------------------

FakeWorld::State::State(std::string_view description) {
  for (Description& said : parse_description(description))
    devices.push_back(std::make_unique<FakeDevice>(*this, std::move(said)));
}

FakeWorld::State::~State() {
  for (const auto& command : unfinished) command->dependents.clear();  // or a long chain would be destroyed recursively
  unfinished.clear();  // before the devices, to which commands give their memory back
}

void FakeWorld::State::enqueue(const std::shared_ptr<Command>& command, std::span<const std::shared_ptr<Command>> waits,
                               const std::shared_ptr<Command>& before) {
  command->number = ++queued;
  command->passed.queued = now;
  command->place = unfinished.insert(unfinished.end(), command);
  if (before && before->stage != Command::Stage::done) {
    before->dependents.emplace_back(command, false);
    ++command->missing;
  }
  for (const auto& other : waits) {
    if (other->stage != Command::Stage::done) {
      other->dependents.emplace_back(command, true);
      ++command->missing;
    } else if (other->failure) {
      command->fail_with(*other->failure);
    }
  }
  if (command->missing == 0) become_ready(*command);
}

void FakeWorld::State::become_ready(Command& command) {
  if (!command.engine) {
    start(command);
    return;
  }
  if (command.on_unit) return spread(command);
  command.stage = Command::Stage::ready;
  command.engine->ready.emplace(std::pair(now, command.number), &command);
  start_next(*command.engine);
}

// The first that was loaded for a grid as wide, and for an offset or none as well.
std::int64_t FakeDevice::load(const std::string& code, const core::NdRange& range) {
  const std::int64_t width = std::max({range.global[0], range.global[1], range.global[2]});
  const bool shifted = range.offset != core::Index{};
  const auto fits = [&](const Loaded& one) {
    return one.code == code && one.local == range.local && width <= one.width && one.shifted == shifted;
  };
  const auto found = std::find_if(loaded.begin(), loaded.end(), fits);
  if (found == loaded.end())
    loaded.push_front({code, range.local, width, shifted, static_cast<std::int64_t>(loaded.size()) + 1});
  else
    loaded.splice(loaded.begin(), loaded, found);
  return loaded.front().number;
}

// The first of its program and group size is given back: another one ends the process in PoCL (quirks.cpp).
void FakeDevice::unload(const Command& command) {
  const auto first = std::find_if(loaded.begin(), loaded.end(), [&](const Loaded& one) {
    return one.code == command.code && one.local == command.range.local;
  });
  if (first->number != command.held)
    throw InternalError(
        fmt::format("launch {} on {}: another form of its kernel was begun beside it", command.number, info_.id));
}

// Whoever was ready before has its groups already.
void FakeWorld::State::spread(Command& command) {
  std::vector<double>& free = command.device->free;
  const auto units = static_cast<std::int64_t>(free.size());
  const double ready = fake::as_number(now) + fake::as_number(command.device->description.launch);
  double begin = std::numeric_limits<double>::infinity(), end = ready;
  for (std::int64_t next = 0; next < command.groups;) {
    const auto unit = static_cast<std::size_t>(std::min_element(free.begin(), free.end()) - free.begin());
    const std::int64_t left = command.groups - next, last = next + std::min({32 * units, 1 + left / units, left});
    const double from = std::max(free[unit], ready), took = command.on_unit(next, last, unit, from);
    free[unit] = from + took;
    begin = std::min(begin, from), end = std::max(end, free[unit]);
    command.worked += fake::to_time(took);
    next = last;
  }
  command.stage = Command::Stage::due;
  command.passed.start = fake::to_time(std::min(begin, end));
  command.passed.end = fake::to_time(end);
  agenda.emplace(std::pair(command.passed.start, command.number), &command);
}

// It has a unit.
void FakeWorld::State::begin(Command& command) {
  command.held = command.device->load(command.code, command.range);
  command.stage = Command::Stage::running;
  if (!command.hangs) end_at(command, command.passed.end);
}

void FakeWorld::State::start_next(Engine& engine) {
  if (engine.running || engine.ready.empty()) return;
  engine.running = engine.ready.begin()->second;
  engine.ready.erase(engine.ready.begin());
  start(*engine.running);
}

void FakeWorld::State::start(Command& command) {
  command.stage = Command::Stage::running;
  command.passed.start = now;
  if (!command.hangs) end_at(command, now + command.duration);
}

void FakeWorld::State::end_at(Command& command, Nanoseconds end) {
  command.passed.end = end;
  agenda.emplace(std::pair(end, command.number), &command);
}

void FakeWorld::State::lose(FakeDevice& device) {
  device.lost = true;
  for (Engine* engine : {&device.compute, &device.copies[0], &device.copies[1]}) *engine = Engine{};
  for (const auto& command : unfinished) {
    if (command->device != &device || command->stage == Command::Stage::finishing) continue;
    for (const Nanoseconds time : {command->passed.start, command->passed.end})
      agenda.erase(std::pair(time, command->number));
    command->engine = nullptr;
    command->failure = device.loss();
    command->stage = Command::Stage::running;
    end_at(*command, now);
  }
}

void FakeWorld::State::complete(Command& command) {
  command.stage = Command::Stage::done;
  if (command.held > 0) command.device->unload(command), command.device->worked += command.worked;
  command.effect = nullptr;
  command.memory.clear();
  if (command.loses_device && !command.device->lost) lose(*command.device);
  for (const auto& [dependent, named] : std::exchange(command.dependents, {})) {
    if (dependent->stage != Command::Stage::waiting) continue;  // its device was lost meanwhile
    if (named && command.failure) dependent->fail_with(*command.failure);
    if (--dependent->missing == 0) become_ready(*dependent);
  }
  if (command.engine && command.engine->running == &command) {
    command.engine->running = nullptr;
    start_next(*command.engine);
  }
}

void FakeWorld::State::run(std::unique_lock<std::mutex>& lock, Nanoseconds limit, const Command* until) {
  limit = std::max(limit, now);
  while (!agenda.empty()) {
    const auto [key, next] = *agenda.begin();
    if (key.first > limit) break;
    if (until && until->stage == Command::Stage::done && key.first > now) break;
    agenda.erase(agenda.begin());
    now = key.first;
    const std::shared_ptr<Command> command = *next->place;
    const auto call = [&](const std::vector<std::function<void()>>& callbacks) {
      if (callbacks.empty()) return;
      lock.unlock();
      try {
        for (const auto& callback : callbacks) callback();
      } catch (...) {  // a test's own mistake, for example a wait: goes to the one who advances
        lock.lock();
        throw;
      }
      lock.lock();
    };
    if (command->stage == Command::Stage::due) {
      begin(*command);
      call(std::exchange(command->when_begun, {}));
      continue;
    }
    command->stage = Command::Stage::finishing;
    if (command->effect && !command->failure) {
      lock.unlock();
      std::optional<std::string> thrown;
      try {
        command->effect();
      } catch (const std::exception& e) {
        thrown = e.what();
      } catch (...) {
        thrown = "something that is no std::exception";
      }
      lock.lock();
      if (thrown) command->failure = Failure{FailureKind::launch, "a host function threw: " + *thrown, ""};
    }
    unfinished.erase(command->place);
    complete(*command);
    changed.notify_all();
    call(std::exchange(command->callbacks, {}));
  }
}

FakeWorld::State::Turn::Turn(State& state, std::unique_lock<std::mutex>& lock, const Command* until) : state_(state) {
  if (state_.advancing == std::this_thread::get_id()) {
    throw UsageError("a wait inside a callback or a kernel's body: a real device would never return from it");
  }
  state_.changed.wait(lock, [&] { return !state_.advancing || (until && until->stage == Command::Stage::done); });
  if (!state_.advancing) state_.advancing = std::this_thread::get_id();
}

FakeWorld::State::Turn::~Turn() {
  if (state_.advancing != std::this_thread::get_id()) return;  // the command was done without us
  state_.advancing.reset();
  state_.changed.notify_all();
}

// ---- FakeWorld and FakeArguments ------------------------------------------------------------------------------------

FakeWorld::FakeWorld(std::string_view description) : state_(std::make_unique<State>(description)) {}
FakeWorld::FakeWorld(FakeWorld&&) noexcept = default;
FakeWorld::~FakeWorld() = default;

FakeWorld FakeWorld::from_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError(fmt::format("'{}': a readable description of fake devices expected", path));
  try {
    return FakeWorld(std::string(std::istreambuf_iterator<char>(file), {}));
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}, {}", path, e.what()));
  }
}

void FakeWorld::add_kernel(const std::string& name, FakeKernel kernel) {
  std::lock_guard hold(state_->mutex);
  if (!state_->kernels.emplace(name, std::move(kernel)).second) {
    throw UsageError(fmt::format("kernel {} is in this fake world already", name));
  }
}

std::vector<Device*> FakeWorld::devices() const {
  std::vector<Device*> all;
  for (const auto& device : state_->devices) all.push_back(device.get());
  return all;
}

Device& FakeWorld::device(std::string_view id) const {
  for (const auto& device : state_->devices) {
    if (device->info().id == id) return *device;
  }
  throw UsageError(fmt::format("no device {} in this fake world", id));
}

Nanoseconds FakeWorld::now() const {
  std::lock_guard hold(state_->mutex);
  return state_->now;
}

void FakeWorld::advance(Nanoseconds duration) {
  if (duration < Nanoseconds(0) || duration > longest) {
    throw UsageError(fmt::format("advance by {} ns; 0 to {} expected", duration.count(), longest.count()));
  }
  std::unique_lock lock(state_->mutex);
  State::Turn turn(*state_, lock, nullptr);
  const Nanoseconds target = state_->now + duration;
  state_->run(lock, target, nullptr);
  state_->now = target;
}

bool FakeWorld::advance_to_next_completion() {
  std::unique_lock lock(state_->mutex);
  State::Turn turn(*state_, lock, nullptr);
  const bool any = !state_->agenda.empty();
  if (any) state_->run(lock, state_->agenda.begin()->first.first, nullptr);
  return any;
}

Event FakeWorld::timer(Nanoseconds after) {
  auto command = std::make_shared<Command>(*state_);
  command->duration = std::clamp(after, Nanoseconds(0), longest);
  std::lock_guard hold(state_->mutex);
  state_->enqueue(command, {}, nullptr);
  return command;
}

const FakeArguments::Entry& FakeArguments::entry(std::size_t number) const {
  if (number >= entries_.size()) {
    throw UsageError(fmt::format("argument {} of a launch with {} arguments", number, entries_.size()));
  }
  return entries_[number];
}

std::span<std::byte> FakeArguments::buffer_bytes(std::size_t number) const {
  const auto* bytes = std::get_if<std::span<std::byte>>(&entry(number));
  if (!bytes) throw UsageError(fmt::format("argument {} is no buffer", number));
  if (!bytes->data()) throw UsageError(fmt::format("argument {}: a cost function cannot read buffers", number));
  return *bytes;
}

const Scalar& FakeArguments::scalar_bytes(std::size_t number, std::size_t size) const {
  const auto* bytes = std::get_if<Scalar>(&entry(number));
  if (!bytes || bytes->size() != size) {
    throw UsageError(fmt::format("argument {} is no scalar of {} bytes", number, size));
  }
  return *bytes;
}

Bytes FakeArguments::local_size(std::size_t number) const {
  const auto* local = std::get_if<LocalMemory>(&entry(number));
  if (!local) throw UsageError(fmt::format("argument {} is no local memory", number));
  return local->size;
}

std::optional<core::Value> FakeArguments::definition(const std::string& macro) const {
  std::istringstream words(options_);
  for (std::string word; words >> word;) {
    if (word.starts_with("-D" + macro + "=")) return core::parse_value(word.substr(macro.size() + 3));
  }
  return std::nullopt;
}

}  // namespace heddle::device
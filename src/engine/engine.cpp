// What front ends call for kernels and launches.
#include "engine/engine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/log.hpp"
#include "engine/target.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using core::UsageError;
using device::host_memory;

namespace {

// The largest divisor of `items` that is at most `most`.
std::int64_t divisor(std::int64_t items, std::int64_t most) {
  for (std::int64_t d = std::min(items, most); d > 1; --d) {
    if (items % d == 0) return d;
  }
  return 1;
}

// The groups of a launch as its kernel requires, the program says or, where neither does, as fits.
core::Grid grid_of(const Request& request) {
  const Kernel& kernel = *request.kernel;
  const auto* facts = kernel.facts();
  std::int64_t most = 256;  // more rarely helps, and every device takes it
  for (const Built& built : kernel.built) {
    if (built.original) most = std::min(most, built.original->limits().group);
  }
  core::Grid grid;
  grid.dimensions = request.dimensions;
  grid.offset = request.offset;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t items = request.items[d];
    std::int64_t& local = grid.local[d];
    if (facts && !facts->required_group.empty())
      local = facts->required_group[d];
    else if (request.group[d] > 0)
      local = request.group[d];
    else
      local = divisor(items, most), most /= local;
    if (request.group[d] > 0 && request.group[d] != local)
      throw UsageError(fmt::format("kernel '{}': groups of {} in dimension {}; its source requires {}",
                                   kernel.source().name, request.group[d], d, local));
    if (items % local != 0)
      throw UsageError(fmt::format("kernel '{}': {} work-items in dimension {} are no multiple of its group of {}",
                                   kernel.source().name, items, d, local));
    grid.groups[d] = items / local;
  }
  return grid;
}

// Only where a text asks which compiler reads it does what it says depend on the device.
bool asks_for_compiler(const std::string& text) {
  return text.find("#if") != std::string::npos || text.find("# if") != std::string::npos ||
         text.find("#include") != std::string::npos;
}

}  // namespace

Engine::Engine(std::vector<device::Device*> devices, Options options)
    : devices_(std::move(devices)), options_(std::move(options)) {
  if (devices_.empty()) throw UsageError("an engine without devices; at least one expected");
  for (std::size_t i = 1; i < devices_.size(); ++i) {
    if (device::comes_before(devices_[i]->info(), devices_[primary_]->info())) primary_ = i;
  }
  for (device::Device* device : devices_) {
    Member& member = members_.emplace_back();
    member.device = device;
    // Where the device's own clock times probes, as GPUs', little else is in them.
    if (device->info().kind != device::Kind::cpu) member.least = std::chrono::microseconds(3);
    member.room = std::make_unique<Room>(*device, options_.memory_limit > 0
                                                      ? std::min(options_.memory_limit, device->info().memory)
                                                      : device->info().memory);
    // Devices in the host's memory copy nothing, so one queue keeps them busy; and PoCL must not have two forms of one
    // kernel at work at once.
    const bool one = device->info().space == host_memory || device->info().one_queue;
    const int queues = one ? 1 : options_.queues;
    for (int q = 0; q < queues; ++q) {
      // On the host's memory, timing costs nothing that could be seen.
      auto queue = device->open_queue(one ? device::Device::Timing::on : device::Device::Timing::off);
      if (!queue) {
        count_failure(members_.size() - 1, queue.failure());
        count_failure(members_.size() - 1, queue.failure());
        break;
      }
      member.lanes.push_back({std::move(*queue)});
    }
    // As many single groups as may be at work at once, and two slices of what is left.
    const int spares = device->info().overlaps ? std::min(32, 2 * device->info().units) + 2 : 0;
    for (int q = 0; q < spares; ++q) {
      auto queue = device->open_queue(device::Device::Timing::on);
      if (!queue) {
        member.spares.clear();
        break;
      }
      member.spares.push_back({std::move(*queue)});
    }
    if (device->info().space == host_memory) continue;
    all_on_host_ = false;
    if (one)
      ;  // its only queue takes times
    else if (auto queue = device->open_queue(device::Device::Timing::on))
      member.timed = std::move(*queue);
    for (auto* extra : {&member.gathering, &member.bringing}) {
      if (auto queue = device->open_queue(device::Device::Timing::off))
        *extra = std::move(*queue);
      else
        count_failure(members_.size() - 1, {FailureKind::lost, queue.failure().what, ""});
    }
    if (!options_.advance) member.ring = std::make_unique<Ring>(*device, options_.locked_limit);
  }
  if (!options_.advance) {
    const bool apart = std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.ring != nullptr; });
    // One core copies 9.5 GB/s, eight 35 (GPU test machine); half of them are left to whoever computes.
    if (apart)
      copier_ = std::make_unique<Copier>(std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 1, 8));
    worker_ = std::thread([this] { work(); });
    builder_ = std::thread([this] { build(); });
  }
}

void Engine::finish() {
  for (;;) {
    std::shared_ptr<Launch> one;
    {
      Lock lock(mutex_);
      if (active_.empty()) return;
      one = active_.front();
    }
    (void)wait(one);
  }
}

Engine::~Engine() {
  finish();
  for (;;) {  // results on their way to the host
    Lock lock(mutex_);
    drain();
    if (gathers_.empty()) break;
    const std::shared_ptr<Gather> one = gathers_.front();
    lock.unlock();
    const bool moved =
        options_.advance ? options_.advance() : static_cast<bool>(one->event->wait(60 * options_.hang_limit));
    lock.lock();
    drain();
    if (!moved && !one->event->done()) give_up(*one);
    if (one->event->done()) collect(*one);
  }
  {
    std::scoped_lock lock(mutex_, inbox_->mutex);
    inbox_->closing = true;
    inbox_->changed.notify_all();
    to_build_changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
  if (builder_.joinable()) builder_.join();
  for (Member& member : members_) {
    if (!member.gone) continue;  // a device that hangs would make us wait for it
    for (Member::Lane& lane : member.lanes) keep_for_good(std::move(lane.queue));
    for (Member::Lane& lane : member.spares) keep_for_good(std::move(lane.queue));
    keep_for_good(std::move(member.timed));
    keep_for_good(std::move(member.gathering));
    keep_for_good(std::move(member.bringing));
    keep_for_good(std::move(member.ring));
  }
}

// ---- Kernels --------------------------------------------------------------------------------------------------------

core::Result<std::shared_ptr<Kernel>> Engine::make_kernel(KernelSource source) {
  std::optional<kernel::Analysis> analysis;
  std::string why = "kernels are not analysed";
  const bool asks = asks_for_compiler(source.text);
  if (options_.analyse) {
    const auto asked = source_for_analysis(source);
    auto answer = asked ? options_.analyse(*asked, {"box"})
                        : core::Result<kernel::Analysis>(
                              Failure{FailureKind::unsupported, "the device's compiler tells nothing of itself", ""});
    if (answer)
      analysis = std::move(*answer);
    else
      why = answer.failure().what;
  }
  auto kernel = std::make_shared<Kernel>(std::move(source), std::move(analysis), why, members_.size(),
                                         all_on_host_ ? core::BytesAre::shared : core::BytesAre::copied);
  // The primary first, so that mistakes show at once; where it cannot, whoever can.
  std::vector<std::size_t> order = {primary_};
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (m != primary_) order.push_back(m);
  }
  bool ready = false;
  std::string logs;
  for (std::size_t m : order) {
    {
      Lock lock(mutex_);
      if (members_[m].aside) continue;
      // Another compiler may read another kernel in the same text.
      if (ready && asks && devices_[m]->info().driver != devices_[primary_]->info().driver) continue;
      if (ready && builder_.joinable()) {
        kernel->built[m].state = Built::State::building;
        to_build_.push_back({kernel, m});
        to_build_changed_.notify_one();
        continue;
      }
    }
    kernel->built[m] = kernel->build_on(*devices_[m]);
    ready |= kernel->built[m].state == Built::State::ready;
    if (const auto& failure = kernel->built[m].failure)
      logs += fmt::format("{}: {}\n{}\n", devices_[m]->info().id, failure->what, failure->log);
  }
  if (!ready)
    return Failure{FailureKind::build, fmt::format("kernel '{}' builds on no device", kernel->source().name), logs};
  return kernel;
}

std::optional<kernel::Source> Engine::source_for_analysis(const KernelSource& source) {
  const std::optional<kernel::Target> target = asks_for_compiler(source.text) ? target_of_primary() : kernel::Target{};
  if (!target) return std::nullopt;
  return kernel::Source{source.text, source.options, *target};
}

RareForm Engine::make_form(const Kernel& kernel, std::size_t member, const std::string& form) {
  RareForm out{.state = RareForm::State::failed};
  const auto asked = source_for_analysis(kernel.source());
  auto analysis = asked ? options_.analyse(*asked, {form})
                        : core::Result<kernel::Analysis>(Failure{FailureKind::unsupported, "it is not analysed", ""});
  if (analysis) return kernel.build_on(*devices_[member], *analysis, form);
  out.failure = analysis.failure();
  return out;
}

bool Engine::begin_form(const std::shared_ptr<Kernel>& kernel, std::size_t m, const std::string& name) {
  RareForm& form = kernel->built[m].rare(name);
  if (form.state != RareForm::State::none) return form.state != RareForm::State::failed;
  if (!builder_.joinable()) {
    form = make_form(*kernel, m, name);
    return form.state != RareForm::State::failed;
  }
  form.state = RareForm::State::building;
  to_build_.push_back({kernel, m, name});
  to_build_changed_.notify_one();
  return true;
}

const std::optional<kernel::Target>& Engine::target_of_primary() {
  std::call_once(target_asked_, [&] {
    auto target = target_of(*devices_[primary_]);
    if (target) target_ = std::move(*target);
  });
  return target_;
}

// The builder's thread: what other devices need, while those that have it work.
void Engine::build() {
  Lock lock(mutex_);
  for (;;) {
    to_build_changed_.wait(lock, [&] { return !to_build_.empty() || inbox_->closing; });
    if (inbox_->closing) return;
    build_next(lock);
  }
}

void Engine::build_next(Lock& lock) {
  // What makes parts faster comes after all that somebody may wait for.
  const auto needed = [](const ToBuild& one) { return one.form != "box"; };
  auto next = std::find_if(to_build_.begin(), to_build_.end(), needed);
  if (next == to_build_.end()) next = to_build_.begin();
  const auto [kernel, member, form, prepared, way] = std::move(*next);
  to_build_.erase(next);
  if (prepared) return run_preparation(lock, prepared, way);
  if (no_more_builds_) {
    if (!form.empty()) kernel->built[member].rare(form).state = RareForm::State::failed;
    return;
  }
  building_ = true;
  lock.unlock();
  Built built;
  if (form.empty())
    built = kernel->build_on(*devices_[member]);
  else
    built.rare(form) = make_form(*kernel, member, form);
  lock.lock();
  building_ = false;
  changed_.notify_all();
  if (const auto& failure = form.empty() ? built.failure : built.rare(form).failure)
    core::log(core::LogLevel::info, fmt::format("kernel '{}' does not build on {}: {}", kernel->source().name,
                                                devices_[member]->info().id, failure->what));
  if (form != "box") ++generation_;  // which form computes a part is no matter of plans
  if (form.empty())
    kernel->built[member] = std::move(built);
  else
    kernel->built[member].rare(form) = std::move(built.rare(form));
  std::vector<std::shared_ptr<Launch>> waiting;
  for (const auto& launch : active_) {
    const auto& ways = launch->ways;
    if (std::any_of(ways.begin(), ways.end(), [&kernel = kernel](const Way& w) { return w.kernel == kernel; }))
      waiting.push_back(launch);
  }
  for (const auto& launch : waiting) turn(launch);
}

// ---- Launches -------------------------------------------------------------------------------------------------------

void Engine::check(const Request& request, const Kernel& kernel) const {
  const std::string& name = kernel.source().name;
  const auto* facts = kernel.facts();
  std::size_t expected = facts ? facts->arguments.size() : request.arguments.size();
  if (!facts) {
    for (const Built& built : kernel.built) {
      if (built.original) expected = static_cast<std::size_t>(built.original->limits().arguments);
    }
  }
  if (request.arguments.size() != expected)
    throw UsageError(
        fmt::format("kernel '{}': {} arguments given, {} expected", name, request.arguments.size(), expected));
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    const Argument& given = request.arguments[i];
    const auto* view = std::get_if<View>(&given);
    const auto* scalar = std::get_if<device::Scalar>(&given);
    const auto what = [&] {
      return facts ? fmt::format("kernel '{}', argument {} ('{}')", name, i, facts->arguments[i].name)
                   : fmt::format("kernel '{}', argument {}", name, i);
    };
    if (view) {
      if (view->size == 0 || view->begin > view->memory->size() || view->size > view->memory->size() - view->begin)
        throw UsageError(fmt::format("{}: bytes {} to {} of a buffer of {}", what(), view->begin,
                                     view->begin + view->size, view->memory->size()));
      for (device::Device* device : devices_) {
        if (view->begin % device->info().part_alignment != 0)
          throw UsageError(fmt::format("{}: a part of a buffer that begins at byte {}; a multiple of {} expected",
                                       what(), view->begin, device->info().part_alignment));
      }
    }
    if (!facts) continue;
    const core::ArgumentFacts& wanted = facts->arguments[i];
    const bool memory = wanted.space == core::AddressSpace::global || wanted.space == core::AddressSpace::constant;
    const char* got = view ? "a buffer" : scalar ? "a value" : "local memory";
    const char* want = memory                                      ? "a buffer"
                       : wanted.space == core::AddressSpace::value ? "a value"
                       : wanted.space == core::AddressSpace::local ? "local memory"
                                                                   : nullptr;
    if (!want) throw UsageError(fmt::format("{}: {} arguments are not supported yet", what(), wanted.type));
    if (std::string_view(got) != want)
      throw UsageError(fmt::format("{}: {} given, {} ({}) expected", what(), got, want, wanted.type));
    if (scalar && scalar->size() != wanted.size)
      throw UsageError(fmt::format("{}: a value of {} bytes given, {} of {} bytes expected", what(), scalar->size(),
                                   wanted.type, wanted.size));
  }
}

// Ways, each with its group size, grid and shape.
void Engine::bind(Launch& launch) {
  Request& request = launch.request;
  for (std::size_t d = 0; d < 3; ++d) {
    if (request.items[d] < 1)
      throw UsageError(fmt::format("kernel '{}': {} work-items in dimension {}; at least 1 expected", launch.name(),
                                   request.items[d], d));
    if (static_cast<int>(d) >= request.dimensions && request.items[d] != 1)
      throw UsageError(fmt::format("kernel '{}': {} work-items in dimension {} of a launch of {} dimensions",
                                   launch.name(), request.items[d], d, request.dimensions));
  }
  launch.space = {{0, 0, 0}, request.items};
  launch.remaining = core::BoxSet(launch.space);
  launch.choices.resize(members_.size());
  launch.asides.resize(members_.size());
  launch.excluded.resize(members_.size());
  launch.probed.resize(members_.size());
  launch.windowed.resize(members_.size());
  launch.seen.resize(members_.size());
  launch.given.resize(members_.size());
  launch.ready.resize(members_.size());
  std::vector<std::vector<std::byte>> scalars(request.arguments.size());
  std::vector<Bytes> sizes(request.arguments.size());
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    if (const auto* view = std::get_if<View>(&request.arguments[i])) sizes[i] = view->size;
    if (const auto* scalar = std::get_if<device::Scalar>(&request.arguments[i])) scalars[i] = *scalar;
  }
  if (request.pool) return bind_pool(launch, scalars, sizes);
  Way& way = launch.ways.emplace_back();
  way.kernel = request.kernel;
  way.grid = grid_of(request);
  way.footprint = way.part = {way.grid.local, false};
  way.shape = way.kernel->shape(way.grid, scalars, sizes);
  launch.whole = way.shape->whole;
  launch.undivided = way.shape->undivided;
  launch.axis = way.shape->axis;
  launch.one_space = way.shape->one_space;
}

// Launches run in the order in which they came wherever they share a memory that one of them writes.
void Engine::add_blockers(const std::shared_ptr<Launch>& launch) {
  auto wait_for = [&](const std::weak_ptr<Launch>& weak) {
    auto earlier = weak.lock();
    if (!earlier || earlier->over || earlier == launch) return;
    earlier->dependents.push_back(launch);
    ++launch->blockers;
    for (const auto& slice : earlier->in_flight) watch(slice);
  };
  for (std::size_t i = 0; i < launch->request.arguments.size(); ++i) {
    const auto* view = std::get_if<View>(&launch->request.arguments[i]);
    if (!view) continue;
    Memory& memory = *view->memory;
    const bool writes = !launch->whole[i].written.empty();
    memory.version += writes;
    wait_for(memory.last_writer);
    if (writes) {
      for (const auto& reader : memory.readers) wait_for(reader);
      memory.readers.clear();
      memory.last_writer = launch;
    } else {
      std::erase_if(memory.readers, [](const std::weak_ptr<Launch>& weak) {
        const auto reader = weak.lock();
        return !reader || reader->over;
      });
      memory.readers.push_back(launch);
    }
  }
}

std::shared_ptr<Launch> Engine::submit(Request request) {
  auto launch = std::make_shared<Launch>(std::move(request));
  Lock lock(mutex_);
  if (const Pool* pool = launch->request.pool.get()) {
    for (const Variant& variant : pool->variants) {
      if (!variant.preparation) check(launch->request, *variant.kernel);
    }
  } else {
    check(launch->request, *launch->request.kernel);
  }
  for (const Argument& argument : launch->request.arguments) {
    const auto* view = std::get_if<View>(&argument);
    if (view && !view->memory->unusable.empty()) throw UsageError(view->memory->unusable);
  }
  bind(*launch);
  launch->number = ++launches_;
  launch->undisturbed = active_.empty();
  launch->report.submitted = members_.front().device->now();
  if (!launch->undivided.empty()) launch->report.notes.push_back("runs undivided: " + launch->undivided);
  active_.push_back(launch);
  add_blockers(launch);
  turn(launch);
  return launch;
}

bool Engine::is_over(const Launch& launch) {
  Lock lock(mutex_);
  drain();
  for (const auto& slice : launch.in_flight) watch(slice);  // whoever only asks is never the one who waits for it
  return launch.over;
}

Report Engine::report(const Launch& launch) {
  Lock lock(mutex_);
  return launch.report;
}

core::Status Engine::wait(const std::shared_ptr<Launch>& launch) {
  Lock lock(mutex_);
  while (!launch->over) {
    drain();
    if (!launch->over) wait_for_change(lock, launch);
  }
  if (launch->failure) return *launch->failure;
  return core::Done{};
}

void Engine::wait_for_change(Lock& lock, const std::shared_ptr<Launch>& launch) {
  if (options_.advance) {
    if (!to_build_.empty()) return build_next(lock);
    for (const auto& one : active_) {
      for (const auto& slice : one->in_flight) watch(slice);
    }
    lock.unlock();
    const bool moved = options_.advance();
    lock.lock();
    if (drain() || moved || launch->over) return;
    hang_all();
    const auto at_work = [](const auto& one) { return !one->in_flight.empty(); };
    if (!launch->over && std::none_of(active_.begin(), active_.end(), at_work) && gathers_.empty() && to_build_.empty())
      throw core::InternalError(
          fmt::format("kernel '{}' is stuck with {} items left", launch->name(), launch->remaining.volume()));
    return;
  }
  // The usual end of a launch: one slice, which nobody else is told of.
  if (launch->in_flight.size() == 1 && launch->remaining.empty() && launch->in_flight.front()->at_work() &&
      !launch->in_flight.front()->watched) {
    const std::shared_ptr<Slice> slice = launch->in_flight.front();
    std::vector<device::Event> events = slice->events;
    events.insert(events.end(), slice->fetching.begin(), slice->fetching.end());
    const Nanoseconds limit = limit_of(*slice);
    lock.unlock();
    const bool done = std::all_of(events.rbegin(), events.rend(), [&](const device::Event& event) {
      return event->done() || static_cast<bool>(event->wait(limit)) || event->done();
    });
    lock.lock();
    if (slice->over) return;
    if (done)
      collect(slice);
    else
      watch(slice);  // the worker says when it has taken too long
    return;
  }
  for (const auto& slice : launch->in_flight) watch(slice);
  ++launch->waiting;
  changed_.wait(lock);
  --launch->waiting;
}

}  // namespace heddle::engine

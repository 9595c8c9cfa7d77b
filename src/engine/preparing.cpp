// Variants that make their own inputs of the launch's: when, of what, and what is kept of it. The program's function
// runs on the builder's thread when the variant's first part is due. Nobody writes what it reads then: the launch is
// among those who use it, earlier ones are over, and later ones wait.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/box_form.hpp"
#include "core/log.hpp"
#include "core/trace.hpp"
#include "engine/engine.hpp"

namespace heddle::engine {

using core::UsageError;

namespace {

constexpr std::size_t kept = 4;  // per variant: what it makes may be as large as its inputs

std::shared_ptr<const Prepared> find(Preparation& preparation, const Origin& origin) {
  auto& done = preparation.done;
  // What nobody will be given any more: a buffer is gone, or was written since.
  std::erase_if(done, [&](const std::shared_ptr<const Prepared>& one) {
    return std::any_of(one->origin.parts.begin(), one->origin.parts.end(), [&](const Origin::Part& part) {
      const auto memory = part.memory.lock();
      return !memory || std::any_of(origin.parts.begin(), origin.parts.end(), [&](const Origin::Part& now) {
        return now.memory.lock() == memory && part.version < now.version;
      });
    });
  });
  const auto at = std::find_if(done.begin(), done.end(), [&](const auto& one) { return one->origin.same_as(origin); });
  if (at == done.end()) return nullptr;
  std::rotate(done.begin(), at, at + 1);
  return done.front();
}

template <class Test>
std::vector<const Memory*> memories_of(const Launch& launch, Test test) {
  std::vector<const Memory*> out;
  for (std::size_t i = 0; i < launch.whole.size(); ++i) {
    const auto* view = std::get_if<View>(&launch.request.arguments[i]);
    if (view && test(launch.whole[i])) out.push_back(view->memory.get());
  }
  return out;
}

bool among(const std::vector<const Memory*>& all, const std::shared_ptr<Memory>& one) {
  return std::find(all.begin(), all.end(), one.get()) != all.end();
}

}  // namespace

bool Origin::same_as(const Origin& other) const {
  const auto same = [](const Part& a, const Part& b) {
    return a.memory.lock() == b.memory.lock() && a.begin == b.begin && a.size == b.size && a.version == b.version;
  };
  return points == other.points && values == other.values &&
         std::equal(parts.begin(), parts.end(), other.parts.begin(), other.parts.end(), same);
}

std::optional<std::size_t> Way::position(std::size_t i) const {
  if (!prepared) return i;
  const auto* at = std::get_if<std::size_t>(&prepared->arguments[i]);
  return at ? std::optional(*at) : std::nullopt;
}

// What ways depend on that prepare their inputs; and that such a launch is not cut where parts would not fit together.
void Engine::bind_prepared(Launch& launch) {
  const auto& arguments = launch.request.arguments;
  const auto written = memories_of(launch, [](const Touch& touch) { return !touch.written.empty(); });
  for (Way& way : launch.ways) {
    if (!way.preparation) continue;
    std::vector<std::size_t> reads = way.preparation->reads;
    for (std::size_t i : reads) {
      if (i >= arguments.size() || std::holds_alternative<device::LocalMemory>(arguments[i]))
        throw UsageError(fmt::format(
            "kernel '{}', variant '{}': its preparation depends on argument {}, which is no buffer or value",
            launch.name(), way.variant, i));
    }
    // Where nothing is known of the base, every buffer may be an input.
    const bool known = launch.ways.front().kernel->facts() != nullptr;
    for (std::size_t i = 0; way.preparation->reads.empty() && i < arguments.size(); ++i) {
      if (!std::holds_alternative<device::LocalMemory>(arguments[i]) && (!known || launch.whole[i].written.empty()))
        reads.push_back(i);
    }
    bool own = !way.preparation->same_points;
    way.origin.points = launch.request.items;
    way.reads = std::move(reads);
    for (std::size_t i : way.reads) {
      if (const auto* view = std::get_if<View>(&arguments[i])) {
        way.origin.parts.push_back({view->memory, view->begin, view->size, view->memory->version});
        own |= among(written, view->memory);  // other parts of the launch would change it
      } else {
        way.origin.values.push_back(std::get<device::Scalar>(arguments[i]));
      }
    }
    if (launch.undivided.empty() && own)
      launch.undivided = fmt::format("variant '{}' prepares its inputs in an order of its own", way.variant);
    if (launch.undivided.empty()) launch.undivided = way.kernel->why_not();
    if (launch.undivided.empty() && way.kernel->cut_by() == CutBy::box && !core::fits_box_form(way.grid))
      launch.undivided = "more groups than the box form can count";
    launch.one_space = true;  // what it writes is not known yet
  }
}

// Before a part runs in this way. `later`: its inputs are being made; `otherwise`: they cannot be.
Engine::Placed Engine::prepare(const std::shared_ptr<Launch>& launch, std::size_t w) {
  Way& way = launch->ways[w];
  using Inputs = Way::Inputs;
  if (way.inputs == Inputs::given || way.inputs == Inputs::ready) return Placed::yes;
  if (way.inputs != Inputs::missing) return Placed::later;
  if (way.preparation->failed) {  // in another launch
    leave_out(*launch, w, "");
    return Placed::otherwise;
  }
  if (const auto found = find(*way.preparation, way.origin))
    return take_prepared(*launch, w, found) ? Placed::yes : Placed::otherwise;
  way.inputs = Inputs::coming;
  to_build_.push_back({.kernel = nullptr, .member = 0, .launch = launch, .way = w});
  to_build_changed_.notify_one();
  return Placed::later;
}

void Engine::run_preparation(Lock& lock, const std::shared_ptr<Launch>& launch, std::size_t w) {
  Way& way = launch->ways[w];
  if (launch->failure || launch->remaining.empty()) {  // others have done it, or nobody can
    way.inputs = Way::Inputs::missing;
    return turn(launch);
  }
  const std::shared_ptr<Preparation> preparation = way.preparation;
  auto found = find(*preparation, way.origin);  // another launch may have asked for the same before
  std::string wrong;
  if (!found && !preparation->failed) {
    std::vector<Input> inputs(launch->request.arguments.size());
    for (std::size_t i : way.reads) {
      const Argument& argument = launch->request.arguments[i];
      const auto* view = std::get_if<View>(&argument);
      if (!view) {
        inputs[i] = {std::get<device::Scalar>(argument), true};
        continue;
      }
      if (auto status = bring_to_host(lock, view->memory); !status) {
        launch->failure = status.failure();
        way.inputs = Way::Inputs::missing;
        return turn(launch);
      }
      inputs[i] = {view->memory->host().bytes.subspan(view->begin, view->size), false};
    }
    auto made = std::make_shared<Prepared>();
    made->origin = way.origin;
    std::size_t arrays = 0;
    Bytes bytes = 0;
    const Nanoseconds begin = members_[primary_].device->now();
    lock.unlock();
    try {
      for (MadeArgument& one : preparation->run(launch->request.items, inputs)) {
        if (const auto* array = std::get_if<NewArray>(&one)) {
          auto memory = make_memory(std::max<Bytes>(1, array->bytes.size()));  // of an empty one, nobody reads anything
          if (!array->bytes.empty()) std::memcpy(memory->host().bytes.data(), array->bytes.data(), array->bytes.size());
          const Bytes size = memory->size();
          made->arguments.emplace_back(View{std::move(memory), 0, size});
          ++arrays, bytes += array->bytes.size();
        } else if (const auto* position = std::get_if<std::size_t>(&one)) {
          made->arguments.emplace_back(*position);
        } else if (auto* value = std::get_if<device::Scalar>(&one)) {
          made->arguments.emplace_back(Argument(std::move(*value)));
        } else {
          made->arguments.emplace_back(Argument(std::get<device::LocalMemory>(one)));
        }
      }
    } catch (const std::exception& error) {
      wrong = fmt::format("its preparation failed: {}", error.what());
    } catch (...) {
      wrong = "its preparation threw something that is no exception";
    }
    lock.lock();
    if (wrong.empty()) {
      const Nanoseconds took = members_[primary_].device->now() - begin;
      launch->report.notes.push_back(
          fmt::format("variant '{}' prepared its inputs in {:.3g} ms: {} new arrays of {} bytes", way.variant,
                      1e3 * core::seconds(took), arrays, bytes));
      if (core::TraceSink* sink = core::trace())
        sink->add({core::TraceKind::decision, "host", launch->name(), launch->report.notes.back(), begin, took});
      found = made;
      preparation->done.insert(preparation->done.begin(), made);
      if (preparation->done.size() > kept) preparation->done.pop_back();
    }
  }
  if (found)
    (void)take_prepared(*launch, w, found);
  else
    leave_out(*launch, w, wrong);
  turn(launch);
}

// The way gets its arguments, and with them its shape. False where they do not fit its kernel, or that does not do what
// the base does.
bool Engine::take_prepared(Launch& launch, std::size_t w, const std::shared_ptr<const Prepared>& prepared) {
  Way& way = launch.ways[w];
  try {
    Request own{.kernel = way.kernel};
    std::vector<device::Scalar> scalars;
    std::vector<Bytes> sizes;
    for (std::size_t j = 0; j < prepared->arguments.size(); ++j) {
      const auto* at = std::get_if<std::size_t>(&prepared->arguments[j]);
      if (at && *at >= launch.request.arguments.size())
        throw UsageError(fmt::format("its preparation gives argument {} of a launch that has {}", *at,
                                     launch.request.arguments.size()));
      own.arguments.push_back(at ? launch.request.arguments[*at] : std::get<Argument>(prepared->arguments[j]));
      const auto* view = std::get_if<View>(&own.arguments.back());
      const auto* scalar = std::get_if<device::Scalar>(&own.arguments.back());
      sizes.push_back(view ? view->size : 0);
      scalars.push_back(scalar ? *scalar : device::Scalar{});
    }
    check(own, *way.kernel);
    way.prepared = prepared;
    way.arguments = std::move(own.arguments);
    way.shape = way.kernel->shape(way.grid, scalars, sizes);
    way.whole = way.shape->whole;
    for (std::size_t j = 0; j < way.whole.size(); ++j) {
      const auto i = way.position(j);
      if (way.whole[j].written.empty() || (i && !launch.whole[*i].written.empty())) continue;
      if (way.kernel->facts())
        throw UsageError(i ? fmt::format("it writes argument {}, which '{}' does not", *i, launch.ways.front().variant)
                           : fmt::format("its kernel writes argument {}, which was prepared", j));
      way.whole[j].written = {};  // nothing is known of it, but this must not be
    }
    check_footprint(launch, launch.ways.front(), way);
  } catch (const UsageError& error) {
    leave_out(launch, w, error.what());
    return false;
  }
  const auto read = memories_of(launch, [](const Touch& touch) { return !touch.read.empty(); });
  for (std::size_t j = 0; j < way.whole.size(); ++j) {
    const auto i = way.position(j);
    if (!i) continue;
    // Others that would run where it has failed read what it leaves: it works in place, as they do.
    const auto* view = std::get_if<View>(&way.arguments[j]);
    if (view && !way.whole[j].written.empty() && among(read, view->memory))
      way.whole[j].read.add({0, static_cast<std::int64_t>(view->size)});
    Touch& all = launch.whole[*i];
    all.exact &= way.whole[j].exact || way.whole[j].written.empty();
    all.read.add(way.whole[j].read), all.written.add(way.whole[j].written);
  }
  way.inputs = Way::Inputs::ready;
  return true;
}

// For good, as one that does not build.
void Engine::leave_out(Launch& launch, std::size_t w, const std::string& why) {
  Way& way = launch.ways[w];
  way.inputs = Way::Inputs::failed;
  launch.ways.front().shape->plan.reset();  // which perhaps is this way
  for (Choice* choice : launch.choices) {
    if (choice) decide::give_up(choice->selection, w);
  }
  for (const Region& region : launch.regions) decide::give_up(region.choice->selection, w);
  if (way.preparation->failed) return;
  way.preparation->failed = true;
  way.preparation->done.clear();
  ++generation_;  // ways have other numbers from now on
  Pool& pool = *launch.request.pool;
  pool.dropped.push_back(fmt::format("'{}': {}", way.variant, why));
  launch.report.notes.push_back(fmt::format("variant {} is left out", pool.dropped.back()));
  core::log(core::LogLevel::warn, fmt::format("kernel '{}': variant {} is left out", pool.name, pool.dropped.back()));
}

}  // namespace heddle::engine

// Launches of kernels that have variants: which ways they have, which of them each device should take, and what probes
// have shown.
#include <algorithm>

#include <fmt/format.h>

#include "core/answers.hpp"
#include "core/launch.hpp"
#include "core/log.hpp"
#include "core/trace.hpp"
#include "core/variant.hpp"
#include "engine/engine.hpp"
#include "profile/store.hpp"

namespace heddle::engine {

using core::Failure;
using core::FailureKind;
using core::UsageError;

namespace {

// The groups of a variant over all points: the last ones reach over the end where they guard themselves, and elsewhere
// leave what they do not fill.
core::Grid grid_of(const Request& request, const Variant& variant) {
  core::Grid grid;
  grid.dimensions = request.dimensions;
  grid.local = variant.group;
  for (std::size_t d = 0; d < 3; ++d) {
    if (variant.group[d] > 1 || variant.footprint.points[d] > 1)
      grid.dimensions = std::max(grid.dimensions, static_cast<int>(d) + 1);
    const std::int64_t one = variant.footprint.points[d];
    grid.groups[d] = (request.items[d] + (variant.footprint.guarded ? one - 1 : 0)) / one;
  }
  return grid;
}

}  // namespace

void check_footprint(const Launch& launch, const Way& base, const Way& way) {
  if (way.shape->footprint_fits) return;
  const core::Box all = core::align(launch.space, way.part, launch.space);
  core::Box first = all;  // alone, a group shows what it covers; together, guards may hide it
  for (std::size_t d = 0; d < 3; ++d) first.end[d] = std::min(all.end[d], way.part.points[d]);
  std::vector<core::Box> parts = {first, all};
  if (way.preparation && !way.preparation->same_points) parts = {launch.space};
  for (const core::Box& part : parts) {
    const auto expected = base.kernel->touches(*base.shape, base.groups(part));
    const auto given = way.kernel->touches(*way.shape, way.groups(part));
    for (std::size_t j = 0; j < given.size(); ++j) {
      const auto i = way.position(j);
      if (!i || !expected[*i].exact || !given[j].exact || expected[*i].written == given[j].written) continue;
      throw UsageError(fmt::format(
          "kernel '{}', variant '{}': its footprint contradicts its source: for points {} it writes {} bytes of "
          "argument {} where '{}' writes {}",
          launch.name(), way.variant, core::to_string(part), given[j].written.size(), *i, base.variant,
          expected[*i].written.size()));
    }
  }
  way.shape->footprint_fits = true;
}

namespace {

// Whether a part can be computed once more, and nothing changes.
bool is_repeatable(const Launch& launch) {
  for (const Way& way : launch.ways) {
    if (!way.kernel->facts() || !core::side_effects(*way.kernel->facts()).empty()) return false;
  }
  for (std::size_t i = 0; i < launch.whole.size(); ++i) {
    for (std::size_t j = 0; j < launch.whole.size(); ++j) {
      const auto *a = std::get_if<View>(&launch.request.arguments[i]),
                 *b = std::get_if<View>(&launch.request.arguments[j]);
      if (a && b && a->memory == b->memory && !launch.whole[i].written.empty() && !launch.whole[j].read.empty())
        return false;
    }
  }
  return true;
}

// Why rivals cannot compute the same part on private memories; empty: they can.
std::string why_not_apart(const Launch& launch, const core::Footprint& together, bool on_host, bool alone) {
  if (!on_host) return "a device has memory of its own";
  if (launch.request.wishes.meanwhile) return "other parts are computed meanwhile";
  if (!launch.undivided.empty()) return launch.undivided;
  for (const Way& way : launch.ways) {
    if (way.preparation) return fmt::format("'{}' prepares its own inputs", way.variant);
    if (!way.kernel->facts() || !core::writes_arguments_alone(*way.kernel->facts()))
      return fmt::format("nobody knows where '{}' writes", way.variant);
  }
  // The smallest parts: what is unknown is all of its memory, and that of larger ones is looked at when they are there.
  core::Box first = launch.space, last = launch.space;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t one = std::min(launch.space.end[d], together.points[d]);
    first.end[d] = one, last.begin[d] = last.end[d] - one;
  }
  const std::vector<Aside::Copy> copies = copies_for(launch, first);
  if (!can_be_copied(launch, copies)) return "too many bytes would have to be copied";
  if (!alone && writes_to(launch, launch.ways.front(), last, copies))
    return "other devices may write to the same bytes";
  return "";
}

// How rivals are compared: on the same part where parts differ in work, if that can be.
decide::Mode mode_of(Launch& launch, bool on_host, bool alone) {
  using decide::Mode;
  const std::optional<Mode> asked = launch.request.wishes.mode;
  const core::KernelFacts* facts = launch.ways.front().kernel->facts();
  if (asked == Mode::fully || !facts) return Mode::fully;
  core::Footprint together;
  for (const Way& way : launch.ways) together = core::joint(together, way.part);
  if (16 * static_cast<double>(core::volume(together)) > static_cast<double>(launch.space.volume())) return Mode::fully;
  // The base, as the simplest, shows what the work is; others have branches and loops of their own for edges.
  if (!asked && core::uniform_work(*facts)) return Mode::fully;
  if (asked != Mode::swap && launch.repeatable) return Mode::hybrid;
  const std::string why_not = why_not_apart(launch, together, on_host, alone);
  if (asked && !why_not.empty())
    launch.report.notes.push_back("variants compute parts of their own: " + why_not);
  else if (asked == Mode::hybrid)
    launch.report.notes.push_back("variants compute the same part on copies: again, it would change something");
  return why_not.empty() ? Mode::swap : Mode::fully;
}

// Whether all of its groups do the same, and find what they read where the launch says, so that it takes as long
// everywhere.
bool takes_the_same_everywhere(const core::KernelFacts& facts) {
  const auto is_anywhere = [](const core::AccessFacts& one) {
    return !one.index || one.address.data || one.address.local_data || one.address.atomic;
  };
  return core::uniform_work(facts) && std::none_of(facts.accesses.begin(), facts.accesses.end(), is_anywhere);
}

// A GPU's units have many groups at once; how many depends on the kernel. With as many work-items as in the largest
// group that it takes, a unit is about half full, and most kernels run nearly as fast as they can.
std::int64_t wave_of(const device::Info& info, const Way& way) {
  if (info.kind == device::Kind::cpu) return 0;
  const std::int64_t items = way.grid.local[0] * way.grid.local[1] * way.grid.local[2];
  const std::int64_t groups = std::max<std::int64_t>(1, info.largest_group / items);
  return groups * info.units * core::volume(way.footprint);
}

const char* name_of(decide::Mode mode) {
  return mode == decide::Mode::fully ? "fully" : mode == decide::Mode::hybrid ? "hybrid" : "swap";
}

}  // namespace

core::Result<std::shared_ptr<Pool>> Engine::make_pool(const std::string& name, std::vector<VariantSource> variants) {
  auto pool = std::make_shared<Pool>();
  pool->name = name;
  std::string logs;
  for (VariantSource& variant : variants) {
    for (std::size_t d = 0; d < 3; ++d) {
      if (variant.group[d] < 1 || variant.footprint.points[d] < 1)
        throw UsageError(
            fmt::format("kernel '{}', variant '{}': a group of {} work-items that covers {} points in "
                        "dimension {}; at least 1 expected",
                        name, variant.name, variant.group[d], variant.footprint.points[d], d));
    }
    auto made = make_kernel(variant.source);
    if (!made) {
      pool->dropped.push_back(fmt::format("'{}': {}", variant.name, made.failure().what));
      logs += fmt::format("variant '{}': {}\n{}\n", variant.name, made.failure().what, made.failure().log);
      core::log(core::LogLevel::warn, fmt::format("kernel '{}': variant {} is left out", name, pool->dropped.back()));
      continue;
    }
    Variant& added =
        pool->variants.emplace_back(Variant{variant.name, std::move(*made), variant.group, variant.footprint});
    if (variant.prepare)
      added.preparation = std::make_shared<Preparation>(
          Preparation{std::move(variant.prepare), std::move(variant.reads), variant.same_points});
  }
  if (pool->variants.empty())
    return Failure{FailureKind::build, fmt::format("no variant of kernel '{}' builds on any device", name), logs};
  if (pool->variants.front().preparation)
    return Failure{FailureKind::build,
                   fmt::format("kernel '{}': its variant '{}' prepares its inputs, and none comes before it that takes "
                               "those of launches",
                               name, pool->variants.front().name),
                   logs};
  return pool;
}

void Engine::forget(Pool& pool) {
  Lock lock(mutex_);
  for (const Variant& variant : pool.variants) {
    if (variant.preparation) variant.preparation->done.clear();
  }
  for (auto& [kind, choice] : pool.choices) {
    choice.selection.reopened = 0, choice.selection.misled = false;
    choice.regions.clear(), choice.settled = false, choice.undivided = {};
    decide::begin_again(choice.selection);
    for (decide::Rival& rival : choice.selection.rivals) rival.prepared = false;
  }
  ++generation_;  // plans that rest on what was found
}

void Engine::bind_pool(Launch& launch, const std::vector<std::vector<std::byte>>& scalars,
                       const std::vector<Bytes>& sizes) {
  const Request& request = launch.request;
  const Pool& pool = *request.pool;
  for (std::size_t d = 0; d < 3; ++d) {
    if (request.offset[d] != 0 || request.group[d] != 0)
      throw UsageError(
          fmt::format("kernel '{}' has variants: their groups are their own, and launches have no offset", pool.name));
  }
  if (request.wishes.mode == decide::Mode::swap && request.wishes.meanwhile)
    throw UsageError(fmt::format(
        "kernel '{}': variants cannot be compared on private outputs while other parts are computed; one or the other",
        pool.name));
  for (const Variant& variant : pool.variants) {
    if (variant.preparation && variant.preparation->failed) continue;
    Way way{.variant = variant.name, .kernel = variant.kernel, .grid = grid_of(request, variant)};
    way.footprint = variant.footprint;
    way.part = core::joint(pool.variants.front().footprint, variant.footprint);
    const auto* facts = way.kernel->facts();
    if (facts && !facts->required_group.empty()) {
      for (std::size_t d = 0; d < 3; ++d) {
        if (facts->required_group[d] != way.grid.local[d])
          throw UsageError(
              fmt::format("kernel '{}', variant '{}': groups of {} in dimension {}; its source requires {}", pool.name,
                          variant.name, way.grid.local[d], d, facts->required_group[d]));
      }
    }
    const bool base = launch.ways.empty();
    const core::Box part = core::align(launch.space, way.part, launch.space);
    if (base && part != launch.space)
      throw UsageError(fmt::format(
          "kernel '{}': {} points are no multiple of what a group of its first variant '{}' covers; a first variant "
          "that guards itself, or another size, expected",
          pool.name, core::to_string(launch.space), variant.name));
    if (part.empty()) continue;  // the launch is too small for it
    if (variant.preparation) {
      const bool covers = core::align(launch.space, way.footprint, launch.space) == launch.space;
      if (!variant.preparation->same_points && !covers) continue;
      way.preparation = variant.preparation, way.inputs = Way::Inputs::missing;
    } else {
      way.shape = way.kernel->shape(way.grid, scalars, sizes);
    }
    if (variant.name == request.wishes.initial) launch.initial = launch.ways.size();
    launch.ways.push_back(std::move(way));
  }
  if (!request.wishes.initial.empty() && launch.ways[launch.initial].variant != request.wishes.initial) {
    const auto named = [&](const Variant& v) { return v.name == request.wishes.initial; };
    if (std::none_of(pool.variants.begin(), pool.variants.end(), named))
      throw UsageError(fmt::format("kernel '{}' has no variant '{}'", pool.name, request.wishes.initial));
  }
  const Way& base = launch.ways.front();
  launch.whole = base.shape->whole;
  launch.undivided = base.shape->undivided;
  launch.one_space = base.shape->one_space;
  for (std::size_t w = 1; w < launch.ways.size(); ++w) {
    const Way& way = launch.ways[w];
    if (way.preparation) continue;
    check_footprint(launch, base, way);
    for (std::size_t i = 0; i < launch.whole.size(); ++i) {
      Touch& all = launch.whole[i];
      const Touch& one = way.shape->whole[i];
      all.exact &= one.exact;
      all.read.add(one.read), all.written.add(one.written);
    }
    const bool one_group = way.grid.groups[0] * way.grid.groups[1] * way.grid.groups[2] == 1;
    if (launch.undivided.empty() && !one_group) launch.undivided = way.shape->undivided;
    if (launch.undivided.empty() && one_group) launch.undivided = way.kernel->why_not();
    launch.one_space |= way.shape->one_space;
  }
  bind_prepared(launch);
  // Undivided, a launch must be covered by whoever takes it.
  if (!launch.undivided.empty()) {
    std::erase_if(launch.ways, [&](const Way& way) {
      return core::align(launch.space, way.footprint, launch.space) != launch.space;
    });
    const auto asked = std::find_if(launch.ways.begin(), launch.ways.end(),
                                    [&](const Way& way) { return way.variant == request.wishes.initial; });
    launch.initial = asked == launch.ways.end() ? 0 : static_cast<std::size_t>(asked - launch.ways.begin());
  }
  // Along an axis along which all footprints are thin, the slowest of those, so that rows stay long; or the least
  // thick.
  launch.axis = base.shape->axis;
  const auto thickness = [&](int axis) {
    double most = 0;
    for (const Way& way : launch.ways) {
      const auto d = static_cast<std::size_t>(axis);
      most = std::max(most, static_cast<double>(way.part.points[d]) / static_cast<double>(launch.space.extent(axis)));
    }
    return most;
  };
  constexpr double thin = 1.0 / 16;
  for (int axis = 2; axis >= 0; --axis) {
    if (thickness(launch.axis) > thin && thickness(axis) < thickness(launch.axis)) launch.axis = axis;
  }
}

// Who competes on which device; asked before each step, as builds may have ended.
void Engine::choose(Launch& launch) {
  const Wishes& wishes = launch.request.wishes;
  if (launch.ways.size() < 2 || wishes.profiling == Profiling::never) return;
  if (!launch.tried.empty() && !launch.settled) return;  // while parts are tried, nobody finds out anything else
  // Times of windows say nothing of kernels; and each probe in another memory would be joined by itself.
  const auto is_joined = [&](std::size_t m) {
    return !launch.joins.empty() && members_[m].device->info().space != device::host_memory;
  };
  bool open = false;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Choice*& choice = launch.choices[m];
    if (launch.windowed[m] || (is_joined(m) && choice && !choice->known())) choice = nullptr;
    open |= !choice && !launch.windowed[m];
  }
  if (!open && launch.mode) return;
  std::string kind;
  for (const Way& way : launch.ways) kind += way.variant + " ";
  for (std::int64_t extent : launch.request.items) kind += fmt::format("{} ", extent);
  for (const Argument& argument : launch.request.arguments) {
    if (const auto* view = std::get_if<View>(&argument)) kind += fmt::format("{} ", view->size);
  }
  if (!launch.mode) {
    launch.repeatable = is_repeatable(launch);
    launch.mode = mode_of(launch, all_on_host_, members_.size() == 1);
  }
  const decide::Mode mode = *launch.mode;
  kind += name_of(mode);
  kind += wishes.mode ? " as asked" : "";
  kind += launch.undivided.empty() ? "" : " undivided";
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (launch.choices[m] || launch.windowed[m]) continue;
    const bool joined = is_joined(m);
    std::vector<decide::Rival> rivals;
    bool building = false;
    for (const Way& way : launch.ways) {
      const Built& built = way.kernel->built[m];
      building |= built.state == Built::State::building;
      const bool can_cut = way.kernel->cut_by() != CutBy::box || built.box;
      const core::KernelFacts* facts = way.kernel->facts();
      rivals.push_back({.footprint = way.part,
                        .wave = wave_of(members_[m].device->info(), way),
                        .uniform = facts && takes_the_same_everywhere(*facts),
                        .single = !members_[m].spares.empty() && way.part.points == way.footprint.points,
                        .ready = built.state == Built::State::ready && (!launch.undivided.empty() || can_cut) &&
                                 way.inputs != Way::Inputs::failed});
    }
    const auto ready = [](const decide::Rival& rival) { return rival.ready; };
    if (building || std::none_of(rivals.begin(), rivals.end(), ready)) continue;
    auto [at, fresh] = launch.request.pool->choices.try_emplace({kind, m});
    Choice& choice = at->second;
    // What is not found out yet goes on; what is too short to be shared by rivals keeps what was found.
    if (!fresh && choice.selection.winner) ++choice.selection.since;
    const bool over = choice.probing == 0 && decide::worth_repeating(choice.selection);
    if (fresh || (wishes.profiling == Profiling::always && over && !joined)) {
      // Where parts of their own are enough, nothing need be computed twice.
      const bool abreast =
          members_[m].device->info().kind == device::Kind::cpu && launch.undivided.empty() && !wishes.mode;
      choice.selection = decide::selection_of(abreast && mode == decide::Mode::swap ? decide::Mode::hybrid : mode,
                                              members_[m].device->info().units, std::move(rivals),
                                              core::seconds(options_.shortest_probe));
      choice.selection.abreast = abreast;
      choice.regions.clear(), choice.settled = false, choice.undivided = {};
      ++generation_;
    }
    if (fresh && wishes.profiling == Profiling::once) recall(launch, m, choice);
    if (!joined || choice.known()) launch.choices[m] = &choice;
  }
}

// Under which the store knows what a launch by one way takes.
core::SampleKey Engine::key_of(const Launch& launch, const Way& way, const std::string& device) {
  const KernelSource& source = way.kernel->source();
  core::Launch shape{.space = launch.space, .group = way.grid.local};
  for (const Argument& argument : launch.request.arguments) {
    if (const auto* view = std::get_if<View>(&argument))
      shape.arguments.push_back({.kind = core::Argument::Kind::buffer, .size = view->size});
  }
  const std::string kernel = core::fingerprint_of(
      {.name = way.variant, .source = source.text, .entry = source.name, .options = source.options});
  return {kernel, way.variant, "", device, core::shape_of(shape)};
}

// What the store knows of the rivals for launches of this kind.
void Engine::recall(const Launch& launch, std::size_t m, Choice& choice) {
  if (!options_.store) return;
  const device::Info& info = members_[m].device->info();
  std::vector<std::optional<double>> costs;
  const core::History history = options_.store->load("", info.fingerprint);
  for (const Way& way : launch.ways) {
    const core::SampleKey& key = choice.keys.emplace_back(key_of(launch, way, info.fingerprint));
    const core::Record* record = history.find(key);
    costs.push_back(record && !record->samples.empty() ? std::optional(1e-9 * record->median()) : std::nullopt);
  }
  for (const core::SampleKey& key : choice.keys) options_.store->name(key.kernel, launch.request.pool->name);
  options_.store->name(info.fingerprint, info.name);
  decide::recall(choice.selection, costs, launch.space.volume());
}

// What a probe that ended has shown.
void Engine::learn(const Slice& slice) {
  Launch& launch = *slice.launch;
  Member& member = members_[slice.member];
  decide::Selection& selection = slice.choice->selection;
  Nanoseconds duration = member.device->now() - slice.begin;
  if (auto times = slice.events.back()->times(); times && times->duration().count() > 0) {
    duration = times->duration();
    if (slice.single)
      duration = times->end - device::began(member.groups, slice.events.back(), member.device->info().units);
  }
  if (selection.abreast && !slice.beside && !slice.probe->whole) duration = slice.cpu->worked(duration);
  const bool open = !selection.winner, believed = selection.believed.has_value();
  selection.rivals[slice.probe->rival].prepared = !slice.first;
  const core::Sample sample{
      .points = slice.box.volume(),
      .duration = slice.probe->single ? duration / member.device->info().units : duration,
      .contention = slice.cpu->ratio(duration, launch.ways[slice.way].groups(slice.box).volume())};
  if (!slice.first && !slice.beside) member.least = std::min(member.least, duration);
  selection.least = slice.first ? 0 : core::seconds(member.least);
  decide::learn(selection, *slice.probe, core::seconds(duration));
  if (launch.choices[slice.member] == slice.choice) launch.probed[slice.member] = true;
  // Looks that were too short tell nothing.
  const bool too_little = slice.probe->pilot && core::seconds(duration) < selection.shortest / 2;
  const bool tells =
      !slice.first && !too_little && (!slice.probe->look || decide::tells(selection, core::seconds(duration)));
  // The next run begins with an offset again.
  const bool usual = slice.form != decide::Form::box;
  const std::vector<core::SampleKey>& keys = slice.choice->keys;
  const bool in_parts = selection.abreast && !slice.probe->whole;  // what they say together is decided in the end
  if (tells && usual && !in_parts && !keys.empty()) options_.store->add(keys[slice.probe->rival], sample);
  if (!open || !selection.winner) return;
  const auto cost_of = [&](std::size_t r) {
    return in_parts ? decide::fair_guess_of(selection, r) : decide::guess_of(selection.rivals[r]);
  };
  for (std::size_t r = 0; in_parts && usual && r < keys.size(); ++r) {
    const auto cost = cost_of(r);
    if (!cost || selection.rivals[r].samples.empty()) continue;
    const std::int64_t points = launch.space.volume();
    const auto all = static_cast<std::int64_t>(std::min(1e9 * *cost * static_cast<double>(points), 1e18));
    options_.store->add(keys[r], {.points = points, .duration = Nanoseconds(all)});
  }
  // With another variant it may be worth another part.
  if (!believed && launch.choices[slice.member] == slice.choice && launch.ways.front().shape)
    decide::forget(launch.ways.front().shape->experience, slice.member);
  std::string costs;
  const auto best = cost_of(*selection.winner);
  for (std::size_t r = 0; r < selection.rivals.size(); ++r) {
    const auto cost = cost_of(r);
    if (r != *selection.winner && cost && best)
      costs += fmt::format(", '{}' takes {:.3g} x", launch.ways[r].variant, *cost / *best);
  }
  launch.report.notes.push_back(fmt::format("variant '{}' is best on {}: {:.3g} ns per point{}",
                                            launch.ways[*selection.winner].variant, member.device->info().id,
                                            1e9 * best.value_or(0), costs));
  if (core::TraceSink* sink = core::trace())
    sink->add({core::TraceKind::decision, "host", launch.name(), launch.report.notes.back(), member.device->now(),
               Nanoseconds{0}});
}

void Engine::count_winner(const Slice& slice) {
  Launch& launch = *slice.launch;
  Choice* choice = choice_of(launch, slice.member, slice.box);
  if (!choice || slice.first || slice.windowed || choice->selection.winner != slice.way) return;
  auto times = slice.events.back()->times();
  if (!times) return;
  const auto mine = [&](const Launch::Work& work) { return work.choice == choice; };
  auto at = std::find_if(launch.winners.begin(), launch.winners.end(), mine);
  if (at == launch.winners.end()) {
    const auto of = std::find_if(launch.regions.begin(), launch.regions.end(),
                                 [&](const Region& region) { return region.choice.get() == choice; });
    const core::Box& all = of == launch.regions.end() ? launch.space : of->box;
    at = launch.winners.insert(at, {choice, 0, all.volume(), Nanoseconds{0}});
  }
  at->points += slice.box.volume();
  at->time += times->duration();
}

// What it took to find out; and whether winners do what they were chosen for, of which short parts tell nothing.
void Engine::watch_winners(Launch& launch) {
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (!launch.probed[m] || !launch.choices[m] || !launch.began) continue;
    launch.choices[m]->selection.spent += core::seconds(members_[m].device->now() - *launch.began);
    launch.choices[m]->selection.done += launch.given[m];
  }
  if (!launch.tried.empty() && !launch.settled) return;  // what others do beside them differs
  for (const Launch::Work& work : launch.winners) {
    if (4 * work.points < work.of) continue;
    decide::Selection& selection = work.choice->selection;
    const auto winner = selection.winner;
    decide::watch(selection, core::seconds(work.time), work.points);
    if (!winner || selection.winner) continue;
    ++generation_;  // plans that rest on it
    work.choice->regions.clear(), work.choice->settled = false, work.choice->undivided = {};
    launch.report.notes.push_back(
        fmt::format("variant '{}' does not take the time that it was chosen for: all are compared again",
                    launch.ways[*winner].variant));
  }
}

}  // namespace heddle::engine

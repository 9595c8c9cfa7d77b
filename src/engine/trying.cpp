// Launches over different memories: who takes part is tried, and remembered.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fingerprint.hpp"
#include "core/parameters.hpp"
#include "engine/engine.hpp"
#include "profile/store.hpp"

namespace heddle::engine {

using device::host_memory;

namespace {

// Of a device in the store: parameters have names without dots.
std::string name_of(const device::Info& info) {
  std::string out = info.id;
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

}  // namespace

// Whether it is found out by trying who takes part: where devices have different memories, and nobody knows what
// copies cost.
bool Engine::tries_parts(const Launch& launch) const {
  const Wishes& wishes = launch.request.wishes;
  return members_.size() > 1 && !all_on_host_ && launch.undivided.empty() && wishes.parts.empty() && !wishes.spread &&
         wishes.tasks == 0 && wishes.profiling == Profiling::once;
}

// Under which the store knows what a launch in these parts took: the kernel, all devices, and all that makes its shape.
core::SampleKey Engine::key_of_parts(const Launch& launch, const decide::Parts& parts) const {
  if (!options_.store) return {};
  core::Fingerprint devices, scalars;
  core::Configuration shares;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const device::Info& info = members_[m].device->info();
    devices.add(info.fingerprint);
    if (m < parts.size()) shares.values.emplace_back(name_of(info), std::round(1e6 * parts[m]) / 1e6);
  }
  const Way& way = launch.ways.front();
  for (const auto& scalar : way.shape->scalars)
    scalars.add(std::string_view(reinterpret_cast<const char*>(scalar.data()), scalar.size()));
  for (std::int64_t offset : way.grid.offset) scalars.add(static_cast<unsigned long long>(offset));
  core::SampleKey out = key_of(launch, way, devices.hex());
  out.shape += " " + scalars.hex().substr(0, 16);
  out.parameters = core::to_string(shares);
  return out;
}

// What earlier runs of the program have settled on.
void Engine::recall_parts(const Launch& launch) const {
  const Shape& shape = *launch.ways.front().shape;
  if (!options_.store || std::exchange(shape.recalled, true)) return;
  const core::SampleKey like = key_of_parts(launch, {});
  std::string names;
  for (const Member& member : members_) names += (names.empty() ? "" : " and ") + member.device->info().name;
  options_.store->name(like.kernel, launch.name());
  options_.store->name(like.device, names);
  const core::History history = options_.store->load(like.kernel, like.device);
  // The fastest of those that were seen a few times.
  std::pair<bool, double> best{false, 0};
  for (const auto& [key, record] : history.records()) {
    if (key.shape != like.shape || key.variant != like.variant || record.samples.empty()) continue;
    decide::Parts parts(members_.size(), 0);
    try {
      const core::Configuration shares = core::parse_configuration(key.parameters);
      for (std::size_t m = 0; m < members_.size(); ++m) {
        const core::Value& value = shares.at(name_of(members_[m].device->info()));
        const auto* whole = std::get_if<std::int64_t>(&value);
        parts[m] = whole ? static_cast<double>(*whole) : std::get<double>(value);
      }
    } catch (const std::exception&) {
      continue;  // written by another version
    }
    const std::pair<bool, double> mine{record.aggregate.count >= 3, -record.median()};
    if (best.second != 0 && mine <= best) continue;
    best = mine;
    decide::recall(shape.experience, parts, 1e-9 * record.median() * static_cast<double>(launch.space.volume()));
  }
}

// The parts to try, or that are best; none: the primary does all.
decide::Next Engine::parts_to_try(Launch& launch) {
  const Way& way = launch.ways.front();
  const decide::Experience& experience = way.shape->experience;
  if (!tries_parts(launch)) return {};
  recall_parts(launch);
  if (!experience.recalled) {
    // What is short is not worth it; of what is longer, another may take all.
    const auto alone = decide::alone(experience, primary_);
    if (!alone || *alone < core::seconds(options_.shortest_slice)) return {};
  }
  // What different memories write cannot be joined: one of them does all, and looks come before it. That is not worth
  // moving everything for.
  launch.in_turn = launch.one_space && !can_be_joined(launch);
  if (launch.in_turn && members_[primary_].device->info().space == host_memory) return {};
  const auto has_all = [&](std::size_t m) {
    const MemorySpace space = members_[m].device->info().space;
    const auto uses = uses_of(launch);
    return std::all_of(uses.begin(), uses.end(), [&](const Slice::Use& use) {
      use.memory->settle();
      return use.memory->fresh(space).covers(use.touch.needed());
    });
  };
  decide::Candidates candidates{{}, primary_, steps_of(launch), launch.in_turn};
  const std::int64_t group = way.grid.local[0] * way.grid.local[1] * way.grid.local[2];
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Built& built = way.kernel->built[m];
    const bool boxed = way.kernel->cut_by() == CutBy::box;
    const device::Kernel* code = boxed ? built.box.get() : built.original.get();
    candidates.can.push_back(built.state == Built::State::ready && code && group <= code->limits().group &&
                             !members_[m].aside && !launch.excluded[m] && !launch.windowed[m] &&
                             (!launch.in_turn || m == primary_ || has_all(m)));
  }
  if (!candidates.can[primary_]) return {};
  decide::Next out = decide::next_parts(experience, candidates);
  // Beside others nothing can be tried.
  if (!out.settled && (!launch.undisturbed || way.shape->experience.pause > 0)) {
    way.shape->experience.pause -= way.shape->experience.pause > 0;
    return {};
  }
  if (launch.ways.size() == 1) return out;
  // Variants: not before the primary knows its best one; and while parts are tried, nobody finds out anything else.
  choose(launch);
  const auto knows = [](const Choice* choice) { return choice && choice->known(); };
  if (!knows(launch.choices[primary_])) return {};
  for (Choice*& choice : launch.choices) choice = out.settled || knows(choice) ? choice : nullptr;
  // All on the primary need not be told, and then it may have regions.
  if (out.settled && decide::all_on(primary_, members_.size()) == out.parts) out.parts.clear();
  return out;
}

// What a launch that is over has shown of its parts; where the host reads results, as soon as they are there.
void Engine::note_parts(const Launch& launch) {
  const bool compared = std::find(launch.probed.begin(), launch.probed.end(), true) != launch.probed.end();
  if (!tries_parts(launch) || launch.failure || compared) return;
  const Shape& shape = *launch.ways.front().shape;
  decide::Parts parts;
  for (std::int64_t points : launch.given)
    parts.push_back(static_cast<double>(points) / static_cast<double>(launch.space.volume()));
  // Somebody else had to do it, or it was done again.
  bool as_meant = launch.report.retries == 0;
  const double rounded = 1.0 / static_cast<double>(steps_of(launch));  // the last step may be shorter
  for (std::size_t m = 0; m < launch.tried.size(); ++m) {
    const bool did = (parts[m] > 0) == (launch.tried[m] > 0) && std::abs(parts[m] - launch.tried[m]) <= rounded;
    as_meant &= did;
    if (launch.tried[m] > 0 && (!did || launch.report.retries > 0)) decide::note_failure(shape.experience, m);
  }
  const bool by_one = std::count(parts.begin(), parts.end(), 1.0) == 1;
  if (!as_meant || (launch.tried.empty() && !by_one)) return;
  if (!launch.undisturbed || active_.size() > 1 || !launch.timed_fairly) {
    if (!launch.tried.empty() && !launch.settled) decide::note_lost(shape.experience);
    return;
  }
  Returning out{launch.ways.front().shape,
                launch.tried.empty() ? parts : launch.tried,
                launch.ready,
                launch.report.submitted,
                {},
                {},
                launch.space.volume()};
  for (const auto& gather : gathers_) {
    for (std::size_t i = 0; i < launch.request.arguments.size(); ++i) {
      const auto* view = std::get_if<View>(&launch.request.arguments[i]);
      if (view && view->memory == gather->memory && !launch.whole[i].written.empty()) {
        out.awaited.push_back(gather.get());
        break;
      }
    }
  }
  const auto open = [](const Choice* choice) { return choice && !choice->selection.winner; };
  if (launch.settled && std::none_of(launch.choices.begin(), launch.choices.end(), open))
    out.key = key_of_parts(launch, out.parts);
  if (out.awaited.empty()) return finish(out);
  returning_.push_back(std::move(out));
}

// A copy to the host has ended, or never will.
void Engine::returned(const Gather& gather) {
  const Nanoseconds now = members_[gather.member].device->now();
  for (const auto& launch : active_) {
    const auto& arguments = launch->request.arguments;
    const bool its =
        launch->given[gather.member] > 0 && std::any_of(arguments.begin(), arguments.end(), [&](const Argument& a) {
          const auto* view = std::get_if<View>(&a);
          return view && view->memory == gather.memory;
        });
    if (its) launch->ready[gather.member] = std::max(launch->ready[gather.member], now);
  }
  std::erase_if(returning_, [&](Returning& one) {
    if (std::erase(one.awaited, &gather) == 0) return false;
    one.ready[gather.member] = std::max(one.ready[gather.member], now);
    if (!one.awaited.empty()) return false;
    finish(one);
    return true;
  });
}

void Engine::finish(const Returning& one) {
  std::vector<double> ready;
  for (std::size_t m = 0; m < one.ready.size(); ++m)
    ready.push_back(one.parts[m] > 0 ? std::max(1e-9, core::seconds(one.ready[m] - one.submitted)) : 0);
  const double seconds = *std::max_element(ready.begin(), ready.end());
  decide::note(one.shape->experience, one.parts, ready, seconds);
  if (options_.store && !one.key.kernel.empty())
    options_.store->add(one.key, {.points = one.points, .duration = Nanoseconds(std::llround(1e9 * seconds))});
}

}  // namespace heddle::engine

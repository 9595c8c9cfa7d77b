// Launches over different memories: who takes part is tried, and remembered.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fingerprint.hpp"
#include "core/parameters.hpp"
#include "engine/engine.hpp"
#include "profile/store.hpp"

namespace heddle::engine {

// Whether it is found out by trying who takes part: where devices have different memories, and nobody knows what
// copies cost.
bool Engine::tries_parts(const Launch& launch) const {
  const Wishes& wishes = launch.request.wishes;
  return members_.size() > 1 && !all_on_host_ && launch.ways.size() == 1 && launch.undivided.empty() &&
         !launch.one_space && wishes.parts.empty() && !wishes.spread && wishes.tasks == 0 &&
         wishes.profiling == Profiling::once &&
         std::none_of(members_.begin(), members_.end(), [](const Member& member) { return member.link.in > 0; });
}

// Under which the store knows what a launch in these parts took: the kernel, all devices, and the shape.
core::SampleKey Engine::key_of_parts(const Launch& launch, const decide::Parts& parts) const {
  if (!options_.store) return {};
  core::Fingerprint devices;
  core::Configuration shares;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const device::Info& info = members_[m].device->info();
    devices.add(info.fingerprint);
    if (m < parts.size()) shares.values.emplace_back(info.id, std::round(1e6 * parts[m]) / 1e6);
  }
  core::SampleKey out = key_of(launch, launch.ways.front(), devices.hex());
  out.parameters = core::to_string(shares);
  return out;
}

// What earlier runs of the program found out.
void Engine::recall_parts(const Launch& launch) const {
  const Shape& shape = *launch.ways.front().shape;
  if (!options_.store || std::exchange(shape.recalled, true)) return;
  const core::SampleKey like = key_of_parts(launch, {});
  std::string names;
  for (const Member& member : members_) names += (names.empty() ? "" : " and ") + member.device->info().name;
  options_.store->name(like.kernel, launch.name());
  options_.store->name(like.device, names);
  const core::History history = options_.store->load(like.kernel, like.device);
  for (const auto& [key, record] : history.records()) {
    if (key.shape != like.shape || key.variant != like.variant || record.samples.empty()) continue;
    decide::Parts parts(members_.size(), 0);
    try {
      const core::Configuration shares = core::parse_configuration(key.parameters);
      for (std::size_t m = 0; m < members_.size(); ++m) {
        const core::Value& value = shares.at(members_[m].device->info().id);
        const auto* whole = std::get_if<std::int64_t>(&value);
        parts[m] = whole ? static_cast<double>(*whole) : std::get<double>(value);
      }
    } catch (const std::exception&) {
      continue;  // written by another version
    }
    decide::recall(shape.experience, parts, 1e-9 * record.median() * static_cast<double>(launch.space.volume()),
                   static_cast<int>(std::min<std::int64_t>(2, record.aggregate.count)));
  }
}

// The parts to try, or that are best; none: the primary does all.
decide::Parts Engine::parts_to_try(const Launch& launch) const {
  const Way& way = launch.ways.front();
  const decide::Experience& experience = way.shape->experience;
  if (!tries_parts(launch) || !launch.undisturbed) return {};
  recall_parts(launch);
  if (experience.outcomes.empty()) return {};
  // What is short is not worth it.
  if (experience.outcomes.front().seconds < 4 * core::seconds(options_.shortest_slice)) return {};
  decide::Candidates candidates{{}, primary_, steps_of(launch)};
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Built& built = way.kernel->built[m];
    const bool can_cut = way.kernel->cut_by() != CutBy::box || built.box;
    candidates.can.push_back(built.state == Built::State::ready && can_cut && !members_[m].aside &&
                             !launch.excluded[m] && !launch.windowed[m]);
  }
  if (!candidates.can[primary_]) return {};
  return decide::next_parts(experience, candidates);
}

// What a launch that is over has shown of its parts; where the host reads results, as soon as they are there.
void Engine::note_parts(const Launch& launch) {
  if (!tries_parts(launch) || !launch.undisturbed || active_.size() > 1 || launch.failure ||
      launch.report.retries > 0 || !launch.timed_fairly)
    return;
  Returning out{launch.ways.front().shape, launch.tried, launch.ready, launch.report.submitted, {}, {}, 0};
  decide::Parts parts;
  for (std::int64_t points : launch.given)
    parts.push_back(static_cast<double>(points) / static_cast<double>(launch.space.volume()));
  if (out.parts.empty()) out.parts = parts;
  const double rounded = 1.0 / static_cast<double>(steps_of(launch));  // the last step may be shorter
  for (std::size_t m = 0; m < parts.size(); ++m) {
    if (std::abs(parts[m] - out.parts[m]) > rounded) return;  // somebody else had to do it
  }
  for (const Argument& argument : launch.request.arguments) {
    if (const auto* view = std::get_if<View>(&argument)) out.memories.push_back(view->memory.get());
  }
  out.key = key_of_parts(launch, out.parts), out.points = launch.space.volume();
  returning_.push_back(std::move(out));
  finish_returning();
}

void Engine::returned(const Gather& gather) {
  for (Returning& one : returning_) {
    if (std::find(one.memories.begin(), one.memories.end(), gather.memory.get()) == one.memories.end()) continue;
    one.ready[gather.member] = std::max(one.ready[gather.member], members_[gather.member].device->now());
  }
  finish_returning();
}

void Engine::finish_returning() {
  std::erase_if(returning_, [&](const Returning& one) {
    const auto its = [&](const std::shared_ptr<Gather>& gather) {
      return std::find(one.memories.begin(), one.memories.end(), gather->memory.get()) != one.memories.end();
    };
    if (std::any_of(gathers_.begin(), gathers_.end(), its)) return false;
    std::vector<double> ready;
    for (std::size_t m = 0; m < one.ready.size(); ++m)
      ready.push_back(one.parts[m] > 0 ? core::seconds(one.ready[m] - one.submitted) : 0);
    const double seconds = *std::max_element(ready.begin(), ready.end());
    decide::note(one.shape->experience, one.parts, ready, seconds);
    if (options_.store && !one.key.kernel.empty())
      options_.store->add(one.key, {.points = one.points, .duration = Nanoseconds(std::llround(1e9 * seconds))});
    return true;
  });
}

}  // namespace heddle::engine

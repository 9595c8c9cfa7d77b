// What devices in different memories have changed, where nobody knows exactly what they write: found by comparing with
// what was there before, and put into the host's copy.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/answers.hpp"
#include "core/box_form.hpp"
#include "engine/engine.hpp"

namespace heddle::engine {

using core::Merge;
using device::host_memory;

namespace {

template <class Word>
Word word_at(const std::byte* at) {
  Word out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

// Devices in the host's memory may be at work there: on other words, or on the same ones by atomics.
template <class Word, class Put>
void take_words(std::span<const std::byte> before, std::span<const std::byte> after, std::span<std::byte> host,
                const Put& put) {
  constexpr std::size_t block = 4096;
  for (std::size_t b = 0; b < after.size(); b += block) {
    const std::size_t end = std::min(b + block, after.size());
    if (std::memcmp(before.data() + b, after.data() + b, end - b) == 0) continue;
    for (std::size_t i = b; i < end; i += sizeof(Word)) {
      const auto was = word_at<Word>(before.data() + i), is = word_at<Word>(after.data() + i);
      if (was == is) continue;
      std::atomic_ref<Word> there(*reinterpret_cast<Word*>(host.data() + i));
      put(there, was, is);
    }
  }
}

template <class Word>
void take_words(std::span<const std::byte> before, std::span<const std::byte> after, std::span<std::byte> host,
                const std::string& atomics) {
  constexpr auto relaxed = std::memory_order_relaxed;
  using There = std::atomic_ref<Word>&;
  const auto with = [&](const auto& put) { take_words<Word>(before, after, host, put); };
  if (atomics.empty()) return with([](There there, Word, Word is) { there.store(is, relaxed); });
  if (atomics == "add")
    return with([](There there, Word was, Word is) { there.fetch_add(static_cast<Word>(is - was), relaxed); });
  if (atomics == "xor")
    return with([](There there, Word was, Word is) { there.fetch_xor(static_cast<Word>(is ^ was), relaxed); });
  if (atomics == "and") return with([](There there, Word, Word is) { there.fetch_and(is, relaxed); });
  if (atomics == "or") return with([](There there, Word, Word is) { there.fetch_or(is, relaxed); });
  const auto first = [&](const auto& before_it) {
    with([&](There there, Word, Word is) {
      Word now = there.load(relaxed);
      while (before_it(is, now) && !there.compare_exchange_weak(now, is, relaxed)) {
      }
    });
  };
  using Signed = std::make_signed_t<Word>;
  if (atomics == "unsigned_min") return first([](Word a, Word b) { return a < b; });
  if (atomics == "unsigned_max") return first([](Word a, Word b) { return a > b; });
  if (atomics == "signed_min") return first([](Word a, Word b) { return Signed(a) < Signed(b); });
  first([](Word a, Word b) { return Signed(a) > Signed(b); });
}

}  // namespace

void Join::keep() {
  before = allocate_host(memory->size());
  for (const Span& span : bytes.spans()) {
    const auto from = memory->host().part(span);
    std::memcpy(before.part(span).data(), from.data(), from.size());
  }
}

void Join::take(const HostBlock& after, const SpanSet& where) const {
  for (Span span : where.spans()) {
    // A sum is never cut: what is no whole word, nobody has added to.
    if (!atomics.empty()) span = {(span.begin + width - 1) / width * width, span.end / width * width};
    if (span.empty()) continue;
    const auto was = before.part(span), is = after.part(span), host = memory->host().part(span);
    switch (std::gcd(std::gcd(width, span.begin), span.end)) {
      case 8:
        take_words<std::uint64_t>(was, is, host, atomics);
        break;
      case 4:
        take_words<std::uint32_t>(was, is, host, atomics);
        break;
      case 2:
        take_words<std::uint16_t>(was, is, host, atomics);
        break;
      default:
        take_words<std::uint8_t>(was, is, host, atomics);
    }
  }
}

std::vector<Join> Engine::joins_of(const Launch& launch, const std::vector<core::Box>& parts) const {
  // What is exact as a whole may have too many pieces in a part to be so.
  std::vector<const Memory*> inexact;
  for (const Way& way : launch.ways) {
    if (way.preparation || !way.shape || (way.shape->one_space && way.shape->merges.empty())) return {};
    for (const core::Box& part : parts) {
      if (part.empty()) continue;
      const auto touches = way.kernel->touches(*way.shape, way.groups(part));
      for (const Slice::Use& use : uses_of(launch.request.arguments, touches)) {
        if (!use.touch.exact) inexact.push_back(use.memory.get());
      }
    }
  }
  std::vector<Join> out;
  Bytes all = 0;
  for (const Slice::Use& use : uses_of(launch)) {
    all += use.memory->size();
    const bool exact = std::find(inexact.begin(), inexact.end(), use.memory.get()) == inexact.end();
    // Variants leave smaller pieces, and compare on some: what is exact in a part need not be so in those.
    if ((use.touch.exact && exact && launch.ways.size() == 1) || use.touch.written.empty()) continue;
    Join join{.memory = use.memory, .bytes = use.touch.all()};
    bool first = true;
    for (const Way& way : launch.ways) {
      const core::KernelFacts& facts = *way.kernel->facts();
      for (std::size_t i = 0; i < launch.request.arguments.size(); ++i) {
        const auto* view = std::get_if<View>(&launch.request.arguments[i]);
        if (!view || view->memory != use.memory) continue;
        // What atomics change must not be read, nor written in another way, by whatever variant.
        const bool by_atomics = way.shape->one_space && way.shape->merges[i] == Merge::deltas;
        const std::string atomics = by_atomics ? core::atomic_merge(facts, i) : "";
        const std::int64_t width = core::store_width(facts, i);
        if (!std::exchange(first, false) && join.atomics != atomics) return {};
        if (by_atomics && (width < 4 || (join.width != 0 && join.width != width) || view->begin % width != 0))
          return {};
        join.atomics = atomics;
        join.width = std::gcd(std::gcd(join.width, width), static_cast<std::int64_t>(view->begin));
      }
    }
    const auto address = reinterpret_cast<std::uintptr_t>(use.memory->host().bytes.data());
    if (join.width == 0 || address % static_cast<std::uintptr_t>(join.width) != 0) return {};
    out.push_back(std::move(join));
  }
  // Windows bring back all that they hold.
  for (const Member& member : members_) {
    if (member.device->info().space != host_memory && member.room->limit() < all) return {};
  }
  return out;
}

bool Engine::can_be_joined(const Launch& launch) const {
  core::Box first = launch.space, second = launch.space;
  const auto axis = static_cast<std::size_t>(launch.axis);
  const std::int64_t step = step_of(launch), half = steps_of(launch) / 2 * step;
  first.end[axis] = second.begin[axis] = std::min(launch.space.begin[axis] + half, launch.space.end[axis]);
  return !joins_of(launch, {first, second}).empty();
}

bool Engine::join_parts(Launch& launch, const std::vector<core::Box>& parts) {
  std::optional<MemorySpace> first;
  bool several = false;
  for (std::size_t m = 0; m < parts.size(); ++m) {
    if (parts[m].empty()) continue;
    const MemorySpace space = members_[m].device->info().space;
    several |= first.value_or(space) != space;
    first = space;
  }
  if (!several) return true;
  launch.joins = joins_of(launch, parts);
  if (launch.joins.empty()) return false;
  launch.one_space = false;
  launch.tasks = 1;  // each of them would begin with what was there before, and end with comparing
  launch.merger = merger_of(launch);
  launch.report.notes.push_back(fmt::format("what parts in different memories have changed is joined on the host{}",
                                            launch.merger ? ", by computing again where they have written" : ""));
  return true;
}

namespace {

// Whether the facts allow it, and all that decides on places is in the host's memory.
bool can_be_merged(const Launch& launch, const Way& way) {
  const auto& merges = way.shape->merges;
  // What nobody needs must be dropped: on what is not there it may divide by zero.
  if (way.kernel->source().options.find("-cl-opt-disable") != std::string::npos) return false;
  if (std::find(merges.begin(), merges.end(), Merge::merge_kernel) == merges.end() || !core::fits_box_form(way.grid))
    return false;
  const std::vector<int> deciding = core::sources_of_addresses(*way.kernel->facts());
  for (const Slice::Use& use : uses_of(launch)) {
    int arguments = 0;
    bool decides = false;
    for (std::size_t i = 0; i < launch.request.arguments.size(); ++i) {
      const auto* view = std::get_if<View>(&launch.request.arguments[i]);
      if (!view || view->memory != use.memory) continue;
      ++arguments;
      decides |= std::find(deciding.begin(), deciding.end(), static_cast<int>(i)) != deciding.end();
    }
    if (!use.touch.written.empty() && arguments > 1) return false;
    // What is also read must not change before all have begun with it.
    if (use.touch.in_place()) return false;
    use.memory->settle();
    if (decides && (!use.memory->fresh(host_memory).covers(use.touch.read) ||
                    !use.memory->pending(host_memory, use.touch.read).empty()))
      return false;
  }
  return true;
}

}  // namespace

// The forms are built meanwhile, for the next launch; a device may take any variant.
std::optional<std::size_t> Engine::merger_of(const Launch& launch) {
  if (!copier_) return std::nullopt;  // fake devices have no other forms
  constexpr std::size_t most = 8;     // ways: a form of each has to be built
  if (launch.ways.size() > most) return std::nullopt;
  for (const Way& way : launch.ways) {
    if (!can_be_merged(launch, way)) return std::nullopt;
  }
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (members_[m].device->info().space != host_memory || members_[m].aside || launch.excluded[m]) continue;
    bool ready = true;
    for (const Way& way : launch.ways) {
      const RareForm& form = way.kernel->built[m].merging;
      const std::int64_t group = way.grid.local[0] * way.grid.local[1] * way.grid.local[2];
      ready &= way.kernel->built[m].state == Built::State::ready && begin_form(way.kernel, m, "merge") &&
               form.state == RareForm::State::ready && group <= form.kernel->limits().group;
    }
    if (ready) return m;
  }
  return std::nullopt;
}

namespace {
constexpr std::int64_t at_once = std::int64_t{4} << 20;  // a multiple of every width
}

bool Engine::joins_aside(const Slice& slice) const {
  std::int64_t bytes = 0;
  for (const Slice::Use& use : slice.uses) bytes += use.after.bytes.empty() ? 0 : use.touch.written.size();
  return copier_ && bytes > 0 && (slice.launch->merger || bytes > at_once);  // less is compared sooner than handed over
}

// What a slice has left on the host is joined with what is there: by several cores, and not under the lock.
core::Status Engine::begin_joining(const std::shared_ptr<Slice>& slice) {
  if (slice->launch->merger) return begin_merging(*slice);
  struct Rest {
    std::atomic<int> jobs = 1;
    HostEvent done;
    void one_done() {
      if (--jobs == 0) done.complete(core::Done{});
    }
  };
  const auto rest = std::make_shared<Rest>();
  for (std::size_t u = 0; u < slice->uses.size(); ++u) {
    const Slice::Use& use = slice->uses[u];
    if (use.after.bytes.empty()) continue;
    for (const Span& span : use.touch.written.spans()) {
      for (std::int64_t begin = span.begin; begin < span.end; begin = (begin / at_once + 1) * at_once) {
        const Span part{begin, std::min(span.end, (begin / at_once + 1) * at_once)};
        ++rest->jobs;
        copier_->run([rest, slice, join = slice->launch->join_of(*use.memory), after = use.after, part] {
          join->take(after, SpanSet(part));
          rest->one_done();
        });
      }
    }
  }
  slice->fetching.push_back(std::shared_ptr<device::EventState>(rest, &rest->done));
  rest->one_done();
  return core::Done{};
}

core::Status Engine::begin_merging(Slice& slice) {
  const Launch& launch = *slice.launch;
  const Way& way = launch.ways[slice.way];
  Member& member = members_[*launch.merger];
  std::vector<device::Argument> arguments, others;
  for (std::size_t i = 0; i < launch.request.arguments.size(); ++i) {
    const Argument& argument = launch.request.arguments[i];
    const auto* view = std::get_if<View>(&argument);
    if (!view) {
      const auto* scalar = std::get_if<device::Scalar>(&argument);
      arguments.push_back(scalar ? device::Argument(*scalar) : std::get<device::LocalMemory>(argument));
      continue;
    }
    auto here = view->memory->buffer(*launch.merger, *member.room, view->begin, view->size);
    if (!here) return here.failure();
    arguments.push_back(device::BufferArgument{*here});
    if (!core::windowed(way.kernel->facts()->arguments[i])) continue;
    const auto use = std::find_if(slice.uses.begin(), slice.uses.end(),
                                  [&](const Slice::Use& u) { return u.memory == view->memory; });
    const bool merged = !use->after.bytes.empty();
    if (merged) {
      slice.merged.push_back(std::make_shared<Memory>(use->after));
      here = slice.merged.back()->buffer(*launch.merger, *member.room, view->begin, view->size);
      if (!here) return here.failure();
    }
    others.push_back(device::BufferArgument{*here});
    others.push_back(device::scalar(std::uint64_t{merged ? view->size : 0}));
  }
  const core::BoxLaunch boxed = core::box_launch(way.grid, way.groups(slice.box));
  const auto& [base, count, groups, offset] = boxed.arguments;
  for (const core::HiddenArgument& hidden : {base, count, groups, offset}) arguments.push_back(device::scalar(hidden));
  arguments.insert(arguments.end(), others.begin(), others.end());
  device::Queue& queue = *member.lanes.front().queue;
  device::Kernel& code = *way.kernel->built[*launch.merger].merging.kernel;
  auto merging = queue.launch({code, arguments, boxed.range}, {});
  if (!merging) return merging.failure();
  slice.first |= first_of(code, boxed.range);
  slice.fetching.push_back(*merging);
  (void)queue.flush();  // what is wrong will show at its end
  return core::Done{};
}

// What was taken so far is right, but not all of it: it is computed once more, in the host's memory.
void Engine::fail_merging(Slice& slice, const core::Failure& failure) {
  Launch& launch = *slice.launch;
  launch.ways[slice.way].kernel->built[*launch.merger].merging.state = RareForm::State::failed;
  if (failure.kind != core::FailureKind::allocation && failure.kind != core::FailureKind::unsupported)
    count_failure(*launch.merger, failure);
  for (std::size_t m = 0; m < members_.size(); ++m)
    launch.excluded[m] = launch.excluded[m] || members_[m].device->info().space != host_memory;
  slice.spoilt = true;  // by nothing that its own device did
  fail(slice, failure);
}

bool Engine::keep_before(const Slice& slice) {
  Launch& launch = *slice.launch;
  try {
    for (const Slice::Use& use : slice.uses) {
      Join* join = launch.merger ? nullptr : launch.join_of(*use.memory);
      if (join && join->before.bytes.empty()) join->keep();
    }
    return true;
  } catch (const std::bad_alloc&) {
    const std::string what = "too little memory on the host to join what different memories change";
    if (launch.in_flight.size() > 1) {  // some wait in other memories for their turn
      launch.failure = core::Failure{core::FailureKind::allocation, what, ""};
      return false;
    }
    // All of it goes where this one does.
    launch.joins.clear();
    launch.one_space = true;
    launch.home = members_[slice.member].device->info().space;
    launch.report.notes.push_back(what);
    return true;
  }
}

}  // namespace heddle::engine

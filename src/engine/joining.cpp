// What devices in different memories have changed, where nobody knows exactly what they write: found by comparing with
// what was there before, and put into the host's copy.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/answers.hpp"
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
  const Way& way = launch.ways.front();
  if (launch.ways.size() > 1 || !way.shape || way.shape->merges.empty()) return {};
  // What is exact as a whole may have too many pieces in a part to be so.
  std::vector<const Memory*> inexact;
  for (const core::Box& part : parts) {
    if (part.empty()) continue;
    for (const Slice::Use& use : uses_of(launch.request.arguments, way.kernel->touches(*way.shape, way.groups(part)))) {
      if (!use.touch.exact) inexact.push_back(use.memory.get());
    }
  }
  std::vector<Join> out;
  Bytes all = 0;
  for (const Slice::Use& use : uses_of(launch)) {
    all += use.memory->size();
    const bool exact = std::find(inexact.begin(), inexact.end(), use.memory.get()) == inexact.end();
    if ((use.touch.exact && exact) || use.touch.written.empty()) continue;
    Join join{.memory = use.memory, .bytes = use.touch.all()};
    bool first = true;
    for (std::size_t i = 0; i < launch.request.arguments.size(); ++i) {
      const auto* view = std::get_if<View>(&launch.request.arguments[i]);
      if (!view || view->memory != use.memory) continue;
      // What atomics change must not be read, nor written in another way.
      const core::KernelFacts& facts = *way.kernel->facts();
      const bool by_atomics = way.shape->merges[i] == Merge::deltas;
      const std::string atomics = by_atomics ? core::atomic_merge(facts, i) : "";
      const std::int64_t width = core::store_width(facts, i);
      if (!std::exchange(first, false) && join.atomics != atomics) return {};
      if (by_atomics && (width < 4 || (join.width != 0 && join.width != width) || view->begin % width != 0)) return {};
      join.atomics = atomics;
      join.width = std::gcd(std::gcd(join.width, width), static_cast<std::int64_t>(view->begin));
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
  launch.report.notes.push_back("what parts in different memories have changed is joined on the host");
  return true;
}

bool Engine::keep_before(const Slice& slice) {
  Launch& launch = *slice.launch;
  try {
    for (const Slice::Use& use : slice.uses) {
      if (Join* join = launch.join_of(*use.memory); join && join->before.bytes.empty()) join->keep();
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

// Private memories for parts that rivals compute again although that would change the program's.
#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "engine/engine.hpp"

namespace heddle::engine {

namespace {

// Bytes that may be copied for one part: an eighth of what the launch touches, as each rival copies them again; or few.
constexpr Bytes always = Bytes{1} << 20, never_more = Bytes{64} << 20;

Bytes size_of(const std::vector<Aside::Copy>& copies) {
  Bytes out = 0;
  for (const Aside::Copy& copy : copies) out += static_cast<Bytes>(copy.bytes.size());
  return out;
}

// Copies between the bytes in their memory and the same, one after the other.
template <class Move>
void for_each_span(const Aside::Copy& copy, const Memory& memory, const Move& move) {
  std::size_t at = 0;
  for (const Span& span : copy.bytes.spans()) {
    const std::span<std::byte> there = memory.host().part(span);
    move(there, copy.before.bytes.subspan(at, there.size()));
    at += there.size();
  }
}

}  // namespace

const std::shared_ptr<Memory>& Aside::instead_of(const std::shared_ptr<Memory>& memory) const {
  const auto at = std::find_if(copies.begin(), copies.end(), [&](const Copy& copy) { return copy.of == memory; });
  return at == copies.end() ? memory : at->instead;
}

Bytes Aside::size() const { return size_of(copies); }

void Aside::fill() const {
  for (const Copy& copy : copies) {
    for_each_span(copy, *copy.instead, [](std::span<std::byte> there, std::span<std::byte> before) {
      std::memcpy(there.data(), before.data(), there.size());
    });
  }
}

std::vector<Aside::Copy> copies_for(const Launch& launch, const core::Box& box) {
  std::vector<Aside::Copy> out;
  for (const Slice::Use& use : uses_of(launch)) {
    if (!use.touch.written.empty()) out.push_back({.of = use.memory});
  }
  for (const Way& way : launch.ways) {
    for (const Slice::Use& use : uses_of(launch.request.arguments, way.kernel->touches(*way.shape, way.groups(box)))) {
      for (Aside::Copy& copy : out) {
        if (copy.of == use.memory) copy.bytes.add(use.touch.read), copy.bytes.add(use.touch.written);
      }
    }
  }
  return out;
}

bool can_be_copied(const Launch& launch, const std::vector<Aside::Copy>& copies) {
  Bytes all = 0;
  for (const Slice::Use& use : uses_of(launch)) {
    SpanSet touched = use.touch.read;
    touched.add(use.touch.written);
    all += static_cast<Bytes>(touched.size());
  }
  return size_of(copies) <= std::clamp(all / 8, always, never_more);
}

bool writes_to(const Launch& launch, const Way& way, const core::Box& box, const std::vector<Aside::Copy>& copies) {
  for (const Slice::Use& use : uses_of(launch.request.arguments, way.kernel->touches(*way.shape, way.groups(box)))) {
    for (const Aside::Copy& copy : copies) {
      if (copy.of == use.memory && copy.bytes.meets(use.touch.written)) return true;
    }
  }
  return false;
}

// What is there before a part is computed, and memories to compute it again in.
std::shared_ptr<Aside> Engine::copy_aside(Launch& launch, const core::Box& box) {
  auto out = std::make_shared<Aside>(Aside{box, copies_for(launch, box)});
  if (!can_be_copied(launch, out->copies)) return nullptr;
  // Nobody may write meanwhile what is copied.
  for (const auto& other : launch.in_flight) {
    if (!other->apart && writes_to(launch, launch.ways[other->way], other->box, out->copies)) return nullptr;
  }
  try {
    for (Aside::Copy& copy : out->copies) {
      copy.before = host_block(std::max<Bytes>(1, static_cast<Bytes>(copy.bytes.size())), false);
      copy.instead = std::make_shared<Memory>(host_block(copy.of->size(), false));
      for_each_span(copy, *copy.of, [](std::span<std::byte> there, std::span<std::byte> before) {
        std::memcpy(before.data(), there.data(), there.size());
      });
    }
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  launch.report.notes.push_back(fmt::format("variants compute {} on copies of {} bytes: again, it would change them",
                                            core::to_string(box), out->size()));
  return out;
}

void Engine::drop_aside(Slice& slice) {
  std::shared_ptr<Aside>& aside = slice.launch->asides[slice.member];
  if (!aside || !slice.choice) return;
  const auto next = decide::next_probe(slice.choice->selection, slice.probe->of, slice.launch->number);
  if (!next || !next->repeat) aside.reset();
}

}  // namespace heddle::engine

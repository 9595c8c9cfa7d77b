// Freshness by memory space, buffers by device.
#include "engine/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>

#include <fmt/format.h>

namespace heddle::engine {

HostBlock allocate_host(Bytes size) {
  constexpr std::size_t page = 4096;
  void* bytes = std::aligned_alloc(page, (size + page - 1) / page * page);
  if (!bytes) throw std::bad_alloc();
  return {{static_cast<std::byte*>(bytes), size}, false, std::shared_ptr<void>(bytes, [](void* p) { std::free(p); })};
}

void keep_for_good(std::shared_ptr<void> what) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  std::lock_guard hold(mutex);
  kept.push_back(std::move(what));
}

const SpanSet& Memory::fresh(MemorySpace space) const {
  static const SpanSet none;
  const auto at = places_.find(space);
  return at == places_.end() ? none : at->second.fresh;
}

void Memory::settle() {
  for (auto& [space, place] : places_) {
    std::erase_if(place.arriving, [&place = place](const Arrival& a) {
      if (!a.event->done()) return false;
      if (!a.event->wait()) place.fresh.remove(a.span);
      return true;
    });
  }
}

std::vector<device::Event> Memory::pending(MemorySpace space, const SpanSet& bytes) const {
  std::vector<device::Event> out;
  const auto at = places_.find(space);
  if (at == places_.end()) return out;
  for (const Arrival& a : at->second.arriving) {
    if (bytes.meets(SpanSet(a.span))) out.push_back(a.event);
  }
  return out;
}

bool Memory::is_fresh_anywhere(const SpanSet& bytes) const {
  SpanSet missing = bytes;
  for (const auto& [space, place] : places_) missing.remove(place.fresh);
  return missing.empty();
}

std::vector<MemorySpace> Memory::spaces() const {
  std::vector<MemorySpace> out;
  for (const auto& [space, place] : places_) {
    if (!place.fresh.empty()) out.push_back(space);
  }
  return out;
}

void Memory::arrives(MemorySpace space, const Span& bytes, device::Event event) {
  Place& place = places_[space];
  place.fresh.add(bytes);
  place.arriving.push_back({bytes, std::move(event)});
}

void Memory::expect(MemorySpace space, const void* by, const Span& bytes) {
  places_[space].expected.emplace_back(by, SpanSet(bytes));
}

SpanSet Memory::expect_no_more(MemorySpace space, const void* by) {
  auto& all = places_[space].expected;
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == by; });
  if (at == all.end()) return {};
  SpanSet out = std::move(at->second);
  all.erase(at);
  return out;
}

bool Memory::expects(MemorySpace space, const SpanSet& bytes) const {
  const auto at = places_.find(space);
  return at != places_.end() && std::any_of(at->second.expected.begin(), at->second.expected.end(),
                                            [&](const auto& one) { return one.second.meets(bytes); });
}

void Memory::abandon(MemorySpace space, const device::Event& event) {
  std::erase_if(places_[space].arriving, [&](const Arrival& a) { return a.event == event; });
}

void Memory::forget(MemorySpace space, const SpanSet& bytes) { places_[space].fresh.remove(bytes); }

void Memory::written(MemorySpace space, const SpanSet& bytes) {
  for (auto& [other, place] : places_) {
    if (other == space) continue;
    place.fresh.remove(bytes);
    for (auto& [by, coming] : place.expected) coming.remove(bytes);
  }
  places_[space].fresh.add(bytes);
}

void Memory::copied(MemorySpace space, const SpanSet& bytes) { places_[space].fresh.add(bytes); }

core::Result<std::shared_ptr<device::Buffer>> Room::allocate(Bytes size) const {
  if (size > free())
    return core::Failure{core::FailureKind::allocation,
                         fmt::format("{} bytes asked for, {} of {} are free", size, free(), limit_), ""};
  auto made = device_.allocate(size);
  if (!made) return made.failure();
  *used_ += size;
  return std::shared_ptr<device::Buffer>(made->release(), [size, used = used_](device::Buffer* buffer) {
    delete buffer;
    *used -= size;
  });
}

core::Result<std::shared_ptr<device::Buffer>> Room::wrap(std::span<std::byte> bytes) const {
  auto made = device_.wrap(bytes);
  if (!made) return made.failure();
  return std::shared_ptr<device::Buffer>(std::move(*made));
}

core::Result<device::Buffer*> Memory::buffer(std::size_t member, const Room& room, Bytes begin, Bytes size) {
  Buffers& mine = buffers_[member];
  if (!mine.whole) {
    mine.own = room.device().info().space != device::host_memory;
    auto whole = mine.own ? room.allocate(this->size()) : room.wrap(host_.bytes);
    if (!whole) return whole.failure();
    mine.whole = std::move(*whole);
  }
  if (begin == 0 && size == this->size()) return mine.whole.get();
  auto& part = mine.parts[{begin, size}];
  if (!part) {
    auto made = room.device().part(*mine.whole, begin, size);
    if (!made) return made.failure();
    part = std::move(*made);
  }
  return part.get();
}

Memory::Memory(HostBlock host, std::size_t member, MemorySpace space, std::shared_ptr<device::Buffer> buffer)
    : home(member), host_(std::move(host)) {
  places_[space].fresh.add(all());
  buffers_[member] = {std::move(buffer), {}, space != device::host_memory};
}

void Memory::drop_buffers(std::size_t member) {
  if (!adopted(member)) buffers_.erase(member);
}

void Memory::leak_buffers(std::size_t member) {
  if (const auto at = buffers_.find(member); at != buffers_.end()) {
    keep_for_good(std::make_shared<Buffers>(std::move(at->second)));
    buffers_.erase(at);
  }
}

Bytes Memory::device_bytes(std::size_t member) const {
  const auto at = buffers_.find(member);
  return at != buffers_.end() && at->second.own && at->second.whole ? size() : 0;
}

}  // namespace heddle::engine

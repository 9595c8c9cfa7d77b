// A buffer as the program sees it, and which of its bytes are fresh in which memory space. Devices that share the
// host's memory work on the host's copy itself. Everything here is the engine's to call, under its lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/spans.hpp"
#include "device/device.hpp"

namespace heddle::engine {

using core::Bytes;
using core::Span;
using core::SpanSet;
using device::MemorySpace;

class Launch;

// Host memory and whatever keeps it alive: our own, page-locked, or the program's (then nothing does).
struct HostBlock {
  std::span<std::byte> bytes;
  bool locked = false;
  std::shared_ptr<void> owner;  // shared: with copies that are on their way

  std::span<std::byte> part(const Span& span) const {
    return bytes.subspan(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.size()));
  }
};

HostBlock allocate_host(Bytes size);  // page-aligned, not touched

// Keeps something until the process ends: a device that hangs may still be using it.
void keep_for_good(std::shared_ptr<void> what);

// The memory of one device as the engine gives it out.
class Room {
 public:
  // At most `limit` bytes of a device's own memory; of the host's, whatever is wrapped.
  Room(device::Device& device, Bytes limit) : device_(device), limit_(limit) {}

  core::Result<std::shared_ptr<device::Buffer>> allocate(
      Bytes size) const;  // counted until the last hold on it is dropped
  core::Result<std::shared_ptr<device::Buffer>> wrap(std::span<std::byte> bytes) const;
  Bytes limit() const { return limit_; }
  Bytes free() const { return limit_ - std::min(limit_, used_->load()); }
  device::Device& device() const { return device_; }

 private:
  device::Device& device_;
  const Bytes limit_;
  const std::shared_ptr<std::atomic<Bytes>> used_ = std::make_shared<std::atomic<Bytes>>(0);
};

class Memory {
 public:
  explicit Memory(HostBlock host) : host_(std::move(host)) { places_[device::host_memory].fresh.add(all()); }
  // All of it is in a buffer that others made, on one device.
  Memory(HostBlock host, std::size_t member, MemorySpace space, std::shared_ptr<device::Buffer> buffer);

  Bytes size() const { return host_.bytes.size(); }
  Span all() const { return {0, static_cast<std::int64_t>(size())}; }
  const HostBlock& host() const { return host_; }

  // A command that brings bytes somewhere.
  struct Arrival {
    Span span;
    device::Event event;
  };

  void settle();  // bytes whose commands failed did not arrive; to be called before asking for what is fresh
  const SpanSet& fresh(MemorySpace space) const;  // there now, or on their way
  std::vector<device::Event> pending(MemorySpace space,
                                     const SpanSet& bytes) const;  // those of them that are on their way
  bool is_fresh_anywhere(const SpanSet& bytes) const;
  std::vector<MemorySpace> spaces() const;  // that have fresh bytes

  // Bytes that somebody will bring though no command was queued for them yet; and what of them is still to be brought
  // when that is done, or nobody waits for it any more: what was written elsewhere meanwhile is newer.
  void expect(MemorySpace space, const void* by, const Span& bytes);
  SpanSet expect_no_more(MemorySpace space, const void* by);
  bool expects(MemorySpace space, const SpanSet& bytes) const;
  void arrives(MemorySpace space, const Span& bytes, device::Event event);
  void abandon(MemorySpace space, const device::Event& event);  // it will never end
  void forget(MemorySpace space, const SpanSet& bytes);         // not fresh there (any more)
  void written(MemorySpace space, const SpanSet& bytes);        // fresh there alone
  void copied(MemorySpace space, const SpanSet& bytes);         // fresh there, too

  // The buffer of one device for [begin, begin + size): made when first asked for. `member` numbers the devices.
  core::Result<device::Buffer*> buffer(std::size_t member, const Room& room, Bytes begin, Bytes size);
  void drop_buffers(std::size_t member);         // what was fresh there alone is lost
  void leak_buffers(std::size_t member);         // of a device that may still be using them
  Bytes device_bytes(std::size_t member) const;  // allocated there, without wrapped memory
  bool adopted(std::size_t member) const { return home == member; }
  std::uint64_t last_used = 0;  // by a slice, on the engine's count of slices

  // Launches that use this memory and may not be over: the last that wrote, and those that read since.
  std::weak_ptr<Launch> last_writer;
  std::vector<std::weak_ptr<Launch>> readers;
  std::uint64_t version = 0;        // counts launches that write it, and when the program may have: from their calls on
  std::optional<std::size_t> home;  // the member whose buffer it is, where others made that
  SpanSet wanted;                   // bytes that devices in the host's memory read since they were last written
  bool host_reads = false;  // the program read results of a launch from here: bring them back without being asked
  std::string unusable;     // why; a device that hangs may still write here

 private:
  struct Place {
    SpanSet fresh;
    std::vector<std::pair<const void*, SpanSet>> expected;
    std::vector<Arrival> arriving;
  };
  struct Buffers {
    std::shared_ptr<device::Buffer> whole;  // shared: nobody else holds it, but its end is counted
    std::map<std::pair<Bytes, Bytes>, std::unique_ptr<device::Buffer>> parts;  // by begin and size
    bool own = false;                                                          // memory of the device's
  };

  HostBlock host_;
  std::map<MemorySpace, Place> places_;
  std::map<std::size_t, Buffers> buffers_;
};

}  // namespace heddle::engine

// The way between ordinary host memory and devices: a bounded ring of page-locked chunks, filled and emptied by several
// cores. Drivers do the same behind a plain copy, but with one core, and keep the caller waiting.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.hpp"

namespace heddle::engine {

// Threads that copy, or compare.
class Copier {
 public:
  explicit Copier(int threads);
  ~Copier();  // after all that was asked for is done

  // By one of the threads.
  void run(std::function<void()> job);
  void copy(std::span<std::byte> to, std::span<const std::byte> from, std::function<void()> done);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

// Page-locked chunks of one device. Under the engine's lock.
class Ring {
 public:
  // 4 MB: long enough for full speed both ways (H200), short enough that the first copy starts soon.
  static constexpr core::Bytes chunk_size = core::Bytes{4} << 20;

  Ring(device::Device& device, core::Bytes limit) : device_(&device), limit_(limit) {}

  struct Chunk {
    std::span<std::byte> bytes;
    bool taken = false;
    device::Event event;  // the last command that uses it; it is free when that is done
  };
  // Nothing where all are in use; more are locked as long as the limit allows.
  Chunk* take();
  bool works() const { return !broken_; }  // false: nothing could be locked at all
  core::Bytes size() const { return static_cast<core::Bytes>(blocks_.size()) * block_size; }

 private:
  static constexpr core::Bytes block_size = core::Bytes{64}
                                            << 20;  // locked at once: locking costs a millisecond each time

  device::Device* device_;
  core::Bytes limit_;
  bool broken_ = false;
  std::vector<std::unique_ptr<device::LockedMemory>> blocks_;
  std::deque<Chunk> chunks_;
};

// An event of the host's: done when somebody says so.
class HostEvent : public device::EventState {
 public:
  void complete(core::Status status);

  core::Status wait(core::Nanoseconds limit) override;
  bool done() override;
  core::Result<device::Times> times() override { return device::Times{}; }
  void notify(std::function<void()> callback) override;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<core::Status> status_;
  std::vector<std::function<void()>> callbacks_;
};

}  // namespace heddle::engine

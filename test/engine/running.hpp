// One engine on fake devices with its threads at work, as in a program.
#pragma once

#include <thread>

#include "test/engine/bench.hpp"

namespace heddle::engine {

// A fake device whose memory perhaps cannot be locked, on the host's clock.
class Odd : public device::Device {
 public:
  Odd(device::Device& of, bool locks) : of_(of), locks_(locks) { info_ = of.info(); }
  device::Result<std::unique_ptr<device::Buffer>> allocate(Bytes size) override { return of_.allocate(size); }
  device::Result<std::unique_ptr<device::Buffer>> wrap(std::span<std::byte> memory) override {
    return of_.wrap(memory);
  }
  device::Result<std::unique_ptr<device::Buffer>> part(device::Buffer& whole, Bytes begin, Bytes size) override {
    return of_.part(whole, begin, size);
  }
  device::Result<std::unique_ptr<device::LockedMemory>> lock(Bytes size) override {
    if (!locks_) return core::Failure{core::FailureKind::allocation, "nothing can be locked", ""};
    return of_.lock(size);
  }
  device::Result<std::unique_ptr<device::Program>> build(const device::Source& source) override {
    return of_.build(source);
  }
  device::Result<std::unique_ptr<device::Queue>> open_queue(Timing timing) override { return of_.open_queue(timing); }
  Nanoseconds now() override { return std::chrono::steady_clock::now().time_since_epoch(); }

 private:
  device::Device& of_;
  const bool locks_;
};

// An engine with threads on fake devices whose clock never stands still.
struct Running {
  Running(const std::string& machine, bool locks, Nanoseconds hang_limit) : world(machine) {
    add_test_kernels(world);
    std::vector<device::Device*> all;
    for (device::Device* device : world.devices())
      all.push_back(devices.emplace_back(std::make_unique<Odd>(*device, locks)).get());
    start_clock();
    engine.emplace(all, Options{.analyse = analyse_test_kernel,
                                .hang_limit = hang_limit,
                                .patience = hang_limit,
                                .locked_limit = Bytes{64} << 20});
  }

  void start_clock() {
    clock = std::jthread([this](std::stop_token stop) {
      while (!stop.stop_requested()) {
        world.advance_to_next_completion();
        std::this_thread::yield();
      }
    });
  }
  void stop_clock() { clock = {}; }

  device::FakeWorld world;
  std::vector<std::unique_ptr<Odd>> devices;
  std::jthread clock;
  std::optional<Engine> engine;
};

}  // namespace heddle::engine

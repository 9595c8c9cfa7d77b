// Copies by way of locked memory where something is wrong with it: nothing lost, nothing twice, no end that never
// comes.
#include <thread>

#include "test/engine/bench.hpp"

namespace heddle::engine {
namespace {

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
    clock = std::jthread([this](std::stop_token stop) {
      while (!stop.stop_requested()) {
        world.advance_to_next_completion();
        std::this_thread::yield();
      }
    });
    engine.emplace(all,
                   Options{.analyse = analyse_test_kernel, .hang_limit = hang_limit, .locked_limit = Bytes{64} << 20});
  }

  device::FakeWorld world;
  std::vector<std::unique_ptr<Odd>> devices;
  std::jthread clock;
  std::optional<Engine> engine;
};

constexpr const char* gpu = "device gpu gpu\nunits 9\nrate 1e12\n";
constexpr const char* cpu = "device cpu cpu\nrate 1e12\n";

TEST(Pieces, WhatCannotBeLockedIsCopiedAllTheSame) {
  Quieter quiet;
  for (const bool both : {false, true}) {
    Running running(std::string(gpu) + (both ? cpu : ""), false, std::chrono::seconds(10));
    Engine& engine = *running.engine;
    constexpr std::int32_t n = 1 << 20;
    const auto memory = engine.make_memory(4 * n);
    auto* data = reinterpret_cast<std::int32_t*>(memory->host().bytes.data());
    std::fill_n(data, n, 0);
    const auto kernel = *engine.make_kernel({"bump", "bump", ""});
    for (int round = 1; round <= 2; ++round) {
      Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {256, 1, 1}};
      request.wishes.tasks = 6, request.wishes.spread = both;
      request.arguments = {View{memory, 0, memory->size()}, std::get<device::Scalar>(device::scalar(n))};
      const auto status = engine.wait(engine.submit(request));
      ASSERT_TRUE(status) << status.failure().what;
      ASSERT_TRUE(engine.to_host(memory, false));
      for (std::int32_t i = 0; i < n; ++i) ASSERT_EQ(data[i], round * (i + 1)) << i;
    }
  }
}

// Launches of 32 MB each by way of a ring of 64: copies of the last wait behind the second, which never ends.
TEST(Pieces, ADeviceThatHangsDoesNotKeepThem) {
  Quieter quiet;
  Running running(std::string(gpu) + "hang at launch 2\n" + cpu, true, std::chrono::seconds(2));
  Engine& engine = *running.engine;
  const auto kernel = *engine.make_kernel({"unknown", "unknown", ""});  // reads and writes all of its arguments
  constexpr std::int32_t elements = 8 << 20, n = 16;
  std::vector<std::shared_ptr<Memory>> memories;
  std::vector<std::shared_ptr<Launch>> launches;
  for (int l = 0; l < 7; ++l) {
    memories.push_back(engine.make_memory(4 * elements));
    auto* data = reinterpret_cast<std::int32_t*>(memories.back()->host().bytes.data());
    std::fill_n(data, elements, l);
    Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {16, 1, 1}};
    const View all{memories.back(), 0, memories.back()->size()};
    request.arguments = {all, all, std::get<device::Scalar>(device::scalar(n))};
    launches.push_back(engine.submit(request));
    if (l == 0) {  // shows how long one takes; its result comes before its device is lost
      ASSERT_TRUE(engine.to_host(memories.back(), false));
    }
  }
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const auto status = engine.wait(launches[l]);
    ASSERT_TRUE(status) << status.failure().what;
    ASSERT_TRUE(engine.to_host(memories[l], false));
    const auto* data = reinterpret_cast<const std::int32_t*>(memories[l]->host().bytes.data());
    for (std::int32_t i = 0; i < elements; ++i)
      ASSERT_EQ(data[i], i < n ? static_cast<std::int32_t>(l) ^ 77 : static_cast<std::int32_t>(l)) << l << " " << i;
  }
}

}  // namespace
}  // namespace heddle::engine

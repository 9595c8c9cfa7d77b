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

// Adds i + 1 to element i, in place, `rounds` times.
void bump(const std::string& machine, bool locks, bool spread, std::int32_t n, int rounds,
          Nanoseconds hang_limit = std::chrono::seconds(10)) {
  device::FakeWorld world(machine);
  add_test_kernels(world);
  std::vector<std::unique_ptr<Odd>> devices;
  std::vector<device::Device*> all;
  for (device::Device* device : world.devices())
    all.push_back(devices.emplace_back(std::make_unique<Odd>(*device, locks)).get());
  std::jthread clock([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      world.advance_to_next_completion();
      std::this_thread::yield();
    }
  });
  Engine engine(all, {.analyse = analyse_test_kernel, .hang_limit = hang_limit, .locked_limit = Bytes{64} << 20});
  const auto memory = engine.make_memory(4 * static_cast<Bytes>(n));
  auto* data = reinterpret_cast<std::int32_t*>(memory->host().bytes.data());
  std::fill_n(data, n, 0);
  const auto kernel = *engine.make_kernel({"bump", "bump", ""});
  for (int round = 1; round <= rounds; ++round) {
    Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {256, 1, 1}};
    request.wishes.tasks = 6, request.wishes.spread = spread;
    request.arguments = {View{memory, 0, memory->size()}, std::get<device::Scalar>(device::scalar(n))};
    const auto status = engine.wait(engine.submit(request));
    ASSERT_TRUE(status) << status.failure().what;
    ASSERT_TRUE(engine.to_host(memory, false));
    for (std::int32_t i = 0; i < n; ++i) ASSERT_EQ(data[i], round * (i + 1)) << i;
  }
}

constexpr const char* gpu = "device gpu gpu\nunits 9\nrate 1e12\n";
constexpr const char* cpu = "device cpu cpu\nrate 1e12\n";

TEST(Pieces, WhatCannotBeLockedIsCopiedAllTheSame) {
  Quieter quiet;
  bump(gpu, false, false, 1 << 20, 2);
  bump(std::string(gpu) + cpu, false, true, 1 << 20, 2);
}

TEST(Pieces, ADeviceThatHangsDoesNotKeepThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "24 million items take as long as a hang";
#endif
  Quieter quiet;
  // 96 MB by way of 64
  bump(std::string(gpu) + "hang at launch 1\n" + cpu, true, false, 24 << 20, 1, std::chrono::milliseconds(50));
}

}  // namespace
}  // namespace heddle::engine

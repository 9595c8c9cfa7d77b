// Memory that a front end uses in turn with the engine: whoever looks sees what was written last.
#include <random>

#include <fmt/format.h>

#include "test/engine/running.hpp"

namespace heddle::engine {
namespace {

constexpr std::int32_t n = 1 << 20;  // enough for copies by pieces

// A buffer of one device that the engine has adopted, what it should hold, and the front end's own queue.
class Home {
 public:
  Home(const std::string& machine, std::size_t member)
      : running(machine, true, std::chrono::seconds(10)), engine(*running.engine), model(n) {
    device::Device& device = *running.devices[member];
    std::iota(model.begin(), model.end(), 0);
    if (device.info().space == device::host_memory) {
      storage = allocate_host(4 * n);
      std::memcpy(storage.bytes.data(), model.data(), 4 * n);
      memory = engine.adopt(member, nullptr, storage);
    } else {
      buffer = std::move(*device.allocate(4 * n));
      queue = std::move(*device.open_queue(device::Device::Timing::off));
      put(0, n);
      memory = engine.adopt(member, buffer, {});
    }
  }

  // As the front end, past the engine.
  void put(std::int32_t begin, std::int32_t end) {
    const auto bytes = std::as_bytes(part(model, begin, end));
    if (!buffer) return (void)std::memcpy(storage.bytes.data() + 4 * begin, bytes.data(), bytes.size());
    ASSERT_TRUE((*queue->copy_in(*buffer, 4 * static_cast<Bytes>(begin), bytes))->wait());
  }
  void expect_at_home(std::int32_t begin, std::int32_t end) {
    std::vector<std::int32_t> got(static_cast<std::size_t>(end - begin), -1);
    const auto bytes = std::as_writable_bytes(std::span(got));
    if (buffer)
      ASSERT_TRUE((*queue->copy_out(bytes, *buffer, 4 * static_cast<Bytes>(begin)))->wait());
    else
      std::memcpy(bytes.data(), storage.bytes.data() + 4 * begin, bytes.size());
    expect_same(got, begin);
  }

  void write(std::int32_t begin, std::int32_t end) {
    const auto status = engine.write(memory, 4 * static_cast<Bytes>(begin), std::as_bytes(part(model, begin, end)));
    ASSERT_TRUE(status) << status.failure().what;
  }
  void expect_read(std::int32_t begin, std::int32_t end) {
    std::vector<std::int32_t> got(static_cast<std::size_t>(end - begin), -1);
    const auto status = engine.read(memory, 4 * static_cast<Bytes>(begin), std::as_writable_bytes(std::span(got)));
    ASSERT_TRUE(status) << status.failure().what;
    expect_same(got, begin);
  }
  // Its first elements, in whole groups, grow by their number and one; not waited for.
  void bump(std::int32_t elements, bool spread) {
    elements = std::max(256, elements / 256 * 256);
    Request request{.kernel = kernel, .items = {elements, 1, 1}, .group = {256, 1, 1}};
    request.wishes.tasks = 6, request.wishes.spread = spread;
    request.arguments = {View{memory, 0, memory->size()}, std::get<device::Scalar>(device::scalar(elements))};
    launches.push_back(engine.submit(request));
    for (std::int32_t i = 0; i < elements; ++i) model[static_cast<std::size_t>(i)] += i + 1;
  }

  void expect_same(const std::vector<std::int32_t>& got, std::int32_t begin) {
    const auto expected = part(model, begin, begin + static_cast<std::int32_t>(got.size()));
    const auto wrong = std::mismatch(got.begin(), got.end(), expected.begin());
    ASSERT_TRUE(wrong.first == got.end())
        << "element " << begin + (wrong.first - got.begin()) << ": " << *wrong.first << ", expected " << *wrong.second;
  }
  static std::span<std::int32_t> part(std::vector<std::int32_t>& of, std::int32_t begin, std::int32_t end) {
    return std::span(of).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  Running running;
  Engine& engine;
  std::vector<std::int32_t> model;
  HostBlock storage;
  std::shared_ptr<device::Buffer> buffer;
  std::unique_ptr<device::Queue> queue;
  std::shared_ptr<Memory> memory;
  std::shared_ptr<Kernel> kernel = *engine.make_kernel({"bump", "bump", ""});
  std::vector<std::shared_ptr<Launch>> launches;
};

constexpr const char* gpu = "device gpu gpu\nunits 9\nrate 1e12\ncopy in 1e9 out 1e11 latency 5us engines 2\n";
constexpr const char* cpu = "device cpu cpu\nrate 1e12\n";

void play(const std::string& machine, std::size_t member, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  Home home(machine, member);
  const auto below = [&](std::int32_t bound) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(bound));
  };
  bool ours = true;  // the engine's turn
  for (int step = 0; step < 30; ++step) {
    const std::int32_t begin = below(2) ? 0 : below(n), end = below(2) ? n : begin + 1 + below(n - begin);
    const int what = below(6);
    if (what == 0) {
      const auto status = home.engine.bring_home(home.memory);
      ASSERT_TRUE(status) << status.failure().what;
      ASSERT_TRUE(home.engine.is_home(*home.memory));
      home.expect_at_home(begin, end);
      for (std::int32_t i = begin; i < end; ++i) home.model[static_cast<std::size_t>(i)] = below(1 << 30);
      home.put(begin, end);
      ours = false;
    }
    if (!std::exchange(ours, true)) home.engine.changed_at_home(*home.memory);
    if (what == 1 || what == 2) home.bump(end, below(2) == 0);
    if (what == 3) {
      for (std::int32_t i = begin; i < end; ++i) home.model[static_cast<std::size_t>(i)] = below(1 << 30);
      home.write(begin, end);
    }
    if (what == 4) home.expect_read(begin, end);
    if (::testing::Test::HasFatalFailure()) return;
  }
  for (const auto& launch : home.launches) ASSERT_TRUE(home.engine.wait(launch));
  home.expect_read(0, n);
}

TEST(Home, WhoeverLooksSeesWhatWasWrittenLast) {
  Quieter quiet;
  const std::uint64_t first = std::random_device()();
  for (std::uint64_t seed = first; seed < first + 3; ++seed) {
    play(std::string(gpu) + cpu, 0, seed);
    play(std::string(gpu) + cpu, 1, seed);
    play(std::string(gpu) + "device other gpu\nrate 1e12\n" + cpu, seed % 3, seed);
    play(gpu, 0, seed);
    if (HasFatalFailure()) return;
  }
}

// A device that helps fails in the middle: its share is computed again.
TEST(Home, ADeviceThatHelpsMayFail) {
  Quieter quiet;
  const std::uint64_t first = std::random_device()();
  for (std::uint64_t seed = first; seed < first + 3; ++seed) {
    const std::string at = std::to_string(1 + seed % 5);
    play(std::string(gpu) + cpu + "fail launch " + at + "\n", 0, seed);
    if (HasFatalFailure()) return;
  }
}

// Bytes that nobody else has used go to the device itself, and those that are read in the host's memory stay there.
TEST(Home, BytesGoWhereTheyAreUsed) {
  Home home(std::string(gpu) + cpu, 0);
  home.write(0, n);
  EXPECT_TRUE(home.memory->fresh(device::host_memory).empty());
  home.bump(n, true);
  ASSERT_TRUE(home.engine.wait(home.launches.back()));
  home.write(0, n);
  home.expect_read(0, n);
}

TEST(Home, OutsideOfItNothingIsTouched) {
  Home home(gpu, 0);
  std::vector<std::byte> bytes(8);
  EXPECT_THROW((void)home.engine.write(home.memory, 4 * n - 4, bytes), core::UsageError);
  EXPECT_THROW((void)home.engine.read(home.memory, 4 * n + 4, bytes), core::UsageError);
  EXPECT_TRUE(home.engine.read(home.memory, 4 * n, {}));
}

}  // namespace
}  // namespace heddle::engine

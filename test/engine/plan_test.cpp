// Launches alike are planned once.
#include "test/engine/bench.hpp"

namespace heddle::engine {
namespace {

TEST(Plan, TheNextLaunchAlikeAsksNobody) {
  Bench bench("device gpu gpu\nrate 1e6\ndevice cpu cpu\nrate 1e6\n");
  const auto a = bench.memory(64), b = bench.memory(64), large = bench.memory(128);
  const auto map = bench.kernel("map");
  const auto run = [&](const std::vector<std::shared_ptr<Memory>>& memories, std::int64_t group = 16) {
    const std::uint64_t before = bench.engine->steps();
    const auto launch = bench.run(map, memories, group);
    EXPECT_TRUE(bench.engine->wait(launch));
    EXPECT_EQ(bench.engine->report(*launch).slices.at(0).device, "gpu");
    return bench.engine->steps() - before;
  };
  EXPECT_GT(run({a, b}), 0u);
  EXPECT_EQ(run({a, b}), 0u);
  EXPECT_EQ(run({b, a}), 0u);          // other buffers of the same size
  EXPECT_GT(run({large, large}), 0u);  // another shape
  EXPECT_GT(run({a, b}, 8), 0u);
  EXPECT_EQ(run({a, b}), 0u);
}

TEST(Plan, ADeviceThatIsGoneIsPlannedAgain) {
  Bench bench("device gpu gpu\nrate 1e6\nlost at launch 3\ndevice cpu cpu\nrate 1e6\n");
  const auto a = bench.memory(64), b = bench.memory(64);
  const auto map = bench.kernel("map");
  const std::vector<std::string> expected = {"gpu", "gpu", "cpu", "cpu", "cpu"};
  std::vector<std::uint64_t> steps;
  for (const std::string& device : expected) {
    const std::uint64_t before = bench.engine->steps();
    const auto launch = bench.run(map, {a, b});
    ASSERT_TRUE(bench.engine->wait(launch));
    EXPECT_EQ(bench.engine->report(*launch).slices.at(0).device, device);
    steps.push_back(bench.engine->steps() - before);
  }
  EXPECT_EQ(steps[1], 0u);
  EXPECT_GT(steps[2], 0u);  // planned for the GPU, then for who is left
  EXPECT_EQ(steps[4], 0u);
}

}  // namespace
}  // namespace heddle::engine

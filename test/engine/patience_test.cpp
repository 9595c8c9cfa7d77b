// On real devices: what takes long does not hang.
#include <chrono>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.hpp"
#include "kernel/compiler.hpp"
#include "test/device/any_device.hpp"

namespace heddle::engine {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

const char* const source = R"(
kernel void spin(global uint* out, int steps) {
  uint x = get_global_id(0);
  for (int i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
  out[get_global_id(0)] = x;
}
)";

class Patience : public testing::TestWithParam<device::Device*> {
 protected:
  // Seconds of a launch, whose result is right.
  double spin(std::int32_t steps) {
    Request request{.kernel = kernel_, .items = {256, 1, 1}, .group = {16, 1, 1}};
    request.arguments = {View{memory_, 0, memory_->size()}, std::get<device::Scalar>(device::scalar(steps))};
    const auto begin = Clock::now();
    const core::Status status = engine_.wait(engine_.submit(request));
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    EXPECT_TRUE(status) << steps << " steps: " << status.failure().what;
    if (!engine_.to_host(memory_, false)) return took;
    std::uint32_t expected = 255;
    for (std::int32_t i = 0; i < steps; ++i) expected = expected * 1664525u + 1013904223u;
    EXPECT_EQ(reinterpret_cast<const std::uint32_t*>(memory_->host().bytes.data())[255], expected);
    return took;
  }

  kernel::Compiler compiler_{{.program = kernel::installed_compiler()}};
  Engine engine_{{GetParam()},
                 {.analyse = [this](const auto& text, const auto& forms) { return compiler_.analyse(text, forms); },
                  .hang_limit = 100ms}};
  std::shared_ptr<Kernel> kernel_ = device::must(engine_.make_kernel({"spin", source, ""}));
  std::shared_ptr<Memory> memory_ = engine_.make_memory(4 * 256);
};

TEST_P(Patience, AProgramMayWarmUpWithLittle) {
  for (int i = 0; i < 3; ++i) spin(1);
  for (std::int64_t steps = 1 << 16; steps <= 1 << 28 && !HasFailure(); steps *= 8) {
    if (spin(static_cast<std::int32_t>(steps)) > 0.4) break;
  }
}

TEST_P(Patience, AProcessMayBeStopped) {
  std::int32_t steps = 1 << 10;
  while (spin(steps) < 0.01 && steps < 1 << 28 && !HasFailure()) steps *= 2;
  const pid_t helper = ::fork();
  if (helper == 0) {
    ::usleep(100'000);
    ::kill(::getppid(), SIGSTOP);
    ::usleep(2'000'000);
    ::kill(::getppid(), SIGCONT);
    ::_exit(0);
  }
  ASSERT_GT(helper, 0);
  const auto begin = Clock::now();
  while (Clock::now() - begin < 2500ms && !HasFailure()) spin(steps);
  ::waitpid(helper, nullptr, 0);
}

INSTANTIATE_TEST_SUITE_P(OnDevices, Patience, testing::ValuesIn(device::every_device()), device::device_name);

}  // namespace
}  // namespace heddle::engine

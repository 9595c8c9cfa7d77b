// Tuning on a real driver: compilers that crash, and builds ahead of what runs.
#include <filesystem>
#include <fstream>
#include <numeric>

#include <gtest/gtest.h>

#include "device/machine.hpp"
#include "engine/tuning.hpp"
#include "test/device/any_device.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::engine {
namespace {

const char* const source = R"(
kernel void half_of(global const float* in, global float* out) {
  for (int t = 0; t < TILE; ++t) out[get_global_id(0) * TILE + t] = in[get_global_id(0) * TILE + t] / 2;
}
)";

// A device that says that it is a GPU: what builds does not disturb what runs there.
class LikeGpu : public device::Device {
 public:
  explicit LikeGpu(device::Device& inner) : inner_(inner) {
    info_ = inner.info();
    info_.kind = device::Kind::gpu;
  }
  core::Result<std::unique_ptr<device::Buffer>> allocate(core::Bytes size) override { return inner_.allocate(size); }
  core::Result<std::unique_ptr<device::Buffer>> wrap(std::span<std::byte> memory) override {
    return inner_.wrap(memory);
  }
  core::Result<std::unique_ptr<device::Buffer>> part(device::Buffer& whole, core::Bytes begin,
                                                     core::Bytes size) override {
    return inner_.part(whole, begin, size);
  }
  core::Result<std::unique_ptr<device::LockedMemory>> lock(core::Bytes size) override { return inner_.lock(size); }
  core::Result<std::unique_ptr<device::Program>> build(const device::Source& text) override {
    return inner_.build(text);
  }
  core::Result<std::unique_ptr<device::Queue>> open_queue(Timing timing) override { return inner_.open_queue(timing); }
  core::Nanoseconds now() override { return inner_.now(); }

 private:
  device::Device& inner_;
};

class TuningOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::ifstream("/etc/OpenCL/vendors/pocl.icd")) GTEST_SKIP() << "no PoCL";
    const std::string library = folder_.path("libfaulty.so");
    std::filesystem::copy_file(HEDDLE_FAULTY_DRIVER, library);
    core::Settings settings = device::test_settings("all", folder_.path("cache"));
    settings.prove = "off";
    machine_ = device::open_machine(settings, [&](const std::string& name) {
      return name == "OCL_ICD_VENDORS" ? std::optional(library) : std::nullopt;
    });
    ASSERT_EQ(machine_.devices.size(), 1u);
    std::iota(in_.begin(), in_.end(), 0.0f);
    tunable_ = {.name = "half_of",
                .source = source,
                .entry = "half_of",
                .group = {"BX", "1", "1"},
                .points = {"BX * TILE", "1", "1"},
                .cut = core::Cut::by_offset};
    tunable_.space = core::ParameterSpace({{"BX", {4, 8, 16, 32}}, {"TILE", {1, 2}}});
    arguments_ = {{.given = std::as_bytes(std::span(in_)), .access = core::Access::read},
                  {.given = std::as_bytes(std::span(out_)), .access = core::Access::write}};
  }
  ~TuningOnDevice() override { ::unsetenv("FAULTY_SCRIPT"); }

  Tuned tune(device::Device& device, const char* script) {
    ::setenv("FAULTY_SCRIPT", script, 1);
    device::BuildWorker worker(device.info(), device::test_settings("all", folder_.path("cache")));
    TuningOptions options{.strategy = "exhaustive", .until = "false", .worker = &worker};
    options.build_limit = std::chrono::seconds(5);
    auto tuned = engine::tune(device, tunable_, core::box_of(4096), arguments_, {}, options);
    if (!tuned) throw std::runtime_error(tuned.failure().what);
    return std::move(*tuned);
  }
  static int failed(const Tuned& tuned, const std::string& failure, const std::string& why) {
    int out = 0;
    for (const Trial& trial : tuned.trials) out += trial.failure == failure && trial.why.find(why) != std::string::npos;
    return out;
  }

  TemporaryFolder folder_;
  device::Machine machine_;
  std::vector<float> in_ = std::vector<float>(4096), out_ = std::vector<float>(4096, -1.0f);
  core::Tunable tunable_;
  std::vector<TuningArgument> arguments_;
};

// Each worker's fourth build crashes: those of the fourth and the eighth configuration.
TEST_F(TuningOnDevice, ACompilerThatCrashesCostsOneConfiguration) {
  const Tuned tuned = tune(*machine_.devices.front(), "build 4 crash");
  EXPECT_EQ(tuned.trials.size(), 8u);
  EXPECT_EQ(failed(tuned, "compile", "crashed"), 2);
  EXPECT_EQ(failed(tuned, "", ""), 6);
  EXPECT_TRUE(tuned.best);
}

TEST_F(TuningOnDevice, ACompilerThatHangsCostsOneConfiguration) {
  const Tuned tuned = tune(*machine_.devices.front(), "build 6 hang");
  EXPECT_EQ(failed(tuned, "timeout", ""), 1);
  EXPECT_TRUE(tuned.best);
}

TEST_F(TuningOnDevice, BuildsAheadOfWhatRuns) {
  LikeGpu device(*machine_.devices.front());
  const Tuned tuned = tune(device, "");
  EXPECT_EQ(tuned.trials.size(), 8u);
  EXPECT_EQ(failed(tuned, "", ""), 8);
  const Tuned crashing = tune(device, "build 5 crash");
  EXPECT_GE(failed(crashing, "compile", "crashed"), 1);
  EXPECT_EQ(failed(crashing, "compile", "crashed") + failed(crashing, "", ""), 8);
}

}  // namespace
}  // namespace heddle::engine

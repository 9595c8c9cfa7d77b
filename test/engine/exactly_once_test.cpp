// Random programs on random machines that fail at random: every launch does all of its work exactly once, or says that
// it failed. HEDDLE_TEST_PROGRAMS sets how many; HEDDLE_TEST_SEED replays the one that a failure names.
#include <cstdlib>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/log.hpp"
#include "core/trace.hpp"
#include "test/engine/fake_kernels.hpp"

namespace heddle::engine {
namespace {

class Program {
 public:
  Program(std::uint64_t seed, bool faults) : random_(seed), faults_(faults) {}

  // Something for a person who looks for the cause.
  std::string story() const { return machine_ + story_; }
  int failed_launches = 0, launches = 0, retries = 0, slices = 0;

  void run() {
    machine_ = describe_machine();
    device::FakeWorld world(machine_);
    add_test_kernels(world);
    Options options;
    options.analyse = analyse_test_kernel;
    options.advance = [&] { return world.advance_to_next_completion(); };
    options.queues = 1 + static_cast<int>(pick(3));
    Engine engine(world.devices(), options);
    make_buffers(engine);
    std::map<std::string, std::shared_ptr<Kernel>> kernels;
    std::vector<std::pair<std::shared_ptr<Launch>, std::vector<std::size_t>>> on_the_way;
    const auto steps = 1 + pick(6);
    for (std::uint64_t s = 0; s < steps; ++s) {
      auto chosen = test_kernels().begin();
      std::advance(chosen, pick(test_kernels().size()));
      auto& kernel = kernels[chosen->first];
      if (!kernel) {
        auto made = engine.make_kernel({chosen->first, chosen->first, ""});
        if (!made) {
          EXPECT_TRUE(faults_) << made.failure().what;
          return;
        }
        kernel = std::move(*made);
      }
      launch(engine, chosen->second, kernel, on_the_way);
      if (pick(4) == 0) check(engine, pick(buffers_.size()), on_the_way);
      if (pick(5) == 0) rewrite(engine, pick(buffers_.size()), on_the_way);
    }
    for (std::size_t b = 0; b < buffers_.size(); ++b) check(engine, b, on_the_way);
    settle(engine, on_the_way);
  }

 private:
  struct Buffer {
    std::shared_ptr<Memory> memory;
    std::vector<std::int32_t> expected;
    bool undefined = false;  // a launch that wrote it failed
  };

  std::uint64_t pick(std::uint64_t n) { return random_() % n; }

  std::string describe_machine() {
    std::string out;
    const auto devices = 1 + pick(4);
    for (std::uint64_t d = 0; d < devices; ++d) {
      const bool cpu = pick(2);
      out += fmt::format("device d{} {}\nunits {}\nrate {}\nlaunch {}us\n", d, cpu ? "cpu" : "gpu", 1 + pick(4),
                         1000 * (1 + pick(1000)), pick(20));
      if (!cpu)
        out += fmt::format("copy in {} out {} latency {}us engines {}\n", 1000 * (1 + pick(5000)),
                           1000 * (1 + pick(5000)), pick(9), 1 + pick(2));
      if (pick(2)) out += fmt::format("noise 0.{} seed {}\n", 1 + pick(8), pick(100));
      if (!faults_) continue;
      std::set<std::pair<std::string, std::uint64_t>> scripted;  // each call goes wrong in one way
      static const char* const calls[] = {"launch", "launch", "write", "read", "allocation", "build"};
      while (pick(3) == 0) {
        const std::string call = calls[pick(6)];
        const bool late = call != "allocation" && call != "build" && pick(2);
        const auto number = 1 + pick(8);
        if (scripted.emplace(call, number).second)
          out += fmt::format("fail {} {}{}\n", call, number, late ? " late" : "");
      }
      const auto lost = 1 + pick(96), hang = 1 + pick(96);  // an early one once in twelve devices
      if (lost <= 8 && scripted.emplace("launch", lost).second)
        out += fmt::format("lost at launch {}{}\n", lost, pick(2) ? " late" : "");
      if (hang <= 8 && scripted.emplace("launch", hang).second) out += fmt::format("hang at launch {}\n", hang);
      if (pick(20) == 0) out += "memory 1K\n";
    }
    return out;
  }

  void make_buffers(Engine& engine) {
    const auto count = 2 + pick(3);
    static constexpr std::int64_t sizes[] = {48, 64, 96, 128, 192, 256};
    n_ = sizes[pick(6)];
    for (std::uint64_t b = 0; b < count; ++b) {
      Buffer& buffer = buffers_.emplace_back();
      for (std::int64_t i = 0; i < n_; ++i) buffer.expected.push_back(static_cast<std::int32_t>(random_()));
      buffer.memory = engine.make_memory(static_cast<Bytes>(4 * n_));
      std::memcpy(buffer.memory->host().bytes.data(), buffer.expected.data(), static_cast<std::size_t>(4 * n_));
    }
  }

  void launch(Engine& engine, const TestKernel& kernel, const std::shared_ptr<Kernel>& made,
              std::vector<std::pair<std::shared_ptr<Launch>, std::vector<std::size_t>>>& on_the_way) {
    Request request;
    request.kernel = made;
    request.dimensions = kernel.dimensions;
    const std::int64_t group = std::int64_t{1} << pick(5);
    std::int64_t width = 0;
    if (kernel.dimensions == 2) {
      width = 1 << (1 + pick(4));
      request.items = {width, n_ / width, 1};
      request.group = {std::min<std::int64_t>(width, std::int64_t{1} << pick(3)), 1, 1};
    } else {
      request.items = {n_, 1, 1};
      request.group = {group, 1, 1};
    }
    request.wishes = {static_cast<int>(pick(7)), pick(3) != 0};
    // Two arguments may be one buffer, where the kernel then still has one outcome.
    std::vector<std::size_t> used;
    for (int b = 0; b < kernel.buffers; ++b) used.push_back(pick(buffers_.size()));
    const std::string& name = kernel.facts.name;
    const bool may_alias = name == "map" || name == "whole" || name == "groups" || name == "unknown";
    if (kernel.buffers == 2 && used[0] == used[1] && !may_alias) used[1] = (used[0] + 1) % buffers_.size();
    std::vector<FakeArguments::Entry> reference;
    for (std::size_t b : used) {
      request.arguments.push_back(View{buffers_[b].memory, 0, buffers_[b].memory->size()});
      reference.emplace_back(std::as_writable_bytes(std::span(buffers_[b].expected)));
    }
    std::vector<std::int32_t> values = {static_cast<std::int32_t>(kernel.dimensions == 2 ? width : n_)};
    if (kernel.dimensions == 2) values.push_back(static_cast<std::int32_t>(n_ / width));
    for (std::int32_t v : values) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&v);
      request.arguments.emplace_back(device::Scalar(bytes, bytes + 4));
      reference.emplace_back(device::Scalar(bytes, bytes + 4));
    }
    story_ += fmt::format("{} on {} {} groups of {} tasks {}{}\n", name, used.front(), used.back(), request.group[0],
                          request.wishes.tasks, request.wishes.spread ? " spread" : "");
    core::Grid grid{{}, request.group, {0, 0, 0}, kernel.dimensions};
    for (std::size_t d = 0; d < 3; ++d) {
      grid.local[d] = std::max<std::int64_t>(1, grid.local[d]);
      grid.groups[d] = request.items[d] / grid.local[d];
    }
    request.group = grid.local;
    std::shared_ptr<Launch> launched;
    try {
      launched = engine.submit(std::move(request));
    } catch (const core::UsageError& error) {  // a buffer that a hanging device may still write to
      EXPECT_TRUE(faults_) << error.what();
      return;
    }
    ++launches;
    run_reference(kernel, grid, reference);
    for (std::size_t b : used) buffers_[used.back()].undefined |= buffers_[b].undefined;
    on_the_way.emplace_back(launched, std::vector<std::size_t>{used.back()});
  }

  // Waits for all launches; what failed leaves its outputs undefined, and whatever was computed from them.
  void settle(Engine& engine, std::vector<std::pair<std::shared_ptr<Launch>, std::vector<std::size_t>>>& on_the_way) {
    for (auto& [launch, outputs] : on_the_way) {
      const auto status = engine.wait(launch);
      const Report report = engine.report(*launch);
      for (const SliceReport& slice : report.slices)
        story_ += fmt::format("  {} on {} from {} to {}\n", core::to_string(slice.box), slice.device,
                              slice.begin.count(), slice.end.count());
      for (const std::string& note : report.notes) story_ += "  " + note + "\n";
      retries += report.retries, slices += static_cast<int>(report.slices.size());
      if (status) {
        // Exactly once, by what the engine itself says.
        core::BoxSet done;
        std::int64_t points = 0;
        for (const SliceReport& slice : report.slices) done.add(slice.box), points += slice.box.volume();
        EXPECT_EQ(points, launch->space.volume());
        EXPECT_TRUE(done.covers(launch->space));
        continue;
      }
      EXPECT_TRUE(faults_) << status.failure().what;
      story_ += "failed: " + status.failure().what + "\n";
      ++failed_launches;
      for (std::size_t b : outputs) buffers_[b].undefined = true;
      poison_ = true;
    }
    on_the_way.clear();
  }

  void check(Engine& engine, std::size_t b,
             std::vector<std::pair<std::shared_ptr<Launch>, std::vector<std::size_t>>>& on_the_way) {
    Buffer& buffer = buffers_[b];
    const auto status = engine.to_host(buffer.memory, false);
    settle(engine, on_the_way);
    // After a failure, later launches may have computed from undefined bytes: nothing is compared any more.
    if (poison_) return;
    if (!status) {
      EXPECT_TRUE(faults_) << status.failure().what;
      poison_ = true;
      return;
    }
    const auto* actual = reinterpret_cast<const std::int32_t*>(buffer.memory->host().bytes.data());
    for (std::size_t i = 0; i < buffer.expected.size(); ++i) {
      if (actual[i] == buffer.expected[i]) continue;
      ADD_FAILURE() << "buffer " << b << ", element " << i << ": " << actual[i] << " instead of " << buffer.expected[i];
      poison_ = true;
      return;
    }
  }

  void rewrite(Engine& engine, std::size_t b,
               std::vector<std::pair<std::shared_ptr<Launch>, std::vector<std::size_t>>>& on_the_way) {
    Buffer& buffer = buffers_[b];
    if (!engine.to_host(buffer.memory, true)) {
      settle(engine, on_the_way);
      poison_ = true;
      return;
    }
    story_ += fmt::format("rewrite {}\n", b);
    auto* bytes = reinterpret_cast<std::int32_t*>(buffer.memory->host().bytes.data());
    for (std::size_t i = 0; i < buffer.expected.size(); i += 3)
      bytes[i] = buffer.expected[i] = static_cast<std::int32_t>(random_());
  }

  std::mt19937_64 random_;
  bool faults_;
  std::int64_t n_ = 0;
  std::vector<Buffer> buffers_;
  std::string machine_, story_;
  bool poison_ = false;
};

// What the engine decided, for who replays a program.
struct Printed : core::TraceSink {
  void add(core::TraceEvent event) override { fmt::print("{} {} {}\n", event.start.count(), event.name, event.detail); }
};

struct Quiet {
  Quiet() : before(core::set_log_sink([](core::LogLevel, std::string_view) {})) {}
  ~Quiet() { core::set_log_sink(before); }
  core::LogSink before;
};

void run_programs(bool faults) {
  Quiet quiet;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::uint64_t count = 3000;
#else
  std::uint64_t count = 50'000;
#endif
  std::uint64_t first = std::random_device{}();
  if (const char* wanted = std::getenv("HEDDLE_TEST_PROGRAMS")) count = std::strtoull(wanted, nullptr, 10);
  if (const char* seed = std::getenv("HEDDLE_TEST_SEED")) first = std::strtoull(seed, nullptr, 10), count = 1;
  Printed printed;
  if (count == 1) core::set_trace_sink(&printed);
  std::int64_t launches = 0, failed = 0, retries = 0, slices = 0;
  for (std::uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    Program program(first + i, faults);
    try {
      program.run();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    launches += program.launches, failed += program.failed_launches, retries += program.retries,
        slices += program.slices;
    if (testing::Test::HasFailure())
      ADD_FAILURE() << "HEDDLE_TEST_SEED=" << first + i << " replays it:\n" << program.story();
  }
  core::set_trace_sink(nullptr);
  fmt::print("{} programs, {} launches in {} slices, {} slices ran again, {} launches failed\n", count, launches,
             slices, retries, failed);
  EXPECT_TRUE(faults || failed == 0);
  EXPECT_TRUE(count <= 1000 || failed * 4 < launches);  // most faults can be lived with
}

TEST(ExactlyOnce, OnMachinesThatWork) { run_programs(false); }
TEST(ExactlyOnce, OnMachinesThatFail) { run_programs(true); }

}  // namespace
}  // namespace heddle::engine

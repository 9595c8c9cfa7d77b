// One engine on fake devices, for tests that expect exact behaviour.
#pragma once

#include <numeric>

#include <gtest/gtest.h>

#include "core/log.hpp"
#include "test/engine/test_kernels.hpp"

namespace heddle::engine {

// Warnings that a test expects.
struct Quieter {
  Quieter() : before(core::set_log_sink([](core::LogLevel, std::string_view) {})) {}
  ~Quieter() { core::set_log_sink(before); }
  core::LogSink before;
};

class Bench {
 public:
  explicit Bench(const std::string& machine, Options options = {}, const Costs& costs = {}) : world(machine) {
    add_test_kernels(world, costs);
    options.analyse = analyse_test_kernel;
    options.advance = [this] { return world.advance_to_next_completion(); };
    engine.emplace(world.devices(), options);
  }

  std::shared_ptr<Kernel> kernel(const std::string& name) { return *engine->make_kernel({name, name, ""}); }

  // Elements 0, 1, 2, ...
  std::shared_ptr<Memory> memory(std::int32_t elements) {
    auto out = engine->make_memory(4 * static_cast<Bytes>(elements));
    std::iota(data(*out), data(*out) + elements, 0);
    return out;
  }
  static std::int32_t* data(const Memory& m) { return reinterpret_cast<std::int32_t*>(m.host().bytes.data()); }

  std::shared_ptr<Launch> run(const std::shared_ptr<Kernel>& kernel,
                              const std::vector<std::shared_ptr<Memory>>& memories, std::int64_t group = 16) {
    Request request{.kernel = kernel, .group = {group, 1, 1}};
    for (const auto& m : memories) request.arguments.push_back(View{m, 0, m->size()});
    const auto elements = static_cast<std::int32_t>(memories[0]->size() / 4);
    request.items = {elements, 1, 1};
    request.arguments.push_back(std::get<device::Scalar>(device::scalar(elements)));
    return engine->submit(request);
  }
  void expect_mapped(const std::shared_ptr<Memory>& memory, int times) {
    ASSERT_TRUE(engine->to_host(memory, false));
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(memory->size() / 4); ++i) {
      std::int32_t expected = i;
      for (int t = 0; t < times; ++t) expected = mixed(expected);
      ASSERT_EQ(data(*memory)[i], expected) << i;
    }
  }

  device::FakeWorld world;
  std::optional<Engine> engine;
};

}  // namespace heddle::engine

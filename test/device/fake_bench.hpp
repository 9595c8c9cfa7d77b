// A fake device with little around it: one nanosecond for each work-item and each byte.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "device/fake_device.hpp"

namespace heddle::device {

using core::FailureKind;

constexpr auto ns = [](std::int64_t n) { return Nanoseconds(n); };

// One work-item, one byte: one nanosecond each, and no latencies.
inline const std::string plain = "device d gpu\nrate 1e9\ncopy in 1e9 out 1e9 within 1e9\n";

inline core::NdRange items(std::int64_t global, std::int64_t local = 1) {
  return {.offset = {0, 0, 0}, .global = {global, 1, 1}, .local = {local, 1, 1}};
}

// One device with a queue and the kernel "k", which adds 1 to every int of its first argument.
struct Bench {
  explicit Bench(const std::string& description, const std::string& id = "d") : Bench(FakeWorld(description), id) {}
  Bench(FakeWorld given, const std::string& id) : world(std::move(given)), device(world.device(id)) {
    world.add_kernel("time", {});
    world.add_kernel("k", {.body = [](const WorkItem& item, FakeArguments& arguments) {
                       ++arguments.buffer<int>(0)[static_cast<std::size_t>(item.global_id[0])];
                     }});
    program = device.build({"", ""}).value();
    queue = device.open_queue().value();
    time = program->kernel("time").value();
    k = program->kernel("k").value();
  }

  Result<Event> try_run(std::int64_t n, Waits waits = {}) { return queue->launch({*time, {}, items(n)}, waits); }
  Event run(std::int64_t n, Waits waits = {}) { return try_run(n, waits).value(); }
  Event run_k(Buffer& buffer, Waits waits = {}) {
    const std::vector<Argument> arguments = {BufferArgument{&buffer}};
    return queue->launch({*k, arguments, items(static_cast<std::int64_t>(buffer.size() / sizeof(int)))}, waits).value();
  }

  FakeWorld world;
  Device& device;
  std::unique_ptr<Program> program;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Kernel> time, k;
};

inline void expect_times(const Event& event, std::int64_t queued, std::int64_t start, std::int64_t end) {
  const Times times = event->times().value();
  EXPECT_EQ(times.queued, ns(queued));
  EXPECT_EQ(times.start, ns(start));
  EXPECT_EQ(times.end, ns(end));
}

inline FailureKind kind_of(const Status& status) { return status.failure().kind; }

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& v) {
  return std::as_writable_bytes(std::span(v));
}

}  // namespace heddle::device

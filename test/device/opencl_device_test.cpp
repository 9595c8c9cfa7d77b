// The device interface on every OpenCL device of the machine, whole and cut: memory, launches, order, events, failures.
#include "device/opencl_device.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "core/trace.hpp"
#include "device/facts.hpp"
#include "device/prepare.hpp"
#include "test/device/any_device.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::device {
namespace {

constexpr const char* source = R"(
kernel void mark(global int* out, int value) {
  size_t i = get_global_id(0) + 64 * get_global_id(1) + 64 * 64 * get_global_id(2);
  out[i] = value + (int)i;
}
kernel void twice(global int* x) { x[get_global_id(0)] *= 2; }
kernel void add(global const int* a, global const int* b, global int* c, local int* t) {
  size_t i = get_global_id(0), l = get_local_id(0);
  t[l] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  c[i] = t[l] + b[i];
}
kernel void spin(global int* x, int n) {
  int v = x[get_global_id(0)];
  for (int i = 0; i < n; ++i) v = v * 1664525 + 1013904223;
  x[get_global_id(0)] = v;
}
)";

class OpenClDevice : public testing::TestWithParam<Device*> {
 protected:
  void SetUp() override {
    queue = must(device.open_queue());
    program = must(device.build({source, ""}));
  }
  std::unique_ptr<Buffer> buffer_with(const std::vector<int>& values) {
    auto buffer = must(device.allocate(values.size() * sizeof(int)));
    must(must(queue->copy_in(*buffer, 0, bytes_of(values)))->wait());
    return buffer;
  }
  std::vector<int> contents(Buffer& buffer) {
    std::vector<int> values(buffer.size() / sizeof(int), -1);
    must(must(queue->copy_out(bytes_of(values), buffer, 0))->wait());
    return values;
  }
  Device& device = *GetParam();
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Program> program;
};

TEST_P(OpenClDevice, CopiesInOutAndBetween) {
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 5);
  auto a = buffer_with(values), b = buffer_with(std::vector<int>(1000, 0));
  must(queue->copy(*b, 40, *a, 80, 400));
  must(queue->fill(*b, 0, 40, std::byte{0xFF}));
  const auto out = contents(*b);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(out[i], i < 10 ? -1 : i < 110 ? values[i + 10] : 0) << i;
}

TEST_P(OpenClDevice, LaunchesABoxWithAnOffsetInThreeDimensions) {
  const std::vector<int> before(64 * 64 * 4, -7);
  auto out = buffer_with(before);
  auto kernel = must(program->kernel("mark"));
  const std::vector<Argument> arguments = {BufferArgument{out.get(), core::Access::write}, scalar(100)};
  must(must(queue->launch({*kernel, arguments, {{16, 8, 1}, {32, 16, 2}, {8, 2, 1}}}))->wait());
  const auto values = contents(*out);
  for (int i = 0; i < 64 * 64 * 4; ++i) {
    const int x = i % 64, y = i / 64 % 64, z = i / 64 / 64;
    const bool inside = x >= 16 && x < 48 && y >= 8 && y < 24 && z >= 1 && z < 3;
    ASSERT_EQ(values[i], inside ? 100 + i : -7) << i;
  }
}

TEST_P(OpenClDevice, TakesScalarsBuffersAndLocalMemory) {
  std::vector<int> a(256), b(256);
  std::iota(a.begin(), a.end(), 0);
  std::iota(b.begin(), b.end(), 1000);
  auto da = buffer_with(a), db = buffer_with(b), dc = buffer_with(std::vector<int>(256, 0));
  auto kernel = must(program->kernel("add"));
  const std::vector<Argument> arguments = {BufferArgument{da.get()}, BufferArgument{db.get()}, BufferArgument{dc.get()},
                                           LocalMemory{64 * sizeof(int)}};
  must(must(queue->launch({*kernel, arguments, {{}, {256, 1, 1}, {64, 1, 1}}}))->wait());
  const auto c = contents(*dc);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(c[i], a[i] + b[i]);
}

TEST_P(OpenClDevice, QueuesRunInOrderAndWaitForOthers) {
  auto x = buffer_with(std::vector<int>(4096, 1));
  auto kernel = must(program->kernel("twice"));
  auto other = must(device.open_queue());
  const std::vector<Argument> arguments = {BufferArgument{x.get()}};
  Event last;
  for (int i = 0; i < 20; ++i) {
    Queue& q = i % 2 ? *other : *queue;
    const std::vector<Event> waits = last ? std::vector<Event>{last} : std::vector<Event>{};
    last = must(q.launch({*kernel, arguments, {{}, {4096, 1, 1}, {64, 1, 1}}}, waits));
    must(q.flush());
  }
  must(last->wait());
  EXPECT_EQ(contents(*x), std::vector<int>(4096, 1 << 20));
}

TEST_P(OpenClDevice, WrappedMemoryIsTheHostsOwn) {
  std::vector<int> memory(4096, 3);
  if (device.info().space != host_memory) {
    auto refused = device.wrap(bytes_of(memory));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().kind, core::FailureKind::unsupported);
    return;
  }
  auto wrapped = must(device.wrap(bytes_of(memory)));
  auto kernel = must(program->kernel("twice"));
  const std::vector<Argument> arguments = {BufferArgument{wrapped.get()}};
  must(must(queue->copy_in(*wrapped, 0, bytes_of(memory)))->wait());
  must(queue->launch({*kernel, arguments, {{}, {4096, 1, 1}, {64, 1, 1}}}));
  must(must(queue->copy_out(bytes_of(memory), *wrapped, 0))->wait());
  EXPECT_EQ(memory, std::vector<int>(4096, 6));
}

TEST_P(OpenClDevice, LockedMemoryIsAnEndOfCopies) {
  auto locked = must(device.lock(4096 * sizeof(int)));
  auto* words = reinterpret_cast<int*>(locked->bytes().data());
  for (int i = 0; i < 4096; ++i) words[i] = i * 3;
  auto buffer = must(device.allocate(locked->bytes().size()));
  must(must(queue->copy_in(*buffer, 0, locked->bytes()))->wait());
  const auto out = contents(*buffer);
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(out[i], i * 3);
}

TEST_P(OpenClDevice, EventsTellTimesAndCallBack) {
  auto x = buffer_with(std::vector<int>(65'536, 1));
  auto kernel = must(program->kernel("spin"));
  const std::vector<Argument> arguments = {BufferArgument{x.get()}, scalar(1000)};
  const Nanoseconds before = device.now();
  auto event = must(queue->launch({*kernel, arguments, {{}, {65'536, 1, 1}, {64, 1, 1}}}));
  // Shared with the callback, which may still be returning when the test is over.
  struct Called {
    std::mutex mutex;
    std::condition_variable changed;
    int count = 0;
  };
  auto called = std::make_shared<Called>();
  auto callback = [called] {
    std::lock_guard lock(called->mutex);
    ++called->count;
    called->changed.notify_all();
  };
  event->notify(callback);
  must(event->wait());
  EXPECT_TRUE(event->done());
  event->notify(callback);  // done already: calls back all the same
  {
    std::unique_lock lock(called->mutex);
    EXPECT_TRUE(called->changed.wait_for(lock, std::chrono::seconds(20), [&] { return called->count == 2; }));
  }
  const Times times = must(event->times());
  EXPECT_LE(before, times.queued);
  EXPECT_LE(times.queued, times.start);
  EXPECT_LT(times.start, times.end);
}

TEST_P(OpenClDevice, AWaitCanBeLimited) {
  auto x = buffer_with(std::vector<int>(1 << 20, 1));
  auto kernel = must(program->kernel("spin"));
  const std::vector<Argument> arguments = {BufferArgument{x.get()}, scalar(400)};
  const heddle::device::Run run{*kernel, arguments, {{}, {1 << 20, 1, 1}, {64, 1, 1}}};
  must(prepare(device, *queue, run));
  auto event = must(queue->launch(run));
  auto hurried = event->wait(Nanoseconds(1));  // far less than any device needs to be told
  ASSERT_FALSE(hurried);
  EXPECT_EQ(hurried.failure().kind, core::FailureKind::hang);
  must(event->wait(std::chrono::minutes(2)));
  EXPECT_TRUE(event->done());
}

TEST_P(OpenClDevice, ABuildThatFailsBringsItsLog) {
  auto bad = device.build({"kernel void broken(global int* x) { x[0] = no_such_name; }", ""});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.failure().kind, core::FailureKind::build);
  EXPECT_NE(bad.failure().log.find("no_such_name"), std::string::npos) << bad.failure().log;
  auto missing = program->kernel("no_such_kernel");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.failure().what.find("no_such_kernel"), std::string::npos);
}

TEST_P(OpenClDevice, MovingNothingIsNoMistake) {
  auto x = buffer_with(std::vector<int>(64, 1)), y = buffer_with(std::vector<int>(64, 2));
  must(must(queue->copy_in(*x, 256, {}))->wait());
  must(must(queue->copy_out({}, *x, 0))->wait());
  must(must(queue->copy(*x, 0, *y, 256, 0))->wait());
  must(must(queue->fill(*x, 0, 0, std::byte{9}))->wait());
  EXPECT_EQ(contents(*x), std::vector<int>(64, 1));
}

TEST_P(OpenClDevice, SlicesSeeTheDimensionsOfTheirLaunch) {
  auto program_of_dimensions =
      must(device.build({"kernel void dims(global int* out) { out[get_global_id(1)] = get_work_dim(); }", ""}));
  auto kernel = must(program_of_dimensions->kernel("dims"));
  auto out = buffer_with(std::vector<int>(4, 0));
  const std::vector<Argument> arguments = {BufferArgument{out.get(), core::Access::write}};
  core::Variant v;
  v.cut = core::Cut::by_offset;
  const core::Box space = core::box_of(1, 4);
  for (std::int64_t row = 0; row < 4; ++row) {
    must(queue->launch({*kernel, arguments, nd_range(v, {{0, row, 0}, {1, row + 1, 1}}, space)}));
  }
  EXPECT_EQ(contents(*out), std::vector<int>(4, 2));
}

TEST_P(OpenClDevice, CallersMistakesAreNamed) {
  auto x = buffer_with(std::vector<int>(64, 1));
  std::vector<int> host(64);
  EXPECT_THROW((void)queue->copy_in(*x, 4, bytes_of(host)), core::UsageError);
  EXPECT_THROW((void)queue->copy_out(bytes_of(host), *x, 1), core::UsageError);
  EXPECT_THROW((void)queue->fill(*x, ~0ull, 8, std::byte{0}), core::UsageError);
  auto kernel = must(program->kernel("twice"));
  const std::vector<Argument> none = {BufferArgument{nullptr}};
  EXPECT_THROW((void)queue->launch({*kernel, none, {{}, {64, 1, 1}, {64, 1, 1}}}), core::UsageError);
  const std::vector<Argument> many = {BufferArgument{x.get()}, scalar(1)};
  try {
    (void)queue->launch({*kernel, many, {{}, {64, 1, 1}, {64, 1, 1}}});
    FAIL();
  } catch (const core::UsageError& e) {
    EXPECT_STREQ(e.what(), "kernel twice: 2 arguments given, 1 expected");
  }
}

TEST_P(OpenClDevice, ExpectedFailuresAreValues) {
  auto huge = device.allocate(device.info().memory * 64 + (1ull << 45));
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.failure().kind, core::FailureKind::allocation);
  auto x = buffer_with(std::vector<int>(64, 1));
  auto kernel = must(program->kernel("mark"));
  const std::vector<Argument> wrong_size = {BufferArgument{x.get()}, scalar('c')};
  auto refused = queue->launch({*kernel, wrong_size, {{}, {64, 1, 1}, {64, 1, 1}}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.failure().what.find("argument 1 of kernel mark"), std::string::npos) << refused.failure().what;
  const std::vector<Argument> right = {BufferArgument{x.get()}, scalar(1)};
  auto uneven = queue->launch({*kernel, right, {{}, {63, 1, 1}, {64, 1, 1}}});
  EXPECT_FALSE(uneven);
}

TEST_P(OpenClDevice, PreparingLeavesBuffersAlone) {
  const std::vector<int> values(100'000, 21);
  auto x = buffer_with(values);
  auto kernel = must(program->kernel("twice"));
  const std::vector<Argument> arguments = {BufferArgument{x.get()}};
  const core::NdRange narrow{{}, {64, 1, 1}, {64, 1, 1}}, wide{{}, {65'536, 1, 1}, {64, 1, 1}},
      shifted{{128, 0, 0}, {64, 1, 1}, {64, 1, 1}};
  for (const auto& range : {narrow, wide, shifted, narrow}) must(prepare(device, *queue, {*kernel, arguments, range}));
  EXPECT_EQ(kernel->prepared.size(), 3u);
  EXPECT_EQ(contents(*x), values);
  must(queue->launch({*kernel, arguments, shifted}));
  const auto after = contents(*x);
  EXPECT_EQ(after[127], 21);
  EXPECT_EQ(after[128], 42);
  EXPECT_EQ(after[192], 21);
}

TEST_P(OpenClDevice, TimingSaysHowLongAndHowDisturbed) {
  auto x = buffer_with(std::vector<int>(1 << 16, 1));
  auto kernel = must(program->kernel("spin"));
  const std::vector<Argument> arguments = {BufferArgument{x.get()}, scalar(1000)};
  const heddle::device::Run run{*kernel, arguments, {{}, {1 << 16, 1, 1}, {64, 1, 1}}};
  must(prepare(device, *queue, run));
  for (auto clock : {Clock::Source::event, Clock::Source::host}) {
    const core::Sample sample = must(timed(device, *queue, run, 1 << 16, Clock{clock, Nanoseconds(1), Nanoseconds(0)}));
    EXPECT_EQ(sample.points, 1 << 16);
    EXPECT_GT(sample.duration.count(), 0);
    EXPECT_GT(sample.contention, 0);
    EXPECT_LE(sample.contention, 1);
  }
}

TEST_P(OpenClDevice, EventsAndBuffersMayOutliveWhatMadeThem) {
  Event event;
  {
    auto x = buffer_with(std::vector<int>(1 << 16, 1));
    auto kernel = must(program->kernel("spin"));
    auto short_lived = must(device.open_queue());
    const std::vector<Argument> arguments = {BufferArgument{x.get()}, scalar(1000)};
    event = must(short_lived->launch({*kernel, arguments, {{}, {1 << 16, 1, 1}, {64, 1, 1}}}));
    must(short_lived->flush());
  }
  must(event->wait());
  EXPECT_TRUE(event->done());
}

TEST_P(OpenClDevice, SeveralThreadsEachWithAQueue) {
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto own_queue = must(device.open_queue());
      auto kernel = must(program->kernel("mark"));
      std::vector<int> values(64, -1);
      for (int round = 0; round < 20; ++round) {
        auto x = must(device.allocate(64 * sizeof(int)));
        const std::vector<Argument> arguments = {BufferArgument{x.get(), core::Access::write},
                                                 scalar(1000 * t + round)};
        must(own_queue->launch({*kernel, arguments, {{}, {64, 1, 1}, {64, 1, 1}}}));
        must(must(own_queue->copy_out(bytes_of(values), *x, 0))->wait());
        right += values[63] == 1000 * t + round + 63;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 80);
}

TEST_P(OpenClDevice, TracesWhatItDoes) {
  struct Recorder : core::TraceSink {
    std::mutex mutex;
    std::vector<core::TraceEvent> events;
    void add(core::TraceEvent event) override {
      std::lock_guard lock(mutex);
      events.push_back(std::move(event));
    }
  };
  static std::vector<std::unique_ptr<Recorder>> recorders;  // kept to the end: a driver's callback may come late
  Recorder* recorder = recorders.emplace_back(std::make_unique<Recorder>()).get();
  auto x = buffer_with(std::vector<int>(64, 1));
  auto kernel = must(program->kernel("twice"));
  const std::vector<Argument> arguments = {BufferArgument{x.get()}};
  core::set_trace_sink(recorder);
  must(must(queue->launch({*kernel, arguments, {{}, {64, 1, 1}, {64, 1, 1}}}))->wait());
  contents(*x);
  must(device.build({"kernel void nothing(global int* x) { x[0] = 1; }", ""}));
  for (int i = 0; i < 2000; ++i) {  // callbacks come from a thread of the driver's
    {
      std::lock_guard lock(recorder->mutex);
      if (recorder->events.size() >= 3) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  core::set_trace_sink(nullptr);
  std::lock_guard lock(recorder->mutex);
  ASSERT_EQ(recorder->events.size(), 3u);
  std::vector<std::string> names;
  for (const auto& e : recorder->events) {
    names.push_back(std::string(to_string(e.kind)) + " " + e.name + " " + e.track);
  }
  const std::string& id = device.info().id;
  for (const std::string& expected : {"slice twice " + id, "transfer copy out " + id, "build build " + id}) {
    EXPECT_NE(std::find(names.begin(), names.end(), expected), names.end()) << expected;
  }
}

TEST_P(OpenClDevice, MeasuresItselfOnce) {
  TemporaryFolder folder;
  auto first = must(measure(device));
  EXPECT_GT(first.memory_rate, 0);
  EXPECT_GT(first.launch.count(), 0);
  EXPECT_GT(first.back_to_back.count(), 0);
  EXPECT_GT(first.clock.resolution.count(), 0);
  EXPECT_EQ(first.copy_engines > 0, device.info().space != host_memory);
  const std::string file = device.info().fingerprint + ".json";
  folder.write(file, "{ this is no JSON");
  must(facts_of(device, folder.path()));  // measured again, not believed
  folder.write(file, R"({"version":2,"clock":"host","clock_resolution_ns":7,"clock_noise_ns":8,"launch_ns":9,
    "back_to_back_ns":10,"memory_rate":11,"in_pageable":0,"in_locked":0,"out_pageable":0,"out_locked":0,"both_locked":0,
    "copy_engines":0})");
  const Facts kept = must(facts_of(device, folder.path()));
  EXPECT_EQ(kept.launch.count(), 9);
  EXPECT_EQ(kept.clock.source, Clock::Source::host);
  EXPECT_EQ(kept.memory_rate, 11);
}

INSTANTIATE_TEST_SUITE_P(Every, OpenClDevice, testing::ValuesIn(every_device()), device_name);

TEST(OpenClBuild, ComesFromTheCacheTheSecondTime) {
  TemporaryFolder folder;
  const std::string text = "kernel void k(global int* x) { x[get_global_id(0)] += 5; }";
  for (int round = 0; round < 3; ++round) {
    auto machine = open_machine(test_settings("cpu", folder.path()), process_environment);
    Device& cpu = *machine.devices.front();
    auto program = must(cpu.build({text, ""}));
    EXPECT_EQ(program->from_cache, round == 1) << round;
    EXPECT_FALSE(must(cpu.build({text, "-DOTHER=" + std::to_string(round)}))->from_cache);
    folder.write("part.h", "#define STEP 1");
    for (const char* include : {"#include \"part.h\"\n", "# include \"part.h\"\n", "#inc\\\nlude \"part.h\"\n"}) {
      EXPECT_FALSE(must(cpu.build({include + text, "-I" + folder.path()}))->from_cache) << include;
    }
    auto kernel = must(program->kernel("k"));
    auto queue = must(cpu.open_queue());
    std::vector<int> values(64, 1);
    auto x = must(cpu.allocate(256));
    must(queue->copy_in(*x, 0, bytes_of(values)));
    const std::vector<Argument> arguments = {BufferArgument{x.get()}};
    must(queue->launch({*kernel, arguments, {{}, {64, 1, 1}, {64, 1, 1}}}));
    must(must(queue->copy_out(bytes_of(values), *x, 0))->wait());
    EXPECT_EQ(values, std::vector<int>(64, 6));
    if (round != 1) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path("build"))) {  // damage all of it
      std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) - 1);
    }
  }
}

}  // namespace
}  // namespace heddle::device

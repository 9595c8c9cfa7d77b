// The library as a program uses it, on every set of devices there is.
#include <numeric>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "heddle/heddle.hpp"

namespace heddle {
namespace {

const char* const saxpy_source = R"(
kernel void saxpy(global const float* x, global float* y, float a) {
  size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
kernel void place(global int* out, local int* scratch) {
  scratch[get_local_id(0)] = get_group_id(0) * 1000 + get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = scratch[get_local_size(0) - 1 - get_local_id(0)] + get_num_groups(0);
}
kernel void scatter(global const int* to, global int* out) { out[to[get_global_id(0)]] = get_global_id(0); }
kernel void tickets(global int* counter, global int* out) { out[get_global_id(0)] = atomic_inc(counter); }
kernel void add_rows(global const float* in, global float* out, int width) {
  int x = get_global_id(0), y = get_global_id(1);
  out[y * width + x] = in[y * width + x] + 100 * y;
}
)";

class OnDevices : public testing::TestWithParam<const char*> {
 protected:
  Runtime rt{Options{.devices = GetParam()}};
};

std::vector<float> random_floats(std::size_t n) {
  static std::mt19937 random(7);
  std::vector<float> out(n);
  for (float& f : out) f = static_cast<float>(random() % 1000) / 8;
  return out;
}

TEST_P(OnDevices, WhatTheReadmeShows) {
  const std::size_t n = 100'000;
  auto x = rt.buffer<float>(n), y = rt.buffer<float>(n);
  const auto xs = random_floats(n), ys = random_floats(n);
  x.write(xs), y.write(ys);
  auto saxpy = rt.kernel("saxpy", saxpy_source);
  rt.launch(saxpy, grid(n), x, y, 2.5f);
  const auto result = y.read();
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], 2.5f * xs[i] + ys[i]) << i;
}

TEST_P(OnDevices, LaunchesFollowEachOtherInSlices) {
  const std::size_t n = 3 << 12;
  auto x = rt.buffer<float>(n), y = rt.buffer<float>(n);
  for (auto& v : x.host()) v = 1;
  for (auto& v : y.host()) v = 0;
  auto saxpy = rt.kernel("saxpy", saxpy_source);
  std::vector<Launch> launches;
  for (int i = 0; i < 50; ++i)
    launches.push_back(
        rt.launch(saxpy, grid(static_cast<std::int64_t>(n)).group(64).tasks(1 + i % 5).on_all_devices(), x, y, 1.0f));
  for (float v : y.read()) ASSERT_EQ(v, 50);
  const Report report = launches.back().report();
  EXPECT_GE(report.slices.size(), 5u);
  EXPECT_GT(report.time.count(), 0);
}

TEST_P(OnDevices, GroupsKeepTheirPlaceInBoxes) {
  const std::int64_t n = 4096, group = 64;
  auto out = rt.buffer<int>(n);
  auto place = rt.kernel("place", saxpy_source);
  for (int tasks : {1, 7}) {
    for (auto& v : out.host()) v = -1;
    auto launch = rt.launch(place, grid(n).group(group).tasks(tasks).on_all_devices(), out, local<int>(group));
    launch.wait();
    EXPECT_GE(launch.report().slices.size(), static_cast<std::size_t>(tasks));
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_EQ(out.read()[static_cast<std::size_t>(i)], i / group * 1000 + group - 1 - i % group + n / group)
          << tasks << " " << i;
  }
}

TEST_P(OnDevices, WhatIsNotKnownStaysTogether) {
  const std::int64_t n = 2048;
  std::vector<int> to(n);
  std::iota(to.begin(), to.end(), 0);
  std::shuffle(to.begin(), to.end(), std::mt19937(3));
  auto where = rt.buffer<int>(n), out = rt.buffer<int>(n);
  where.write(to);
  auto scatter = rt.kernel("scatter", saxpy_source);
  rt.launch(scatter, grid(n).group(32).tasks(5).on_all_devices(), where, out).wait();
  for (std::size_t i = 0; i < to.size(); ++i)
    ASSERT_EQ(out.read()[static_cast<std::size_t>(to[i])], static_cast<int>(i));
}

TEST_P(OnDevices, TicketsAreGivenOnce) {
  const std::int64_t n = 1024;
  auto counter = rt.buffer<int>(1), out = rt.buffer<int>(n);
  counter.host()[0] = 0;
  auto tickets = rt.kernel("tickets", saxpy_source);
  auto launch = rt.launch(tickets, grid(n).group(32).tasks(5).on_all_devices(), counter, out);
  std::vector<int> got(out.read().begin(), out.read().end());
  std::sort(got.begin(), got.end());
  for (int i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], i);
  const Report report = launch.report();
  EXPECT_EQ(report.slices.size(), 1u);
  ASSERT_FALSE(report.decisions.empty());
  EXPECT_NE(report.decisions[0].find("undivided"), std::string::npos);
}

TEST_P(OnDevices, TwoDimensionsAndParts) {
  const std::int64_t width = 256, height = 64;
  auto in = rt.buffer<float>(width * height), out = rt.buffer<float>(2 * width * height);
  const auto data = random_floats(width * height);
  in.write(data);
  for (auto& v : out.host()) v = -1;
  auto rows = rt.kernel("add_rows", saxpy_source);
  rt.launch(rows, grid(width, height).group(64, 2).tasks(4).on_all_devices(), in,
            out.part(width * height, width * height), static_cast<int>(width));
  const auto result = out.read();
  for (std::size_t i = 0; i < width * height; ++i) {
    ASSERT_EQ(result[i], -1);
    ASSERT_EQ(result[width * height + i], data[i] + 100.0f * static_cast<float>(i / width)) << i;
  }
}

TEST_P(OnDevices, RewritingWaitsForNobody) {
  const std::size_t n = 1 << 16;
  auto x = rt.buffer<float>(n), y = rt.buffer<float>(n);
  for (auto& v : y.host()) v = 0;
  auto saxpy = rt.kernel("saxpy", saxpy_source);
  std::vector<float> values(n);
  float sum = 0;
  for (int i = 1; i <= 20; ++i) {
    std::fill(values.begin(), values.end(), static_cast<float>(i));
    x.write(values);
    rt.launch(saxpy, grid(n).tasks(2), x, y, 1.0f);
    sum += static_cast<float>(i);
  }
  for (float v : y.read()) ASSERT_EQ(v, sum);
}

TEST_P(OnDevices, MemoryOfTheProgram) {
  const std::size_t n = 10'000;
  auto xs = random_floats(n), ys = random_floats(n);
  const auto before = ys;
  {
    auto x = rt.buffer_on(std::span(xs)), y = rt.buffer_on(std::span(ys));
    rt.launch(rt.kernel("saxpy", saxpy_source), grid(n), x, y, 3.0f);
    y.read();
  }
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(ys[i], 3 * xs[i] + before[i]);
}

TEST_P(OnDevices, MistakesAreNamed) {
  auto x = rt.buffer<float>(16), y = rt.buffer<float>(16);
  auto saxpy = rt.kernel("saxpy", saxpy_source);
  auto said = [&](auto&& call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(said([&] { rt.launch(saxpy, grid(16), x, y); }), "kernel 'saxpy': 2 arguments given, 3 expected");
  EXPECT_EQ(said([&] { rt.launch(saxpy, grid(16), x, y, 2.5); }),
            "kernel 'saxpy', argument 2 ('a'): a value of 8 bytes given, float of 4 bytes expected");
  EXPECT_EQ(said([&] { rt.launch(saxpy, grid(16), x, 1.0f, 2.5f); }),
            "kernel 'saxpy', argument 1 ('y'): a value given, a buffer (__global float *) expected");
  EXPECT_EQ(said([&] { rt.launch(saxpy, grid(16).group(5), x, y, 2.5f); }),
            "kernel 'saxpy': 16 work-items in dimension 0 are no multiple of its group of 5");
  EXPECT_EQ(said([&] { rt.launch(saxpy, grid(0), x, y, 2.5f); }),
            "kernel 'saxpy': 0 work-items in dimension 0; at least 1 expected");
  EXPECT_NE(said([&] { rt.buffer<float>(0); }), "nothing");
  EXPECT_NE(said([&] { x.write(std::vector<float>(3)); }), "nothing");
  Runtime other(Options{.devices = GetParam()});
  EXPECT_NE(said([&] { other.launch(saxpy, grid(16), x, y, 2.5f); }).find("another runtime"), std::string::npos);
  try {
    rt.kernel("broken", "kernel void broken(global int* x) { x[0] = nonsense; }");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.log().find("nonsense"), std::string::npos) << error.log();
  }
  EXPECT_THROW(rt.kernel("absent", saxpy_source), Error);
}

TEST_P(OnDevices, SeveralThreadsOnOneRuntime) {
  auto saxpy = rt.kernel("saxpy", saxpy_source);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::size_t n = 1 << 10;
      auto x = rt.buffer<float>(n), y = rt.buffer<float>(n);
      for (auto& v : x.host()) v = static_cast<float>(t);
      for (auto& v : y.host()) v = 1;
      for (int i = 0; i < 20; ++i) rt.launch(saxpy, grid(n).group(32).tasks(1 + t % 3).on_all_devices(), x, y, 1.0f);
      for (float v : y.read()) EXPECT_EQ(v, static_cast<float>(20 * t + 1));
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(OnDevices, ARuntimeMayGoWithWorkInFlight) {
  Runtime another(Options{.devices = GetParam()});
  const std::size_t n = 1 << 18;
  std::vector<float> xs(n, 1), ys(n, 0);
  {
    Runtime brief(Options{.devices = GetParam()});
    auto x = brief.buffer_on(std::span(xs)), y = brief.buffer_on(std::span(ys));
    auto saxpy = brief.kernel("saxpy", saxpy_source);
    for (int i = 0; i < 30; ++i) brief.launch(saxpy, grid(n).tasks(3), x, y, 1.0f);
  }
  auto z = another.buffer<float>(8);
  z.host()[0] = 1;
  another.launch(another.kernel("saxpy", saxpy_source), grid(8), z, z, 1.0f).wait();
  EXPECT_EQ(z.read()[0], 2);
}

INSTANTIATE_TEST_SUITE_P(Sets, OnDevices, testing::Values("cpu", "cpu/2", "all"), [](const auto& set) {
  std::string name = set.param;
  for (char& c : name) c = c == '/' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace heddle

// Small kernels and copies, a few repetitions each, medians.
#include "device/facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/log.hpp"
#include "device/prepare.hpp"

namespace heddle::device {

namespace fs = std::filesystem;
using core::operator""_MiB;

namespace {

constexpr const char* source = R"(
kernel void none(int n, global float* out) { if (get_global_id(0) < n) out[get_global_id(0)] = 0; }
kernel void add(global const float* a, global const float* b, global float* c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
)";
constexpr int file_version = 2;  // raise it when what is measured changes its meaning

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Nanoseconds nanoseconds(double seconds) {
  return Nanoseconds(static_cast<Nanoseconds::rep>(std::llround(seconds * 1e9)));
}

// A failure inside a measurement ends it; thrown to keep the arithmetic readable, and caught in measure().
struct Stop {
  core::Failure failure;
};

template <class T>
T take(Result<T> result) {
  if (!result) throw Stop{result.failure()};
  return std::move(result).value();
}

class Measurement {
 public:
  explicit Measurement(Device& device)
      : device_(device), queue_(take(device.open_queue())), program_(take(device.build({source, ""}))) {
    // With groups of 64 the H200 shows a third of its memory rate.
    group_ = std::min<std::int64_t>(256, device.info().largest_group);
  }

  Facts all() {
    Facts facts;
    measure_memory(facts);
    measure_launches(facts);
    if (device_.info().space != host_memory) measure_copies(facts);
    return facts;
  }

 private:
  template <class Work>
  std::vector<double> repeat(int times, Work work) {
    std::vector<double> out;
    for (int i = 0; i < times; ++i) {
      const Nanoseconds begin = device_.now();
      work();
      out.push_back(core::seconds(device_.now() - begin));
    }
    return out;
  }

  void measure_memory(Facts& facts) {
    // Three arrays that no cache holds, but at most an eighth of the memory together. Large on many cores too, or else
    // waking them takes so much of the time that they look disturbed.
    const bool small = device_.info().kind == Kind::cpu && device_.info().units <= 4;
    const Bytes want = small ? 64_MiB : 256_MiB;
    const Bytes size = std::min({want, device_.info().largest_buffer, device_.info().memory / 24}) / 4096 * 4096;
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Argument> arguments;
    for (int k = 0; k < 3; ++k) {
      buffers.push_back(take(device_.allocate(size)));
      take(queue_->fill(*buffers.back(), 0, size, std::byte{0}));  // first touch is not what we want to know
      arguments.push_back(BufferArgument{buffers.back().get(), k < 2 ? core::Access::read : core::Access::write});
    }
    auto kernel = take(program_->kernel("add"));
    const Run run{*kernel, arguments, {{}, {static_cast<std::int64_t>(size / 4), 1, 1}, {group_, 1, 1}}};
    take(prepare(device_, *queue_, run));
    auto once = [&] { take(take(queue_->launch(run))->wait()); };
    for (int i = 0; i < 5; ++i) once();  // after a pause a CPU's threads take some launches to spread over its cores
    const CpuWatch watch(device_);
    const Nanoseconds begin_rate = device_.now();
    facts.memory_rate = 3.0 * static_cast<double>(size) / median(repeat(7, once));
    facts.disturbed = watch.ratio(device_.now() - begin_rate, run.range.global[0] / group_) < core::trusted_contention;

    // The clock is judged on one that is short, and always the same.
    const std::int64_t few = std::min<std::int64_t>(static_cast<std::int64_t>(size / 4), 16'384) / group_ * group_;
    const Run brief{*kernel, arguments, {{}, {few, 1, 1}, {group_, 1, 1}}};
    take(prepare(device_, *queue_, brief));
    std::vector<double> host, events;
    Nanoseconds::rep tick = 0;  // what divides every duration is the clock's step
    bool sane = true;
    for (int i = 0; i < 64; ++i) {
      const Nanoseconds begin = device_.now();
      auto event = take(queue_->launch(brief));
      take(event->wait());
      host.push_back(core::seconds(device_.now() - begin));
      const Times times = take(event->times());
      events.push_back(core::seconds(times.duration()));
      sane = sane && times.duration().count() > 0 && events.back() <= host.back() * 1.5;
      tick = std::gcd(tick, times.duration().count());
    }
    auto spread = [](const std::vector<double>& times) {
      const double middle = median(times);
      std::vector<double> off;
      for (double t : times) off.push_back(std::abs(t - middle));
      return median(off);
    };
    const double host_noise = spread(host), event_noise = spread(events);
    // An event's times leave out queueing, so they win unless they are wrong or no better than the noise around them.
    const bool use_events = sane && event_noise <= host_noise + 1e-9 * static_cast<double>(tick);
    facts.clock.source = use_events ? Clock::Source::event : Clock::Source::host;
    facts.clock.resolution = Nanoseconds(use_events ? std::max<Nanoseconds::rep>(tick, 1) : 1);
    facts.clock.noise = nanoseconds(use_events ? event_noise : host_noise);
  }

  // On an untimed queue: what a settled launch costs.
  void measure_launches(Facts& facts) {
    auto queue = take(device_.open_queue(Device::Timing::off));
    auto kernel = take(program_->kernel("none"));
    auto buffer = take(device_.allocate(4096));
    const std::vector<Argument> arguments = {scalar(0), BufferArgument{buffer.get(), core::Access::write}};
    const Run run{*kernel, arguments, {{}, {group_, 1, 1}, {group_, 1, 1}}};
    take(prepare(device_, *queue, run));
    facts.launch = nanoseconds(median(repeat(100, [&] { take(take(queue->launch(run))->wait()); })));
    constexpr int many = 200;
    const auto rows = repeat(5, [&] {
      for (int i = 0; i < many; ++i) take(queue->launch(run));
      take(queue->finish());
    });
    facts.back_to_back = nanoseconds(median(rows) / many);
  }

  void measure_copies(Facts& facts) {
    const Bytes size = std::min<Bytes>(64_MiB, device_.info().largest_buffer / 4);
    auto there = take(device_.allocate(size)), other = take(device_.allocate(size));
    auto locked = take(device_.lock(size)), second = take(device_.lock(size));
    std::vector<std::byte> pageable(size);
    for (auto memory : {locked->bytes(), second->bytes()}) std::memset(memory.data(), 1, memory.size());  // first touch
    auto second_queue = take(device_.open_queue());
    const double bytes = static_cast<double>(size);
    auto in = [&](std::span<const std::byte> from) { take(take(queue_->copy_in(*there, 0, from))->wait()); };
    auto out = [&](std::span<std::byte> to) { take(take(queue_->copy_out(to, *there, 0))->wait()); };
    auto rate = [&](auto work) {
      work();
      return bytes / median(repeat(5, work));
    };
    facts.in_pageable = rate([&] { in(pageable); });
    facts.out_pageable = rate([&] { out(pageable); });
    facts.in_locked = rate([&] { in(locked->bytes()); });
    facts.out_locked = rate([&] { out(locked->bytes()); });
    facts.both_locked = 2 * rate([&] {
                          auto one = take(queue_->copy_in(*there, 0, locked->bytes()));
                          auto two = take(second_queue->copy_out(second->bytes(), *other, 0));
                          take(queue_->flush());
                          take(second_queue->flush());
                          take(one->wait());
                          take(two->wait());
                        });
    // One engine gives the rate of one direction, two give the sum of both; 1.4 lies well between.
    facts.copy_engines = facts.both_locked > 1.4 * std::max(facts.in_locked, facts.out_locked) ? 2 : 1;
  }

  Device& device_;
  std::int64_t group_ = 1;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Program> program_;
};

nlohmann::json to_json(const Facts& f) {
  return {{"version", file_version},
          {"clock", f.clock.source == Clock::Source::event ? "event" : "host"},
          {"clock_resolution_ns", f.clock.resolution.count()},
          {"clock_noise_ns", f.clock.noise.count()},
          {"launch_ns", f.launch.count()},
          {"back_to_back_ns", f.back_to_back.count()},
          {"memory_rate", f.memory_rate},
          {"in_pageable", f.in_pageable},
          {"in_locked", f.in_locked},
          {"out_pageable", f.out_pageable},
          {"out_locked", f.out_locked},
          {"both_locked", f.both_locked},
          {"copy_engines", f.copy_engines}};
}

Facts from_json(const nlohmann::json& j) {
  if (j.at("version") != file_version) throw std::runtime_error("another version");
  Facts f;
  f.clock.source = j.at("clock") == "event" ? Clock::Source::event : Clock::Source::host;
  f.clock.resolution = Nanoseconds(j.at("clock_resolution_ns").get<Nanoseconds::rep>());
  f.clock.noise = Nanoseconds(j.at("clock_noise_ns").get<Nanoseconds::rep>());
  f.launch = Nanoseconds(j.at("launch_ns").get<Nanoseconds::rep>());
  f.back_to_back = Nanoseconds(j.at("back_to_back_ns").get<Nanoseconds::rep>());
  f.memory_rate = j.at("memory_rate");
  f.in_pageable = j.at("in_pageable");
  f.in_locked = j.at("in_locked");
  f.out_pageable = j.at("out_pageable");
  f.out_locked = j.at("out_locked");
  f.both_locked = j.at("both_locked");
  f.copy_engines = j.at("copy_engines");
  return f;
}

}  // namespace

Result<Facts> measure(Device& device) {
  try {
    return Measurement(device).all();
  } catch (const Stop& stop) {
    return stop.failure;
  }
}

Result<Facts> facts_of(Device& device, const std::string& folder) {
  const fs::path file = fs::path(folder) / (device.info().fingerprint + ".json");
  if (!folder.empty()) {
    try {
      if (std::ifstream in{file}) return from_json(nlohmann::json::parse(in));
    } catch (const std::exception&) {
      core::log(core::LogLevel::info, "device facts: " + file.string() + " cannot be read; measuring again");
    }
  }
  auto facts = measure(device);
  if (!facts || folder.empty()) return facts;
  if (facts->disturbed) {
    core::log(core::LogLevel::info,
              device.info().id + " was busy with another program; its facts are measured again next time");
    return facts;
  }
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const fs::path aside = file.string() + "." + std::to_string(::getpid());
  std::ofstream(aside) << to_json(*facts).dump(2) << "\n";
  fs::rename(aside, file, ignored);
  if (ignored) fs::remove(aside, ignored);
  return facts;
}

}  // namespace heddle::device

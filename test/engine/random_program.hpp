// Random programs of the test kernels: buffers, launches, looks at results, and what each must have computed. Where
// they run is given from outside.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/log.hpp"
#include "core/trace.hpp"
#include "test/engine/bench.hpp"

namespace heddle::engine {

struct Counts {
  std::int64_t launches = 0, failed = 0, retries = 0, slices = 0, windows = 0, repeats = 0;
  std::int64_t divided = 0;   // launches that had regions
  std::int64_t apart = 0;     // launches that repeated parts of what they must not do twice
  std::int64_t prepared = 0;  // slices on prepared inputs
  std::int64_t shared = 0;    // launches on several devices although the program did not ask for that
  std::int64_t settled = 0;   // launches in parts as before
  std::int64_t told = 0;      // and as the program said
  std::int64_t joined = 0;    // launches in different memories that joined what they had changed
  std::int64_t various = 0;   // and those of them whose devices chose among variants

  Counts& operator+=(const Counts& other) {
    launches += other.launches, failed += other.failed, retries += other.retries, slices += other.slices,
        windows += other.windows, repeats += other.repeats, divided += other.divided, apart += other.apart,
        prepared += other.prepared, shared += other.shared, settled += other.settled, told += other.told,
        joined += other.joined, various += other.various;
    return *this;
  }
};

// Where programs run: fake devices or real ones.
struct Place {
  std::string name;  // for a person who looks for the cause
  std::vector<device::Device*> devices;
  Options options;
  std::function<KernelSource(const std::string&)> source;  // of a test kernel
  int group_sizes = 5;                                     // powers of two, from 1 on
  bool faults = false;
};

class Program {
 public:
  // All that is random is drawn from `random`.
  Program(std::mt19937_64& random, Place place) : random_(random), place_(std::move(place)), faults_(place_.faults) {}

  // Something for a person who looks for the cause.
  std::string story() const { return place_.name + story_; }
  Counts counts;

  void run() {
    try {
      run_steps();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

 private:
  void run_steps() {
    Engine engine(place_.devices, place_.options);
    const std::shared_ptr<void> at_the_end(nullptr, [this](void*) { buffers_.clear(); });  // before the devices end
    make_buffers(engine);
    std::map<std::string, std::shared_ptr<Kernel>> kernels;
    std::vector<std::pair<std::shared_ptr<Launch>, std::vector<std::size_t>>> on_the_way;
    const auto steps = 1 + pick(6);
    for (std::uint64_t s = 0; s < steps; ++s) {
      auto chosen = test_kernels().begin();
      std::advance(chosen, pick(test_kernels().size()));
      std::shared_ptr<Pool> pool;
      if (chosen->second.points > 1) {  // with the kernel that it is a variant of
        pool = pool_of(engine, chosen->first);
        if (!pool) return;
        chosen = test_kernels().find(chosen->first.substr(0, chosen->first.find('_')));
      }
      auto& kernel = kernels[chosen->first];
      if (!kernel) {
        auto made = engine.make_kernel(place_.source(chosen->first));
        if (!made) {
          EXPECT_TRUE(faults_) << made.failure().what;
          return;
        }
        kernel = std::move(*made);
      }
      launch(engine, chosen->second, kernel, pool, on_the_way);
      if (pick(4) == 0) check(engine, pick(buffers_.size()), on_the_way);
      if (pick(5) == 0) rewrite(engine, pick(buffers_.size()), on_the_way);
    }
    for (std::size_t b = 0; b < buffers_.size(); ++b) check(engine, b, on_the_way);
    settle(engine, on_the_way);
  }

  // A kernel in two sizes of groups, and its variant.
  std::shared_ptr<Pool> pool_of(Engine& engine, const std::string& name) {
    auto& pool = pools_[name];
    if (pool) return pool;
    const std::string base = name.substr(0, name.find('_'));
    std::vector<VariantSource> variants;
    for (const char* variant : {"first", "second", "pairs"}) {
      const std::int64_t group = std::int64_t{1} << pick(3);  // small, so that several probes fit into a launch
      const bool pairs = variant == std::string("pairs");
      variants.push_back(
          {variant, place_.source(pairs ? name : base), {group, 1, 1}, {{pairs ? 2 * group : group, 1, 1}}});
    }
    // In order, and in the order that another kernel undoes.
    const auto prepare = [fails = pick(8) == 0](std::size_t step, const std::vector<Input>& inputs) {
      if (fails) throw std::runtime_error("it cannot");
      const std::size_t n = inputs.at(0).bytes.size() / 4;
      const auto own = std::make_shared<std::vector<std::int32_t>>(n);
      for (std::size_t i = 0; i < n; ++i) std::memcpy(&(*own)[i], inputs[0].bytes.data() + 4 * (i * step % n), 4);
      return std::vector<MadeArgument>{NewArray{own, std::as_bytes(std::span(*own))}, std::size_t{1}, std::size_t{2}};
    };
    for (const std::size_t step : {1, 7}) {
      if (base != "map" || pick(4) != 0) continue;  // seldom: a launch of them is not cut
      const std::int64_t group = std::int64_t{1} << pick(3);
      variants.push_back({step == 1 ? "prepared" : "prepared in another order",
                          place_.source(step == 1 ? "map" : "scatter"),
                          {group, 1, 1},
                          {{group, 1, 1}},
                          [=](const core::Index&, const std::vector<Input>& inputs) { return prepare(step, inputs); },
                          {},
                          step == 1});
    }
    auto made = engine.make_pool(base, variants);
    if (!made) {
      EXPECT_TRUE(faults_) << made.failure().what;
      return nullptr;
    }
    return pool = std::move(*made);
  }

  struct Buffer {
    std::shared_ptr<Memory> memory;
    std::vector<std::int32_t> expected;
    bool undefined = false;  // a launch that wrote it failed
  };

  std::uint64_t pick(std::uint64_t n) { return random_() % n; }

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
              const std::shared_ptr<Pool>& pool,
              std::vector<std::pair<std::shared_ptr<Launch>, std::vector<std::size_t>>>& on_the_way) {
    Request request;
    request.kernel = made;
    request.dimensions = kernel.dimensions;
    const std::int64_t group = std::int64_t{1} << pick(static_cast<std::uint64_t>(place_.group_sizes));
    std::int64_t width = 0;
    if (kernel.dimensions == 2) {
      width = 1 << (1 + pick(4));
      request.items = {width, n_ / width, 1};
      request.group = {std::min<std::int64_t>(
                           width, std::int64_t{1} << pick(static_cast<std::uint64_t>(std::min(3, place_.group_sizes)))),
                       1, 1};
    } else {
      request.items = {n_, 1, 1};
      request.group = {group, 1, 1};
    }
    request.wishes.tasks = static_cast<int>(pick(7)), request.wishes.spread = pick(3) != 0;
    const bool told = pick(4) == 0;
    for (std::size_t d = 0; told && d < place_.devices.size(); ++d)
      request.wishes.parts.push_back(static_cast<double>(pick(4)));
    if (pool) {
      request.pool = pool, request.kernel = pool->variants.front().kernel;
      static constexpr Profiling ways[] = {Profiling::once, Profiling::once, Profiling::always, Profiling::never};
      request.wishes.profiling = ways[pick(4)];
      static constexpr decide::Mode modes[] = {decide::Mode::fully, decide::Mode::hybrid, decide::Mode::hybrid,
                                               decide::Mode::swap, decide::Mode::swap};
      if (pick(4)) request.wishes.mode = modes[pick(5)];
      request.wishes.meanwhile = request.wishes.mode != decide::Mode::swap && pick(3) == 0;
      if (pick(2)) request.wishes.initial = pool->variants[pick(pool->variants.size())].name;
      if (pick(2)) request.wishes.tasks = 0, request.wishes.spread = false;  // so that it may have regions
    }
    const std::uint64_t times = pool && pick(8) == 0 ? 16 : 1;
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
    story_ += fmt::format("{} on {} {} groups of {} tasks {}{}", name, used.front(), used.back(), request.group[0],
                          request.wishes.tasks, request.wishes.spread ? " spread" : "");
    for (double part : request.wishes.parts) story_ += fmt::format(" {}", part);
    for (std::size_t v = 0; pool && v < pool->variants.size(); ++v)
      story_ += fmt::format(" {} {}", pool->variants[v].name, pool->variants[v].group[0]);
    story_ += "\n";
    core::Grid grid{{}, request.group, {0, 0, 0}, kernel.dimensions};
    for (std::size_t d = 0; d < 3; ++d) {
      grid.local[d] = std::max<std::int64_t>(1, grid.local[d]);
      grid.groups[d] = request.items[d] / grid.local[d];
    }
    request.group = pool ? core::Index{0, 0, 0} : grid.local;
    for (std::uint64_t t = 0; t < times; ++t) {
      std::shared_ptr<Launch> launched;
      try {
        launched = engine.submit(request);
      } catch (const core::UsageError& error) {  // a buffer that a hanging device may still write to
        EXPECT_TRUE(faults_) << error.what();
        return;
      }
      ++counts.launches;
      run_reference(kernel, grid, reference);
      for (std::size_t b : used) buffers_[used.back()].undefined |= buffers_[b].undefined;
      on_the_way.emplace_back(launched, std::vector<std::size_t>{used.back()});
    }
  }

  // Waits for all launches; what failed leaves its outputs undefined, and whatever was computed from them.
  void settle(Engine& engine, std::vector<std::pair<std::shared_ptr<Launch>, std::vector<std::size_t>>>& on_the_way) {
    for (auto& [launch, outputs] : on_the_way) {
      const auto status = engine.wait(launch);
      const Report report = engine.report(*launch);
      for (const SliceReport& slice : report.slices) {
        story_ += fmt::format("  {} on {} from {} to {} {}{}\n", core::to_string(slice.box), slice.device,
                              slice.begin.count(), slice.end.count(), slice.variant, slice.repeat ? " again" : "");
        counts.prepared += slice.variant.starts_with("prepared");
      }
      for (const std::string& note : report.notes) story_ += "  " + note + "\n";
      counts.retries += report.retries, counts.slices += static_cast<int>(report.slices.size());
      counts.windows += report.windows;
      counts.divided += !launch->regions.empty();
      std::set<std::string> devices;
      for (const SliceReport& slice : report.slices) devices.insert(slice.device);
      counts.shared += devices.size() > 1 && !launch->request.wishes.spread;
      (launch->request.wishes.parts.empty() ? counts.settled : counts.told) += !launch->own.empty();
      counts.joined += !launch->joins.empty();
      counts.various += !launch->joins.empty() && launch->ways.size() > 1;
      if (status) {
        // Exactly once, by what the engine itself says.
        core::BoxSet done;
        std::int64_t points = 0;
        bool repeats = false;
        for (const SliceReport& slice : report.slices) {
          repeats |= slice.repeat;
          if (slice.repeat) continue;
          done.add(slice.box), points += slice.box.volume();
        }
        // A repeat that fails spoils what was right before, and that is computed again.
        EXPECT_TRUE(points == launch->space.volume() || (launch->ways.size() > 1 && report.retries > 0));
        counts.repeats += repeats;
        counts.apart += repeats && (launch->name() == "bump" || launch->name() == "count");
        EXPECT_TRUE(done.covers(launch->space));
        continue;
      }
      EXPECT_TRUE(faults_) << status.failure().what;
      story_ += "failed: " + status.failure().what + "\n";
      ++counts.failed;
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

  std::mt19937_64& random_;
  const Place place_;
  const bool faults_;
  std::int64_t n_ = 0;
  std::vector<Buffer> buffers_;
  std::string story_;
  bool poison_ = false;
  std::map<std::string, std::shared_ptr<Pool>> pools_;
};

// What the engine decided, for who replays a program.
struct Printed : core::TraceSink {
  void add(core::TraceEvent event) override {
    fmt::print("{} {} {}\n", event.start.count(), event.name, event.detail);
    std::fflush(stdout);
  }
};

// Ends the process with the seed of a program that does not end.
class Watchdog {
 public:
  ~Watchdog() {
    {
      std::lock_guard hold(mutex_);
      over_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }
  void begin(std::uint64_t seed) {
    std::lock_guard hold(mutex_);
    seed_ = seed, since_ = std::chrono::steady_clock::now();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::seconds(1), [&] { return over_; })) {
      if (std::chrono::steady_clock::now() - since_ < std::chrono::seconds(20)) continue;
      fmt::print(stderr, "HEDDLE_TEST_SEED={} does not end\n", seed_);
      std::abort();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t seed_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  bool over_ = false;
  std::thread thread_{[this] { watch(); }};
};

// Runs `count` programs, and up to ten times as many while they have not `met` all that they should: what is rare comes
// in clusters, so a fixed number would miss it now and then. HEDDLE_TEST_PROGRAMS says how many instead,
// HEDDLE_TEST_SEED runs that one. `run_one` makes a place from the generator, runs a program there, counts what it did,
// and returns its story.
inline Counts run_programs(std::uint64_t count, const std::function<std::string(std::mt19937_64&, Counts&)>& run_one,
                           const std::function<bool(const Counts&)>& met = {}) {
  Quieter quiet;
  std::uint64_t first = std::random_device{}(), limit = met ? 10 * count : count;
  if (const char* wanted = std::getenv("HEDDLE_TEST_PROGRAMS")) count = limit = std::strtoull(wanted, nullptr, 10);
  if (const char* seed = std::getenv("HEDDLE_TEST_SEED")) first = std::strtoull(seed, nullptr, 10), count = limit = 1;
  Printed printed;
  if (count == 1) core::set_trace_sink(&printed);
  Counts all;
  Watchdog watchdog;
  std::uint64_t i = 0;
  for (; i < (met && !met(all) ? limit : count) && !testing::Test::HasFailure(); ++i) {
    watchdog.begin(first + i);
    std::mt19937_64 random(first + i);
    const std::string story = run_one(random, all);
    if (testing::Test::HasFailure()) ADD_FAILURE() << "HEDDLE_TEST_SEED=" << first + i << " replays it:\n" << story;
  }
  core::set_trace_sink(nullptr);
  fmt::print(
      "{} programs, {} launches in {} slices, {} with windows, {} slices ran again, {} launches failed, {} repeated "
      "parts, {} divided, {} apart, {} slices on prepared inputs, {} shared, {} settled, {} told, {} joined, {} of "
      "them "
      "with variants\n",
      i, all.launches, all.slices, all.windows, all.retries, all.failed, all.repeats, all.divided, all.apart,
      all.prepared, all.shared, all.settled, all.told, all.joined, all.various);
  EXPECT_TRUE(!met || limit == count || met(all));
  EXPECT_TRUE(count <= 1000 || all.failed * 4 < all.launches);  // most faults can be lived with
  return all;
}

}  // namespace heddle::engine

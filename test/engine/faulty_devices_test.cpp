// The same random programs on real devices with threads: PoCL's sub-devices behind a driver that fails on command, the
// kernel compiler's own facts, and copies to a device that says that it has memory of its own.
#include <dlfcn.h>

#include "device/machine.hpp"
#include "kernel/compiler.hpp"
#include "test/device/any_device.hpp"
#include "test/engine/random_program.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::engine {
namespace {

// A device of the host's memory that is used as if it had its own: everything is copied there and back.
class Distant : public device::Device {
 public:
  Distant(device::Device& inner, device::MemorySpace space) : inner_(inner) {
    info_ = inner.info();
    info_.space = space;
  }

  core::Result<std::unique_ptr<device::Buffer>> allocate(Bytes size) override { return inner_.allocate(size); }
  core::Result<std::unique_ptr<device::Buffer>> wrap(std::span<std::byte>) override {
    return core::Failure{core::FailureKind::unsupported, "this memory is far away", ""};
  }
  core::Result<std::unique_ptr<device::Buffer>> part(device::Buffer& whole, Bytes begin, Bytes size) override {
    return inner_.part(whole, begin, size);
  }
  core::Result<std::unique_ptr<device::LockedMemory>> lock(Bytes size) override { return inner_.lock(size); }
  core::Result<std::unique_ptr<device::Program>> build(const device::Source& source) override {
    return inner_.build(source);
  }
  // One queue that computes, which the engine then also times on: PoCL must not have two forms of one kernel at work.
  core::Result<std::unique_ptr<device::Queue>> open_queue(Timing timing) override {
    if (timing == Timing::on) return core::Failure{core::FailureKind::unsupported, "no queue for timing", ""};
    return inner_.open_queue(timing);
  }
  Nanoseconds now() override { return inner_.now(); }
  std::optional<Nanoseconds> cpu_time() override { return inner_.cpu_time(); }

 private:
  device::Device& inner_;
};

constexpr int group_sizes = 3;  // PoCL compiles for each

class FaultyMachine {
 public:
  FaultyMachine()
      : compiler_({.program = kernel::installed_compiler(), .cache = folder_.path("kernels")}),
        machine_(open(folder_)),
        far_{Distant(*machine_.devices[0], 1), Distant(*machine_.devices[1], 2)} {
    void* driver = ::dlopen(HEDDLE_FAULTY_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    if (driver) script_ = reinterpret_cast<void (*)(const char*)>(::dlsym(driver, "faulty_script"));
    if (!script_) throw std::runtime_error("the faulty driver is not loaded");
    warm_up();
  }

  void script(const std::string& text) { script_(text.c_str()); }

  core::Result<kernel::Analysis> analyse(const std::string& name) {
    if (!test_kernels().at(name).has_facts)
      return core::Failure{core::FailureKind::unsupported, "nobody knows this kernel", ""};
    auto at = analyses_.find(name);
    if (at == analyses_.end())
      at = analyses_.emplace(name, compiler_.analyse({test_kernels().at(name).text, "", {}}, {"box", "window"})).first;
    return at->second;
  }

  Place place(std::vector<device::Device*> devices) {
    Place out;
    out.devices = std::move(devices);
    out.options.analyse = [this](const kernel::Source& source, const std::vector<std::string>&) {
      for (const auto& [name, kernel] : test_kernels()) {
        if (kernel.text == source.text) return analyse(name);
      }
      throw core::InternalError("an unknown source");
    };
    out.options.shortest_probe = std::chrono::microseconds(1);
    out.options.queues = 1;  // PoCL must not have two forms of one kernel at work at once
    out.source = [](const std::string& name) { return KernelSource{name, test_kernels().at(name).text, ""}; };
    out.group_sizes = group_sizes;
    return out;
  }

  // In the host's memory.
  Place near_place(bool both) {
    device::Device *first = machine_.devices[0].get(), *second = machine_.devices[1].get();
    return both ? place({first, second}) : place({first});
  }

  // Two devices in the host's memory, one, or none, or a far one alone.
  Place random_place(std::mt19937_64& random) {
    device::Device *first = machine_.devices[0].get(), *second = machine_.devices[1].get();
    switch (random() % 5) {
      case 0:
        return place({first, second});
      case 1:
        return place({&far_[0], &far_[1]});
      case 2:
        return place({&far_[0]});
      case 3:
        return place({&far_[0], second});
      default:
        return place({first, &far_[1]});
    }
  }

 private:
  static device::Machine open(const TemporaryFolder& folder) {
    folder.write("faulty.icd", HEDDLE_FAULTY_DRIVER);
    return device::open_machine(device::test_settings("cpu/2", folder.path("cache")), [&](const std::string& name) {
      return name == "OCL_ICD_VENDORS" ? std::optional(folder.path()) : std::nullopt;
    });
  }

  // Builds every form once, so that no launch waits for a compiler: it would look like a hang.
  void warm_up() {
    for (std::size_t d = 0; d < 2; ++d) {
      warm_up(place({machine_.devices[d].get()}), true);
      Place small = place({&far_[d]});
      small.options.memory_limit = 1000;
      warm_up(small, false);  // what cannot be cut does not fit
    }
  }
  static void warm_up(const Place& where, bool must_work) {
    Engine engine(where.devices, where.options);
    for (const auto& [name, kernel] : test_kernels()) {
      auto made = device::must(engine.make_kernel(where.source(name)));
      for (int g = 0; g < group_sizes; ++g) {
        Request request{.kernel = made, .items = {256 / kernel.points, 1, 1}, .group = {1 << g, 1, 1}};
        if (kernel.dimensions == 2) request.items = {16, 16, 1}, request.dimensions = 2;
        for (int b = 0; b < kernel.buffers; ++b) request.arguments.push_back(View{engine.make_memory(1024), 0, 1024});
        for (int v = 0; v < kernel.dimensions; ++v)
          request.arguments.push_back(device::Scalar{std::byte{16}, {}, {}, {}});
        for (int tasks : {1, 2}) {
          request.wishes.tasks = tasks;
          const auto status = engine.wait(engine.submit(request));
          if (must_work) device::must(status);
        }
      }
    }
  }

  const TemporaryFolder folder_;
  kernel::Compiler compiler_;
  std::map<std::string, core::Result<kernel::Analysis>> analyses_;
  device::Machine machine_;
  Distant far_[2];
  void (*script_)(const char*) = nullptr;
};

FaultyMachine& machine() {
  static auto& one = *new FaultyMachine;  // drivers dislike being closed by static destructors
  return one;
}

std::string random_script(std::mt19937_64& random, bool hang) {
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  static const char* const calls[] = {"launch", "launch", "launch", "write", "read", "buffer", "build", "queue"};
  static const char* const ways[] = {"", "late ", "spoilt "};
  static constexpr int codes[] = {-5, -5, -5, -4, -6, -2};  // resources, memory of device and host, device gone
  std::string out;
  do {
    const auto call = pick(8), number = 1 + pick(call == 7 ? 2 : 10);
    const char* way = call < 5 ? ways[pick(3)] : "";
    // A build from the cache that fails is tried again from the source.
    for (std::uint64_t n = number; n <= number + (call == 6 ? 1 : 0); ++n)
      out += fmt::format("{} {} {}{}\n", calls[call], n, way, call == 6 ? -11 : codes[pick(6)]);
  } while (pick(3) != 0);
  if (hang) out += fmt::format("{} {} hang\n", calls[pick(5)], 1 + pick(6));
  return out;
}

class FaultyDevices : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::ifstream("/etc/OpenCL/vendors/pocl.icd")) GTEST_SKIP() << "no PoCL";
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core only";
  }
};

TEST_F(FaultyDevices, TheCompilerKnowsOfTheKernelsWhatTheTestNeeds) {
  for (const auto& [name, kernel] : test_kernels()) {
    if (!kernel.has_facts) continue;
    const auto analysis = device::must(machine().analyse(name));
    const Kernel made({name, kernel.text, ""}, analysis, "", 1);
    ASSERT_NE(made.facts(), nullptr) << name;
    EXPECT_EQ(made.cut_by(), name == "whole"    ? CutBy::nothing
                             : name == "groups" ? CutBy::box
                                                : CutBy::offset)
        << name << ": " << made.why_not();
  }
}

Counts run_on_devices(bool faults) {
  return run_programs(500, [&](std::mt19937_64& random, Counts& all) {
    Place place = machine().random_place(random);
    place.faults = faults;
    const bool on_host = std::any_of(place.devices.begin(), place.devices.end(), [](const device::Device* device) {
      return device->info().space == device::host_memory;
    });
    static constexpr Bytes limits[] = {0, 0, 0, 300, 600, 1000};  // a buffer has up to 1024
    if (faults || on_host) place.options.memory_limit = limits[random() % 6];
    if (random() % 2) place.options.least_by_ring = 16;  // where there is a ring, nearly all goes that way, in pieces
    for (const device::Device* device : place.devices)
      place.name += fmt::format("{} in memory {}\n", device->info().id, device->info().space);
    place.name +=
        fmt::format("memory {}, ring from {} bytes\n", place.options.memory_limit, place.options.least_by_ring);
    if (faults) {
      const bool hang = random() % 12 == 0;
      if (hang)
        place.options.hang_limit = std::chrono::milliseconds(10),
        place.options.patience = std::chrono::milliseconds(25);
      const std::string script = random_script(random, hang);
      place.name += script;
      machine().script(script);
    }
    if (std::getenv("HEDDLE_TEST_SEED")) fmt::print("{}", place.name);
    Program program(random, place);
    program.run();
    machine().script("");
    all += program.counts;
    return program.story();
  });
}

TEST_F(FaultyDevices, WorkExactlyOnceWithoutFaults) { EXPECT_EQ(run_on_devices(false).failed, 0); }

TEST_F(FaultyDevices, WorkExactlyOnceOrSaySo) {
  const Counts counts = run_on_devices(true);
  EXPECT_TRUE(counts.launches < 1000 || counts.retries > 0);
}

// Launches that are long enough to be shared by variants, of kernels that must do nothing twice: what is compared there
// is computed on copies. Those may fail, too.
TEST_F(FaultyDevices, CompareOnCopies) {
  Quieter quiet;
  constexpr std::int32_t n = 1 << 18;
  std::mt19937_64 random(std::random_device{}());
  int apart = 0, apart_and_faulty = 0, done = 0, launches = 0;
  for (int round = 0; round < 40; ++round) {
    const bool faults = round % 2, both = round % 4 > 1;
    const std::string script = faults ? random_script(random, false) : "";
    SCOPED_TRACE(script);
    Place place = machine().near_place(both);
    Engine engine(place.devices, place.options);
    machine().script(script);
    const std::shared_ptr<void> at_the_end(nullptr, [](void*) { machine().script(""); });
    for (const std::string name : {"bump", "count"}) {
      auto pool = engine.make_pool(name, {{"one", place.source(name), {4, 1, 1}, {{4, 1, 1}}},
                                          {"pairs", place.source(name + "_pairs"), {2, 1, 1}, {{4, 1, 1}}}});
      if (!pool) {
        EXPECT_TRUE(faults) << pool.failure().what;
        continue;
      }
      const auto in = engine.make_memory(4 * n), out = engine.make_memory(4 * n);
      for (const auto& memory : {in, out}) std::iota(Bench::data(*memory), Bench::data(*memory) + n, 0);
      Request request{.kernel = (*pool)->variants[0].kernel, .pool = *pool, .items = {n, 1, 1}};
      request.wishes = {.profiling = Profiling::always, .mode = decide::Mode::swap};
      request.arguments.emplace_back(View{in, 0, in->size()});
      if (name == "count") request.arguments.emplace_back(View{out, 0, out->size()});
      request.arguments.push_back(std::get<device::Scalar>(device::scalar(n)));
      constexpr int times = 5;
      core::Status status = core::Done{};
      for (int t = 0; t < times && status; ++t) {
        engine.forget(**pool);  // so that each of them compares
        const auto launch = engine.submit(request);
        status = engine.wait(launch);
        ++launches;
        const Report report = engine.report(*launch);
        const auto repeats = std::count_if(report.slices.begin(), report.slices.end(),
                                           [](const SliceReport& slice) { return slice.repeat; });
        (faults ? apart_and_faulty : apart) += status && repeats > 0;
        EXPECT_TRUE(!both || name == "bump" || repeats == 0);
      }
      if (!status) {
        EXPECT_TRUE(faults) << status.failure().what;
        continue;
      }
      done += times;
      if (!engine.to_host(name == "bump" ? in : out, false)) continue;
      for (std::int32_t i = 0; i < n; ++i) {
        const std::int32_t expected = name == "bump" ? i + times * (i + 1) : i + (i < 4 ? times * (n / 4) : 0);
        ASSERT_EQ(Bench::data(name == "bump" ? *in : *out)[i], expected) << name << " " << i;
      }
    }
  }
  fmt::print("{} launches, {} right; {} compared on copies, {} with faults\n", launches, done, apart, apart_and_faulty);
  EXPECT_GT(apart, 3);
  EXPECT_GT(apart_and_faulty, 3);
}

}  // namespace
}  // namespace heddle::engine

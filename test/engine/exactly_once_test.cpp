// Random programs on random machines that fail at random: every launch does all of its work exactly once, or says that
// it failed. HEDDLE_TEST_PROGRAMS sets how many; HEDDLE_TEST_SEED replays the one that a failure names.
#include <set>

#include "test/engine/random_program.hpp"

namespace heddle::engine {
namespace {

std::string describe_machine(std::mt19937_64& random, bool faults) {
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  std::string out;
  const auto devices = 1 + pick(4);
  bool any_cpu = false;
  for (std::uint64_t d = 0; d < devices; ++d) {
    const bool cpu = pick(2);
    any_cpu |= cpu;
    out += fmt::format("device d{} {}\nunits {}\nrate {}\nlaunch {}us\n", d, cpu ? "cpu" : "gpu", 1 + pick(4),
                       1000 * (1 + pick(1000)), pick(20));
    if (cpu && pick(2)) out += "overlap\n";
    if (!cpu)
      out += fmt::format("copy in {} out {} latency {}us engines {}\n", 1000 * (1 + pick(5000)),
                         1000 * (1 + pick(5000)), pick(9), 1 + pick(2));
    if (pick(2)) out += fmt::format("noise 0.{} seed {}\n", 1 + pick(8), pick(100));
    // Too little for two of the largest buffers, or for one, or for anything: where there is a CPU, too, nothing fails.
    static const char* const memories[] = {"1500", "1K", "900", "500", "300", "100"};
    if ((faults || any_cpu) && pick(4) == 0) out += fmt::format("memory {}\n", memories[pick(6)]);
    if (!faults) continue;
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
  }
  return out;
}

void run_on_fakes(bool faults) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t count = 3000;
#else
  constexpr std::uint64_t count = 50'000;
#endif
  const auto run_one = [&](std::mt19937_64& random, Counts& all) {
    Place place;
    place.name = describe_machine(random, faults);
    device::FakeWorld world(place.name);
    add_test_kernels(world, random() % 2 ? good_before_and_after(64) : Costs{});
    place.devices = world.devices();
    place.options.analyse = analyse_test_kernel;
    place.options.advance = [&] { return world.advance_to_next_completion(); };
    place.options.shortest_probe = std::chrono::microseconds(1);
    place.options.queues = 1 + static_cast<int>(random() % 3);
    if (random() % 4)
      place.options.shortest_slice = std::chrono::microseconds(1);  // so that short ones are shared, too
    place.source = [](const std::string& name) { return KernelSource{name, name, ""}; };
    place.faults = faults;
    Program program(random, place);
    program.run();
    all += program.counts;
    return program.story();
  };
  constexpr std::int64_t many = count / 360;
  const auto met = [](const Counts& counts) {
    return counts.windows > 1000 && counts.repeats > 10 && counts.divided > many / 20 && counts.apart > many / 5 &&
           counts.prepared > many && counts.shared > 100 && counts.told > 500 && counts.joined > many &&
           counts.various > many / 5;
  };
  const Counts counts = run_programs(count, run_one, met);
  EXPECT_TRUE(faults || counts.failed == 0);
}

TEST(ExactlyOnce, OnMachinesThatWork) { run_on_fakes(false); }
TEST(ExactlyOnce, OnMachinesThatFail) { run_on_fakes(true); }

}  // namespace
}  // namespace heddle::engine

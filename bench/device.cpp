// Suite "device": bandwidths, launch costs, slice costs, transfer costs, build costs; the numbers that planning needs
// and results are judged by.
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "bench/suites.hpp"
#include "core/log.hpp"
#include "device/facts.hpp"
#include "device/prepare.hpp"
#include "workloads/on_device.hpp"

namespace heddle::bench {

using core::Bytes;
using core::operator""_MiB;
using device::Device;

namespace {

double milliseconds(core::Nanoseconds t) { return core::seconds(t) * 1e3; }

// Seconds that `work` takes on the device's clock.
template <class Work>
double took(Device& device, Work work) {
  const core::Nanoseconds begin = device.now();
  work();
  return core::seconds(device.now() - begin);
}

int repetitions(const Context& context, int usual) { return context.options.quick ? std::max(5, usual / 4) : usual; }

Row single(std::string name, const Device& device, std::string unit, double value) {
  return {std::move(name), device.info().id, std::move(unit), value, value, value, 1, 0};
}

std::vector<Row> clock(Context&, Device& device) {
  const device::Facts facts = take(device::measure(device));
  if (facts.disturbed) {
    core::log(core::LogLevel::warn,
              "the cores were busy with something else; the figures of " + device.info().id + " may be too low");
  }
  const char* source = facts.clock.source == device::Clock::Source::event ? "event" : "host";
  return {single(fmt::format("clock ({}), resolution", source), device, "ns",
                 static_cast<double>(facts.clock.resolution.count())),
          single(fmt::format("clock ({}), noise on a short kernel", source), device, "ns",
                 static_cast<double>(facts.clock.noise.count()))};
}

// vector_add of 2^26 elements, data resident, in 1, 64 and 1024 slices, interleaved.
std::vector<Row> slices(Context& context, Device& device) {
  const workloads::Workload& workload = workloads::find("vector_add");
  const workloads::Instance instance = workloads::make(workload, workloads::Size::large, workload.inputs.front(), 1);
  auto there = take(workloads::OnDevice::open(device, workload, instance));
  const std::size_t full = 1;  // the variant without a guard: nothing but memory traffic
  std::vector<Case> cases;
  std::vector<double> rates;
  for (int count : {1, 64, 1024}) {
    const auto pieces = workloads::pieces(workload, full, instance.space, count);
    take(there->run_all(pieces));  // prepares, and touches the memory
    cases.push_back({fmt::format("vector_add 2^26 in {} slice{}", count, count > 1 ? "s" : ""), "ms",
                     [&there, pieces, &instance, &rates, count] {
                       const double ms = milliseconds(take(there->run_all(pieces)));
                       if (count == 1) rates.push_back(instance.bytes / ms / 1e6);
                       return ms;
                     }});
  }
  auto rows = context.interleave(device.info().id, cases, repetitions(context, 40));
  rows.front().build_ms = milliseconds(there->build_time());
  rows.push_back(summarise("vector_add 2^26, memory rate", device.info().id, "GB/s", rates));
  return rows;
}

constexpr const char* tiny_source = R"(
kernel void none(int n, global float* out) { if (get_global_id(0) < n) out[get_global_id(0)] = 0; }
kernel void spin(int n, global float* out) {
  float x = get_global_id(0);
  for (int i = 0; i < n; ++i) x = x * 1.0001f + 0.5f;
  out[get_global_id(0)] = x;
}
)";

std::vector<Row> launches(Context& context, Device& device) {
  constexpr auto off = Device::Timing::off;
  auto queue = take(device.open_queue(off)), second = take(device.open_queue(off)), timed = take(device.open_queue());
  auto program = take(device.build({tiny_source, ""}));
  auto none = take(program->kernel("none")), spin = take(program->kernel("spin"));
  auto buffer = take(device.allocate(4096)), other = take(device.allocate(4096));
  using device::BufferArgument;
  const std::vector<device::Argument> nothing = {device::scalar(0), BufferArgument{buffer.get(), core::Access::write}};
  const device::Run run{*none, nothing, {{}, {64, 1, 1}, {64, 1, 1}}};
  take(device::prepare(device, *queue, run));
  constexpr int many = 500;
  auto one_launch = [&](device::Queue& q) { return 1e6 * took(device, [&] { take(take(q.launch(run))->wait()); }); };
  auto row_of_launches = [&](device::Queue& q) {
    return 1e6 / many * took(device, [&] {
             for (int i = 0; i < many; ++i) take(q.launch(run));
             take(q.finish());
           });
  };
  const std::vector<Case> cases = {
      {"launch + finish, one group", "us", [&] { return one_launch(*queue); }},
      {"launch + finish, timed queue", "us", [&] { return one_launch(*timed); }},
      {"back-to-back launch, one group", "us", [&] { return row_of_launches(*queue); }},
      {"back-to-back launch, timed queue", "us", [&] { return row_of_launches(*timed); }},
  };
  auto rows = context.interleave(device.info().id, cases, repetitions(context, 100));
  rows.front().build_ms = milliseconds(program->build_time);

  // Two kernels of one group each on two queues against the same two on one queue: 0.5 means that they run at the same
  // time.
  const std::vector<device::Argument> work = {device::scalar(20'000),
                                              BufferArgument{buffer.get(), core::Access::write}};
  const std::vector<device::Argument> more = {device::scalar(20'000), BufferArgument{other.get(), core::Access::write}};
  const device::Run one{*spin, work, {{}, {64, 1, 1}, {64, 1, 1}}}, two{*spin, more, {{}, {64, 1, 1}, {64, 1, 1}}};
  take(device::prepare(device, *queue, one));
  auto both = [&](device::Queue& a, device::Queue& b) {
    return took(device, [&] {
      auto first = take(a.launch(one));
      auto last = take(b.launch(two));
      take(a.flush());
      take(b.flush());
      take(first->wait());
      take(last->wait());
    });
  };
  both(*queue, *second);
  std::vector<Case> pair = {
      {"two small kernels, two queues / one", "x", [&] { return both(*queue, *second) / both(*queue, *queue); }}};
  auto overlap = context.interleave(device.info().id, pair, repetitions(context, 20));
  rows.insert(rows.end(), overlap.begin(), overlap.end());
  return rows;
}

std::vector<Row> copies(Context& context, Device& device) {
  const Bytes size = std::min<Bytes>(256_MiB, device.info().largest_buffer / 4);
  auto queue = take(device.open_queue()), second = take(device.open_queue());
  auto there = take(device.allocate(size)), other = take(device.allocate(size));
  auto locked = take(device.lock(size)), locked2 = take(device.lock(size));
  std::vector<std::byte> pageable(size, std::byte{1});
  for (auto memory : {locked->bytes(), locked2->bytes()}) std::memset(memory.data(), 1, memory.size());
  const double gigabytes = static_cast<double>(size) / 1e9;
  auto in = [&](std::span<const std::byte> from) {
    return gigabytes / took(device, [&] { take(take(queue->copy_in(*there, 0, from))->wait()); });
  };
  auto out = [&](std::span<std::byte> to) {
    return gigabytes / took(device, [&] { take(take(queue->copy_out(to, *there, 0))->wait()); });
  };
  in(pageable), in(locked->bytes());
  std::vector<Case> cases = {
      {"host to device, pageable", "GB/s", [&] { return in(pageable); }},
      {"host to device, locked", "GB/s", [&] { return in(locked->bytes()); }},
      {"device to host, pageable", "GB/s", [&] { return out(pageable); }},
      {"device to host, locked", "GB/s", [&] { return out(locked->bytes()); }},
      {"both directions at once, locked", "GB/s",
       [&] {
         return 2 * gigabytes / took(device, [&] {
                  auto a = take(queue->copy_in(*there, 0, locked->bytes()));
                  auto b = take(second->copy_out(locked2->bytes(), *other, 0));
                  take(queue->flush());
                  take(second->flush());
                  take(a->wait());
                  take(b->wait());
                });
       }},
  };
  // Host memory to locked memory with several threads: what staging can reach.
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::set<unsigned> counts = {1, cores};
  for (unsigned count : {8u, 16u}) {
    if (count < cores) counts.insert(count);
  }
  for (unsigned threads : counts) {
    auto share = [&, threads](unsigned t) {
      const Bytes begin = size / threads * t, end = t + 1 == threads ? size : size / threads * (t + 1);
      std::memcpy(locked->bytes().data() + begin, pageable.data() + begin, end - begin);
    };
    cases.push_back({fmt::format("malloc to locked memory, {} thread{}", threads, threads > 1 ? "s" : ""), "GB/s",
                     [&, threads, share] {
                       return gigabytes / took(device, [&] {
                                std::vector<std::jthread> pool;
                                for (unsigned t = 0; t < threads; ++t) pool.emplace_back(share, t);
                              });
                     }});
  }
  return context.interleave(device.info().id, cases, repetitions(context, 24));
}

// Five small kernels that no cache has seen (a number in them is new each time), then the same ones again.
std::vector<Row> builds(Context& context, Device& device) {
  const auto salt = std::random_device{}();
  auto text = [&](int k) {
    return fmt::format("kernel void k{}(global float* x) {{ x[get_global_id(0)] *= {}.5f; }}\n", k,
                       salt % 10'000'000 + k);
  };
  auto all = [&] {
    return 1e3 * took(device, [&] {
             for (int k = 0; k < 5; ++k) take(device.build({text(k), ""}));
           });
  };
  Row first = single("building five small kernels, first", device, "ms", all());
  auto rows = context.interleave(device.info().id, {{"building five small kernels, later", "ms", all}},
                                 repetitions(context, 20));
  rows.insert(rows.begin(), first);

  // What the driver still compiles at a kernel's first launch.
  auto queue = take(device.open_queue());
  auto buffer = take(device.allocate(4096));
  auto program = take(device.build({text(7), ""}));
  auto kernel = take(program->kernel("k7"));
  const std::vector<device::Argument> arguments = {device::BufferArgument{buffer.get()}};
  const double prepared = took(device, [&] {
    take(device::prepare(device, *queue, {*kernel, arguments, {{}, {64, 1, 1}, {64, 1, 1}}}));
  });
  rows.push_back(single("first launch of a built kernel", device, "ms", 1e3 * prepared));
  return rows;
}

std::vector<Shard> shards(Context& context) {
  using Part = std::vector<Row> (*)(Context&, Device&);
  const std::pair<const char*, Part> parts[] = {
      {"clock", clock}, {"launches", launches}, {"slices", slices}, {"copies", copies}, {"builds", builds}};
  std::vector<Shard> out;
  for (const auto& device : context.machine.devices) {
    for (const auto& [name, part] : parts) {
      out.push_back(
          {device->info().id + " " + name, [part = part, d = device.get()](Context& c) { return part(c, *d); }});
    }
  }
  return out;
}

// Per device: the ratios and costs that other issues' limits refer to.
nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out = nlohmann::json::object();
  auto figure = [&](const std::string& device, const std::string& name) -> double {
    for (const Row& row : rows) {
      if (row.device == device && row.name == name) return row.median;
    }
    return 0;
  };
  for (const Row& row : rows) {
    if (out.contains(row.device)) continue;
    const std::string& d = row.device;
    const double one = figure(d, "vector_add 2^26 in 1 slice");
    out[d] = {{"launch_us", figure(d, "launch + finish, one group")},
              {"back_to_back_us", figure(d, "back-to-back launch, one group")},
              {"memory_gb_per_s", figure(d, "vector_add 2^26, memory rate")},
              {"slices64_ratio", one > 0 ? figure(d, "vector_add 2^26 in 64 slices") / one : 0},
              {"slices1024_ratio", one > 0 ? figure(d, "vector_add 2^26 in 1024 slices") / one : 0}};
  }
  return out;
}

}  // namespace

Suite device_suite() {
  return {"device", "bandwidths, launch costs, slice costs, transfer costs and build costs of every device", shards,
          summary};
}

}  // namespace heddle::bench

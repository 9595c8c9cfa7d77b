// Suite "dropin": the same OpenCL calls on Heddle's driver and on the driver below it, in one process and in turn.
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "bench/plain.hpp"
#include "bench/suites.hpp"
#include "device/own_driver.hpp"

namespace heddle::bench {

namespace {

using device::Dispatch;
using Slots = cl_icd_dispatch;
using Clock = std::chrono::steady_clock;

constexpr const char* source = R"(
kernel void nothing() {}
kernel void add_one(global int* x) { x[get_global_id(0)] += 1; }
kernel void add(global const float* a, global const float* b, global float* c) {
  size_t i = get_global_id(0); c[i] = a[i] + b[i]; }
kernel void columns(global const float* in, global float* out) {
  size_t i = get_global_id(0) * get_global_size(1) + get_global_id(1); out[i] = 2 * in[i] + 1; }
kernel void transpose(global const float* in, global float* out) {
  size_t x = get_global_id(0), y = get_global_id(1); out[x * get_global_size(1) + y] = in[y * get_global_size(0) + x]; }
kernel void rows(global const float* in, global float* out) {
  size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0); out[i] = 2 * in[i] + 1; }
)";

// One driver with a context and what the cases need, used the way a program would.
class Driver {
 public:
  explicit Driver(cl_device_id device) : device_(device), cl_(device) {
    cl_int code = CL_SUCCESS;
    context_ = device::OwnedContext(cl_(&Slots::clCreateContext, nullptr, 1, &device, nullptr, nullptr, &code));
    check(code, "clCreateContext");
    program_ = device::OwnedProgram(
        cl_(&Slots::clCreateProgramWithSource, context_.get(), 1, const_cast<const char**>(&source), nullptr, &code));
    check(code, "clCreateProgramWithSource");
    check(cl_(&Slots::clBuildProgram, program_.get(), 1, &device, "", nullptr, nullptr), "clBuildProgram");
    queue_ = queue(0);
    out_of_order_ = queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    nothing_ = kernel("nothing");
    add_one_ = kernel("add_one");
    add_ = kernel("add");
  }

  // Mean of a launch and waiting for it.
  double launch_and_finish(int times) {
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) {
      launch(queue_.get(), nothing_.get(), 1, nullptr, nullptr);
      finish(queue_.get());
    }
    return microseconds_since(begin) / times;
  }

  // Each launch waits for the one before it.
  double chain(int links) {
    const auto begin = Clock::now();
    cl_event last = nullptr;
    for (int i = 0; i < links; ++i) {
      cl_event next = nullptr;
      launch(out_of_order_.get(), nothing_.get(), 1, last ? &last : nullptr, &next);
      if (last) cl_(&Slots::clReleaseEvent, last);
      last = next;
    }
    check(cl_(&Slots::clWaitForEvents, 1, &last), "clWaitForEvents");
    cl_(&Slots::clReleaseEvent, last);
    return microseconds_since(begin);
  }

  // Write, kernel, read. The buffer is made anew, as a program's would be, but outside the time.
  double round_trip(std::vector<int>& memory) {
    const size_t bytes = memory.size() * sizeof(int);
    cl_int code = CL_SUCCESS;
    const device::OwnedMemory buffer(
        cl_(&Slots::clCreateBuffer, context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code));
    check(code, "clCreateBuffer");
    const cl_int zero = 0;
    check(
        cl_(&Slots::clEnqueueFillBuffer, queue_.get(), buffer.get(), &zero, sizeof zero, 0, bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
    finish(queue_.get());
    const cl_mem handle = buffer.get();
    check(cl_(&Slots::clSetKernelArg, add_one_.get(), 0, sizeof handle, &handle), "clSetKernelArg");
    const int before = memory.back();
    const auto begin = Clock::now();
    check(
        cl_(&Slots::clEnqueueWriteBuffer, queue_.get(), handle, CL_FALSE, 0, bytes, memory.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
    launch(queue_.get(), add_one_.get(), memory.size(), nullptr, nullptr);
    check(cl_(&Slots::clEnqueueReadBuffer, queue_.get(), handle, CL_TRUE, 0, bytes, memory.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    const double time = microseconds_since(begin);
    if (memory.back() != before + 1) throw Failed{{core::FailureKind::launch, "round trip: wrong result", ""}};
    return time;
  }

  // Ordinary memory goes there and back: two vectors in, their sum out. The buffers are made once.
  double add_vectors(const std::array<std::vector<float>, 3>& memory) {
    const size_t bytes = memory[0].size() * sizeof(float);
    for (cl_uint i = 0; i < 3; ++i) {
      cl_int code = CL_SUCCESS;
      if (!vectors_[i]) {
        vectors_[i] =
            device::OwnedMemory(cl_(&Slots::clCreateBuffer, context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code));
        check(code, "clCreateBuffer");
      }
      const cl_mem handle = vectors_[i].get();
      check(cl_(&Slots::clSetKernelArg, add_.get(), i, sizeof handle, &handle), "clSetKernelArg");
    }
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < 2; ++i)
      check(cl_(&Slots::clEnqueueWriteBuffer, queue_.get(), vectors_[i].get(), CL_FALSE, 0, bytes, memory[i].data(), 0,
                nullptr, nullptr),
            "clEnqueueWriteBuffer");
    launch(queue_.get(), add_.get(), memory[0].size(), nullptr, nullptr);
    check(cl_(&Slots::clEnqueueReadBuffer, queue_.get(), vectors_[2].get(), CL_TRUE, 0, bytes,
              const_cast<float*>(memory[2].data()), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    return microseconds_since(begin);
  }

  // A launch over a square that leaves its groups to the driver, and waiting for it.
  double over_square(const char* name, size_t side) {
    const size_t bytes = side * side * sizeof(float), global[] = {side, side};
    device::OwnedKernel& kernel = squares_[name];
    if (!kernel) {
      kernel = this->kernel(name);
      for (cl_uint i = 0; i < 2; ++i) {
        cl_int code = CL_SUCCESS;
        square_[i] =
            device::OwnedMemory(cl_(&Slots::clCreateBuffer, context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code));
        check(code, "clCreateBuffer");
        const cl_float one = 1;
        const cl_mem handle = square_[i].get();
        check(cl_(&Slots::clEnqueueFillBuffer, queue_.get(), handle, &one, sizeof one, 0, bytes, 0, nullptr, nullptr),
              "clEnqueueFillBuffer");
        check(cl_(&Slots::clSetKernelArg, kernel.get(), i, sizeof handle, &handle), "clSetKernelArg");
      }
      finish(queue_.get());
    }
    const auto begin = Clock::now();
    check(cl_(&Slots::clEnqueueNDRangeKernel, queue_.get(), kernel.get(), 2, nullptr, global, nullptr, 0, nullptr,
              nullptr),
          "clEnqueueNDRangeKernel");
    finish(queue_.get());
    return microseconds_since(begin);
  }

  // Commands from several threads into one queue, each thread with a kernel of its own.
  double from_threads(int threads, int commands) {
    std::vector<device::OwnedKernel> kernels;
    for (int i = 0; i < threads; ++i) kernels.push_back(kernel("nothing"));
    std::atomic<int> failures{0};
    const auto begin = Clock::now();
    {
      std::vector<std::jthread> running;
      for (int t = 0; t < threads; ++t) {
        running.emplace_back([&, mine = kernels[static_cast<std::size_t>(t)].get()] {
          const size_t one = 1;
          for (int i = 0; i < commands / threads; ++i) {
            failures += cl_(&Slots::clEnqueueNDRangeKernel, queue_.get(), mine, 1, nullptr, &one, &one, 0, nullptr,
                            nullptr) != CL_SUCCESS;
          }
        });
      }
    }
    finish(queue_.get());
    if (failures) throw Failed{{core::FailureKind::launch, "a launch from one of several threads failed", ""}};
    return microseconds_since(begin);
  }

 private:
  device::OwnedQueue queue(cl_command_queue_properties properties) {
    cl_int code = CL_SUCCESS;
    device::OwnedQueue made(cl_(&Slots::clCreateCommandQueue, context_.get(), device_, properties, &code));
    check(code, "clCreateCommandQueue");
    return made;
  }
  device::OwnedKernel kernel(const char* name) {
    cl_int code = CL_SUCCESS;
    device::OwnedKernel made(cl_(&Slots::clCreateKernel, program_.get(), name, &code));
    check(code, "clCreateKernel");
    return made;
  }
  void launch(cl_command_queue queue, cl_kernel kernel, size_t items, const cl_event* wait, cl_event* event) {
    check(cl_(&Slots::clEnqueueNDRangeKernel, queue, kernel, 1, nullptr, &items, nullptr, wait ? 1 : 0, wait, event),
          "clEnqueueNDRangeKernel");
  }
  void finish(cl_command_queue queue) { check(cl_(&Slots::clFinish, queue), "clFinish"); }

  cl_device_id device_;
  Dispatch cl_;
  device::OwnedContext context_;
  device::OwnedProgram program_;
  device::OwnedQueue queue_, out_of_order_;
  device::OwnedKernel nothing_, add_one_, add_;
  std::array<device::OwnedMemory, 3> vectors_;
  std::map<std::string, device::OwnedKernel> squares_;
  std::array<device::OwnedMemory, 2> square_;  // of the latest of them
};

cl_device_id heddle_device() {
  std::vector<std::string> problems;
  const auto platforms = device::load_platforms({device::own_driver().library}, problems);
  if (platforms.empty()) {
    throw Failed{{core::FailureKind::unsupported, problems.empty() ? "no driver" : problems[0], ""}};
  }
  cl_device_id device = nullptr;
  check(platforms[0].cl(&Slots::clGetDeviceIDs, platforms[0].handle, CL_DEVICE_TYPE_DEFAULT, 1, &device, nullptr),
        "clGetDeviceIDs");
  return device;
}

// Both drivers, opened once for all shards.
struct Both {
  device::Choice choice;
  std::string id;
  Driver inner, heddle, again;  // the inner driver twice: what two contexts differ by without Heddle

  static std::unique_ptr<Both> open(const core::Settings& settings) {
    device::Choice choice = device::choose_devices(settings, from_environment);
    if (choice.devices.empty()) throw Failed{{core::FailureKind::unsupported, "no device", ""}};
    const device::Chosen& primary = device::primary_of(choice.devices);
    const cl_device_id handle = primary.handle;
    std::string id = primary.info.id;
    return std::unique_ptr<Both>(
        new Both{std::move(choice), std::move(id), Driver(handle), Driver(heddle_device()), Driver(handle)});
  }
};

// A shard compares one thing on both drivers. The ratio is that of neighbours in time, so that what else the machine
// does meanwhile concerns both.
Shard compare(std::shared_ptr<std::unique_ptr<Both>> both, const std::string& what, const char* unit, int repetitions,
              std::function<double(Driver&)> once) {
  return {what, [=](Context& context) {
            if (!*both) *both = Both::open(context.settings);
            Both& b = **both;
            once(b.inner), once(b.heddle), once(b.again);  // whatever is built or touched at first
            std::vector<double> inner, heddle, again, differences, ratios, controls;
            const auto kept = [](std::vector<double>& samples, double sample) {
              samples.push_back(sample);
              return sample;
            };
            auto rows = context.interleave(b.id,
                                           {{what + ", inner driver", unit, [&] { return kept(inner, once(b.inner)); }},
                                            {what + ", Heddle", unit, [&] { return kept(heddle, once(b.heddle)); }},
                                            {what + ", inner again", unit, [&] { return kept(again, once(b.again)); }}},
                                           repetitions);
            for (std::size_t i = 0; i < inner.size(); ++i) {
              differences.push_back(heddle[i] - inner[i]);
              ratios.push_back(heddle[i] / inner[i]);
              controls.push_back(again[i] / inner[i]);
            }
            rows.push_back(summarise(what + ", difference", b.id, unit, differences));
            rows.push_back(summarise(what + ", ratio", b.id, "", ratios));
            rows.push_back(summarise(what + ", control", b.id, "", controls));
            return rows;
          }};
}

constexpr const char* ordinary_name = "malloc: sum of vectors";

// As a program does it that knows nothing of locked memory: the first time apart, then, after three more, the mean.
Shard ordinary(std::shared_ptr<std::unique_ptr<Both>> both, std::size_t elements, int repetitions) {
  return {
      ordinary_name, [=](Context& context) {
        if (!*both) *both = Both::open(context.settings);
        Both& b = **both;
        std::array<std::vector<float>, 3> memory;
        for (auto& one : memory) one.resize(elements);
        std::mt19937 random(static_cast<unsigned>(Clock::now().time_since_epoch().count()));
        for (std::size_t i = 0; i < elements; ++i)
          memory[0][i] = static_cast<float>(random()), memory[1][i] = static_cast<float>(random());
        const auto once = [&](Driver& driver) {
          std::fill(memory[2].begin(), memory[2].end(), -1.0f);
          const double time = driver.add_vectors(memory);
          for (std::size_t i = 0; i < elements; ++i) {
            if (memory[2][i] != memory[0][i] + memory[1][i])
              throw Failed{{core::FailureKind::launch, fmt::format("sum of vectors: element {} is wrong", i), ""}};
          }
          return time;
        };
        const std::vector<double> first_inner = {once(b.inner)}, first = {once(b.heddle)};
        for (int i = 0; i < 3; ++i) once(b.inner), once(b.heddle);
        std::vector<double> inner, heddle;
        auto rows = context.interleave(
            b.id,
            {{ordinary_name + std::string(", inner driver"), "us", [&] { return inner.emplace_back(once(b.inner)); }},
             {ordinary_name + std::string(", Heddle"), "us", [&] { return heddle.emplace_back(once(b.heddle)); }}},
            repetitions);
        rows.push_back(summarise(ordinary_name + std::string(", first, inner driver"), b.id, "us", first_inner));
        rows.push_back(summarise(ordinary_name + std::string(", first, Heddle"), b.id, "us", first));
        const auto mean = [](const std::vector<double>& all) {
          return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
        };
        rows.push_back(summarise(ordinary_name + std::string(", mean, inner driver"), b.id, "us", {mean(inner)}));
        rows.push_back(summarise(ordinary_name + std::string(", mean, Heddle"), b.id, "us", {mean(heddle)}));
        rows.push_back(
            summarise(ordinary_name + std::string(", speed-up of the means"), b.id, "", {mean(inner) / mean(heddle)}));
        return rows;
      }};
}

constexpr const char* groups_name = "groups left to the driver";

// As long as that takes on the driver below: what the last quarter of all launches takes, when sizes of groups have
// been tried, and all of them together.
Shard groups(std::shared_ptr<std::unique_ptr<Both>> both, double seconds) {
  return {groups_name, [=](Context& context) {
            if (!*both) *both = Both::open(context.settings);
            Both& b = **both;
            std::vector<Row> rows;
            for (const char* name : {"columns", "transpose", "rows"}) {
              constexpr size_t side = 2048;
              std::vector<double> inner, heddle;
              double inner_all = 0, heddle_all = 0;
              while (inner_all < 1e6 * seconds) {
                inner_all += inner.emplace_back(b.inner.over_square(name, side));
                heddle_all += heddle.emplace_back(b.heddle.over_square(name, side));
              }
              const auto last = [](const std::vector<double>& all) {
                return std::vector<double>(all.end() - static_cast<std::ptrdiff_t>((all.size() + 3) / 4), all.end());
              };
              const std::string what = fmt::format("{}, {}", groups_name, name);
              rows.push_back(summarise(what + ", inner driver", b.id, "us", last(inner)));
              rows.push_back(summarise(what + ", Heddle", b.id, "us", last(heddle)));
              rows.push_back(summarise(what + ", all launches, ratio", b.id, "", {heddle_all / inner_all}));
            }
            return rows;
          }};
}

constexpr const char *launch_name = "launch + finish", *chain_name = "1000 dependent launches",
                     *transfer_name = "write, kernel, read", *threads_name = "10000 commands, 8 threads";

std::vector<Shard> shards(Context& context) {
  const bool quick = context.options.quick;
  auto both = std::make_shared<std::unique_ptr<Both>>();
  auto memory = std::make_shared<std::vector<int>>();
  const std::size_t ints = (quick ? 64 : 1024) * std::size_t{1} << 18;  // 64 MB or 1 GB
  return {compare(both, launch_name, "us", quick ? 21 : 101, [](Driver& d) { return d.launch_and_finish(200); }),
          compare(both, chain_name, "us", quick ? 11 : 41, [](Driver& d) { return d.chain(1000); }),
          compare(both, threads_name, "us", quick ? 7 : 41, [](Driver& d) { return d.from_threads(8, 10'000); }),
          compare(both, transfer_name, "us", quick ? 7 : 31,
                  [=](Driver& d) {
                    memory->resize(ints, 1);
                    return d.round_trip(*memory);
                  }),
          ordinary(both, std::size_t{1} << (quick ? 22 : 26), quick ? 5 : 20),
          groups(both, quick ? 0.5 : 60)};
}

nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out = nlohmann::json::object();
  const std::pair<const char*, std::string> keys[] = {
      {"launch_overhead_us", launch_name + std::string(", difference")},
      {"chain_ratio", chain_name + std::string(", ratio")},
      {"threads_ratio", threads_name + std::string(", ratio")},
      {"transfer_ratio", transfer_name + std::string(", ratio")},
      {"malloc_speedup", ordinary_name + std::string(", speed-up of the means")}};
  for (const Row& row : rows) {
    for (const auto& [key, name] : keys) {
      if (row.name == name) out[key] = row.median;
    }
  }
  return out;
}

}  // namespace

Suite dropin_suite() {
  return {"dropin", "the same OpenCL calls through Heddle's driver and on the driver below it", shards, summary};
}

}  // namespace heddle::bench

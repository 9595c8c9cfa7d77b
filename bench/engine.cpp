// Suite "engine": what the engine costs over the plain OpenCL calls, in one slice and in many; what planning costs; and
// how fast data goes from the host through a device with memory of its own and back.
#include "engine/engine.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "bench/plain.hpp"
#include "bench/suites.hpp"
#include "decide/step.hpp"
#include "kernel/compiler.hpp"

namespace heddle::bench {

namespace {

using Slots = cl_icd_dispatch;
using Clock = std::chrono::steady_clock;

constexpr const char* source = R"(
kernel void touch(global int* x, int by) { x[get_global_id(0)] += by; }
kernel void vector_add(global const float* a, global const float* b, global float* c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
)";

// The calls of a plain OpenCL program.
class Plain {
 public:
  Plain(const core::Settings& settings, const std::string& id)
      : choice_(device::choose_devices(settings, from_environment)) {
    const auto at = std::find_if(choice_.devices.begin(), choice_.devices.end(),
                                 [&](const device::Chosen& c) { return c.info.id == id; });
    if (at == choice_.devices.end()) throw Failed{{core::FailureKind::unsupported, "no device " + id, ""}};
    const cl_device_id device = at->handle;
    cl_ = device::Dispatch(device);
    cl_int code = CL_SUCCESS;
    context_ = device::OwnedContext(cl_(&Slots::clCreateContext, nullptr, 1, &device, nullptr, nullptr, &code));
    check(code, "clCreateContext");
    program_ = device::OwnedProgram(
        cl_(&Slots::clCreateProgramWithSource, context_.get(), 1, const_cast<const char**>(&source), nullptr, &code));
    check(code, "clCreateProgramWithSource");
    check(cl_(&Slots::clBuildProgram, program_.get(), 1, &device, "", nullptr, nullptr), "clBuildProgram");
    queue_ = device::OwnedQueue(cl_(&Slots::clCreateCommandQueue, context_.get(), device, 0, &code));
    check(code, "clCreateCommandQueue");
    touch_ = device::OwnedKernel(cl_(&Slots::clCreateKernel, program_.get(), "touch", &code));
    check(code, "clCreateKernel");
    buffer_ = device::OwnedMemory(cl_(&Slots::clCreateBuffer, context_.get(), CL_MEM_READ_WRITE, 4096, nullptr, &code));
    check(code, "clCreateBuffer");
  }

  double launch_and_wait(int times) {
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) {
      const cl_mem memory = buffer_.get();
      const size_t items = 64;
      check(cl_(&Slots::clSetKernelArg, touch_.get(), 0, sizeof memory, &memory), "clSetKernelArg");
      check(cl_(&Slots::clSetKernelArg, touch_.get(), 1, sizeof i, &i), "clSetKernelArg");
      check(cl_(&Slots::clEnqueueNDRangeKernel, queue_.get(), touch_.get(), 1, nullptr, &items, &items, 0, nullptr,
                nullptr),
            "clEnqueueNDRangeKernel");
      check(cl_(&Slots::clFinish, queue_.get()), "clFinish");
    }
    return microseconds_since(begin) / times;
  }

 private:
  device::Choice choice_;
  device::Dispatch cl_;
  device::OwnedContext context_;
  device::OwnedProgram program_;
  device::OwnedQueue queue_;
  device::OwnedKernel touch_;
  device::OwnedMemory buffer_;
};

// An engine on one device.
struct OnEngine {
  OnEngine(Context& context, device::Device& device, core::Bytes memory_limit = 0)
      : compiler(kernel::options_of(context.settings)),
        engine({&device},
               {.analyse = [this](const auto& asked, const auto& forms) { return compiler.analyse(asked, forms); },
                .memory_limit = memory_limit}) {}

  engine::Request request(const std::string& kernel, std::int64_t items, std::int64_t group, int tasks) {
    engine::Request out;
    auto& made = kernels[kernel];
    if (!made) made = take(engine.make_kernel({kernel, source, ""}));
    out.kernel = made;
    out.items = {items, 1, 1}, out.group = {group, 1, 1};
    out.wishes.tasks = tasks;
    return out;
  }
  static engine::View all(const std::shared_ptr<engine::Memory>& memory) { return {memory, 0, memory->size()}; }

  kernel::Compiler compiler;
  engine::Engine engine;
  std::map<std::string, std::shared_ptr<engine::Kernel>> kernels;
};

constexpr const char *launch_name = "launch of one group and wait", *slices_name = "vector_add in 64 slices",
                     *step_name = "step, a million groups on 4 devices", *bind_name = "a launch of a new shape",
                     *locked_name = "vector_add from host and back, locked",
                     *malloc_name = "vector_add from host and back, malloc",
                     *windows_suffix = ", in an eighth of the memory";

std::vector<Row> launches(Context& context, device::Device& device) {
  const std::string id = device.info().id;
  Plain plain(context.settings, id);
  OnEngine on(context, device);
  auto memory = on.engine.make_memory(4096);
  auto once = [&](int times) {
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) {
      auto request = on.request("touch", 64, 64, 1);
      request.arguments = {OnEngine::all(memory), std::get<device::Scalar>(device::scalar(i % 4))};
      take(on.engine.wait(on.engine.submit(std::move(request))));
    }
    return microseconds_since(begin) / times;
  };
  plain.launch_and_wait(50), once(50);
  std::vector<double> by_plain, by_engine, differences;
  const auto kept = [](std::vector<double>& samples, double sample) { return samples.push_back(sample), sample; };
  auto rows = context.interleave(
      id,
      {{launch_name + std::string(", plain"), "us", [&] { return kept(by_plain, plain.launch_and_wait(200)); }},
       {launch_name + std::string(", engine"), "us", [&] { return kept(by_engine, once(200)); }}},
      context.options.quick ? 21 : 101);
  for (std::size_t i = 0; i < by_plain.size(); ++i) differences.push_back(by_engine[i] - by_plain[i]);
  rows.push_back(summarise(launch_name + std::string(", difference"), id, "us", differences));
  return rows;
}

std::vector<Row> slices(Context& context, device::Device& device) {
  const std::string id = device.info().id;
  const std::int64_t n = context.options.quick ? 1 << 22 : 1 << 26;
  constexpr int count = 64;
  OnEngine on(context, device);
  // The device's own cost: as many launches with an offset, queued at once.
  auto program = take(device.build({source, ""}));
  auto kernel = take(program->kernel("vector_add"));
  auto queue = take(device.open_queue(device::Device::Timing::off));
  std::vector<std::shared_ptr<engine::Memory>> memories;
  std::vector<std::unique_ptr<device::Buffer>> buffers;
  std::vector<device::Argument> arguments;
  engine::Request prototype = on.request("vector_add", n, 256, count);
  for (int b = 0; b < 3; ++b) {
    memories.push_back(on.engine.make_memory(static_cast<core::Bytes>(4 * n)));
    std::fill_n(reinterpret_cast<float*>(memories.back()->host().bytes.data()), n, 1.0f);
    const bool shared = device.info().space == device::host_memory;
    buffers.push_back(
        take(shared ? device.wrap(memories.back()->host().bytes) : device.allocate(static_cast<core::Bytes>(4 * n))));
    if (!shared) take(take(queue->copy_in(*buffers.back(), 0, memories.back()->host().bytes))->wait());
    arguments.push_back(device::BufferArgument{buffers.back().get()});
    prototype.arguments.emplace_back(OnEngine::all(memories.back()));
  }
  auto by_device = [&] {
    const auto begin = Clock::now();
    for (int s = 0; s < count; ++s)
      take(queue->launch({*kernel, arguments, {{n / count * s, 0, 0}, {n / count, 1, 1}, {256, 1, 1}, 1}}));
    take(queue->finish());
    return microseconds_since(begin) / 1000;
  };
  auto by_engine = [&] {
    const auto begin = Clock::now();
    take(on.engine.wait(on.engine.submit(prototype)));
    return microseconds_since(begin) / 1000;
  };
  by_device(), by_engine(), by_device(), by_engine();
  std::vector<double> own, ours, ratios;
  const auto kept = [](std::vector<double>& samples, double sample) { return samples.push_back(sample), sample; };
  auto rows =
      context.interleave(id,
                         {{slices_name + std::string(", device"), "ms", [&] { return kept(own, by_device()); }},
                          {slices_name + std::string(", engine"), "ms", [&] { return kept(ours, by_engine()); }}},
                         context.options.quick ? 15 : 41);
  for (std::size_t i = 0; i < own.size(); ++i) ratios.push_back(ours[i] / own[i]);
  rows.push_back(summarise(slices_name + std::string(", ratio"), id, "", ratios));
  return rows;
}

std::vector<Row> planning(Context& context) {
  decide::State state;
  state.space = core::box_of(std::int64_t{1} << 26);
  state.footprints = {{{64, 1, 1}, false}};
  state.remaining = core::BoxSet(state.space);
  for (int m = 0; m < 4; ++m) {
    decide::Member& member = state.members.emplace_back();
    member.ready = member.known = true;
    member.worker.compute = predict::line(1e9 * (m + 1), 0.05), member.worker.tasks = 16;
    member.queued = {0, 0, 0};
  }
  std::size_t actions = 0;
  OnEngine on(context, *context.machine.devices.front());
  auto request = on.request("vector_add", std::int64_t{1} << 26, 64, 1);
  std::int64_t items = std::int64_t{1} << 26;
  return context.interleave("",
                            {{step_name, "us",
                              [&] {
                                constexpr int calls = 50;
                                const auto begin = Clock::now();
                                for (int i = 0; i < calls; ++i) actions += decide::step(state).size();
                                return microseconds_since(begin) / calls;
                              }},
                             {bind_name, "us",
                              [&] {
                                constexpr int calls = 20;
                                const auto begin = Clock::now();
                                for (int i = 0; i < calls; ++i) {
                                  items -= 64;
                                  request.kernel->shape({{items / 64, 1, 1}, {64, 1, 1}, {0, 0, 0}, 1}, {{}, {}, {}},
                                                        {1 << 28, 1 << 28, 1 << 28});
                                }
                                return microseconds_since(begin) / calls;
                              }}},
                            context.options.quick ? 11 : 41);
}

// Data that the program writes before and reads after each launch.
std::vector<Row> round_trips(Context& context, device::Device& device) {
  const std::int64_t n = context.options.quick ? 1 << 22 : 1 << 26;
  OnEngine ample(context, device), scarce(context, device, static_cast<core::Bytes>(3 * 4 * n / 8));
  std::vector<Case> cases;
  for (const int which : {0, 1, 2, 3}) {
    const bool locked = which % 2 == 0, windows = which >= 2;
    OnEngine& on = windows ? scarce : ample;
    auto request = std::make_shared<engine::Request>(on.request("vector_add", n, 256, 16));
    auto memories = std::make_shared<std::vector<std::shared_ptr<engine::Memory>>>();
    for (int b = 0; b < 3; ++b) {
      memories->push_back(on.engine.make_memory(static_cast<core::Bytes>(4 * n), locked));
      std::fill_n(reinterpret_cast<float*>(memories->back()->host().bytes.data()), n, 1.0f);
      request->arguments.emplace_back(OnEngine::all(memories->back()));
    }
    auto once = [&on, request, memories] {
      for (int b = 0; b < 2; ++b) on.engine.discard((*memories)[static_cast<std::size_t>(b)]);  // as if written anew
      const auto begin = Clock::now();
      take(on.engine.wait(on.engine.submit(*request)));
      take(on.engine.to_host((*memories)[2], false));
      return microseconds_since(begin) / 1000;
    };
    once(), once();
    if (reinterpret_cast<const float*>((*memories)[2]->host().bytes.data())[n - 1] != 2.0f)
      throw Failed{{core::FailureKind::launch, "vector_add: wrong result", ""}};
    cases.push_back({(locked ? locked_name : malloc_name) + std::string(windows ? windows_suffix : ""), "ms", once});
  }
  return context.interleave(device.info().id, cases, context.options.quick ? 7 : 21);
}

std::vector<Shard> shards(Context& context) {
  std::vector<Shard> out = {{"planning", planning}};
  for (const auto& device : context.machine.devices) {
    device::Device* d = device.get();
    const std::string& id = d->info().id;
    if (!device::is_part(d->info())) out.push_back({id + " launches", [d](Context& c) { return launches(c, *d); }});
    out.push_back({id + " slices", [d](Context& c) { return slices(c, *d); }});
    if (d->info().space != device::host_memory)
      out.push_back({id + " round trips", [d](Context& c) { return round_trips(c, *d); }});
  }
  return out;
}

nlohmann::json summary(const std::vector<Row>& rows) {
  nlohmann::json out = nlohmann::json::object();
  const std::pair<const char*, std::string> keys[] = {{"launch_us", launch_name + std::string(", difference")},
                                                      {"slices64_ratio", slices_name + std::string(", ratio")},
                                                      {"step_us", step_name},
                                                      {"bind_us", bind_name},
                                                      {"locked_ms", locked_name},
                                                      {"malloc_ms", malloc_name}};
  for (const Row& row : rows) {
    for (const auto& [key, name] : keys) {
      if (row.name != name) continue;
      if (row.device.empty())
        out[key] = row.median;
      else
        out[key][row.device] = row.median;
    }
  }
  return out;
}

}  // namespace

Suite engine_suite() {
  return {"engine", "launches through the engine against plain OpenCL calls, in one slice and many; planning", shards,
          summary};
}

}  // namespace heddle::bench

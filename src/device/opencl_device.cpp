// Contexts, memory and builds of one OpenCL device, and what its driver says of it.
#include "device/opencl_device.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <time.h>

#include "core/fingerprint.hpp"
#include "core/log.hpp"
#include "core/source_text.hpp"
#include "core/trace.hpp"
#include "device/chosen.hpp"
#include "device/opencl_queue.hpp"
#include "device/quirks.hpp"

namespace heddle::device {

using core::Failure;
using core::FailureKind;
using Slots = cl_icd_dispatch;

namespace {

Nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

template <class T>
T device_value(const Dispatch& cl, cl_device_id device, cl_device_info what) {
  T value{};
  cl(&Slots::clGetDeviceInfo, device, what, sizeof value, &value, nullptr);
  return value;
}

std::string device_text(const Dispatch& cl, cl_device_id device, cl_device_info what) {
  size_t size = 0;
  cl(&Slots::clGetDeviceInfo, device, what, 0, nullptr, &size);
  std::string text(size, '\0');
  cl(&Slots::clGetDeviceInfo, device, what, size, text.data(), nullptr);
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

// Host memory that the driver locked: a mapped CL_MEM_ALLOC_HOST_PTR buffer, mapped until it goes.
class OpenClLocked : public LockedMemory {
 public:
  OpenClLocked(OwnedMemory memory, OwnedQueue queue, void* data, Bytes size)
      : memory_(std::move(memory)), queue_(std::move(queue)) {
    bytes_ = {static_cast<std::byte*>(data), size};
  }
  ~OpenClLocked() override {
    const Dispatch cl(queue_.get());
    cl(&Slots::clEnqueueUnmapMemObject, queue_.get(), memory_.get(), bytes_.data(), 0, nullptr, nullptr);
    cl(&Slots::clFinish, queue_.get());
  }

 private:
  OwnedMemory memory_;
  OwnedQueue queue_;
};

class OpenClProgram : public Program {
 public:
  OpenClProgram(OwnedProgram program, cl_device_id device) : program_(std::move(program)), device_(device) {}

  Result<std::unique_ptr<Kernel>> kernel(const std::string& name) override {
    const Dispatch cl(program_.get());
    cl_int code = CL_SUCCESS;
    OwnedKernel kernel(cl(&Slots::clCreateKernel, program_.get(), name.c_str(), &code));
    if (!kernel) {
      Failure failure = failed(FailureKind::build, "clCreateKernel", code);
      failure.what += " for kernel " + name;
      return failure;
    }
    auto of_group = [&](cl_kernel_work_group_info what, auto& out) {
      cl(&Slots::clGetKernelWorkGroupInfo, kernel.get(), device_, what, sizeof out, &out, nullptr);
    };
    size_t group = 1, preferred = 1;
    cl_ulong local = 0;
    cl_uint arguments = 0;
    of_group(CL_KERNEL_WORK_GROUP_SIZE, group);
    of_group(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, preferred);
    of_group(CL_KERNEL_LOCAL_MEM_SIZE, local);
    cl(&Slots::clGetKernelInfo, kernel.get(), CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, nullptr);
    return std::unique_ptr<Kernel>(new OpenClKernel(
        std::move(kernel), name,
        {static_cast<std::int64_t>(group), static_cast<std::int64_t>(preferred), local, static_cast<int>(arguments)}));
  }

 private:
  OwnedProgram program_;
  cl_device_id device_;
};

class OpenClDevice : public Device {
 public:
  OpenClDevice(cl_device_id handle, OwnedSubDevice owned, OwnedContext context, Info info, cache::FileCache cache)
      : cl_(context.get()),
        handle_(handle),
        owned_(std::move(owned)),
        context_(std::move(context)),
        cache_(std::move(cache)) {
    info_ = std::move(info);
  }
  ~OpenClDevice() override {
    if (!keeps_sub_devices(info_) || !owned_) return;
    static std::mutex mutex;
    static auto& kept = *new std::vector<OwnedSubDevice>;  // until the process ends
    std::lock_guard hold(mutex);
    kept.push_back(std::move(owned_));
  }

  Result<std::unique_ptr<Buffer>> allocate(Bytes size) override {
    return make_buffer(size, CL_MEM_READ_WRITE, nullptr);
  }

  Result<std::unique_ptr<Buffer>> wrap(std::span<std::byte> memory) override {
    if (info_.space != host_memory) {
      return Failure{FailureKind::unsupported, info_.id + " has memory of its own and cannot work on the host's", ""};
    }
    return make_buffer(memory.size(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, memory.data());
  }

  Result<std::unique_ptr<Buffer>> part(Buffer& whole, Bytes begin, Bytes size) override {
    auto& buffer = static_cast<OpenClBuffer&>(whole);
    const cl_buffer_region region{begin, size};
    cl_int code = CL_SUCCESS;
    cl_mem memory = cl_(&Slots::clCreateSubBuffer, buffer.handle(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    std::byte* wrapped = buffer.wrapped() ? buffer.wrapped() + begin : nullptr;
    if (memory) return std::unique_ptr<Buffer>(new OpenClBuffer(memory, size, wrapped));
    return failed(FailureKind::allocation, "clCreateSubBuffer", code);
  }

  Result<std::unique_ptr<LockedMemory>> lock(Bytes size) override {
    auto queue = make_queue(0);
    if (!queue) return queue.failure();
    cl_int code = CL_SUCCESS;
    OwnedMemory memory(
        cl_(&Slots::clCreateBuffer, context_.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, &code));
    if (!memory) return failed(FailureKind::allocation, "clCreateBuffer", code);
    void* data = cl_(&Slots::clEnqueueMapBuffer, queue->get(), memory.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                     size, 0, nullptr, nullptr, &code);
    if (!data) return failed(FailureKind::allocation, "clEnqueueMapBuffer", code);
    return std::unique_ptr<LockedMemory>(new OpenClLocked(std::move(memory), std::move(*queue), data, size));
  }

  Result<std::unique_ptr<Program>> build(const Source& source) override {
    const Nanoseconds begin = steady_now();
    const std::string options = source.options + quirk_options(info_);
    // Of an included file nobody knows what it held when the cache was filled.
    const bool cacheable = core::includes_nothing(source.text, source.options);
    const std::string key = core::Fingerprint().add(info_.fingerprint).add(source.text).add(options).hex();
    OwnedProgram program;
    bool from_cache = false;
    std::string log;
    if (cacheable) {
      if (auto binary = cache_.load(key)) program = from_binary(*binary, options);
      from_cache = static_cast<bool>(program);
    }
    if (!program) {
      const char* text = source.text.data();
      const size_t size = source.text.size();
      cl_int code = CL_SUCCESS;
      program = OwnedProgram(cl_(&Slots::clCreateProgramWithSource, context_.get(), 1, &text, &size, &code));
      if (!program) return failed(FailureKind::build, "clCreateProgramWithSource", code);
      code = compile(program.get(), options);
      log = build_log(program.get());
      if (code != CL_SUCCESS) {
        Failure failure = failed(FailureKind::build, "clBuildProgram", code);
        failure.log = log;
        return failure;
      }
      if (cacheable && cache_.enabled()) keep(key, program.get());
    }
    auto out = std::make_unique<OpenClProgram>(std::move(program), handle_);
    out->log = log;
    out->from_cache = from_cache;
    out->build_time = steady_now() - begin;
    if (core::TraceSink* sink = core::trace()) {
      sink->add({core::TraceKind::build, info_.id, "build", from_cache ? "from the cache" : "from source", begin,
                 out->build_time});
    }
    return std::unique_ptr<Program>(std::move(out));
  }

  Result<std::unique_ptr<Queue>> open_queue(Timing timing) override {
    auto queue = make_queue(timing == Timing::on ? CL_QUEUE_PROFILING_ENABLE : 0);
    if (!queue) return queue.failure();
    return make_opencl_queue(std::move(*queue), info_);
  }

  Nanoseconds now() override { return steady_now(); }
  cl_context context() const { return context_.get(); }

  std::optional<Nanoseconds> cpu_time() override {
    if (info_.kind != Kind::cpu) return std::nullopt;
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + Nanoseconds(t.tv_nsec);
  }

 private:
  Result<std::unique_ptr<Buffer>> make_buffer(Bytes size, cl_mem_flags flags, std::byte* host) {
    // NVIDIA's driver allocates at first use, and says nothing to sizes that no device has.
    if (!host && size > std::max(info_.memory, info_.largest_buffer)) {
      return Failure{FailureKind::allocation,
                     fmt::format("a buffer of {} bytes; {} has {} bytes of memory", size, info_.id, info_.memory), ""};
    }
    cl_int code = CL_SUCCESS;
    cl_mem memory = cl_(&Slots::clCreateBuffer, context_.get(), flags, size, host, &code);
    if (memory) return std::unique_ptr<Buffer>(new OpenClBuffer(memory, size, host));
    Failure failure = failed(FailureKind::allocation, "clCreateBuffer", code);
    failure.what += fmt::format(" for {} bytes on {}", size, info_.id);
    return failure;
  }

  Result<OwnedQueue> make_queue(cl_command_queue_properties properties) {
    cl_int code = CL_SUCCESS;
    OwnedQueue queue;
    if (cl_.has(&Slots::clCreateCommandQueueWithProperties)) {
      const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
      queue = OwnedQueue(cl_(&Slots::clCreateCommandQueueWithProperties, context_.get(), handle_, list, &code));
    }
    if (!queue) queue = OwnedQueue(cl_(&Slots::clCreateCommandQueue, context_.get(), handle_, properties, &code));
    if (!queue) return failed(FailureKind::launch, "clCreateCommandQueue", code);
    return queue;
  }

  cl_int compile(cl_program program, const std::string& options) {
    return cl_(&Slots::clBuildProgram, program, 1, &handle_, options.c_str(), nullptr, nullptr);
  }

  std::string build_log(cl_program program) {
    size_t size = 0;
    cl_(&Slots::clGetProgramBuildInfo, program, handle_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    cl_(&Slots::clGetProgramBuildInfo, program, handle_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    return log;
  }

  OwnedProgram from_binary(const std::string& binary, const std::string& options) {
    const size_t size = binary.size();
    const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
    cl_int code = CL_SUCCESS;
    OwnedProgram program(
        cl_(&Slots::clCreateProgramWithBinary, context_.get(), 1, &handle_, &size, &bytes, nullptr, &code));
    if (program && compile(program.get(), options) == CL_SUCCESS) return program;
    core::log(core::LogLevel::info, info_.id + " refused a cached build; building from source");
    return {};
  }

  void keep(const std::string& key, cl_program program) {
    size_t size = 0;
    if (cl_(&Slots::clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS ||
        size == 0) {
      return;
    }
    std::string binary(size, '\0');
    auto* bytes = reinterpret_cast<unsigned char*>(binary.data());
    if (cl_(&Slots::clGetProgramInfo, program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr) == CL_SUCCESS) {
      cache_.store(key, binary);
    }
  }

  Dispatch cl_;
  cl_device_id handle_;
  OwnedSubDevice owned_;
  OwnedContext context_;
  cache::FileCache cache_;
};

}  // namespace

Info describe(const Platform& platform, cl_device_id device, const std::string& parent) {
  const Dispatch& cl = platform.cl;
  Info info;
  info.name = device_text(cl, device, CL_DEVICE_NAME);
  info.vendor = device_text(cl, device, CL_DEVICE_VENDOR);
  info.driver = name_of(platform) + " " + device_text(cl, device, CL_DRIVER_VERSION);
  info.library = platform.library;
  const auto type = device_value<cl_device_type>(cl, device, CL_DEVICE_TYPE);
  info.kind = type & CL_DEVICE_TYPE_CPU ? Kind::cpu : type & CL_DEVICE_TYPE_GPU ? Kind::gpu : Kind::accelerator;
  info.units = std::max(1, static_cast<int>(device_value<cl_uint>(
                               cl, device, CL_DEVICE_MAX_COMPUTE_UNITS)));  // a poor driver may not say
  info.memory = device_value<cl_ulong>(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.extensions = device_text(cl, device, CL_DEVICE_EXTENSIONS);
  info.address_bits = static_cast<int>(device_value<cl_uint>(cl, device, CL_DEVICE_ADDRESS_BITS));
  info.prompt = calls_back_at_once(info);
  info.overlaps = overlaps(info);
  info.part_alignment = std::max<Bytes>(1, device_value<cl_uint>(cl, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  info.largest_buffer = device_value<cl_ulong>(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.local_memory = device_value<cl_ulong>(cl, device, CL_DEVICE_LOCAL_MEM_SIZE);
  info.cache = device_value<cl_ulong>(cl, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  info.largest_group = static_cast<std::int64_t>(device_value<size_t>(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  struct Extents {
    size_t of[8];  // three are asked for by the standard; room for a device with more dimensions
  };
  const auto extents = device_value<Extents>(cl, device, CL_DEVICE_MAX_WORK_ITEM_SIZES);
  for (int d = 0; d < 3; ++d) info.largest_extents[d] = static_cast<std::int64_t>(extents.of[d]);
  info.fp64 = device_value<cl_device_fp_config>(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  info.parent = parent;
  info.fingerprint =
      core::Fingerprint()
          .add(info.vendor)
          .add(info.name)
          .add(info.driver)
          .add(static_cast<unsigned long long>(info.units))
          // A CPU's memory is what PoCL finds free at the moment (3 GB and 6 GB were seen within minutes).
          .add(info.kind == Kind::cpu ? 0 : info.memory)
          .add(parent)
          .hex();
  return info;
}

std::vector<std::unique_ptr<Device>> open_chosen(const core::Settings& settings, const Choice& choice) {
  std::vector<std::unique_ptr<Device>> out;
  const cache::FileCache cache = build_cache(settings);
  for (const Chosen& chosen : choice.devices) {
    auto device = open_device(chosen.platform, chosen.handle, {}, chosen.info, cache);
    if (!device) core::log_once(core::LogLevel::warn, "a device cannot be used: " + device.failure().what);
    out.push_back(device ? std::move(*device) : nullptr);
  }
  return out;
}

cl_context context_of(const Device& device) { return static_cast<const OpenClDevice&>(device).context(); }

std::unique_ptr<Buffer> lend(cl_mem memory, Bytes size) {
  const Dispatch cl(memory);
  cl(&Slots::clRetainMemObject, memory);
  return std::make_unique<OpenClBuffer>(memory, size, nullptr);
}

cache::FileCache build_cache(const core::Settings& settings) {
  return {"build", settings.cache.empty() ? "" : settings.cache + "/build", settings.cache_limit};
}

Result<std::unique_ptr<Device>> open_device(const Platform& platform, cl_device_id handle, OwnedSubDevice owned,
                                            Info info, cache::FileCache cache) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(platform.handle), 0};
  cl_int code = CL_SUCCESS;
  OwnedContext context(platform.cl(&Slots::clCreateContext, properties, 1, &handle, nullptr, nullptr, &code));
  if (!context) {
    Failure failure = failed(FailureKind::unsupported, "clCreateContext", code);
    failure.what += " on " + info.name;
    return failure;
  }
  return std::unique_ptr<Device>(
      new OpenClDevice(handle, std::move(owned), std::move(context), std::move(info), std::move(cache)));
}

}  // namespace heddle::device

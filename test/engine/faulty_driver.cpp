// An OpenCL driver that is PoCL, but fails on command: it patches the table through which all of PoCL's objects are
// called. A test sets a script by faulty_script(); a child process finds one in FAULTY_SCRIPT. One fault per line or
// between semicolons, the N-th call of its kind from the beginning of the script on:
//   CALL N CODE        the call returns this code
//   CALL N late CODE   the command's event fails when those before it are done; nothing was computed
//   CALL N spoilt CODE the same, but it was computed
//   CALL N nothing     the command does nothing, and says that it succeeded
//   CALL N hang        the command does not end before the next script, and then it is still computed; a call that is
//                      no command does not return
//   CALL N crash       SIGILL
//   CALL N eat         takes memory until there is none, and then SIGABRT
//   CALL N breed       starts a process that sleeps, and does not return
// CALL is launch, write, read, buffer, build or queue.
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Fault {
  enum class How { none, code, late, spoilt, nothing, hang, crash, eat, breed } how = How::none;
  cl_int code = CL_SUCCESS;
};

// A command that will not end before it is let go.
struct Hanging {
  cl_command_queue queue;
  cl_event gate;
};

// An event that fails in the place of a real command's. PoCL is never told: it loses commands that wait for a failed
// one (3.1: now and then one that is queued at the very moment stays queued for ever).
struct Failing {
  cl_event done;  // the real command's
  bool mute;      // nobody is called back, as PoCL does it for commands that fail because one before them did
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  int scripts = 0;
  std::map<std::pair<std::string, int>, Fault> faults;
  std::map<std::string, int> calls;
  std::vector<Hanging> hanging;
  std::map<cl_event, Failing> failing;  // holds both events until the next script
  std::vector<std::thread> tellers;
  cl_icd_dispatch real{};  // PoCL's own functions
  cl_icd_dispatch* table = nullptr;
  void* library = nullptr;
};
State& state() {
  static auto& all = *new State;  // PoCL's threads may call when static objects are gone
  return all;
}

void read_script(const char* text) {
  using How = Fault::How;
  static const std::map<std::string, How> words = {
      {"late", How::late},   {"spoilt", How::spoilt}, {"nothing", How::nothing}, {"hang", How::hang},
      {"crash", How::crash}, {"eat", How::eat},       {"breed", How::breed}};
  std::string lines = text;
  for (char& c : lines) c = c == ';' ? '\n' : c;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) {
    std::istringstream in(line);
    std::string call, word;
    int number = 0;
    if (!(in >> call >> number >> word)) continue;
    Fault fault{How::code};
    const auto how = words.find(word);
    if (how != words.end()) fault.how = how->second, word = "";
    if (!word.empty() || in >> word) fault.code = std::atoi(word.c_str());
    state().faults[{call, number}] = fault;
  }
}

Fault next(const char* call) {
  State& s = state();
  Fault out;
  int script = 0;
  {
    std::lock_guard hold(s.mutex);
    const auto at = s.faults.find({call, ++s.calls[call]});
    if (at != s.faults.end()) out = at->second;
    script = s.scripts;
  }
  while (out.how == Fault::How::crash) ::raise(SIGILL);  // LLVM handles the first and waits for the next
  if (out.how == Fault::How::eat) {
    constexpr std::size_t bite = 16 << 20;
    while (auto* memory = static_cast<volatile char*>(std::malloc(bite))) {
      for (std::size_t i = 0; i < bite; i += 4096) memory[i] = 1;
    }
    std::abort();
  }
  if (out.how == Fault::How::breed) {
    (void)::fork();
    for (;;) ::pause();
  }
  const std::string which = call;
  if (out.how == Fault::How::hang && (which == "buffer" || which == "build" || which == "queue")) {
    std::unique_lock lock(s.mutex);
    s.changed.wait(lock, [&] { return s.scripts != script; });
    return {};
  }
  return out;
}

cl_context context_of(cl_command_queue queue) {
  cl_context out = nullptr;
  state().real.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof out, &out, nullptr);
  return out;
}

// One command. `enqueue` gives it to PoCL with these events to wait for.
template <class Enqueue>
cl_int command(const char* call, cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event,
               Enqueue enqueue) {
  using How = Fault::How;
  State& s = state();
  Fault fault = next(call);
  if (fault.how == How::code) return fault.code;
  std::vector<cl_event> all(waits, waits + count);
  bool mute = false;
  {
    std::lock_guard hold(s.mutex);
    for (cl_event& one : all) {
      const auto at = s.failing.find(one);
      if (at == s.failing.end()) continue;
      one = at->second.done;
      fault = {How::late, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST};
      mute = true;
    }
  }
  const auto given = [&](auto put, cl_event* out) {
    return put(static_cast<cl_uint>(all.size()), all.empty() ? nullptr : all.data(), out);
  };
  const auto marker = [&](cl_uint n, const cl_event* list, cl_event* out) {
    return s.real.clEnqueueMarkerWithWaitList(queue, n, list, out);
  };
  if (fault.how == How::none) return given(enqueue, event);
  if (fault.how == How::nothing) return given(marker, event);
  cl_int code = CL_SUCCESS;
  const cl_event gate = s.real.clCreateUserEvent(context_of(queue), &code);
  if (!gate) return code;
  if (fault.how == How::hang) {
    all.push_back(gate);
    code = given(enqueue, event);
    s.real.clRetainCommandQueue(queue);
    std::lock_guard hold(s.mutex);
    s.hanging.push_back({queue, gate});
    return code;
  }
  cl_event done = nullptr;
  code = fault.how == How::spoilt ? given(enqueue, &done) : given(marker, &done);
  if (code != CL_SUCCESS) {
    s.real.clReleaseEvent(gate);
    return code;
  }
  s.real.clFlush(queue);
  if (event) {
    s.real.clRetainEvent(gate);
    *event = gate;
  }
  std::lock_guard hold(s.mutex);
  s.failing[gate] = {done, mute};
  s.tellers.emplace_back([done, gate, told = fault.code] {
    state().real.clWaitForEvents(1, &done);
    state().real.clSetUserEventStatus(gate, told);
  });
  return CL_SUCCESS;
}

cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                          const size_t* global, const size_t* local, cl_uint count, const cl_event* waits,
                          cl_event* event) {
  return command("launch", queue, count, waits, event, [&](cl_uint n, const cl_event* list, cl_event* out) {
    return state().real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, n, list, out);
  });
}

cl_int CL_API_CALL write(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t at, size_t size,
                         const void* from, cl_uint count, const cl_event* waits, cl_event* event) {
  return command("write", queue, count, waits, event, [&](cl_uint n, const cl_event* list, cl_event* out) {
    return state().real.clEnqueueWriteBuffer(queue, buffer, blocking, at, size, from, n, list, out);
  });
}

cl_int CL_API_CALL read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t at, size_t size, void* to,
                        cl_uint count, const cl_event* waits, cl_event* event) {
  return command("read", queue, count, waits, event, [&](cl_uint n, const cl_event* list, cl_event* out) {
    return state().real.clEnqueueReadBuffer(queue, buffer, blocking, at, size, to, n, list, out);
  });
}

cl_int CL_API_CALL set_callback(cl_event event, cl_int status, void(CL_CALLBACK* notify)(cl_event, cl_int, void*),
                                void* data) {
  State& s = state();
  {
    std::lock_guard hold(s.mutex);
    const auto at = s.failing.find(event);
    if (at != s.failing.end() && at->second.mute) return CL_SUCCESS;
  }
  return s.real.clSetEventCallback(event, status, notify, data);
}

// Makers of objects.
template <class Object, class Make>
Object made(const char* call, cl_int* code, Make make) {
  const Fault fault = next(call);
  if (fault.how == Fault::How::none) return make();
  if (code) *code = fault.code;
  return nullptr;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* code) {
  return made<cl_mem>("buffer", code, [&] { return state().real.clCreateBuffer(context, flags, size, host, code); });
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* code) {
  return made<cl_command_queue>("queue", code,
                                [&] { return state().real.clCreateCommandQueue(context, device, properties, code); });
}

cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
                                               const cl_queue_properties* properties, cl_int* code) {
  return made<cl_command_queue>("queue", code, [&] {
    return state().real.clCreateCommandQueueWithProperties(context, device, properties, code);
  });
}

cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                         void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  const Fault fault = next("build");
  if (fault.how != Fault::How::none) return fault.code;
  return state().real.clBuildProgram(program, count, devices, options, notify, data);
}

using PlatformsOf = decltype(cl_icd_dispatch::clGetPlatformIDs);
using AddressOf = void*(CL_API_CALL*)(const char*);

// Loads PoCL and takes the place of some of its functions.
cl_int take_over(cl_uint entries, cl_platform_id* out, cl_uint* count) {
  State& s = state();
  std::lock_guard hold(s.mutex);
  if (!s.library) {
    std::string name;
    std::getline(std::ifstream("/etc/OpenCL/vendors/pocl.icd"), name);
    s.library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (const char* script = std::getenv("FAULTY_SCRIPT")) read_script(script);
  }
  if (!s.library) return -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  const auto address = reinterpret_cast<AddressOf>(::dlsym(s.library, "clGetExtensionFunctionAddress"));
  const auto platforms = address ? reinterpret_cast<PlatformsOf>(address("clIcdGetPlatformIDsKHR")) : nullptr;
  cl_platform_id platform = nullptr;
  if (!platforms || platforms(1, &platform, nullptr) != CL_SUCCESS) return -1001;
  if (!s.table) {
    s.table = *reinterpret_cast<cl_icd_dispatch**>(platform);
    s.real = *s.table;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(s.table) / page * page,
               end = reinterpret_cast<std::uintptr_t>(s.table + 1);
    ::mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE);
    s.table->clEnqueueNDRangeKernel = launch;
    s.table->clEnqueueWriteBuffer = write;
    s.table->clEnqueueReadBuffer = read;
    s.table->clCreateBuffer = create_buffer;
    s.table->clCreateCommandQueue = create_queue;
    if (s.real.clCreateCommandQueueWithProperties) s.table->clCreateCommandQueueWithProperties = create_queue_with;
    s.table->clBuildProgram = build;
    s.table->clSetEventCallback = set_callback;
  }
  return platforms(entries, out, count);
}

}  // namespace

// Lets go whatever hangs, waits for its end, and begins to count anew.
EXPORT void faulty_script(const char* text) {
  State& s = state();
  std::vector<Hanging> hanging;
  std::vector<std::thread> tellers;
  {
    std::lock_guard hold(s.mutex);
    hanging.swap(s.hanging);
    tellers.swap(s.tellers);
    s.faults.clear();
    s.calls.clear();
    ++s.scripts;
    s.changed.notify_all();
  }
  for (const Hanging& one : hanging) s.real.clSetUserEventStatus(one.gate, CL_COMPLETE);
  for (const Hanging& one : hanging) {
    s.real.clFinish(one.queue);
    s.real.clReleaseCommandQueue(one.queue);
    s.real.clReleaseEvent(one.gate);
  }
  for (std::thread& teller : tellers) teller.join();
  std::lock_guard hold(s.mutex);
  for (const auto& [gate, one] : s.failing) {
    s.real.clReleaseEvent(one.done);
    s.real.clReleaseEvent(gate);
  }
  s.failing.clear();
  read_script(text);
}

EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* out, cl_uint* count) {
  return take_over(entries, out, count);
}

EXPORT void* clGetExtensionFunctionAddress(const char* name) {
  if (std::string(name) == "clIcdGetPlatformIDsKHR") return reinterpret_cast<void*>(clIcdGetPlatformIDsKHR);
  State& s = state();
  const auto address =
      s.library ? reinterpret_cast<AddressOf>(::dlsym(s.library, "clGetExtensionFunctionAddress")) : nullptr;
  return address ? address(name) : nullptr;
}

EXPORT cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void* value, size_t* got) {
  return state().table ? state().real.clGetPlatformInfo(platform, what, size, value, got) : CL_INVALID_PLATFORM;
}

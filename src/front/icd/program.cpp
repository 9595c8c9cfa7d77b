// Programs: from source, binary, intermediate language or built-in kernels; built, compiled, linked.
#include <algorithm>
#include <chrono>
#include <thread>

#include "core/source_text.hpp"
#include "device/quirks.hpp"
#include "front/icd/callbacks.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/groups.hpp"
#include "front/icd/observe.hpp"
#include "front/icd/runtime.hpp"

namespace heddle::front::icd {

namespace {

using Notify = void(CL_CALLBACK*)(cl_program, void*);

cl_program hand_out(Context& context, cl_program inner, cl_int code, std::vector<Device*> devices) {
  check(code);
  return wrap<Program>(context, device::OwnedProgram(inner), std::move(devices));
}

// The devices that an operation is for: those named, or all.
struct Targets {
  Targets(const Context& context, const std::vector<Device*>& all, cl_uint count, const cl_device_id* named) {
    if ((count == 0) != (named == nullptr)) throw Error{CL_INVALID_VALUE};
    if (!named) devices = all;
    for (cl_uint i = 0; i < count; ++i) devices.push_back(&device_in(context, named[i]));
    std::vector<cl_device_id> handles;
    for (const Device* device : devices) handles.push_back(handle_of(*device));
    inner = inner_devices(context, static_cast<cl_uint>(handles.size()), handles.data());
  }
  cl_uint count() const { return static_cast<cl_uint>(inner.size()); }

  std::vector<Device*> devices;
  std::vector<cl_device_id> inner;
};

void remember_options(Program& program, const Targets& targets, const char* options) {
  std::map<std::string, std::shared_ptr<Grouped>> before;  // let go without the lock, as they hold inner events
  std::lock_guard lock(program.mutex);
  for (const Device* device : targets.devices) program.options[device] = options ? options : "";
  if (!program.source.empty()) program.reads_files = !core::includes_nothing(program.source, options ? options : "");
  program.woven.clear();  // kernels from now on are others
  before.swap(program.grouped);
}

// The program's own options with what the driver below needs.
std::string options_for(const Program& program, const Device& device, const char* given) {
  return (given ? given : "") + device::quirk_options(device.info) +
         (program.context->loom ? device::direct_options(device.info) : "");
}

// With it drivers tell what kernels take as arguments (kernel.cpp asks), which PoCL and NVIDIA's keep to themselves
// otherwise.
constexpr const char* tell_arguments = " -cl-kernel-arg-info";

// With a callback a build may return before it is done, and need not. It is done at once, so that the callback's
// program is whole; the callback comes from our thread, unless the arguments were refused and nothing was built.
cl_int notify_of(Program& program, cl_int code, cl_int failure, Notify notify, void* user) {
  if (notify && (code == CL_SUCCESS || code == failure)) {
    call_back([reference = Ref<Program>(program), notify, user] { notify(handle_of(*reference), user); });
  }
  return code;
}

std::vector<cl_program> inner_programs(const Context& context, cl_uint count, const cl_program* programs) {
  std::vector<cl_program> out;
  for (cl_uint i = 0; i < count; ++i) out.push_back(valid(programs[i], context).inner);
  return out;
}

template <class T>
std::vector<T> inner_values(const Program& program, cl_program_info what) {
  size_t size = 0;
  check(pass<&Slots::clGetProgramInfo>(program.inner, what, size_t{0}, nullptr, &size));
  std::vector<T> out(size / sizeof(T));
  check(pass<&Slots::clGetProgramInfo>(program.inner, what, size, out.data(), nullptr));
  return out;
}

// For each of our devices, its place in the inner program's list. PoCL names the whole device where we gave a part.
std::vector<std::size_t> places_of(const Program& program) {
  const auto inner = inner_values<cl_device_id>(program, CL_PROGRAM_DEVICES);
  if (inner.empty()) throw Error{CL_INVALID_PROGRAM};
  std::vector<cl_device_id> given;
  std::vector<std::size_t> out;
  const auto place = [](const std::vector<cl_device_id>& list, cl_device_id device) {
    return static_cast<std::size_t>(std::find(list.begin(), list.end(), device) - list.begin());
  };
  for (const Device* device : program.devices) {
    const std::size_t order = place(given, device->inner), at = place(inner, device->inner);
    if (order == given.size()) given.push_back(device->inner);
    out.push_back(at < inner.size() ? at : std::min(order, inner.size() - 1));
  }
  return out;
}

}  // namespace

Program::~Program() { pass<&Slots::clReleaseProgram>(inner); }

cl_program CL_API_CALL clCreateProgramWithSource(cl_context handle, cl_uint count, const char** strings,
                                                 const size_t* lengths, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    if (count == 0 || !strings || std::find(strings, strings + count, nullptr) != strings + count) {
      throw Error{CL_INVALID_VALUE};
    }
    cl_int code = CL_SUCCESS;
    const cl_program inner = pass<&Slots::clCreateProgramWithSource>(context.inner, count, strings, lengths, &code);
    const cl_program made = hand_out(context, inner, code, context.devices);
    if (!context.loom && !chooses_groups()) return made;
    std::string source;
    for (cl_uint i = 0; i < count; ++i) {
      const bool has_end = !lengths || lengths[i] == 0;
      source += has_end ? std::string(strings[i]) : std::string(strings[i], lengths[i]);
    }
    valid(made).blind_source = blind_name(source);
    if (context.loom) valid(made).source = std::move(source);
    return made;
  });
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context handle, const void* il, size_t length, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    cl_int code = CL_SUCCESS;
    const cl_program inner = pass<&Slots::clCreateProgramWithIL>(context.inner, il, length, &code);
    return hand_out(context, inner, code, context.devices);
  });
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context handle, cl_uint count, const cl_device_id* devices,
                                                 const size_t* lengths, const unsigned char** binaries, cl_int* status,
                                                 cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    if (count == 0 || !devices || !lengths || !binaries) throw Error{CL_INVALID_VALUE};
    // Two of our devices may be one below: its first binary counts.
    std::vector<Device*> ours;
    std::vector<cl_device_id> inner_list;
    std::vector<size_t> inner_lengths;
    std::vector<const unsigned char*> inner_binaries;
    std::vector<std::size_t> place;
    for (cl_uint i = 0; i < count; ++i) {
      Device& device = device_in(context, devices[i]);
      ours.push_back(&device);
      std::size_t at = 0;
      while (at < inner_list.size() && inner_list[at] != device.inner) ++at;
      place.push_back(at);
      if (at < inner_list.size()) continue;
      inner_list.push_back(device.inner);
      inner_lengths.push_back(lengths[i]);
      inner_binaries.push_back(binaries[i]);
    }
    std::vector<cl_int> inner_status(inner_list.size(), CL_SUCCESS);
    cl_int code = CL_SUCCESS;
    const cl_program inner = pass<&Slots::clCreateProgramWithBinary>(
        context.inner, static_cast<cl_uint>(inner_list.size()), inner_list.data(), inner_lengths.data(),
        inner_binaries.data(), inner_status.data(), &code);
    for (cl_uint i = 0; status && i < count; ++i) status[i] = inner_status[place[i]];
    return hand_out(context, inner, code, std::move(ours));
  });
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context handle, cl_uint count, const cl_device_id* devices,
                                                         const char* names, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    if (count == 0 || !devices) throw Error{CL_INVALID_VALUE};
    const auto inner_list = inner_devices(context, count, devices);
    std::vector<Device*> ours;
    for (cl_uint i = 0; i < count; ++i) ours.push_back(&valid(devices[i]));
    cl_int code = CL_SUCCESS;
    const cl_program inner = pass<&Slots::clCreateProgramWithBuiltInKernels>(
        context.inner, static_cast<cl_uint>(inner_list.size()), inner_list.data(), names, &code);
    return hand_out(context, inner, code, std::move(ours));
  });
}

cl_int CL_API_CALL clRetainProgram(cl_program handle) {
  return always(__func__, [&] { retain(valid(handle)); });
}
cl_int CL_API_CALL clReleaseProgram(cl_program handle) {
  return always(__func__, [&] { release(valid(handle)); });
}

namespace {

// PoCL releases the kernel of a launch a moment after the launch is complete, and until then refuses to build its
// program again. Where the program has released all its kernels, that is no fault of its own.
template <class Build>
cl_int without_kernels(const Program& program, const Build& build) {
  cl_int code = build();
  for (int i = 0; i < 100 && code == CL_INVALID_OPERATION && program.kernels == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    code = build();
  }
  return code;
}

}  // namespace

cl_int CL_API_CALL clBuildProgram(cl_program handle, cl_uint count, const cl_device_id* devices, const char* options,
                                  Notify notify, void* user) {
  return answer(__func__, [&]() -> cl_int {
    Program& program = valid(handle);
    if (!notify && user) return CL_INVALID_VALUE;
    const Targets targets(*program.context, program.devices, count, devices);
    const auto begin = now();
    const std::string own = options_for(program, *targets.devices[0], options);
    const auto build = [&](const std::string& with) {
      return without_kernels(program, [&] {
        return pass<&Slots::clBuildProgram>(program.inner, targets.count(), targets.inner.data(), with.c_str(), nullptr,
                                            nullptr);
      });
    };
    cl_int code = CL_BUILD_PROGRAM_FAILURE;
    if (targets.devices[0]->knows_arguments) code = build(own + tell_arguments);
    // A mistake of the program's, or NVIDIA's driver (580), which with our option refuses kernels without parameters.
    if (code == CL_BUILD_PROGRAM_FAILURE) code = build(own);
    observe_build(begin);
    expect_end();
    if (code == CL_SUCCESS || code == CL_BUILD_PROGRAM_FAILURE) remember_options(program, targets, options);
    return notify_of(program, code, CL_BUILD_PROGRAM_FAILURE, notify, user);
  });
}

cl_int CL_API_CALL clCompileProgram(cl_program handle, cl_uint count, const cl_device_id* devices, const char* options,
                                    cl_uint headers, const cl_program* header_programs, const char** header_names,
                                    Notify notify, void* user) {
  return answer(__func__, [&]() -> cl_int {
    Program& program = valid(handle);
    if (!notify && user) return CL_INVALID_VALUE;
    if ((headers == 0) != (header_programs == nullptr) || (headers == 0) != (header_names == nullptr)) {
      return CL_INVALID_VALUE;
    }
    const Targets targets(*program.context, program.devices, count, devices);
    const auto inner_headers = inner_programs(*program.context, headers, header_programs);
    const auto begin = now();
    const std::string own = options_for(program, *targets.devices[0], options);
    const cl_int code = without_kernels(program, [&] {
      return pass<&Slots::clCompileProgram>(program.inner, targets.count(), targets.inner.data(), own.c_str(), headers,
                                            headers ? inner_headers.data() : nullptr, header_names, nullptr, nullptr);
    });
    observe_build(begin);
    if (code == CL_SUCCESS || code == CL_COMPILE_PROGRAM_FAILURE) remember_options(program, targets, options);
    return notify_of(program, code, CL_COMPILE_PROGRAM_FAILURE, notify, user);
  });
}

cl_program CL_API_CALL clLinkProgram(cl_context handle, cl_uint count, const cl_device_id* devices, const char* options,
                                     cl_uint inputs, const cl_program* input_programs, Notify notify, void* user,
                                     cl_int* error) {
  // A program may come back although linking failed: its log says why.
  cl_program made = nullptr;
  const cl_int code = answer(__func__, [&]() -> cl_int {
    Context& context = valid(handle);
    if ((!notify && user) || inputs == 0 || !input_programs) return CL_INVALID_VALUE;
    const Targets targets(context, context.devices, count, devices);
    const auto inner_inputs = inner_programs(context, inputs, input_programs);
    const auto begin = now();
    cl_int failed = CL_SUCCESS;
    const cl_program inner = pass<&Slots::clLinkProgram>(context.inner, targets.count(), targets.inner.data(), options,
                                                         inputs, inner_inputs.data(), nullptr, nullptr, &failed);
    observe_build(begin);
    if (!inner) return failed == CL_SUCCESS ? CL_LINK_PROGRAM_FAILURE : failed;
    made = wrap<Program>(context, device::OwnedProgram(inner), targets.devices);
    remember_options(valid(made), targets, options);
    return notify_of(valid(made), failed, CL_LINK_PROGRAM_FAILURE, notify, user);
  });
  if (error) *error = code;
  return made;
}

cl_int CL_API_CALL clGetProgramInfo(cl_program handle, cl_program_info what, size_t size, void* value,
                                    size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Program& program = valid(handle);
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_PROGRAM_REFERENCE_COUNT:
        return place.put<cl_uint>(program.references);
      case CL_PROGRAM_CONTEXT:
        return place.put(handle_of(*program.context));
      case CL_PROGRAM_NUM_DEVICES:
        return place.put(static_cast<cl_uint>(program.devices.size()));
      case CL_PROGRAM_DEVICES: {
        std::vector<cl_device_id> devices;
        for (const Device* device : program.devices) devices.push_back(handle_of(*device));
        return place.put(devices);
      }
      case CL_PROGRAM_BINARY_SIZES: {
        const auto inner = inner_values<size_t>(program, what);
        std::vector<size_t> sizes;
        for (std::size_t at : places_of(program)) sizes.push_back(inner[at]);
        return place.put(sizes);
      }
      case CL_PROGRAM_BINARIES: {
        const std::size_t bytes = program.devices.size() * sizeof(void*);
        if (size_ret) *size_ret = bytes;
        if (!value) return CL_SUCCESS;
        if (size < bytes) return CL_INVALID_VALUE;
        const auto sizes = inner_values<size_t>(program, CL_PROGRAM_BINARY_SIZES);
        std::vector<std::vector<unsigned char>> binaries;
        std::vector<unsigned char*> pointers;
        for (size_t binary : sizes) binaries.emplace_back(binary);
        for (auto& binary : binaries) pointers.push_back(binary.empty() ? nullptr : binary.data());
        check(pass<&Slots::clGetProgramInfo>(program.inner, what, pointers.size() * sizeof(void*), pointers.data(),
                                             nullptr));
        const auto places = places_of(program);
        for (std::size_t i = 0; i < places.size(); ++i) {
          unsigned char* to = static_cast<unsigned char**>(value)[i];
          const auto& binary = binaries[places[i]];
          if (to && !binary.empty()) std::memcpy(to, binary.data(), binary.size());
        }
        return CL_SUCCESS;
      }
      default:
        return pass<&Slots::clGetProgramInfo>(program.inner, what, size, value, size_ret);
    }
  });
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program handle, cl_device_id device, cl_program_build_info what,
                                         size_t size, void* value, size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    Program& program = valid(handle);
    const Device& ours = device_in(*program.context, device);
    if (what == CL_PROGRAM_BUILD_OPTIONS) {  // the program's own, without what we added
      std::lock_guard lock(program.mutex);
      if (const auto found = program.options.find(&ours); found != program.options.end()) {
        return Place{size, value, size_ret}.put(found->second);
      }
    }
    return pass<&Slots::clGetProgramBuildInfo>(program.inner, ours.inner, what, size, value, size_ret);
  });
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program handle, cl_uint id, size_t size, const void* value) {
  return answer(__func__,
                [&] { return pass<&Slots::clSetProgramSpecializationConstant>(valid(handle).inner, id, size, value); });
}

// Needs a device with destructors of program-scope variables, which none below has; OpenCL 3.0 deprecates it.
cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program handle, Notify notify, void*) {
  return answer(__func__, [&]() -> cl_int {
    valid(handle);
    return notify ? CL_INVALID_OPERATION : CL_INVALID_VALUE;
  });
}

}  // namespace heddle::front::icd

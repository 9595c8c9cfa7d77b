// Kernels: their arguments, queries and launches.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "front/icd/enqueue.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/groups.hpp"
#include "front/icd/runtime.hpp"
#include "front/icd/strand.hpp"
#include "front/icd/turns.hpp"
#include "front/icd/weave.hpp"

namespace heddle::front::icd {

namespace {

std::string name_of(cl_kernel inner) {
  size_t size = 0;
  if (pass<&Slots::clGetKernelInfo>(inner, CL_KERNEL_FUNCTION_NAME, size_t{0}, nullptr, &size) != CL_SUCCESS) return "";
  std::string name(size, '\0');
  pass<&Slots::clGetKernelInfo>(inner, CL_KERNEL_FUNCTION_NAME, size, name.data(), nullptr);
  return name.c_str();
}

// Drivers may know nothing of a kernel's arguments (NVIDIA's, unless it was built with -cl-kernel-arg-info).
Takes takes(cl_kernel inner, cl_uint index) {
  cl_kernel_arg_address_qualifier space = 0;
  if (pass<&Slots::clGetKernelArgInfo>(inner, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, nullptr) !=
      CL_SUCCESS) {
    return Takes::unknown;
  }
  if (space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT) return Takes::memory;
  if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) return Takes::local;
  cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
  pass<&Slots::clGetKernelArgInfo>(inner, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, nullptr);
  if (access != CL_KERNEL_ARG_ACCESS_NONE) return Takes::memory;  // an image or a pipe
  cl_kernel_arg_type_qualifier qualifiers = 0;
  pass<&Slots::clGetKernelArgInfo>(inner, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers, &qualifiers, nullptr);
  if (qualifiers & CL_KERNEL_ARG_TYPE_PIPE) return Takes::memory;
  char type[64] = "";
  if (pass<&Slots::clGetKernelArgInfo>(inner, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, nullptr) !=
      CL_SUCCESS) {
    return Takes::value;  // a longer name is none of those below
  }
  // Names of the language, which programs cannot give to types of their own.
  const std::string_view name = type;
  if (name == "sampler_t") return Takes::sampler;
  if (name == "queue_t") return Takes::queue;
  static constexpr std::string_view images[] = {
      "image1d_t",       "image1d_buffer_t",     "image1d_array_t",       "image2d_t",
      "image2d_array_t", "image2d_depth_t",      "image2d_array_depth_t", "image2d_msaa_t",
      "image3d_t",       "image2d_array_msaa_t", "image2d_msaa_depth_t",  "image2d_array_msaa_depth_t"};
  return std::find(std::begin(images), std::end(images), name) != std::end(images) ? Takes::memory : Takes::value;
}

std::vector<Takes> arguments_of(const Program& program, cl_kernel inner) {
  cl_uint count = 0;
  pass<&Slots::clGetKernelInfo>(inner, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  std::vector<Takes> out;
  const bool told = program.devices[0]->knows_arguments;
  for (cl_uint i = 0; i < count; ++i) out.push_back(told ? takes(inner, i) : Takes::unknown);
  return out;
}

// The inner handle that stands for the given one; null where the value is no handle and passes as it is.
void* inner_argument(Takes what, const void* given) {
  switch (what) {
    case Takes::value:
    case Takes::local:
      return nullptr;
    case Takes::unknown:  // a number that happens to be the address of one of the program's live handles is taken for
                          // it
      return live_inner(given, Kind::gone);
    case Takes::memory:
      if (void* inner = live_inner(given, Kind::memory)) return inner;
      throw Error{CL_INVALID_MEM_OBJECT};
    case Takes::sampler:
      if (void* inner = live_inner(given, Kind::sampler)) return inner;
      throw Error{CL_INVALID_SAMPLER};
    case Takes::queue:
      if (void* inner = live_inner(given, Kind::queue)) return inner;
      throw Error{CL_INVALID_DEVICE_QUEUE};
  }
  return nullptr;
}

void keep(Kernel& kernel, cl_uint index, Takes what, size_t size, const void* value, const void* given) {
  Kernel::Value& to = kernel.values[index];
  to.set = what != Takes::unknown;
  to.size = size;
  // A null buffer is allowed, and is the direct path's.
  if (what == Takes::memory || what == Takes::unknown) {
    const bool live = what == Takes::memory || live_inner(given, Kind::memory);  // or it was refused
    to.memory = given && live ? static_cast<const Memory*>(given) : nullptr;
    const std::size_t before = std::exchange(to.extent, to.memory ? to.memory->bytes : 0);
    if (to.extent != before) kernel.extents = mark_of_extents(kernel);
  } else if (value && what == Takes::value) {
    const auto* bytes = static_cast<const std::byte*>(value);
    to.bytes.assign(bytes, bytes + size);
  }
}

// What a launch uses, of which the engine may have some.
class MemoriesOf {
 public:
  explicit MemoriesOf(const Kernel& kernel) {
    const Memory** to = few_.data();
    if (kernel.values.size() > few_.size()) {
      many_.resize(kernel.values.size());
      to = many_.data();
    }
    std::size_t count = 0, gone = 0;
    const std::uint64_t now = memories_gone.load();
    const bool known = kernel.all_live.load(std::memory_order_relaxed) == now;
    for (const Kernel::Value& value : kernel.values) {
      if (!value.memory) continue;
      if (known || live_inner(value.memory, Kind::memory))
        to[count++] = value.memory;
      else
        ++gone;
    }
    if (!known && gone == 0) kernel.all_live.store(now, std::memory_order_relaxed);
    all = {to, count};
  }
  MemoriesOf(const MemoriesOf&) = delete;

  std::span<const Memory* const> all;

 private:
  std::array<const Memory*, 16> few_;
  std::vector<const Memory*> many_;
};

// The inner device that a query about a kernel is for; null stays null, which is right where there is only one.
cl_device_id inner_device(const Kernel& kernel, cl_device_id device) {
  return device ? device_in(*kernel.program->context, device).inner : nullptr;
}

}  // namespace

Kernel::Kernel(Program& its_program, cl_kernel its_inner)
    : Object(its_kind),
      inner(its_inner),
      program(its_program),
      name(name_of(its_inner)),
      arguments(arguments_of(its_program, its_inner)),
      woven(woven_kernel(its_program, name)),
      grouped(grouped_kernel(its_program, name)) {
  if (program->context->loom) values.resize(arguments.size());
  ++program->kernels;
}

Kernel::~Kernel() {
  pass<&Slots::clReleaseKernel>(inner);
  --program->kernels;
}

cl_kernel CL_API_CALL clCreateKernel(cl_program handle, const char* name, cl_int* error) {
  return make(__func__, error, [&] {
    Program& program = valid(handle);
    cl_int code = CL_SUCCESS;
    const cl_kernel inner = pass<&Slots::clCreateKernel>(program.inner, name, &code);
    check(code);
    return wrap<Kernel>(program, device::OwnedKernel(inner));
  });
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program handle, cl_uint entries, cl_kernel* kernels, cl_uint* count) {
  return answer(__func__, [&]() -> cl_int {
    Program& program = valid(handle);
    if (kernels && entries == 0) return CL_INVALID_VALUE;
    cl_uint found = 0;
    std::vector<cl_kernel> inner(kernels ? entries : 0);
    const cl_int code =
        pass<&Slots::clCreateKernelsInProgram>(program.inner, entries, kernels ? inner.data() : nullptr, &found);
    if (code != CL_SUCCESS) return code;
    for (cl_uint i = 0; kernels && i < std::min(found, entries); ++i) {
      kernels[i] = wrap<Kernel>(program, device::OwnedKernel(inner[i]));
    }
    if (count) *count = found;
    return CL_SUCCESS;
  });
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel handle, cl_int* error) {
  return make(__func__, error, [&] {
    Kernel& kernel = valid(handle);
    cl_int code = CL_SUCCESS;
    const cl_kernel inner = pass<&Slots::clCloneKernel>(kernel.inner, &code);
    check(code);
    const cl_kernel made = wrap<Kernel>(*kernel.program, device::OwnedKernel(inner));
    valid(made).values = kernel.values, valid(made).extents = kernel.extents, valid(made).woven = kernel.woven;
    return made;
  });
}

cl_int CL_API_CALL clRetainKernel(cl_kernel handle) {
  return always(__func__, [&] { retain(valid(handle)); });
}
cl_int CL_API_CALL clReleaseKernel(cl_kernel handle) {
  return always(__func__, [&] { release(valid(handle)); });
}

cl_int CL_API_CALL clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void* value) {
  return answer(__func__, [&]() -> cl_int {
    Kernel& kernel = valid(handle);
    const Takes what = index < kernel.arguments.size() ? kernel.arguments[index] : Takes::unknown;
    if (what == Takes::local && value) return CL_INVALID_ARG_VALUE;
    if (what == Takes::local && size == 0) return CL_INVALID_ARG_SIZE;
    void* given = nullptr;
    if (value && size == sizeof given) std::memcpy(&given, value, sizeof given);
    void* inner = given ? inner_argument(what, given) : nullptr;
    const cl_int code = pass<&Slots::clSetKernelArg>(kernel.inner, index, size, inner ? &inner : value);
    if (code == CL_SUCCESS && index < kernel.values.size()) keep(kernel, index, what, size, value, given);
    return code;
  });
}

cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel handle, cl_uint index, const void* value) {
  return answer(__func__, [&] {
    Kernel& kernel = valid(handle);
    const cl_int code = pass<&Slots::clSetKernelArgSVMPointer>(kernel.inner, index, value);
    if (code == CL_SUCCESS && index < kernel.values.size()) {
      kernel.values[index] = {};  // not for the engine
      kernel.extents = mark_of_extents(kernel);
    }
    return code;
  });
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel handle, cl_kernel_exec_info what, size_t size, const void* value) {
  return answer(__func__, [&] {
    Kernel& kernel = valid(handle);
    const cl_int code = pass<&Slots::clSetKernelExecInfo>(kernel.inner, what, size, value);
    if (code == CL_SUCCESS) kernel.woven = nullptr;  // only the driver's kernel knows its memory beside its arguments
    return code;
  });
}

cl_int CL_API_CALL clGetKernelInfo(cl_kernel handle, cl_kernel_info what, size_t size, void* value, size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Kernel& kernel = valid(handle);
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_KERNEL_REFERENCE_COUNT:
        return place.put<cl_uint>(kernel.references);
      case CL_KERNEL_CONTEXT:
        return place.put(handle_of(*kernel.program->context));
      case CL_KERNEL_PROGRAM:
        return place.put(handle_of(*kernel.program));
      default:
        return pass<&Slots::clGetKernelInfo>(kernel.inner, what, size, value, size_ret);
    }
  });
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info what, size_t size,
                                      void* value, size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Kernel& kernel = valid(handle);
    if (index >= kernel.arguments.size()) return CL_INVALID_ARG_INDEX;
    return pass<&Slots::clGetKernelArgInfo>(kernel.inner, index, what, size, value, size_ret);
  });
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device, cl_kernel_work_group_info what,
                                            size_t size, void* value, size_t* size_ret) {
  return answer(__func__, [&] {
    const Kernel& kernel = valid(handle);
    return pass<&Slots::clGetKernelWorkGroupInfo>(kernel.inner, inner_device(kernel, device), what, size, value,
                                                  size_ret);
  });
}

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel handle, cl_device_id device, cl_kernel_sub_group_info what,
                                           size_t input_size, const void* input, size_t size, void* value,
                                           size_t* size_ret) {
  return answer(__func__, [&] {
    const Kernel& kernel = valid(handle);
    return pass<&Slots::clGetKernelSubGroupInfo>(kernel.inner, inner_device(kernel, device), what, input_size, input,
                                                 size, value, size_ret);
  });
}

// The same before OpenCL 2.1.
cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(cl_kernel handle, cl_device_id device, cl_kernel_sub_group_info what,
                                              size_t input_size, const void* input, size_t size, void* value,
                                              size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Kernel& kernel = valid(handle);
    if (!device::Dispatch(kernel.inner).has(&Slots::clGetKernelSubGroupInfoKHR)) {
      return icd::clGetKernelSubGroupInfo(handle, device, what, input_size, input, size, value, size_ret);
    }
    return pass<&Slots::clGetKernelSubGroupInfoKHR>(kernel.inner, inner_device(kernel, device), what, input_size, input,
                                                    size, value, size_ret);
  });
}

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue_handle, cl_kernel handle, cl_uint dimensions,
                                          const size_t* offset, const size_t* global, const size_t* local,
                                          cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&]() -> cl_int {
    Queue& queue = valid(queue_handle);
    Kernel& kernel = valid(handle);
    if (&*kernel.program->context != &*queue.context) return CL_INVALID_CONTEXT;
    if (dimensions < 1 || dimensions > 3) return CL_INVALID_WORK_DIMENSION;
    for (cl_uint d = 0; local && d < dimensions; ++d) {
      if (local[d] == 0) return CL_INVALID_WORK_GROUP_SIZE;  // NVIDIA's driver divides by it
    }
    if (!kernel.launched.load(std::memory_order_relaxed) && !kernel.launched.exchange(true)) expect_end();
    Waits waits{count, events, event};
    const auto place = [&](const size_t* groups, bool beside = false) {
      return enqueue(queue, {Work::Kind::kernel, kernel.name}, waits, [&](const WaitList& list, cl_event* inner) {
        const auto launch = [&](cl_command_queue where, cl_uint number, const cl_event* after) {
          return pass<&Slots::clEnqueueNDRangeKernel>(where, kernel.inner, dimensions, offset, global, groups, number,
                                                      after, inner);
        };
        return beside ? launch_beside(queue, list, *inner, launch) : launch(queue.inner, list.count, list.list);
      });
    };
    const auto place_in_groups = [&] {
      if (local || !kernel.grouped) return place(local);
      Groups groups(queue, kernel, dimensions, global);
      waits.watched = groups.watched();
      const cl_int code = place(groups.local(), groups.beside());
      if (code == CL_SUCCESS) groups.placed();
      if (code == CL_SUCCESS || !groups.local()) return code;
      waits.watched = nullptr;
      const cl_int plain = place(nullptr);
      if (plain == CL_SUCCESS) groups.refused();
      return plain;
    };
    if (!queue.context->loom) return place_in_groups();
    const MemoriesOf memories(kernel);
    waits.others = memories.all;
    std::optional<Timing> timing;
    if (const auto code = weave_launch(queue, kernel, dimensions, offset, global, local, waits, timing)) return *code;
    if (!timing) return place_in_groups();
    std::optional<WithoutUserEvents> without(std::in_place, *queue.context);
    if (!without->may_wait) {
      without.reset();
      return place_in_groups();
    }
    if (const cl_int before = finish_all(queue); before != CL_SUCCESS) return before;
    cl_event its = nullptr;
    waits.watched = &its;
    const std::uint64_t number = queue.placed + 1;
    const auto begin = now();
    const cl_int code = place(local);
    if (code != CL_SUCCESS || !its) return code;
    if (device::Dispatch(its)(&Slots::clWaitForEvents, cl_uint{1}, &its) == CL_SUCCESS) {
      note_time(queue, *timing, now() - begin);
      if (is_in_order(queue)) know_finished(queue, number);
    }
    pass<&Slots::clReleaseEvent>(its);
    return code;
  });
}

cl_int CL_API_CALL clEnqueueTask(cl_command_queue queue_handle, cl_kernel handle, cl_uint count, const cl_event* events,
                                 cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    const Kernel& kernel = valid(handle);
    if (&*kernel.program->context != &*queue.context) throw Error{CL_INVALID_CONTEXT};
    const MemoriesOf memories(kernel);
    return enqueue<&Slots::clEnqueueTask>(queue, {Work::Kind::kernel, kernel.name},
                                          {.count = count, .events = events, .event = event, .others = memories.all},
                                          kernel.inner);
  });
}

// The inner driver copies the arguments and puts addresses where the handles were, so the list is all to translate.
cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue queue_handle, void(CL_CALLBACK* function)(void*), void* args,
                                         size_t size, cl_uint memories, const cl_mem* list, const void** places,
                                         cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&]() -> cl_int {
    Queue& queue = valid(queue_handle);
    if ((memories == 0) != (list == nullptr)) return CL_INVALID_VALUE;
    std::vector<cl_mem> inner;
    std::vector<const Memory*> used;
    for (cl_uint i = 0; i < memories; ++i) {
      used.push_back(list[i] ? &valid(list[i], *queue.context) : nullptr);
      inner.push_back(used.back() ? used.back()->inner : nullptr);
    }
    const cl_mem* inner_list = memories ? inner.data() : nullptr;
    return enqueue<&Slots::clEnqueueNativeKernel>(queue, {Work::Kind::kernel, "native kernel"},
                                                  {.count = count, .events = events, .event = event, .others = used},
                                                  function, args, size, memories, inner_list, places);
  });
}

}  // namespace heddle::front::icd

// Contexts: one of the inner driver's for each of ours.
#include <algorithm>
#include <memory>

#include "core/log.hpp"
#include "front/icd/callbacks.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/runtime.hpp"
#include "front/icd/strand.hpp"

namespace heddle::front::icd {

namespace {

using Notify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);

struct Properties {
  std::vector<cl_context_properties> given, inner;  // both end with 0, or are empty where none were given
};

// What the inner driver is told: its own platform in place of ours.
Properties read(const cl_context_properties* given, cl_platform_id inner_platform) {
  Properties out;
  std::vector<cl_context_properties> seen;
  for (const auto* p = given; p && *p; p += 2) {
    if (std::find(seen.begin(), seen.end(), p[0]) != seen.end()) throw Error{CL_INVALID_PROPERTY};
    seen.push_back(p[0]);
    if (p[0] == CL_CONTEXT_PLATFORM) {
      valid(reinterpret_cast<cl_platform_id>(p[1]));
    } else if (p[0] == CL_CONTEXT_INTEROP_USER_SYNC) {
      if (p[1] != CL_TRUE && p[1] != CL_FALSE) throw Error{CL_INVALID_PROPERTY};
      out.inner.insert(out.inner.end(), {p[0], p[1]});
    } else {
      throw Error{CL_INVALID_PROPERTY};  // sharing with other interfaces is not offered
    }
    out.given.insert(out.given.end(), {p[0], p[1]});
  }
  if (given) out.given.push_back(0);
  out.inner.insert(out.inner.end(), {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(inner_platform), 0});
  return out;
}

cl_context create(const cl_context_properties* given, std::vector<Device*> devices, Notify notify, void* user) {
  if (!notify && user) throw Error{CL_INVALID_VALUE};
  Properties properties = read(given, devices[0]->inner_platform);
  std::vector<cl_device_id> inner;
  for (Device* device : devices) {
    if (device->inner_platform != devices[0]->inner_platform) {
      core::log_once(core::LogLevel::warn,
                     "a context over devices of different drivers is not possible; use the virtual device");
      throw Error{CL_DEVICE_NOT_AVAILABLE};
    }
    if (std::find(inner.begin(), inner.end(), device->inner) == inner.end()) inner.push_back(device->inner);
  }
  auto context = Ref<Context>::born(new Context(std::move(devices), std::move(properties.given)));
  // The engine and the direct path use one inner context, so that they can use the same buffers; it was made before, so
  // that whoever is to be told of its errors cannot be.
  if (context->devices.size() == 1 && context->devices[0]->is_virtual && properties.inner.size() == 3)
    context->loom = loom();
  if (context->loom) {
    context->inner = device::context_of(context->loom->primary());
    check(pass<&Slots::clRetainContext>(context->inner));
    return context.hand_out();
  }
  cl_int code = CL_SUCCESS;
  const device::Dispatch cl(context->devices[0]->inner);
  context->inner = cl(&Slots::clCreateContext, properties.inner.data(), static_cast<cl_uint>(inner.size()),
                      inner.data(), notify, user, &code);
  check(code);
  return context.hand_out();
}

}  // namespace

// The last reference may go anywhere; the program's callbacks run on our thread, last registered first, when the inner
// context is gone and cannot call what the program gave it any more.
void destroy(Context& context) {
  if (context.inner) pass<&Slots::clReleaseContext>(context.inner);
  if (context.on_destruction.empty()) {
    delete &context;
    return;
  }
  call_back([gone = std::shared_ptr<Context>(&context)] {
    auto& callbacks = gone->on_destruction;
    for (auto it = callbacks.rbegin(); it != callbacks.rend(); ++it) it->first(handle_of(*gone), it->second);
  });
}

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint count,
                                       const cl_device_id* handles, Notify notify, void* user, cl_int* error) {
  return make(__func__, error, [&] {
    if (count == 0 || !handles) throw Error{CL_INVALID_VALUE};
    std::vector<Device*> devices;
    for (cl_uint i = 0; i < count; ++i) {
      Device& device = valid(handles[i]);
      if (std::find(devices.begin(), devices.end(), &device) == devices.end()) devices.push_back(&device);
    }
    return create(properties, std::move(devices), notify, user);
  });
}

// A subset of the matching devices is allowed, and the virtual device stands for all of them.
cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                               Notify notify, void* user, cl_int* error) {
  return make(__func__, error, [&] {
    cl_uint count = 0;
    check(icd::clGetDeviceIDs(handle_of(the_platform()), type, 0, nullptr, &count));
    std::vector<cl_device_id> handles(count);
    check(icd::clGetDeviceIDs(handle_of(the_platform()), type, count, handles.data(), nullptr));
    return create(properties, {&valid(handles[0])}, notify, user);
  });
}

cl_int CL_API_CALL clRetainContext(cl_context handle) {
  return always(__func__, [&] { retain(valid(handle)); });
}
cl_int CL_API_CALL clReleaseContext(cl_context handle) {
  return always(__func__, [&] { release(valid(handle)); });
}

cl_int CL_API_CALL clGetContextInfo(cl_context handle, cl_context_info what, size_t size, void* value,
                                    size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Context& context = valid(handle);
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_CONTEXT_REFERENCE_COUNT:
        return place.put<cl_uint>(context.references);
      case CL_CONTEXT_NUM_DEVICES:
        return place.put(static_cast<cl_uint>(context.devices.size()));
      case CL_CONTEXT_DEVICES: {
        std::vector<cl_device_id> devices;
        for (const Device* device : context.devices) devices.push_back(handle_of(*device));
        return place.put(devices);
      }
      case CL_CONTEXT_PROPERTIES:
        return place.put(context.properties);
      default:
        return CL_INVALID_VALUE;
    }
  });
}

cl_int CL_API_CALL clSetContextDestructorCallback(cl_context handle, void(CL_CALLBACK* notify)(cl_context, void*),
                                                  void* user) {
  return answer(__func__, [&]() -> cl_int {
    Context& context = valid(handle);
    if (!notify) return CL_INVALID_VALUE;
    std::lock_guard lock(context.mutex);
    context.on_destruction.emplace_back(notify, user);
    return CL_SUCCESS;
  });
}

}  // namespace heddle::front::icd

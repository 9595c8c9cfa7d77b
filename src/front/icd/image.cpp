// Images.
#include <algorithm>

#include "device/quirks.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/objects.hpp"

namespace heddle::front::icd {

namespace {

// An image's description as the inner driver reads it: with its own handle of the buffer or image behind it.
struct InnerDescription {
  explicit InnerDescription(const Context& context, const cl_image_desc* given) {
    if (!given) return;
    inner = *given;
    if (given->mem_object) {
      Memory& memory = valid(given->mem_object, context);
      parent = Ref<Memory>(memory);
      inner.mem_object = memory.inner;
    }
    pointer = &inner;
  }

  cl_image_desc inner{};
  const cl_image_desc* pointer = nullptr;
  Ref<Memory> parent;
};

// The context of a handle, where images can be made.
Context& with_images(cl_context handle) {
  Context& context = valid(handle);
  const auto has = [](const Device* device) { return device::has_images(device->info); };
  if (std::none_of(context.devices.begin(), context.devices.end(), has)) throw Error{CL_INVALID_OPERATION};
  return context;
}

}  // namespace

cl_mem CL_API_CALL clCreateImage(cl_context handle, cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* description, void* host, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = with_images(handle);
    check_flags(flags);
    InnerDescription desc(context, description);
    cl_int code = CL_SUCCESS;
    const cl_mem inner = pass<&Slots::clCreateImage>(context.inner, flags, format, desc.pointer, host, &code);
    return hand_out(context, inner, code, std::move(desc.parent));
  });
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context handle, const cl_mem_properties* properties,
                                               cl_mem_flags flags, const cl_image_format* format,
                                               const cl_image_desc* description, void* host, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = with_images(handle);
    check_flags(flags);
    InnerDescription desc(context, description);
    cl_int code = CL_SUCCESS;
    const cl_mem inner =
        pass<&Slots::clCreateImageWithProperties>(context.inner, properties, flags, format, desc.pointer, host, &code);
    return hand_out(context, inner, code, std::move(desc.parent));
  });
}

cl_mem CL_API_CALL clCreateImage2D(cl_context handle, cl_mem_flags flags, const cl_image_format* format, size_t width,
                                   size_t height, size_t row_pitch, void* host, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = with_images(handle);
    check_flags(flags);
    cl_int code = CL_SUCCESS;
    const cl_mem inner =
        pass<&Slots::clCreateImage2D>(context.inner, flags, format, width, height, row_pitch, host, &code);
    return hand_out(context, inner, code);
  });
}

cl_mem CL_API_CALL clCreateImage3D(cl_context handle, cl_mem_flags flags, const cl_image_format* format, size_t width,
                                   size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void* host,
                                   cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = with_images(handle);
    check_flags(flags);
    cl_int code = CL_SUCCESS;
    const cl_mem inner = pass<&Slots::clCreateImage3D>(context.inner, flags, format, width, height, depth, row_pitch,
                                                       slice_pitch, host, &code);
    return hand_out(context, inner, code);
  });
}

cl_int CL_API_CALL clGetSupportedImageFormats(cl_context handle, cl_mem_flags flags, cl_mem_object_type type,
                                              cl_uint entries, cl_image_format* formats, cl_uint* count) {
  return answer(__func__, [&] {
    return pass<&Slots::clGetSupportedImageFormats>(valid(handle).inner, flags, type, entries, formats, count);
  });
}

cl_int CL_API_CALL clGetImageInfo(cl_mem handle, cl_image_info what, size_t size, void* value, size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Memory& image = valid(handle);
    if (what == CL_IMAGE_BUFFER) {
      cl_mem inner = nullptr;  // an image of a buffer has one, an image of another image has none
      const cl_int code = pass<&Slots::clGetImageInfo>(image.inner, what, sizeof inner, &inner, nullptr);
      if (code != CL_SUCCESS) return code;
      return Place{size, value, size_ret}.put<cl_mem>(inner && image.parent ? handle_of(*image.parent) : nullptr);
    }
    return pass<&Slots::clGetImageInfo>(image.inner, what, size, value, size_ret);
  });
}

}  // namespace heddle::front::icd

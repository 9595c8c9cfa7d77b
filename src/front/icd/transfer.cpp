// Commands that move memory: reads, writes, copies, fills, maps.
#include <bit>

#include "front/icd/enqueue.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/turns.hpp"
#include "front/icd/weave.hpp"

namespace heddle::front::icd {

namespace {

std::size_t volume(const size_t* region) { return region ? region[0] * region[1] * region[2] : 0; }

// Bytes of a region of an image; known to the report only.
std::size_t volume(const Memory& image, const size_t* region) {
  if (!observing()) return 0;
  size_t element = 0;
  pass<&Slots::clGetImageInfo>(image.inner, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, nullptr);
  return volume(region) * element;
}

// The two maps return an address where other commands return a code.
template <auto Slot, class... P>
void* map(const char* function, cl_command_queue queue_handle, cl_mem handle, cl_bool blocking, const Waits& waits,
          cl_int* error, P... arguments) {
  return make(function, error, [&] {
    Queue& queue = valid(queue_handle);
    const Memory& memory = valid(handle, *queue.context);
    void* address = nullptr;
    Waits with_memory = waits;
    with_memory.uses = {&memory};
    mapped(memory, 1);  // it stays at home from now on
    bool done = false;
    const std::shared_ptr<void> otherwise(nullptr, [&](void*) {
      if (!done) mapped(memory, -1);
    });
    check(enqueue(queue, nothing, with_memory, [&](const WaitList& list, cl_event* inner) {
      cl_int code = CL_SUCCESS;
      address = pass<Slot>(queue.inner, memory.inner, blocking, arguments..., list.count, list.list, inner, &code);
      return code;
    }));
    done = true;
    return address;
  });
}

}  // namespace

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue_handle, cl_mem buffer, cl_bool blocking, size_t offset,
                                       size_t size, void* to, cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({to});
    Memory& memory = valid(buffer, *queue.context);
    const Waits waits{count, events, event, blocking, {&memory}};
    if (const auto code = weave_read(queue, memory, offset, size, to, waits)) return *code;
    return enqueue<&Slots::clEnqueueReadBuffer>(queue, {Work::Kind::out, "read", size}, waits, memory.inner, blocking,
                                                offset, size, to);
  });
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue_handle, cl_mem buffer, cl_bool blocking, size_t offset,
                                        size_t size, const void* from, cl_uint count, const cl_event* events,
                                        cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({from});
    Memory& memory = valid(buffer, *queue.context);
    const Waits waits{count, events, event, blocking, {&memory}};
    if (const auto code = weave_write(queue, memory, offset, size, from, waits)) return *code;
    return enqueue<&Slots::clEnqueueWriteBuffer>(queue, {Work::Kind::in, "write", size}, waits, memory.inner, blocking,
                                                 offset, size, from);
  });
}

cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue queue_handle, cl_mem buffer, cl_bool blocking,
                                           const size_t* buffer_origin, const size_t* host_origin, const size_t* region,
                                           size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice,
                                           void* to, cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({buffer_origin, host_origin, region, to});
    const Memory& memory = valid(buffer, *queue.context);
    return enqueue<&Slots::clEnqueueReadBufferRect>(
        queue, {Work::Kind::out, "read rectangle", volume(region)}, {count, events, event, blocking, {&memory}},
        memory.inner, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, to);
  });
}

cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue queue_handle, cl_mem buffer, cl_bool blocking,
                                            const size_t* buffer_origin, const size_t* host_origin,
                                            const size_t* region, size_t buffer_row, size_t buffer_slice,
                                            size_t host_row, size_t host_slice, const void* from, cl_uint count,
                                            const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({buffer_origin, host_origin, region, from});
    const Memory& memory = valid(buffer, *queue.context);
    return enqueue<&Slots::clEnqueueWriteBufferRect>(queue, {Work::Kind::in, "write rectangle", volume(region)},
                                                     {count, events, event, blocking, {&memory}}, memory.inner,
                                                     blocking, buffer_origin, host_origin, region, buffer_row,
                                                     buffer_slice, host_row, host_slice, from);
  });
}

cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue_handle, cl_mem buffer, const void* pattern,
                                       size_t pattern_size, size_t offset, size_t size, cl_uint count,
                                       const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({pattern});
    const bool right = std::has_single_bit(pattern_size) && pattern_size <= 128;
    if (!right || offset % pattern_size != 0 || size % pattern_size != 0) throw Error{CL_INVALID_VALUE};
    const Memory& memory = valid(buffer, *queue.context);
    return enqueue<&Slots::clEnqueueFillBuffer>(queue, {Work::Kind::within, "fill", size},
                                                {count, events, event, CL_FALSE, {&memory}}, memory.inner, pattern,
                                                pattern_size, offset, size);
  });
}

cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue_handle, cl_mem from, cl_mem to, size_t from_offset,
                                       size_t to_offset, size_t size, cl_uint count, const cl_event* events,
                                       cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    const Memory &source = valid(from, *queue.context), &target = valid(to, *queue.context);
    return enqueue<&Slots::clEnqueueCopyBuffer>(queue, {Work::Kind::within, "copy", size},
                                                {count, events, event, CL_FALSE, {&source, &target}}, source.inner,
                                                target.inner, from_offset, to_offset, size);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue queue_handle, cl_mem from, cl_mem to,
                                           const size_t* from_origin, const size_t* to_origin, const size_t* region,
                                           size_t from_row, size_t from_slice, size_t to_row, size_t to_slice,
                                           cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({from_origin, to_origin, region});
    const Memory &source = valid(from, *queue.context), &target = valid(to, *queue.context);
    return enqueue<&Slots::clEnqueueCopyBufferRect>(queue, {Work::Kind::within, "copy rectangle", volume(region)},
                                                    {count, events, event, CL_FALSE, {&source, &target}}, source.inner,
                                                    target.inner, from_origin, to_origin, region, from_row, from_slice,
                                                    to_row, to_slice);
  });
}

cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue queue_handle, cl_mem handle, cl_bool blocking,
                                      const size_t* origin, const size_t* region, size_t row, size_t slice, void* to,
                                      cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({origin, region, to});
    const Memory& image = valid(handle, *queue.context);
    return enqueue<&Slots::clEnqueueReadImage>(queue, {Work::Kind::out, "read image", volume(image, region)},
                                               {count, events, event, blocking, {&image}}, image.inner, blocking,
                                               origin, region, row, slice, to);
  });
}

cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue queue_handle, cl_mem handle, cl_bool blocking,
                                       const size_t* origin, const size_t* region, size_t row, size_t slice,
                                       const void* from, cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({origin, region, from});
    const Memory& image = valid(handle, *queue.context);
    return enqueue<&Slots::clEnqueueWriteImage>(queue, {Work::Kind::in, "write image", volume(image, region)},
                                                {count, events, event, blocking, {&image}}, image.inner, blocking,
                                                origin, region, row, slice, from);
  });
}

cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue queue_handle, cl_mem handle, const void* colour,
                                      const size_t* origin, const size_t* region, cl_uint count, const cl_event* events,
                                      cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({colour, origin, region});
    const Memory& image = valid(handle, *queue.context);
    return enqueue<&Slots::clEnqueueFillImage>(queue, {Work::Kind::within, "fill image", volume(image, region)},
                                               {count, events, event, CL_FALSE, {&image}}, image.inner, colour, origin,
                                               region);
  });
}

cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue queue_handle, cl_mem from_handle, cl_mem to,
                                      const size_t* from_origin, const size_t* to_origin, const size_t* region,
                                      cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({from_origin, to_origin, region});
    const Memory &from = valid(from_handle, *queue.context), &target = valid(to, *queue.context);
    return enqueue<&Slots::clEnqueueCopyImage>(queue, {Work::Kind::within, "copy image", volume(from, region)},
                                               {count, events, event, CL_FALSE, {&from, &target}}, from.inner,
                                               target.inner, from_origin, to_origin, region);
  });
}

cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue queue_handle, cl_mem from_handle, cl_mem to,
                                              const size_t* origin, const size_t* region, size_t offset, cl_uint count,
                                              const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({origin, region});
    const Memory &from = valid(from_handle, *queue.context), &target = valid(to, *queue.context);
    return enqueue<&Slots::clEnqueueCopyImageToBuffer>(
        queue, {Work::Kind::within, "copy image to buffer", volume(from, region)},
        {count, events, event, CL_FALSE, {&from, &target}}, from.inner, target.inner, origin, region, offset);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue queue_handle, cl_mem from, cl_mem to_handle,
                                              size_t offset, const size_t* origin, const size_t* region, cl_uint count,
                                              const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({origin, region});
    const Memory &source = valid(from, *queue.context), &to = valid(to_handle, *queue.context);
    return enqueue<&Slots::clEnqueueCopyBufferToImage>(
        queue, {Work::Kind::within, "copy buffer to image", volume(to, region)},
        {count, events, event, CL_FALSE, {&source, &to}}, source.inner, to.inner, offset, origin, region);
  });
}

void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                     size_t offset, size_t size, cl_uint count, const cl_event* events, cl_event* event,
                                     cl_int* error) {
  return map<&Slots::clEnqueueMapBuffer>(__func__, queue, buffer, blocking, {count, events, event, blocking}, error,
                                         flags, offset, size);
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                                    const size_t* origin, const size_t* region, size_t* row, size_t* slice,
                                    cl_uint count, const cl_event* events, cl_event* event, cl_int* error) {
  return map<&Slots::clEnqueueMapImage>(__func__, queue, image, blocking, {count, events, event, blocking}, error,
                                        flags, origin, region, row, slice);
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue_handle, cl_mem memory, void* address, cl_uint count,
                                           const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    const Memory& object = valid(memory, *queue.context);
    const cl_int code = enqueue<&Slots::clEnqueueUnmapMemObject>(
        queue, nothing, {count, events, event, CL_FALSE, {&object}}, object.inner, address);
    if (code == CL_SUCCESS) mapped(object, -1);
    return code;
  });
}

cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue queue_handle, cl_uint memories, const cl_mem* list,
                                              cl_mem_migration_flags flags, cl_uint count, const cl_event* events,
                                              cl_event* event) {
  return answer(__func__, [&]() -> cl_int {
    Queue& queue = valid(queue_handle);
    if (memories == 0 || !list) return CL_INVALID_VALUE;
    std::vector<cl_mem> inner;
    std::vector<const Memory*> used;
    for (cl_uint i = 0; i < memories; ++i) {
      used.push_back(&valid(list[i], *queue.context));
      inner.push_back(used.back()->inner);
    }
    return enqueue<&Slots::clEnqueueMigrateMemObjects>(
        queue, nothing, {.count = count, .events = events, .event = event, .others = used}, memories, inner.data(),
        flags);
  });
}

}  // namespace heddle::front::icd

// Commands that move memory: reads, writes, copies, fills, maps.
#include <bit>

#include "front/icd/enqueue.hpp"
#include "front/icd/entries.hpp"

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
    check(enqueue(queue, nothing, waits, [&](const WaitList& list, cl_event* inner) {
      cl_int code = CL_SUCCESS;
      address = pass<Slot>(queue.inner, memory.inner, blocking, arguments..., list.count, list.list, inner, &code);
      return code;
    }));
    return address;
  });
}

}  // namespace

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue_handle, cl_mem buffer, cl_bool blocking, size_t offset,
                                       size_t size, void* to, cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({to});
    return enqueue<&Slots::clEnqueueReadBuffer>(queue, {Work::Kind::out, "read", size},
                                                {count, events, event, blocking}, valid(buffer, *queue.context).inner,
                                                blocking, offset, size, to);
  });
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue_handle, cl_mem buffer, cl_bool blocking, size_t offset,
                                        size_t size, const void* from, cl_uint count, const cl_event* events,
                                        cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({from});
    return enqueue<&Slots::clEnqueueWriteBuffer>(queue, {Work::Kind::in, "write", size},
                                                 {count, events, event, blocking}, valid(buffer, *queue.context).inner,
                                                 blocking, offset, size, from);
  });
}

cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue queue_handle, cl_mem buffer, cl_bool blocking,
                                           const size_t* buffer_origin, const size_t* host_origin, const size_t* region,
                                           size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice,
                                           void* to, cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({buffer_origin, host_origin, region, to});
    return enqueue<&Slots::clEnqueueReadBufferRect>(
        queue, {Work::Kind::out, "read rectangle", volume(region)}, {count, events, event, blocking},
        valid(buffer, *queue.context).inner, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice,
        host_row, host_slice, to);
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
    return enqueue<&Slots::clEnqueueWriteBufferRect>(
        queue, {Work::Kind::in, "write rectangle", volume(region)}, {count, events, event, blocking},
        valid(buffer, *queue.context).inner, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice,
        host_row, host_slice, from);
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
    return enqueue<&Slots::clEnqueueFillBuffer>(queue, {Work::Kind::within, "fill", size}, {count, events, event},
                                                valid(buffer, *queue.context).inner, pattern, pattern_size, offset,
                                                size);
  });
}

cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue_handle, cl_mem from, cl_mem to, size_t from_offset,
                                       size_t to_offset, size_t size, cl_uint count, const cl_event* events,
                                       cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    return enqueue<&Slots::clEnqueueCopyBuffer>(queue, {Work::Kind::within, "copy", size}, {count, events, event},
                                                valid(from, *queue.context).inner, valid(to, *queue.context).inner,
                                                from_offset, to_offset, size);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue queue_handle, cl_mem from, cl_mem to,
                                           const size_t* from_origin, const size_t* to_origin, const size_t* region,
                                           size_t from_row, size_t from_slice, size_t to_row, size_t to_slice,
                                           cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({from_origin, to_origin, region});
    return enqueue<&Slots::clEnqueueCopyBufferRect>(queue, {Work::Kind::within, "copy rectangle", volume(region)},
                                                    {count, events, event}, valid(from, *queue.context).inner,
                                                    valid(to, *queue.context).inner, from_origin, to_origin, region,
                                                    from_row, from_slice, to_row, to_slice);
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
                                               {count, events, event, blocking}, image.inner, blocking, origin, region,
                                               row, slice, to);
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
                                                {count, events, event, blocking}, image.inner, blocking, origin, region,
                                                row, slice, from);
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
                                               {count, events, event}, image.inner, colour, origin, region);
  });
}

cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue queue_handle, cl_mem from_handle, cl_mem to,
                                      const size_t* from_origin, const size_t* to_origin, const size_t* region,
                                      cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({from_origin, to_origin, region});
    const Memory& from = valid(from_handle, *queue.context);
    return enqueue<&Slots::clEnqueueCopyImage>(queue, {Work::Kind::within, "copy image", volume(from, region)},
                                               {count, events, event}, from.inner, valid(to, *queue.context).inner,
                                               from_origin, to_origin, region);
  });
}

cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue queue_handle, cl_mem from_handle, cl_mem to,
                                              const size_t* origin, const size_t* region, size_t offset, cl_uint count,
                                              const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({origin, region});
    const Memory& from = valid(from_handle, *queue.context);
    return enqueue<&Slots::clEnqueueCopyImageToBuffer>(
        queue, {Work::Kind::within, "copy image to buffer", volume(from, region)}, {count, events, event}, from.inner,
        valid(to, *queue.context).inner, origin, region, offset);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue queue_handle, cl_mem from, cl_mem to_handle,
                                              size_t offset, const size_t* origin, const size_t* region, cl_uint count,
                                              const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    given({origin, region});
    const Memory& to = valid(to_handle, *queue.context);
    return enqueue<&Slots::clEnqueueCopyBufferToImage>(
        queue, {Work::Kind::within, "copy buffer to image", volume(to, region)}, {count, events, event},
        valid(from, *queue.context).inner, to.inner, offset, origin, region);
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

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue_handle, cl_mem memory, void* mapped, cl_uint count,
                                           const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    return enqueue<&Slots::clEnqueueUnmapMemObject>(queue, nothing, {count, events, event},
                                                    valid(memory, *queue.context).inner, mapped);
  });
}

cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue queue_handle, cl_uint memories, const cl_mem* list,
                                              cl_mem_migration_flags flags, cl_uint count, const cl_event* events,
                                              cl_event* event) {
  return answer(__func__, [&]() -> cl_int {
    Queue& queue = valid(queue_handle);
    if (memories == 0 || !list) return CL_INVALID_VALUE;
    std::vector<cl_mem> inner;
    for (cl_uint i = 0; i < memories; ++i) inner.push_back(valid(list[i], *queue.context).inner);
    return enqueue<&Slots::clEnqueueMigrateMemObjects>(queue, nothing, {count, events, event}, memories, inner.data(),
                                                       flags);
  });
}

}  // namespace heddle::front::icd

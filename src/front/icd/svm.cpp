// Shared virtual memory: addresses are the inner driver's own, so nothing needs translating.
#include <memory>

#include "front/icd/enqueue.hpp"
#include "front/icd/entries.hpp"

namespace heddle::front::icd {

namespace {

using FreeCallback = void(CL_CALLBACK*)(cl_command_queue, cl_uint, void**, void*);

// The program's own way of freeing, which is to be given the program's own queue.
struct Free {
  Ref<Queue> queue;
  FreeCallback callback;
  void* user;
};

// Memory must be free before the command is done, so this runs where the inner driver calls it.
void CL_CALLBACK free_pointers(cl_command_queue, cl_uint count, void** pointers, void* data) {
  const std::unique_ptr<Free> free(static_cast<Free*>(data));
  free->callback(handle_of(*free->queue), count, pointers, free->user);
}

}  // namespace

void* CL_API_CALL clSVMAlloc(cl_context handle, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  return make(__func__, nullptr, [&] { return pass<&Slots::clSVMAlloc>(valid(handle).inner, flags, size, alignment); });
}

void CL_API_CALL clSVMFree(cl_context handle, void* pointer) {
  always(__func__, [&] { pass<&Slots::clSVMFree>(valid(handle).inner, pointer); });
}

cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue queue_handle, cl_uint pointers, void* list[],
                                    FreeCallback callback, void* user, cl_uint count, const cl_event* events,
                                    cl_event* event) {
  return answer(__func__, [&] {
    Queue& queue = valid(queue_handle);
    if (!callback) {
      return enqueue<&Slots::clEnqueueSVMFree>(queue, nothing, {count, events, event}, pointers, list, nullptr, user);
    }
    auto free = std::make_unique<Free>(Free{Ref<Queue>(queue), callback, user});
    const cl_int code = enqueue<&Slots::clEnqueueSVMFree>(queue, nothing, {count, events, event}, pointers, list,
                                                          free_pointers, static_cast<void*>(free.get()));
    if (code == CL_SUCCESS) free.release();  // by free_pointers
    return code;
  });
}

cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void* to, const void* from, size_t size,
                                      cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    return enqueue<&Slots::clEnqueueSVMMemcpy>(valid(queue), {Work::Kind::within, "copy shared memory", size},
                                               {count, events, event, blocking}, blocking, to, from, size);
  });
}

cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue queue, void* to, const void* pattern, size_t pattern_size,
                                       size_t size, cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&]() -> cl_int {
    Queue& valid_queue = valid(queue);
    given({to, pattern});
    return enqueue<&Slots::clEnqueueSVMMemFill>(valid_queue, {Work::Kind::within, "fill shared memory", size},
                                                {count, events, event}, to, pattern, pattern_size, size);
  });
}

cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void* pointer,
                                   size_t size, cl_uint count, const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    return enqueue<&Slots::clEnqueueSVMMap>(valid(queue), nothing, {count, events, event, blocking}, blocking, flags,
                                            pointer, size);
  });
}

cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue queue, void* pointer, cl_uint count, const cl_event* events,
                                     cl_event* event) {
  return answer(__func__, [&] {
    return enqueue<&Slots::clEnqueueSVMUnmap>(valid(queue), nothing, {count, events, event}, pointer);
  });
}

cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint pointers, const void** list,
                                          const size_t* sizes, cl_mem_migration_flags flags, cl_uint count,
                                          const cl_event* events, cl_event* event) {
  return answer(__func__, [&] {
    return enqueue<&Slots::clEnqueueSVMMigrateMem>(valid(queue), nothing, {count, events, event}, pointers, list, sizes,
                                                   flags);
  });
}

}  // namespace heddle::front::icd

// Memory objects: buffers, sub-buffers, pipes, and what all kinds share.
#include <array>
#include <bit>
#include <unordered_map>

#include "core/log.hpp"
#include "front/icd/callbacks.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/strand.hpp"
#include "front/icd/turns.hpp"

namespace heddle::front::icd {

namespace {

// Live handles by address. Programs set arguments from several threads, so there is more than one lock.
struct Shard {
  std::mutex mutex;
  std::unordered_map<const void*, std::pair<Kind, void*>> inner;
};

std::array<Shard, 16>& shards() {
  static auto* const all = new std::array<Shard, 16>;
  return *all;
}

Shard& shard_of(const void* handle) {
  return shards()[(reinterpret_cast<std::uintptr_t>(handle) >> 7) % shards().size()];
}

// A destructor callback on its way through the inner driver.
struct Mourner {
  cl_mem handle;
  void(CL_CALLBACK* callback)(cl_mem, void*);  // none: the last one, which frees the address
  void* user;
};

void CL_CALLBACK inner_destroyed(cl_mem, void* data) {
  call_back([mourner = static_cast<Mourner*>(data)] {
    if (mourner->callback) {
      mourner->callback(mourner->handle, mourner->user);
    } else {
      ::operator delete(static_cast<void*>(mourner->handle));
    }
    delete mourner;
  });
}

cl_int mourn(const Memory& memory, void(CL_CALLBACK* callback)(cl_mem, void*), void* user) {
  auto* mourner = new Mourner{handle_of(memory), callback, user};
  const cl_int code = pass<&Slots::clSetMemObjectDestructorCallback>(memory.inner, inner_destroyed, mourner);
  if (code != CL_SUCCESS) delete mourner;
  return code;
}

}  // namespace

void note_live(const Object* object, void* inner) {
  Shard& shard = shard_of(object);
  std::lock_guard lock(shard.mutex);
  shard.inner[object] = {object->kind, inner};
}

void forget_live(const Object* object) {
  Shard& shard = shard_of(object);
  std::lock_guard lock(shard.mutex);
  shard.inner.erase(object);
}

std::atomic<std::uint64_t> memories_gone{1};

namespace {

// Memories are asked for with most arguments, mostly the same few. Who was found, and was not gone since, need not be
// looked for again.
struct Found {
  const void* handle = nullptr;
  void* inner = nullptr;
  std::uint64_t gone = 0;  // memories, when it was found
};
Found& found_of(const void* handle) {
  static thread_local std::array<Found, 32> all;
  return all[reinterpret_cast<std::uintptr_t>(handle) * 0x9E3779B97F4A7C15u >> 59];
}

}  // namespace

void* live_inner(const void* handle, Kind kind) {
  Found* const before = kind == Kind::memory ? &found_of(handle) : nullptr;
  const std::uint64_t gone = memories_gone.load();
  if (before && before->handle == handle && before->gone == gone) return before->inner;
  Shard& shard = shard_of(handle);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.inner.find(handle);
  if (found == shard.inner.end() || (kind != Kind::gone && found->second.first != kind)) return nullptr;
  if (before) *before = {handle, found->second.second, gone};
  return found->second.second;
}

std::vector<cl_command_queue> live_queues() {
  std::vector<cl_command_queue> out;
  for (Shard& shard : shards()) {
    std::lock_guard lock(shard.mutex);  // an object is forgotten before its inner one is released
    for (const auto& [handle, live] : shard.inner) {
      if (live.first != Kind::queue) continue;
      const auto* queue = static_cast<const Queue*>(handle);
      if (queue->device.info.kind != device::Kind::cpu) continue;
      pass<&Slots::clRetainCommandQueue>(queue->inner);
      out.push_back(queue->inner);
    }
  }
  return out;
}

void check_flags(cl_mem_flags flags) {
  constexpr cl_mem_flags exclusive[] = {
      CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY,
      CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR,
      CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR,
      CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS,
  };
  for (cl_mem_flags group : exclusive) {
    if (std::popcount(flags & group) > 1) throw Error{CL_INVALID_VALUE};
  }
}

Memory& wrapped(Context& context, cl_mem inner, cl_int code, Ref<Memory> parent) {
  check(code);
  return valid(wrap<Memory>(context, device::OwnedMemory(inner), std::move(parent)));
}

namespace {

void CL_CALLBACK release_storage(cl_mem, void* owner) { delete static_cast<std::shared_ptr<void>*>(owner); }

// A buffer that the engine may have, too. Where the primary device works on the host's memory, that is ours or the
// program's, so that all devices there work on the same.
template <class Make>
cl_mem make_shared_buffer(Context& context, cl_mem_flags flags, size_t size, void* host, Make make) {
  cl_int code = CL_SUCCESS;
  constexpr cl_mem_flags from_host = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
  const bool sound =
      size > 0 && size <= context.devices[0]->info.largest_buffer && ((flags & from_host) != 0) == (host != nullptr);
  if (!context.loom || context.loom->own_memory || !sound) {
    const cl_mem inner = make(flags, host, &code);
    Memory& made = wrapped(context, inner, code);
    if (context.loom) share_buffer(made, flags, size, {});
    return handle_of(made);
  }
  engine::HostBlock storage{{static_cast<std::byte*>(host), size}, false, nullptr};
  if (!(flags & CL_MEM_USE_HOST_PTR)) {
    storage = engine::allocate_host(size);
    if (flags & CL_MEM_COPY_HOST_PTR) std::memcpy(storage.bytes.data(), host, size);
  }
  const cl_mem_flags inner_flags =
      (flags & ~(cl_mem_flags{CL_MEM_COPY_HOST_PTR} | CL_MEM_ALLOC_HOST_PTR)) | CL_MEM_USE_HOST_PTR;
  const cl_mem inner = make(inner_flags, storage.bytes.data(), &code);
  Memory& made = wrapped(context, inner, code);
  made.flags = flags ? flags : CL_MEM_READ_WRITE;
  share_buffer(made, flags, size, storage);
  if (!storage.owner) return handle_of(made);
  // Commands may hold the inner buffer longer than the program does.
  auto* owner = new std::shared_ptr<void>(storage.owner);
  if (pass<&Slots::clSetMemObjectDestructorCallback>(inner, release_storage, owner) != CL_SUCCESS)
    core::log_once(core::LogLevel::warn, "memory of buffers is not released");  // rather than too early
  return handle_of(made);
}

}  // namespace

Memory::Memory(Context& its_context, cl_mem its_inner, Ref<Memory> its_parent)
    : Object(its_kind), inner(its_inner), context(its_context), parent(std::move(its_parent)) {
  note_live(this, inner);
}

Memory::~Memory() {
  forget_live(this);
  memories_gone.fetch_add(1);
}

// The inner object goes last: its destructor callbacks free the address, perhaps before this returns.
void destroy(Memory& memory) {
  const cl_mem inner = memory.inner;
  const Ref<Context> context = memory.context;  // its destructor callbacks come after this one's
  if (context->loom) let_go(memory);
  if (memory.mourned) {
    memory.~Memory();
  } else {
    delete &memory;
  }
  pass<&Slots::clReleaseMemObject>(inner);
}

cl_mem CL_API_CALL clCreateBuffer(cl_context handle, cl_mem_flags flags, size_t size, void* host, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    check_flags(flags);
    return make_shared_buffer(context, flags, size, host, [&](cl_mem_flags inner_flags, void* storage, cl_int* code) {
      return pass<&Slots::clCreateBuffer>(context.inner, inner_flags, size, storage, code);
    });
  });
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context handle, const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    check_flags(flags);
    return make_shared_buffer(context, flags, size, host, [&](cl_mem_flags inner_flags, void* storage, cl_int* code) {
      return pass<&Slots::clCreateBufferWithProperties>(context.inner, properties, inner_flags, size, storage, code);
    });
  });
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type, const void* region,
                                     cl_int* error) {
  return make(__func__, error, [&] {
    Memory& buffer = valid(handle);
    check_flags(flags);
    cl_int code = CL_SUCCESS;
    const cl_mem inner = pass<&Slots::clCreateSubBuffer>(buffer.inner, flags, type, region, &code);
    Memory& made = wrapped(*buffer.context, inner, code, Ref<Memory>(buffer));
    const auto* bytes = static_cast<const cl_buffer_region*>(region);  // it was taken
    constexpr cl_mem_flags guarded = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    if (buffer.bytes > 0 && !(flags & guarded)) made.begin = buffer.begin + bytes->origin, made.bytes = bytes->size;
    if (buffer.flags) {
      constexpr cl_mem_flags host = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
      cl_mem_flags its = 0;
      pass<&Slots::clGetMemObjectInfo>(inner, CL_MEM_FLAGS, sizeof its, &its, nullptr);
      constexpr cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
      if (!(its & access)) its |= *buffer.flags & access;
      made.flags = (its & ~host) | (*buffer.flags & host);
    }
    return handle_of(made);
  });
}

cl_mem CL_API_CALL clCreatePipe(cl_context handle, cl_mem_flags flags, cl_uint packet, cl_uint packets,
                                const cl_pipe_properties* properties, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    cl_int code = CL_SUCCESS;
    const cl_mem inner = pass<&Slots::clCreatePipe>(context.inner, flags, packet, packets, properties, &code);
    return hand_out(context, inner, code);
  });
}

cl_int CL_API_CALL clRetainMemObject(cl_mem handle) {
  return always(__func__, [&] { retain(valid(handle)); });
}
cl_int CL_API_CALL clReleaseMemObject(cl_mem handle) {
  return always(__func__, [&] { release(valid(handle)); });
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info what, size_t size, void* value, size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Memory& memory = valid(handle);
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_MEM_CONTEXT:
        return place.put(handle_of(*memory.context));
      case CL_MEM_ASSOCIATED_MEMOBJECT:
        return place.put<cl_mem>(memory.parent ? handle_of(*memory.parent) : nullptr);
      case CL_MEM_REFERENCE_COUNT:
        return place.put<cl_uint>(memory.references);
      case CL_MEM_FLAGS:
        if (memory.flags) return place.put(*memory.flags);
        return pass<&Slots::clGetMemObjectInfo>(memory.inner, what, size, value, size_ret);
      case CL_MEM_HOST_PTR:
        if (memory.flags && !(*memory.flags & CL_MEM_USE_HOST_PTR)) return place.put<void*>(nullptr);
        return pass<&Slots::clGetMemObjectInfo>(memory.inner, what, size, value, size_ret);
      default:
        return pass<&Slots::clGetMemObjectInfo>(memory.inner, what, size, value, size_ret);
    }
  });
}

cl_int CL_API_CALL clGetPipeInfo(cl_mem handle, cl_pipe_info what, size_t size, void* value, size_t* size_ret) {
  return answer(__func__,
                [&] { return pass<&Slots::clGetPipeInfo>(valid(handle).inner, what, size, value, size_ret); });
}

// Callbacks come in the reverse order of their registration, so what frees the address is registered first.
cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem handle, void(CL_CALLBACK* callback)(cl_mem, void*),
                                                    void* user) {
  return answer(__func__, [&]() -> cl_int {
    Memory& memory = valid(handle);
    if (!callback) return CL_INVALID_VALUE;
    std::call_once(memory.first_callback, [&] { memory.mourned = mourn(memory, nullptr, nullptr) == CL_SUCCESS; });
    return mourn(memory, callback, user);
  });
}

}  // namespace heddle::front::icd

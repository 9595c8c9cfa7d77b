// The driver's objects. Each wraps one object of the inner driver; where both could be meant, `inner` is theirs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/chosen.hpp"
#include "front/icd/handle.hpp"

namespace heddle::front::icd {

// What others know of them (groups.hpp, loom.hpp, strand.hpp, turns.hpp).
struct Grouped;
struct Loom;
struct Ours;
struct Queue;
struct Share;
struct Strand;
struct Woven;

struct Platform : Object {
  using Handle = cl_platform_id;
  static constexpr Kind its_kind = Kind::platform;
  static constexpr cl_int invalid = CL_INVALID_PLATFORM;
  Platform() : Object(its_kind) {}
};

// A virtual device, which is what programs are meant to see, or with HEDDLE_SHOW=all a real one.
struct Device : Object {
  using Handle = cl_device_id;
  static constexpr Kind its_kind = Kind::device;
  static constexpr cl_int invalid = CL_INVALID_DEVICE;
  Device(const device::Chosen& chosen, bool is_virtual, std::string shown_name);

  const bool is_virtual;
  const cl_device_id inner;
  const cl_platform_id inner_platform;
  const device::Info info;
  const std::string name;
  const cl_device_type type;
  const bool knows_arguments;                     // of OpenCL 1.2 at least: kernels can be asked for their arguments
  const std::vector<cl_name_version> extensions;  // those that still work through us
};

struct Context : Object {
  using Handle = cl_context;
  static constexpr Kind its_kind = Kind::context;
  static constexpr cl_int invalid = CL_INVALID_CONTEXT;
  Context(std::vector<Device*> its_devices, std::vector<cl_context_properties> its_properties)
      : Object(its_kind), devices(std::move(its_devices)), properties(std::move(its_properties)) {}

  cl_context inner = nullptr;
  const std::vector<Device*> devices;
  const std::vector<cl_context_properties> properties;
  std::mutex mutex;  // guards the callbacks and the queues
  std::vector<std::pair<void(CL_CALLBACK*)(cl_context, void*), void*>> on_destruction;
  Loom* loom = nullptr;                        // none: the direct path is the only one
  std::vector<Queue*> queues;                  // where there is a loom
  std::vector<std::weak_ptr<Strand>> strands;  // of those that have one
  std::mutex turns;                            // guards whose turn it is with each buffer
  std::atomic<bool> user_events{false};        // whoever waits for something of the engine's would wait for the program
  std::atomic<int> waiting{0};                 // calls that wait for commands though the program did not ask for that
};

struct Queue : Object {
  using Handle = cl_command_queue;
  static constexpr Kind its_kind = Kind::queue;
  static constexpr cl_int invalid = CL_INVALID_COMMAND_QUEUE;
  Queue(Context& its_context, Device& its_device);
  ~Queue();

  cl_command_queue inner = nullptr;
  const Ref<Context> context;
  Device& device;
  std::atomic<cl_command_queue_properties> properties = 0;  // as the program asked for them
  std::vector<cl_queue_properties> properties_array;        // the same as it was given; empty for the legacy call
  bool has_hints = false;                                   // of its priority, or others
  bool timed = false;                                       // the inner queue takes times
  // Where it does not, one beside it that does, for launches in groups of several sizes (groups.hpp).
  std::once_flag beside_made;
  cl_command_queue beside = nullptr;
  std::atomic<bool> beside_busy{false}, beside_used{false};  // since it was finished
  std::atomic<const void*> user{nullptr};                    // the thread that puts commands into it
  std::atomic<bool> several_users{false};                    // no, not one alone
  // Commands on the direct path where there is a loom: begun, with the inner driver, and how many of these are done.
  std::atomic<std::uint64_t> entered{0}, placed{0}, finished{0};
  std::once_flag strand_made;
  std::atomic<Strand*> strand{nullptr};  // what it gave to the engine, once it did
  std::shared_ptr<Strand> strand_held;
};

// Buffers, sub-buffers, images and pipes.
struct Memory : Object {
  using Handle = cl_mem;
  static constexpr Kind its_kind = Kind::memory;
  static constexpr cl_int invalid = CL_INVALID_MEM_OBJECT;
  Memory(Context& its_context, cl_mem its_inner, Ref<Memory> its_parent = {});
  ~Memory();

  // First what commands use, which is 64 bytes so far.
  const cl_mem inner;
  const Ref<Context> context;
  const Ref<Memory> parent;  // the buffer that it is a part or another view of
  // Where there is a loom, of buffers: the bytes of its parent that it is, and what the root has for both of its users.
  std::shared_ptr<Share> share;
  std::size_t bytes = 0, begin = 0;
  std::once_flag first_callback;
  std::optional<cl_mem_flags> flags;  // as the program gave them, where the inner ones are others
  bool mourned = false;               // has destructor callbacks: its address is not used again before they were called
};

struct Sampler : Object {
  using Handle = cl_sampler;
  static constexpr Kind its_kind = Kind::sampler;
  static constexpr cl_int invalid = CL_INVALID_SAMPLER;
  Sampler(Context& its_context, cl_sampler its_inner);
  ~Sampler();

  const cl_sampler inner;
  const Ref<Context> context;
};

struct Program : Object {
  using Handle = cl_program;
  static constexpr Kind its_kind = Kind::program;
  static constexpr cl_int invalid = CL_INVALID_PROGRAM;
  Program(Context& its_context, cl_program its_inner, std::vector<Device*> its_devices)
      : Object(its_kind), inner(its_inner), context(its_context), devices(std::move(its_devices)) {}
  ~Program();

  const cl_program inner;
  const Ref<Context> context;
  const std::vector<Device*> devices;
  std::atomic<int> kernels{0};                          // that are there
  std::mutex mutex;                                     // guards the options
  std::map<const Device*, std::string> options;         // of the last build, as the program gave them
  std::string source;                                   // where there is a loom and it is from source
  bool reads_files = false;                             // which may be others when it is compiled once more
  std::map<std::string, std::shared_ptr<Woven>> woven;  // its kernels by name
  // Fingerprint of a source whose kernels cannot tell how they are grouped; empty: they may, or nobody knows.
  std::string blind_source;
  std::map<std::string, std::shared_ptr<Grouped>> grouped;  // its kernels by name
};

// What a kernel argument takes, as far as the inner driver tells.
enum class Takes : char { unknown, value, local, memory, sampler, queue };

struct Kernel : Object {
  using Handle = cl_kernel;
  static constexpr Kind its_kind = Kind::kernel;
  static constexpr cl_int invalid = CL_INVALID_KERNEL;
  Kernel(Program& its_program, cl_kernel its_inner);
  ~Kernel();

  const cl_kernel inner;
  const Ref<Program> program;
  const std::string name;
  const std::vector<Takes> arguments;
  std::atomic<bool> launched{false};
  // Its arguments as they were set, where there is a loom; not for several threads, as calls that set them are not.
  struct Value {
    bool set = false;
    std::vector<std::byte> bytes;
    std::size_t size = 0;            // of local memory
    const Memory* memory = nullptr;  // perhaps gone
    std::size_t extent = 0;          // of that
  };
  std::vector<Value> values;
  std::uint64_t extents = 0;                       // a mark of all of theirs
  mutable std::atomic<std::uint64_t> all_live{0};  // how many memories were gone when all of these were there
  std::shared_ptr<Woven> woven;
  std::shared_ptr<Grouped> grouped;
};

struct Event : Object {
  using Handle = cl_event;
  static constexpr Kind its_kind = Kind::event;
  static constexpr cl_int invalid = CL_INVALID_EVENT;
  explicit Event(Queue& its_queue) : Object(its_kind), context(*its_queue.context), queue(its_queue) {}
  explicit Event(Context& its_context) : Object(its_kind), context(its_context) {}  // a user event
  ~Event();

  cl_event inner = nullptr;    // none where the command is the engine's
  std::shared_ptr<Ours> ours;  // then this
  const Ref<Context> context;
  const Ref<Queue> queue;                         // none for a user event
  std::atomic<cl_int> user_status{CL_SUBMITTED};  // of a user event, once the program has set it
};

void destroy(Context& context);
void destroy(Memory& memory);

inline Platform* object_of(cl_platform_id h) { return reinterpret_cast<Platform*>(h); }
inline Device* object_of(cl_device_id h) { return reinterpret_cast<Device*>(h); }
inline Context* object_of(cl_context h) { return reinterpret_cast<Context*>(h); }
inline Queue* object_of(cl_command_queue h) { return reinterpret_cast<Queue*>(h); }
inline Memory* object_of(cl_mem h) { return reinterpret_cast<Memory*>(h); }
inline Sampler* object_of(cl_sampler h) { return reinterpret_cast<Sampler*>(h); }
inline Program* object_of(cl_program h) { return reinterpret_cast<Program*>(h); }
inline Kernel* object_of(cl_kernel h) { return reinterpret_cast<Kernel*>(h); }
inline Event* object_of(cl_event h) { return reinterpret_cast<Event*>(h); }

// The object behind the program's handle, or the error that its kind calls for.
template <class Handle>
auto& valid(Handle handle) {
  auto* object = object_of(handle);
  using T = std::remove_pointer_t<decltype(object)>;
  const bool ours = object && object->dispatch == &function_table;
  if (!ours || object->kind.load(std::memory_order_relaxed) != T::its_kind) throw Error{T::invalid};
  return *object;
}

// The same, and it must belong to this context.
template <class Handle>
auto& valid(Handle handle, const Context& context) {
  auto& object = valid(handle);
  if (&*object.context != &context) throw Error{CL_INVALID_CONTEXT};
  return object;
}

// CL_INVALID_VALUE for flags that exclude each other.
void check_flags(cl_mem_flags flags);

// What the inner driver made, wrapped for the program; throws its error.
Memory& wrapped(Context& context, cl_mem inner, cl_int code, Ref<Memory> parent = {});
inline cl_mem hand_out(Context& context, cl_mem inner, cl_int code, Ref<Memory> parent = {}) {
  return handle_of(wrapped(context, inner, code, std::move(parent)));
}

// An object of ours around an inner one, which is not lost where there is no memory for ours.
template <class T, class Parent, class Owned, class... More>
typename T::Handle wrap(Parent& parent, Owned inner, More... more) {
  T* made = new T(parent, inner.get(), std::move(more)...);
  inner.release();
  return handle_of(*made);
}

// The inner handles of the given devices, each once; CL_INVALID_DEVICE for one that is not in the context.
std::vector<cl_device_id> inner_devices(const Context& context, cl_uint count, const cl_device_id* devices);
// The device itself; CL_INVALID_DEVICE for one that is not in the context.
Device& device_in(const Context& context, cl_device_id device);

// Handles that may stand in a kernel argument, with the inner handle each of them means.
void note_live(const Object* object, void* inner);
void forget_live(const Object* object);
void* live_inner(const void* handle, Kind kind);  // null if there is no such object; Kind::gone: any kind
extern std::atomic<std::uint64_t> memories_gone;  // so far, and one; who was there at this number still is
// All inner queues of devices that compute in this process, retained.
std::vector<cl_command_queue> live_queues();

}  // namespace heddle::front::icd

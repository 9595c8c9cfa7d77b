// What every object of the driver begins with, what makes a handle valid, and how errors become codes.
#pragma once

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/vendor.hpp"

namespace heddle::front::icd {

using Slots = cl_icd_dispatch;

extern const cl_icd_dispatch function_table;  // table.cpp: every slot filled

enum class Kind : cl_uint { gone, platform, device, context, queue, memory, sampler, program, kernel, event };

// The loader reads the first word of every handle, so nothing (no table of virtual functions either) comes before it.
struct Object {
  explicit Object(Kind its_kind) : kind(its_kind) {}
  Object(const Object&) = delete;

  const cl_icd_dispatch* const dispatch = &function_table;
  std::atomic<Kind> kind;
  std::atomic<cl_uint> references{1};  // the program's and those of our own objects that need this one
};

// Ends an entry point with this code.
struct Error {
  cl_int code;
};

inline void check(cl_int code) {
  if (code != CL_SUCCESS) throw Error{code};
}

// Addresses that the specification does not let be null. Drivers read from them all the same (PoCL, NVIDIA's).
inline void given(std::initializer_list<const void*> addresses) {
  for (const void* address : addresses) {
    if (!address) throw Error{CL_INVALID_VALUE};
  }
}

template <class T>
typename T::Handle handle_of(const T& object) {
  return reinterpret_cast<typename T::Handle>(const_cast<T*>(&object));
}

template <class T>
void retain(T& object) {
  object.references.fetch_add(1, std::memory_order_relaxed);
}

// Kinds with more to do have an overload of their own.
template <class T>
void destroy(T& object) {
  delete &object;
}

template <class T>
void release(T& object) {
  if (object.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  object.kind = Kind::gone;
  destroy(object);
}

// A reference to another object that lasts as long as this one.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T& object) : object_(&object) { retain(object); }
  // Takes over the reference that a new object is born with.
  static Ref born(T* object) {
    Ref out;
    out.object_ = object;
    return out;
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) retain(*object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) release(*object_);
  }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Gives the reference to the program.
  typename T::Handle hand_out() { return handle_of(*std::exchange(object_, nullptr)); }

 private:
  T* object_ = nullptr;
};

// Calls the inner driver through the table that its own handle points to.
template <auto Slot, class Handle, class... P>
auto pass(Handle inner, P... arguments) {
  return device::Dispatch(inner)(Slot, inner, arguments...);
}

// The process can no longer use the inner drivers: it is ending, or it is a fork of one that used them.
enum class Life { running, ending, forked };
extern std::atomic<Life> life;
cl_int too_late(const char* function);            // says so once
void refused(const char* function, cl_int code);  // tells the log, at level debug
cl_int unexpected(const char* function, const std::exception& error);

// The frame of an entry point that returns a code. `Late` is its answer once life is over.
template <class Body>
cl_int answer(const char* function, Body&& body) {
  cl_int code = CL_SUCCESS;
  if (life.load(std::memory_order_relaxed) != Life::running) [[unlikely]] {
    code = too_late(function);
  } else {
    try {
      code = body();
    } catch (const Error& error) {
      code = error.code;
    } catch (const std::bad_alloc&) {
      code = CL_OUT_OF_HOST_MEMORY;
    } catch (const std::exception& error) {
      code = unexpected(function, error);
    }
  }
  if (code != CL_SUCCESS) [[unlikely]]
    refused(function, code);
  return code;
}

// The frame of an entry point that returns something new: `body` throws its error.
template <class Body>
auto make(const char* function, cl_int* error, Body&& body) -> decltype(body()) {
  decltype(body()) made{};
  const cl_int code = answer(function, [&] {
    made = body();
    return CL_SUCCESS;
  });
  if (error) *error = code;
  return made;
}

// The frame of clRetain* and clRelease*: they succeed even when life is over, as destructors of the program's own
// static objects call them then.
template <class Body>
cl_int always(const char* function, Body&& body) {
  if (life.load(std::memory_order_relaxed) != Life::running) return CL_SUCCESS;
  return answer(function, [&] {
    body();
    return CL_SUCCESS;
  });
}

// Where the answer of a query goes: the three last parameters of every clGet*Info.
struct Place {
  size_t size;
  void* value;
  size_t* size_ret;

  cl_int put(const void* from, size_t bytes) const {
    if (value) {
      if (size < bytes) return CL_INVALID_VALUE;
      if (bytes) std::memcpy(value, from, bytes);
    }
    if (size_ret) *size_ret = bytes;
    return CL_SUCCESS;
  }
  cl_int put(const std::string& text) const { return put(text.c_str(), text.size() + 1); }
  template <class T>
  cl_int put(const std::vector<T>& values) const {
    return put(values.data(), values.size() * sizeof(T));
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> cl_int put(const T& one)
  const { return put(&one, sizeof one); }
};

}  // namespace heddle::front::icd

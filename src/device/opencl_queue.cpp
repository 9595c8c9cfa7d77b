// Commands and their events. Every call goes through the driver's own table and every failure through failed().
#include "device/opencl_queue.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>

#include "core/trace.hpp"
#include "device/quirks.hpp"

namespace heddle::device {

using core::Failure;
using core::FailureKind;
using Slots = cl_icd_dispatch;

namespace {

Nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// What an event needs to tell its story to the trace when it is done.
struct Story {
  core::TraceKind kind;
  std::string name, detail;
};

// What drivers are to call, by number. PoCL 3.1 does not call for commands that fail, so what was to be called must be
// dropped some day without it; and a driver that calls after that must find nothing, not memory that is gone.
class Calls {
 public:
  static Calls& all() {
    static auto& one = *new Calls;  // drivers call when static objects are gone
    return one;
  }
  void* add(std::function<void()> function) {
    std::lock_guard hold(mutex_);
    waiting_.emplace(++last_, std::move(function));
    return reinterpret_cast<void*>(last_);
  }
  std::function<void()> take(void* number) {
    std::lock_guard hold(mutex_);
    auto found = waiting_.extract(reinterpret_cast<std::uintptr_t>(number));
    return found ? std::move(found.mapped()) : std::function<void()>();
  }

 private:
  std::mutex mutex_;
  std::uintptr_t last_ = 0;
  std::unordered_map<std::uintptr_t, std::function<void()>> waiting_;
};

class OpenClEvent : public EventState {
 public:
  OpenClEvent(cl_event event, cl_command_queue queue, FailureKind kind, Nanoseconds queued, bool calls_at_once)
      : cl_(event), event_(event), queue_(queue), kind_(kind), queued_(queued), calls_at_once_(calls_at_once) {
    cl_(&Slots::clRetainCommandQueue, queue);
  }

  ~OpenClEvent() override {
    if (begun_) Calls::all().take(begun_);  // perhaps it was asked for too late
    if (calls_.empty() || status() >= 0) return;
    for (void* number : calls_) Calls::all().take(number);
  }

  cl_event handle() const { return event_.get(); }

  Status wait(Nanoseconds limit) override {
    if (limit == Nanoseconds::max()) {
      cl_event event = event_.get();
      const cl_int code = cl_(&Slots::clWaitForEvents, 1, &event);
      note_end();
      if (code == CL_SUCCESS) return core::Done{};
      const cl_int own = status();
      return failed(kind_, "clWaitForEvents", own < 0 ? own : code);
    }
    const Nanoseconds begin = steady_now(),
                      end = begin > Nanoseconds::max() - limit ? Nanoseconds::max() : begin + limit;
    if (calls_at_once_) wait_for_call(end);
    cl_(&Slots::clFlush, queue_.get());
    while (!done()) {
      const Nanoseconds now = steady_now();
      if (now >= end) {
        return Failure{FailureKind::hang, fmt::format("no completion within {} ms", limit.count() / 1'000'000), ""};
      }
      // Spin first, since most commands are short; then sleep for a twentieth of what has passed, so that a late answer
      // stays cheap.
      if (now - begin > std::chrono::microseconds(50)) {
        std::this_thread::sleep_for(
            std::min({(now - begin) / 20, end - now, Nanoseconds(std::chrono::milliseconds(1))}));
      }
    }
    const cl_int code = status();
    if (code >= 0) return core::Done{};
    return failed(kind_, "a queued command", code);
  }

  bool done() override {
    const bool over = status() <= CL_COMPLETE;
    if (over) note_end();
    return over;
  }

  Result<Times> times() override {
    if (const cl_int code = status(); code < 0) return failed(kind_, "a queued command", code);
    if (!done()) throw core::InternalError("times() of a command that is not done");
    cl_ulong queued = 0, start = 0, end = 0;
    auto profile = [&](cl_profiling_info what, cl_ulong& out) {
      return cl_(&Slots::clGetEventProfilingInfo, event_.get(), what, sizeof out, &out, nullptr) == CL_SUCCESS;
    };
    if (profile(CL_PROFILING_COMMAND_QUEUED, queued) && profile(CL_PROFILING_COMMAND_START, start) &&
        profile(CL_PROFILING_COMMAND_END, end) && queued <= start && start <= end) {
      // The moment of queuing is known on both clocks, so it ties them together.
      return Times{queued_, queued_ + Nanoseconds(start - queued), queued_ + Nanoseconds(end - queued)};
    }
    return Times{queued_, queued_, Nanoseconds(end_.load())};
  }

  void notify(std::function<void()> callback) override {
    void* number = Calls::all().add(std::move(callback));
    {
      std::lock_guard hold(mutex_);
      calls_.push_back(number);
    }
    if (call_when(CL_COMPLETE, number)) {
      cl_(&Slots::clFlush, queue_.get());
      return;
    }
    (void)EventState::wait();  // no callbacks here: wait in place of them
    called(nullptr, CL_COMPLETE, number);
  }

  bool begun() override {
    const cl_int now = status();
    return now >= 0 && now <= CL_RUNNING;  // what failed may never have begun
  }
  void notify_begun(std::function<void()> callback) override {
    if (begun_) throw core::InternalError("notify_begun() a second time");
    call_when(CL_RUNNING, begun_ = Calls::all().add(std::move(callback)));
  }

 private:
  static void CL_CALLBACK called(cl_event, cl_int, void* number) {
    if (const auto function = Calls::all().take(number)) function();
  }
  bool call_when(cl_int status, void* number) {
    return cl_(&Slots::clSetEventCallback, event_.get(), status, called, number) == CL_SUCCESS;
  }

  // Until the driver calls back or `end`; looks in between, as drivers may not call for commands that failed.
  void wait_for_call(Nanoseconds end) {
    struct Bell {
      std::mutex mutex;
      std::condition_variable changed;
      bool rung = false;
    };
    const auto bell = std::make_shared<Bell>();  // shared: the driver may call when nobody waits any more
    notify([bell] {
      std::lock_guard hold(bell->mutex);
      bell->rung = true;
      bell->changed.notify_one();
    });
    std::unique_lock lock(bell->mutex);
    while (!bell->rung && steady_now() < end) {
      const auto wait = std::min(end - steady_now(), Nanoseconds(std::chrono::milliseconds(10)));
      if (!bell->changed.wait_for(lock, wait, [&] { return bell->rung; }) && done()) return;
    }
  }

  cl_int status() const {
    cl_int value = CL_QUEUED;
    const cl_int code =
        cl_(&Slots::clGetEventInfo, event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof value, &value, nullptr);
    return code == CL_SUCCESS ? value : code;
  }
  void note_end() {
    Nanoseconds::rep none = 0;
    end_.compare_exchange_strong(none, steady_now().count());
  }

  Dispatch cl_;
  OwnedEvent event_;
  OwnedQueue queue_;  // the event may outlive the Queue that made it
  FailureKind kind_;
  Nanoseconds queued_;
  bool calls_at_once_;
  void* begun_ = nullptr;                 // number of what is to be called when it begins
  std::mutex mutex_;                      // guards calls_
  std::vector<void*> calls_;              // numbers of what is to be called
  std::atomic<Nanoseconds::rep> end_{0};  // as the host saw it, for drivers without profiling
};

// A handle of ours as the backend's own type; another backend's is our bug.
template <class T, class Base>
T& own(Base& object) {
  auto* mine = dynamic_cast<T*>(&object);
  if (!mine) throw core::InternalError("an object of another device was given to an OpenCL queue");
  return *mine;
}

void check_range(const Buffer& buffer, Bytes at, Bytes size) {
  if (at > buffer.size() || size > buffer.size() - at) {
    throw core::UsageError(
        fmt::format("{} bytes at {} of a buffer of {} bytes: outside of it", size, at, buffer.size()));
  }
}

class OpenClQueue : public Queue {
 public:
  OpenClQueue(OwnedQueue queue, std::string track, bool calls_at_once)
      : cl_(queue.get()), queue_(std::move(queue)), track_(std::move(track)), calls_at_once_(calls_at_once) {}

  Result<Event> launch(const Run& run, Waits waits) override {
    const auto& kernel = own<OpenClKernel>(run.kernel);
    if (static_cast<int>(run.arguments.size()) != kernel.limits().arguments) {
      throw core::UsageError(fmt::format("kernel {}: {} arguments given, {} expected", kernel.name(),
                                         run.arguments.size(), kernel.limits().arguments));
    }
    for (std::size_t k = 0; k < run.arguments.size(); ++k) {
      const auto* given = std::get_if<BufferArgument>(&run.arguments[k]);
      if (given && !given->buffer) {
        throw core::UsageError(fmt::format("kernel {}: argument {} is a buffer that is not there", kernel.name(), k));
      }
      if (const cl_int code = set_argument(kernel.handle(), static_cast<cl_uint>(k), run.arguments[k]);
          code != CL_SUCCESS) {
        Failure failure = failed(FailureKind::launch, "clSetKernelArg", code);
        failure.what += fmt::format(" for argument {} of kernel {}", k, kernel.name());
        return failure;
      }
    }
    size_t offset[3], global[3], local[3];
    cl_uint dimensions = 1;
    for (int d = 0; d < 3; ++d) {
      offset[d] = static_cast<size_t>(run.range.offset[d]);
      global[d] = static_cast<size_t>(run.range.global[d]);
      local[d] = static_cast<size_t>(run.range.local[d]);
      if (global[d] > 1 || offset[d] > 0) dimensions = static_cast<cl_uint>(d) + 1;
    }
    if (run.range.dimensions > 0) dimensions = static_cast<cl_uint>(run.range.dimensions);
    const bool shifted = offset[0] || offset[1] || offset[2];
    const size_t* from = shifted ? offset : nullptr;  // PoCL compiles a separate form for launches with an offset
    return queue(
        FailureKind::launch, "clEnqueueNDRangeKernel", waits,
        [&](cl_uint n, const cl_event* list, cl_event* event) {
          return cl_(&Slots::clEnqueueNDRangeKernel, queue_.get(), kernel.handle(), dimensions, from, global, local, n,
                     list, event);
        },
        [&] {
          return Story{core::TraceKind::slice, kernel.name(),
                       fmt::format("{}x{}x{} items at {},{},{}", global[0], global[1], global[2], offset[0], offset[1],
                                   offset[2])};
        });
  }

  Result<Event> copy_in(Buffer& to, Bytes at, std::span<const std::byte> from, Waits waits) override {
    check_range(to, at, from.size());
    if (from.empty()) return nothing(waits);
    const auto& buffer = own<OpenClBuffer>(to);
    if (buffer.wrapped() && from.data() == buffer.wrapped() + at)
      return show(buffer, at, from.size(), CL_MAP_WRITE, waits);
    return queue(
        FailureKind::transfer, "clEnqueueWriteBuffer", waits,
        [&](cl_uint n, const cl_event* list, cl_event* event) {
          return cl_(&Slots::clEnqueueWriteBuffer, queue_.get(), buffer.handle(), CL_FALSE, at, from.size(),
                     from.data(), n, list, event);
        },
        [&] {
          return Story{core::TraceKind::transfer, "copy in", fmt::format("{} bytes", from.size())};
        });
  }

  Result<Event> copy_out(std::span<std::byte> to, Buffer& from, Bytes at, Waits waits) override {
    check_range(from, at, to.size());
    if (to.empty()) return nothing(waits);
    const auto& buffer = own<OpenClBuffer>(from);
    if (buffer.wrapped() && to.data() == buffer.wrapped() + at) return show(buffer, at, to.size(), CL_MAP_READ, waits);
    return queue(
        FailureKind::transfer, "clEnqueueReadBuffer", waits,
        [&](cl_uint n, const cl_event* list, cl_event* event) {
          return cl_(&Slots::clEnqueueReadBuffer, queue_.get(), buffer.handle(), CL_FALSE, at, to.size(), to.data(), n,
                     list, event);
        },
        [&] {
          return Story{core::TraceKind::transfer, "copy out", fmt::format("{} bytes", to.size())};
        });
  }

  Result<Event> copy(Buffer& to, Bytes to_at, Buffer& from, Bytes from_at, Bytes size, Waits waits) override {
    check_range(to, to_at, size);
    check_range(from, from_at, size);
    if (size == 0) return nothing(waits);
    return queue(
        FailureKind::transfer, "clEnqueueCopyBuffer", waits,
        [&](cl_uint n, const cl_event* list, cl_event* event) {
          return cl_(&Slots::clEnqueueCopyBuffer, queue_.get(), own<OpenClBuffer>(from).handle(),
                     own<OpenClBuffer>(to).handle(), from_at, to_at, size, n, list, event);
        },
        [&] {
          return Story{core::TraceKind::transfer, "copy", fmt::format("{} bytes", size)};
        });
  }

  Result<Event> fill(Buffer& to, Bytes at, Bytes size, std::byte value, Waits waits) override {
    check_range(to, at, size);
    if (size == 0) return nothing(waits);
    return queue(
        FailureKind::transfer, "clEnqueueFillBuffer", waits,
        [&](cl_uint n, const cl_event* list, cl_event* event) {
          return cl_(&Slots::clEnqueueFillBuffer, queue_.get(), own<OpenClBuffer>(to).handle(), &value, 1, at, size, n,
                     list, event);
        },
        [&] {
          return Story{core::TraceKind::transfer, "fill", fmt::format("{} bytes", size)};
        });
  }

  Status flush() override { return status("clFlush", cl_(&Slots::clFlush, queue_.get())); }
  Status finish() override { return status("clFinish", cl_(&Slots::clFinish, queue_.get())); }

 private:
  static Status status(const char* call, cl_int code) {
    if (code == CL_SUCCESS) return core::Done{};
    return failed(FailureKind::launch, call, code);
  }

  cl_int set_argument(cl_kernel kernel, cl_uint k, const Argument& argument) {
    auto set = [&](size_t size, const void* value) { return cl_(&Slots::clSetKernelArg, kernel, k, size, value); };
    if (const auto* bytes = std::get_if<Scalar>(&argument)) return set(bytes->size(), bytes->data());
    if (const auto* local = std::get_if<LocalMemory>(&argument)) return set(local->size, nullptr);
    const cl_mem memory = own<OpenClBuffer>(*std::get<BufferArgument>(argument).buffer).handle();
    return set(sizeof memory, &memory);
  }

  // A command that moves no bytes still has its place in the order. OpenCL before 2.1 refuses copies of size zero.
  Result<Event> nothing(Waits waits) {
    return queue(
        FailureKind::transfer, "clEnqueueMarkerWithWaitList", waits,
        [&](cl_uint n, const cl_event* list, cl_event* event) {
          return cl_(&Slots::clEnqueueMarkerWithWaitList, queue_.get(), n, list, event);
        },
        [] {
          return Story{core::TraceKind::transfer, "nothing", "0 bytes"};
        });
  }

  // Makes the host and the device agree on wrapped memory; no bytes move where they are one.
  Result<Event> show(const OpenClBuffer& buffer, Bytes at, Bytes size, cl_map_flags flags, Waits waits) {
    std::vector<cl_event> list = handles(waits);
    cl_int code = CL_SUCCESS;
    void* mapped = cl_(&Slots::clEnqueueMapBuffer, queue_.get(), buffer.handle(), CL_FALSE, flags, at, size,
                       static_cast<cl_uint>(list.size()), list.empty() ? nullptr : list.data(), nullptr, &code);
    if (!mapped) return failed(FailureKind::transfer, "clEnqueueMapBuffer", code);
    return queue(
        FailureKind::transfer, "clEnqueueUnmapMemObject", {},
        [&](cl_uint n, const cl_event* none, cl_event* event) {
          return cl_(&Slots::clEnqueueUnmapMemObject, queue_.get(), buffer.handle(), mapped, n, none, event);
        },
        [&] {
          return Story{core::TraceKind::transfer, "show", fmt::format("{} bytes in place", size)};
        });
  }

  static std::vector<cl_event> handles(Waits waits) {
    std::vector<cl_event> out;
    for (const Event& wait : waits) out.push_back(own<OpenClEvent>(*wait).handle());
    return out;
  }

  template <class Enqueue, class Tell>
  Result<Event> queue(FailureKind kind, const char* call, Waits waits, Enqueue enqueue, Tell tell) {
    const std::vector<cl_event> list = handles(waits);
    cl_event event = nullptr;
    const Nanoseconds now = steady_now();
    const cl_int code = enqueue(static_cast<cl_uint>(list.size()), list.empty() ? nullptr : list.data(), &event);
    if (code != CL_SUCCESS) return failed(kind, call, code);
    auto out = std::make_shared<OpenClEvent>(event, queue_.get(), kind, now, calls_at_once_);
    if (core::trace()) {
      // The callback holds the event until it is done; by then its times are known.
      out->notify([event_state = Event(out), track = track_, story = tell()] {
        core::TraceSink* sink = core::trace();
        if (!sink) return;
        if (auto t = event_state->times()) {
          sink->add({story.kind, track, story.name, story.detail, t->start, t->duration()});
        }
      });
    }
    return Event(out);
  }

  Dispatch cl_;
  OwnedQueue queue_;
  std::string track_;
  bool calls_at_once_;
};

}  // namespace

std::unique_ptr<Queue> make_opencl_queue(OwnedQueue queue, const Info& info) {
  return std::make_unique<OpenClQueue>(std::move(queue), info.id, info.prompt);
}

}  // namespace heddle::device

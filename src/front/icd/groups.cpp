#include "front/icd/groups.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "core/fingerprint.hpp"
#include "core/log.hpp"
#include "front/icd/line.hpp"
#include "front/icd/observe.hpp"
#include "front/icd/runtime.hpp"
#include "front/icd/turns.hpp"
#include "kernel/group_blind.hpp"
#include "profile/store.hpp"

namespace heddle::front::icd {

using core::Nanoseconds;

namespace {

constexpr std::size_t most_shapes = 64;  // of one kernel; whoever has more is never launched twice alike

// What is tried, in this order: each differs much from those before.
constexpr Extents along[] = {{256, 1, 1}, {64, 1, 1}};
constexpr Extents flat[] = {{16, 16, 1}, {8, 32, 1}, {64, 1, 1}, {1, 64, 1}, {256, 1, 1}, {4, 64, 1}, {8, 8, 1}};
constexpr Extents deep[] = {{64, 1, 1}, {8, 8, 4}, {1, 1, 64}, {16, 4, 4}, {256, 1, 1}, {1, 64, 1}, {4, 4, 16}};

size_t divisor_of(size_t number, size_t most) {
  for (size_t d = std::min(number, most); d > 1; --d) {
    if (number % d == 0) return d;
  }
  return 1;
}

// Those that divide the launch, and that the device takes for this kernel.
std::vector<Extents> sizes_for(const Device& device, cl_kernel kernel, cl_uint dimensions, const Extents& global) {
  std::vector<Extents> out{{}};
  size_t most = 0;
  if (pass<&Slots::clGetKernelWorkGroupInfo>(kernel, device.inner, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                             nullptr) != CL_SUCCESS)
    return out;
  constexpr size_t least = 16;  // fewer keep no device busy
  const auto add = [&](Extents size) {
    size_t items = 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
      size[d] = divisor_of(global[d], std::min(size[d], static_cast<size_t>(device.info.largest_extents[d])));
      items *= size[d];
    }
    if (items >= least && items <= most && std::find(out.begin(), out.end(), size) == out.end()) out.push_back(size);
  };
  if (dimensions == 1) std::for_each(std::begin(along), std::end(along), add);
  if (dimensions == 2) std::for_each(std::begin(flat), std::end(flat), add);
  if (dimensions == 3) std::for_each(std::begin(deep), std::end(deep), add);
  return out;
}

// Whether drivers for this device compile a kernel for each size of groups, as PoCL does.
bool compiles(const Device& device) { return device.type == CL_DEVICE_TYPE_CPU; }

decide::Rivals::Limits limits_for(const Queue& queue) {
  const std::string& variants = runtime().settings.variants;
  if (variants == "always" || variants == "beside") return {.loss = 1e9, .shortest = Nanoseconds{0}};
  decide::Rivals::Limits out;
  if (compiles(queue.device)) out.preparing = std::chrono::milliseconds(300);         // about so long
  if (!queue.timed) out.timing = std::chrono::microseconds(16), out.first_look = 32;  // as on NVIDIA's driver
  return out;
}

// Whether a launch can be timed beside its queue: nothing may come between the three commands that it is then.
bool can_be_beside(const Queue& queue) {
  return is_in_order(queue) && !queue.context->user_events && !queue.several_users &&
         (queue.user == nullptr || queue.user == this_user()) && !queue.has_hints;
}

std::string text_of(const Extents& size, cl_uint dimensions) {
  return fmt::format("{}", fmt::join(size.begin(), size.begin() + dimensions, "x"));
}

std::string variant_of(const Grouped::Shape& shape, std::size_t rival) {
  return rival == 0 ? "groups of the driver's choice" : "groups of " + text_of(shape.sizes[rival], shape.dimensions);
}

core::SampleKey key_of(const Grouped::Shape& shape, std::size_t rival) {
  core::SampleKey key = shape.key;
  key.variant = variant_of(shape, rival);
  return key;
}

constexpr const char* preparing_name = "preparing groups";

// What earlier runs have found is read beside the program, as others may be writing.
Line& recalling() {
  static auto* const the = new Line;
  return *the;
}

void recall(const std::shared_ptr<Grouped>& of, Grouped::Shape& shape) {
  shape.recall = Grouped::Shape::Recall::coming;
  recalling().add([of, &shape] {
    core::History history = measured().load(shape.key.kernel, shape.key.device);
    std::lock_guard hold(of->mutex);
    shape.before = std::move(history);
    shape.recall = Grouped::Shape::Recall::ready;
  });
}

void use_recalled(Grouped::Shape& shape) {
  shape.recall = Grouped::Shape::Recall::done;
  const core::History history = std::move(shape.before);
  std::vector<std::size_t> tried;
  std::size_t best = 0;
  double least = 0;
  for (std::size_t r = 0; r < shape.sizes.size(); ++r) {
    const core::Record* record = history.find(key_of(shape, r));
    if (!record || record->aggregate.count == 0) continue;
    if (r == 0) least = record->median();
    if (least == 0) break;  // nothing to compare them with
    tried.push_back(r);
    if (record->median() < least) best = r, least = record->median();
  }
  core::SampleKey key = shape.key;
  key.variant = preparing_name;
  const core::Record* preparing = history.find(key);
  shape.rivals.expect(tried, best, Nanoseconds(preparing ? std::llround(preparing->aggregate.most) : 0));
}

std::unique_ptr<Grouped::Shape> shape_for(const Queue& queue, const Kernel& kernel, cl_uint dimensions,
                                          const Extents& global) {
  Program& program = *kernel.program;
  std::string options;
  bool blind = false;
  {
    std::lock_guard hold(program.mutex);
    // Several devices may be one below; whichever of their builds is in use.
    for (const auto& [device, text] : program.options) {
      if (device->inner != queue.device.inner) continue;
      blind = (options.empty() || blind) && kernel::blind_to_groups("", text);
      options += text + '\n';
    }
  }
  std::vector<Extents> sizes =
      blind ? sizes_for(queue.device, kernel.inner, dimensions, global) : std::vector<Extents>{{}};
  const std::string print = core::Fingerprint().add(program.blind_source).add(options).add(kernel.name).hex();
  decide::Rivals rivals(sizes.size(), limits_for(queue));
  return std::unique_ptr<Grouped::Shape>(
      new Grouped::Shape{&queue.device,
                         queue.timed,
                         dimensions,
                         global,
                         {print, "", "", queue.device.info.fingerprint, text_of(global, dimensions)},
                         std::move(sizes),
                         std::move(rivals)});
}

// What became of a launch that is watched; takes over the event.
enum class End { not_yet, not_begun, untimed, failed, done };
End end_of(cl_event event, Nanoseconds& run, Nanoseconds& waited) {
  cl_int status = CL_QUEUED;
  if (pass<&Slots::clGetEventInfo>(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) !=
      CL_SUCCESS)
    status = -1;
  if (status > CL_COMPLETE) return End::not_yet;
  const bool begun = status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  std::array<cl_ulong, 3> times{};
  std::size_t i = 0;
  bool timed = true;
  for (const cl_profiling_info what :
       {CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END}) {
    timed &= pass<&Slots::clGetEventProfilingInfo>(event, what, sizeof times[i], &times[i], nullptr) == CL_SUCCESS;
    ++i;
  }
  pass<&Slots::clReleaseEvent>(event);
  if (!begun) return End::not_begun;
  if (status != CL_COMPLETE) return End::failed;
  if (!timed || times[2] < times[1]) return End::untimed;
  run = Nanoseconds(static_cast<Nanoseconds::rep>(times[2] - times[1]));
  waited = Nanoseconds(static_cast<Nanoseconds::rep>(times[1] - std::min(times[0], times[1])));
  return End::done;
}

void note(const std::shared_ptr<Grouped>& of, Grouped::Shape& shape, const decide::Turn& turn, Nanoseconds run,
          Nanoseconds waited) {
  const std::size_t before = shape.rivals.best();
  const bool comparing = shape.rivals.comparing();
  shape.rivals.note(turn, run, waited);
  if (shape.rivals.worthwhile() && shape.recall == Grouped::Shape::Recall::not_yet) recall(of, shape);
  if (!comparing) return;
  std::int64_t points = 1;
  for (std::size_t d = 0; d < shape.dimensions; ++d) points *= static_cast<std::int64_t>(shape.global[d]);
  measured().name(shape.key.kernel, of->name);
  measured().name(shape.key.device, shape.device->name);
  measured().add(key_of(shape, turn.rival), {.points = points, .duration = run});
  if (shape.rivals.preparing() > shape.told) {
    core::SampleKey key = shape.key;
    key.variant = preparing_name;
    shape.told = shape.rivals.preparing();
    measured().add(key, {.points = 1, .duration = shape.told});
  }
  if (const std::size_t best = shape.rivals.best(); best != before) {
    observe_groups(*shape.device, of->name, best == 0 ? "" : variant_of(shape, best));
    core::log(core::LogLevel::info, fmt::format("kernel '{}', {} items: {}, {:.3f} ms", of->name, shape.key.shape,
                                                variant_of(shape, best), 1e3 * core::seconds(shape.rivals.time())));
  }
}

}  // namespace

bool chooses_groups() {
  static const bool chosen = [] {
    const core::Settings& settings = runtime().settings;
    const std::string& variants = settings.variants;
    const bool forced = variants == "always" || variants == "beside";  // the last is for tests on CPUs
    if (variants != "auto" && variants != "off" && !forced)
      core::log_once(core::LogLevel::warn, "HEDDLE_VARIANTS='" + variants + "': auto, off or always expected");
    // How kernels are compiled for their groups may change the last bits.
    return settings.active && (variants == "auto" || forced) && settings.exactness != "exact";
  }();
  return chosen;
}

std::string blind_name(std::string_view source) {
  if (!chooses_groups() || !kernel::blind_to_groups(source, "") || !kernel::without_private_arrays(source)) return "";
  return core::Fingerprint().add(source).hex();
}

void stop_recalling() { recalling().close(); }

bool takes_times(const Device& device) {
  return device.type == CL_DEVICE_TYPE_CPU && chooses_groups() && runtime().settings.variants != "beside";
}

cl_int launch_beside(Queue& queue, const WaitList& list, cl_event& event, const Launching& launch) {
  std::call_once(queue.beside_made, [&] {
    const device::Dispatch driver(queue.context->inner);
    if (!driver.has(&Slots::clEnqueueMarkerWithWaitList) || !driver.has(&Slots::clEnqueueBarrierWithWaitList)) return;
    cl_int code = CL_SUCCESS;
    queue.beside =
        pass<&Slots::clCreateCommandQueue>(queue.context->inner, queue.device.inner, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS) queue.beside = nullptr;
  });
  const auto in_place = [&] { return launch(queue.inner, list.count, list.list); };
  if (!queue.beside) return in_place();
  std::vector<cl_event> after{nullptr};
  if (list.count > 0) after.insert(after.end(), list.list, list.list + list.count);
  // Either another thread is seen here, or it sees this and waits.
  queue.beside_busy = true;
  const auto over = [&](cl_int code) {
    queue.beside_busy = false;
    queue.beside_busy.notify_all();
    return code;
  };
  if (!can_be_beside(queue) ||
      pass<&Slots::clEnqueueMarkerWithWaitList>(queue.inner, 0, nullptr, after.data()) != CL_SUCCESS)
    return over(in_place());
  pass<&Slots::clFlush>(queue.inner);
  const cl_int code = launch(queue.beside, static_cast<cl_uint>(after.size()), after.data());
  pass<&Slots::clReleaseEvent>(after.front());
  if (code != CL_SUCCESS) return over(in_place());  // the program's queue may have what this one lacks
  queue.beside_used = true;
  pass<&Slots::clFlush>(queue.beside);
  if (pass<&Slots::clEnqueueBarrierWithWaitList>(queue.inner, 1, &event, nullptr) != CL_SUCCESS)
    device::Dispatch(queue.inner)(&Slots::clWaitForEvents, 1, &event);  // whatever comes next comes after it
  return over(CL_SUCCESS);
}

std::shared_ptr<Grouped> grouped_kernel(Program& program, const std::string& name) {
  if (program.blind_source.empty()) return nullptr;
  std::lock_guard hold(program.mutex);
  auto& out = program.grouped[name];
  if (!out) out = std::make_shared<Grouped>(name);
  return out;
}

Grouped::~Grouped() {
  for (const auto& shape : shapes) {
    if (shape->watched) pass<&Slots::clReleaseEvent>(shape->watched);
  }
}

Groups::Groups(const Queue& queue, const Kernel& kernel, cl_uint dimensions, const size_t* global)
    : of_(kernel.grouped), beside_(!queue.timed) {
  if (!of_ || !global) return;
  Extents sizes{1, 1, 1};
  std::copy(global, global + dimensions, sizes.begin());
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  const auto alike = [&](const auto& shape) {
    return shape->global == sizes && shape->device == &queue.device && shape->dimensions == dimensions &&
           shape->timed == queue.timed;
  };
  if (Grouped::Shape* shape = of_->latest; shape && alike(shape) && shape->plain.fetch_sub(1) > 0) {
    shape_ = shape, turn_.rival = shape->usual, size_ = shape->sizes[turn_.rival];
    return;
  }
  std::unique_lock hold(of_->mutex);
  auto at = std::find_if(of_->shapes.begin(), of_->shapes.end(), alike);
  if (at == of_->shapes.end()) {
    if (of_->shapes.size() >= most_shapes) return;
    hold.unlock();
    auto made = shape_for(queue, kernel, dimensions, sizes);
    hold.lock();
    at = std::find_if(of_->shapes.begin(), of_->shapes.end(), alike);  // another thread may have been here
    if (at == of_->shapes.end()) at = of_->shapes.insert(at, std::move(made));
  }
  shape_ = at->get();
  // While a time is waited for none is plain, so below, where the lock is let go, nobody makes some.
  shape_->rivals.pass(shape_->were_plain - std::max<std::int64_t>(0, shape_->plain.exchange(0)));
  shape_->were_plain = 0;
  if (const cl_event event = std::exchange(shape_->watched, nullptr)) {
    const decide::Turn turn = shape_->turn;
    hold.unlock();
    Nanoseconds run{0}, waited{0};
    const End end = end_of(event, run, waited);
    if (!compiles(queue.device)) waited = Nanoseconds{0};  // for what was queued before it
    hold.lock();
    if (end == End::not_yet) {
      shape_->watched = event;
    } else if (end == End::done) {
      note(of_, *shape_, turn, run, waited);
    } else {
      shape_->rivals.drop();
      if (end == End::failed) shape_->rivals.refuse(turn.rival);
    }
  }
  if (shape_->recall == Grouped::Shape::Recall::ready) use_recalled(*shape_);
  turn_ = beside_ && !can_be_beside(queue) ? shape_->rivals.next_untimed() : shape_->rivals.next();
  size_ = shape_->sizes[turn_.rival];
  of_->latest = shape_;
  shape_->usual = shape_->rivals.best();
  shape_->plain = shape_->were_plain = shape_->rivals.plain();
}

void Groups::placed() {
  if (!event_) return;
  std::lock_guard hold(of_->mutex);
  shape_->watched = std::exchange(event_, nullptr), shape_->turn = turn_;
  placed_ = true;
}

void Groups::refused() {
  std::lock_guard hold(of_->mutex);
  shape_->rivals.refuse(turn_.rival);
  shape_->usual = shape_->rivals.best();
}

Groups::~Groups() {
  if (!shape_ || !turn_.timed || placed_) return;
  if (event_) pass<&Slots::clReleaseEvent>(event_);
  std::lock_guard hold(of_->mutex);
  shape_->rivals.drop();
}

}  // namespace heddle::front::icd

// Builds on demand, prepares before timing, compares after.
#include "workloads/on_device.hpp"

#include <fmt/format.h>

#include "core/log.hpp"
#include "device/prepare.hpp"

namespace heddle::workloads {

namespace {

// What lies behind the end of every array, so that a kernel that leaves its bounds shows and harms nothing. Longer than
// what any variant reaches without its guards at the tiny size: stencil's coarse_z 61 planes of 3,640 bytes, reduce's
// serial 55,529 elements.
// Constant memory has no room for so much.
std::size_t tail_size(const Argument& argument) { return argument.constant ? constant_tail_bytes : 1 << 18; }

std::vector<std::byte> tail_of(const Argument& argument) {
  const std::size_t size = tail_size(argument);
  if (argument.access != core::Access::read) return std::vector<std::byte>(size, poison_byte);
  if (argument.element == Element::f32) return std::vector<std::byte>(size, std::byte{0xFF});  // not a number
  const std::vector<std::int32_t> ones(size / sizeof(std::int32_t), 1);  // as an index, inside any array
  const auto bytes = std::as_bytes(std::span(ones));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<Piece> pieces(const Workload& workload, std::size_t variant, const core::Box& space, int slices) {
  const core::Variant& chosen = workload.variants[variant];
  const core::Variant& base = workload.variants.front();
  if (chosen.cut == core::Cut::none) {
    if (slices > 1 || align(space, chosen.footprint, space) != space) return {};
    return {{variant, space}};
  }
  int axis = 2;  // the slowest dimension that has any extent: rows, planes
  while (axis > 0 && space.extent(axis) == 1) --axis;
  const std::int64_t points = (space.volume() + slices - 1) / slices;
  std::vector<Piece> out;
  core::BoxSet left(space);
  while (auto box = left.take(chosen.footprint, space, points, axis)) out.push_back({variant, *box});
  if (!left.empty() && base.cut == core::Cut::none) return {};
  while (!left.empty()) {
    // The base is guarded, but its groups are not one point wide: what is left may not begin on one of them.
    auto box = left.take(base.footprint, space, space.volume(), axis);
    if (!box) return {};
    out.push_back({0, *box});
  }
  return out;
}

OnDevice::OnDevice(device::Device& device, const Workload& workload, Instance instance)
    : device_(device), workload_(workload), instance_(std::move(instance)) {}

core::Result<std::unique_ptr<OnDevice>> OnDevice::open(device::Device& device, const Workload& workload,
                                                       Instance instance) {
  std::unique_ptr<OnDevice> out(new OnDevice(device, workload, std::move(instance)));
  auto queue = device.open_queue();
  if (!queue) return queue.failure();
  out->queue_ = std::move(*queue);
  auto untimed = device.open_queue(device::Device::Timing::off);
  if (!untimed) return untimed.failure();
  out->untimed_ = std::move(*untimed);
  for (const Argument& a : out->instance_.arguments) {
    if (a.scalar) {
      out->arguments_.push_back(device::Scalar(a.bytes));
      continue;
    }
    auto buffer = device.allocate(a.bytes.size() + tail_size(a));
    if (!buffer) return buffer.failure();
    out->arguments_.push_back(device::BufferArgument{buffer->get(), a.access});
    out->buffers_.push_back(std::move(*buffer));
  }
  if (auto ready = out->reset(); !ready) return ready.failure();
  return out;
}

core::Status OnDevice::reset() {
  poison(instance_);
  std::size_t next = 0;
  for (const Argument& a : instance_.arguments) {
    if (a.scalar) continue;
    device::Buffer& buffer = *buffers_[next++];
    const auto tail = tail_of(a);
    auto copied = queue_->copy_in(buffer, 0, a.bytes);
    if (!copied) return copied.failure();
    if (auto done = (*copied)->wait(); !done) return done;
    copied = queue_->copy_in(buffer, a.bytes.size(), tail);
    if (!copied) return copied.failure();
    if (auto done = (*copied)->wait(); !done) return done;
  }
  return core::Done{};
}

core::Result<device::Kernel*> OnDevice::kernel(std::size_t variant) {
  auto& [program, kernel] = kernels_[variant];
  if (kernel) return kernel.get();
  const core::Variant& v = workload_.variants[variant];
  auto built = device_.build({v.source, v.options});
  if (!built) return built.failure();
  program = std::move(*built);
  build_time_ += program->build_time;
  auto made = program->kernel(v.entry);
  if (!made) return made.failure();
  kernel = std::move(*made);
  return kernel.get();
}

device::Run OnDevice::range(device::Kernel& kernel, const Piece& piece) const {
  return {kernel, arguments_, nd_range(workload_.variants[piece.variant], piece.box, instance_.space)};
}

core::Status OnDevice::prepare(const Piece& piece) {
  auto k = kernel(piece.variant);
  if (!k) return k.failure();
  auto ready = device::prepare(device_, *queue_, range(**k, piece));
  if (!ready && ready.failure().kind == core::FailureKind::allocation) {
    core::log(core::LogLevel::info, "not prepared, memory is too small: " + ready.failure().what);
    return core::Done{};
  }
  return ready;
}

core::Result<core::Sample> OnDevice::run(const Piece& piece, const device::Clock& clock) {
  if (auto ready = prepare(piece); !ready) return ready.failure();
  auto k = kernel(piece.variant);
  return device::timed(device_, *queue_, range(**k, piece), piece.box.volume(), clock);
}

core::Result<core::Nanoseconds> OnDevice::run_all(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    if (auto ready = prepare(piece); !ready) return ready.failure();
  }
  const core::Nanoseconds begin = device_.now();
  std::vector<device::Event> events;
  for (const Piece& piece : pieces) {
    auto event = untimed_->launch(range(**kernel(piece.variant), piece));
    if (!event) return event.failure();
    events.push_back(std::move(*event));
  }
  if (auto done = untimed_->finish(); !done) return done.failure();
  const core::Nanoseconds took = device_.now() - begin;
  for (const device::Event& event : events) {
    if (auto done = event->wait(); !done) return done.failure();
  }
  return took;
}

core::Status OnDevice::read(std::size_t argument, std::span<std::byte> to) {
  auto copied = queue_->copy_out(to, *std::get<device::BufferArgument>(arguments_[argument]).buffer, 0);
  if (!copied) return copied.failure();
  return (*copied)->wait();
}

core::Result<std::optional<std::string>> OnDevice::check(const Instance& expected) {
  Instance actual = instance_;
  std::size_t next = 0;
  for (Argument& a : actual.arguments) {
    if (a.scalar) continue;
    device::Buffer& buffer = *buffers_[next++];
    std::vector<std::byte> tail(tail_size(a));
    auto copied = queue_->copy_out(a.bytes, buffer, 0);
    if (!copied) return copied.failure();
    if (auto done = (*copied)->wait(); !done) return done.failure();
    copied = queue_->copy_out(tail, buffer, a.bytes.size());
    if (!copied) return copied.failure();
    if (auto done = (*copied)->wait(); !done) return done.failure();
    if (tail != tail_of(a))
      return std::optional(fmt::format("{}: writes behind the end of {}", workload_.name, a.name));
  }
  return compare(workload_, expected, actual);
}

}  // namespace heddle::workloads

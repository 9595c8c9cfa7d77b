// The probe of macros on a device.
#include "engine/target.hpp"

#include <array>

#include "kernel/macro_probe.hpp"

namespace heddle::engine {

core::Result<kernel::Target> target_of(device::Device& device) {
  auto program = device.build({kernel::macro_probe_source(), ""});
  if (!program) return program.failure();
  auto probe = (*program)->kernel("heddle_macro_probe");
  if (!probe) return probe.failure();
  std::vector<std::int64_t> values(kernel::macro_probe_size());
  auto buffer = device.allocate(values.size() * sizeof(std::int64_t));
  if (!buffer) return buffer.failure();
  auto queue = device.open_queue(device::Device::Timing::off);
  if (!queue) return queue.failure();
  const std::array<device::Argument, 1> arguments = {device::BufferArgument{buffer->get(), core::Access::write}};
  auto launched = (*queue)->launch({**probe, arguments, {{0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 1}});
  if (!launched) return launched.failure();
  auto copied = (*queue)->copy_out(std::as_writable_bytes(std::span(values)), **buffer, 0);
  if (!copied) return copied.failure();
  if (auto status = (*copied)->wait(); !status) return status.failure();
  if (auto status = (*launched)->wait(); !status) return status.failure();
  return kernel::target_of(values, device.info().extensions, device.info().address_bits);
}

}  // namespace heddle::engine

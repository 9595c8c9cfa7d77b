// PoCL compiles again at the first launch of each form of a kernel, 32 to 200 ms that belong to no timing.
#include "device/prepare.hpp"

#include <algorithm>

namespace heddle::device {

namespace {

// One group, or in a wide grid as many along its longest dimension as keep it wide.
core::NdRange smallest_of_form(const core::NdRange& range) {
  core::NdRange out = range;
  const int longest =
      static_cast<int>(std::max_element(range.global.begin(), range.global.end()) - range.global.begin());
  for (int d = 0; d < 3; ++d) out.global[d] = range.local[d];
  if (form_of(range).wide) {
    const std::int64_t local = range.local[longest];
    out.global[longest] = std::min(range.global[longest], (wide_grid + local - 1) / local * local);
  }
  return out;
}

}  // namespace

Status prepare(Device& device, Queue& queue, const Run& run) {
  if (run.kernel.is_prepared(run.range)) return core::Done{};

  std::vector<std::unique_ptr<Buffer>> scratch;
  std::vector<Argument> arguments(run.arguments.begin(), run.arguments.end());
  for (Argument& argument : arguments) {
    auto* given = std::get_if<BufferArgument>(&argument);
    if (!given || given->access == core::Access::read) continue;
    Buffer& original = *given->buffer;
    auto copy = device.allocate(original.size());
    if (!copy) return copy.failure();
    if (given->access != core::Access::write) {  // what is only written need not hold anything
      auto copied = queue.copy(**copy, 0, original, 0, original.size());
      if (!copied) return copied.failure();
    }
    given->buffer = copy->get();
    scratch.push_back(std::move(*copy));
  }
  auto launched = queue.launch({run.kernel, arguments, smallest_of_form(run.range)});
  if (!launched) return launched.failure();
  if (auto finished = queue.finish(); !finished) return finished;
  if (auto waited = (*launched)->wait(); !waited) return waited;
  run.kernel.prepared.push_back(form_of(run.range));
  return core::Done{};
}

}  // namespace heddle::device

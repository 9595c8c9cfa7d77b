// The tiny kernel, and everything that is needed to run it.
#include "device/trial.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "device/opencl_device.hpp"
#include "device/vendor.hpp"

namespace heddle::device {

namespace {

constexpr const char* source =
    "kernel void heddle_trial(global int* x, int plus) {\n"
    "  const int i = get_global_id(0);\n"
    "  for (int k = 0; k < 3; ++k) x[i] = 3 * x[i] + i + plus;\n"
    "}\n";
constexpr std::int32_t plus = 7;

std::int32_t expected(std::int32_t i) {
  std::int32_t x = i;
  for (int k = 0; k < 3; ++k) x = 3 * x + i + plus;
  return x;
}

// Empty: all values are right.
Result<std::string> run(Device& device) {
  std::vector<std::int32_t> values(64);
  std::iota(values.begin(), values.end(), 0);
  auto program = device.build({source, ""});
  if (!program) return program.failure();
  auto kernel = (*program)->kernel("heddle_trial");
  if (!kernel) return kernel.failure();
  auto queue = device.open_queue();
  if (!queue) return queue.failure();
  auto buffer = device.allocate(values.size() * sizeof(std::int32_t));
  if (!buffer) return buffer.failure();
  auto in = (*queue)->copy_in(**buffer, 0, std::as_bytes(std::span(values)));
  if (!in) return in.failure();
  const Argument arguments[] = {BufferArgument{buffer->get()}, scalar(plus)};
  const std::int64_t group = std::clamp<std::int64_t>((*kernel)->limits().group, 1, 8);
  const std::int64_t items = static_cast<std::int64_t>(values.size()) / group * group;
  auto launched = (*queue)->launch({**kernel, arguments, {{0, 0, 0}, {items, 1, 1}, {group, 1, 1}, 1}});
  if (!launched) return launched.failure();
  auto out = (*queue)->copy_out(std::as_writable_bytes(std::span(values)), **buffer, 0);
  if (!out) return out.failure();
  if (auto done = (*out)->wait(); !done) return done.failure();
  for (std::int32_t i = 0; i < items; ++i) {
    const std::int32_t got = values[static_cast<std::size_t>(i)];
    if (got != expected(i)) return fmt::format("{} instead of {}", got, expected(i));
  }
  return std::string();
}

}  // namespace

std::string described(const Info& info) {
  std::string out = info.name + ", " + info.driver;
  for (char& c : out) c = c == '\n' || c == '\t' ? ' ' : c;
  return out;
}

void try_driver(const std::string& library, const std::function<void(const std::string&)>& say) {
  std::vector<std::string> problems;
  const auto platforms = load_platforms({library}, problems);
  for (const std::string& problem : problems) say("none\t" + problem);
  for (const Platform& platform : platforms) {
    auto handles = devices_of(platform);
    if (!handles) say("none\t" + handles.failure().what);
    for (std::size_t d = 0; handles && d < handles->size(); ++d) {
      const cl_device_id handle = handles.value()[d];
      Info info = describe(platform, handle, "");
      info.id = "trial", info.space = static_cast<MemorySpace>(d) + 1;
      const std::string name = described(info);
      say("trying\t" + name);
      auto device = open_device(platform, handle, {}, info, cache::FileCache("", "", 0));
      auto wrong = device ? run(**device) : Result<std::string>(device.failure());
      if (!wrong)
        say("failed\t" + name + ": " + wrong.failure().what);
      else
        say(wrong->empty() ? "right\t" + name : "wrong\t" + name + ": " + *wrong);
    }
  }
}

}  // namespace heddle::device

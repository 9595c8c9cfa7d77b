// Opening, building, the first launch; and how requests and outcomes are written.
#include "device/build_trial.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/wire_text.hpp"
#include "device/opencl_device.hpp"
#include "device/prepare.hpp"
#include "device/vendor.hpp"

namespace heddle::device {

using core::Failure;
using core::FailureKind;
using Json = nlohmann::json;

namespace {

// What RLIMIT_DATA counts: memory that is private and writable.
Bytes data_in_use() {
  std::ifstream counts("/proc/self/statm");
  Bytes pages = 0;
  for (int field = 0; field < 6 && counts; ++field) counts >> pages;  // the sixth is data and stack
  return counts ? pages * static_cast<Bytes>(::sysconf(_SC_PAGESIZE)) : 0;
}

// A compiler that wants more gets none, and crashes here instead of making the machine kill programs. Not RLIMIT_AS:
// GPU drivers and sanitizers reserve terabytes of addresses that they never use. For the same reason the limit is what
// is in use now and `more`.
void limit_memory(Bytes more) {
  const Bytes now = data_in_use();
  rlimit limit{};
  if (now == 0 || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, now + more);
  ::setrlimit(RLIMIT_DATA, &limit);
}

// Zeros that cost nothing before they are touched. Shared, as the memory limit is for the compiler and counts what is
// private.
class Zeros {
 public:
  explicit Zeros(Bytes size) : size_(size) {
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) at_ = static_cast<std::byte*>(at);
  }
  Zeros(Zeros&& other) noexcept : at_(std::exchange(other.at_, nullptr)), size_(other.size_) {}
  ~Zeros() {
    if (at_) ::munmap(at_, size_);
  }
  std::span<std::byte> bytes() const { return {at_, at_ ? size_ : 0}; }

 private:
  std::byte* at_ = nullptr;
  Bytes size_;
};

Result<std::unique_ptr<Device>> open(const Json& wanted) {
  std::vector<std::string> problems;
  const auto library = core::bytes_of_text(wanted.at("library").get<std::string>());
  for (const Platform& platform : load_platforms({library}, problems)) {
    const auto handles = devices_of(platform);
    if (!handles) continue;
    for (cl_device_id handle : handles.value()) {
      Info info = describe(platform, handle, "");
      // A part is tried on the whole device: it is one compiler with one cache (seen on PoCL 3.1), and our own cache
      // goes by the fingerprint and the id.
      if (info.fingerprint != wanted.at("whole").get<std::string>()) continue;
      info.id = wanted.at("id");
      info.space = wanted.at("space");
      info.parent = wanted.at("parent");
      info.fingerprint = wanted.at("fingerprint");
      core::Settings settings;
      settings.cache = core::bytes_of_text(wanted.at("cache").get<std::string>());
      settings.cache_limit = wanted.at("cache_limit");
      return open_device(platform, handle, {}, std::move(info), build_cache(settings));
    }
  }
  return Failure{FailureKind::unsupported,
                 "no trial build: " + library + " has no such device in another process" +
                     (problems.empty() ? "" : ": " + problems.front()),
                 ""};
}

Status launch(Device& device, Kernel& kernel, const Json& request) {
  core::NdRange range;
  range.offset = request.at("offset");
  range.global = request.at("global");
  range.local = request.at("local");
  range.dimensions = request.at("dimensions");
  auto queue = device.open_queue();
  if (!queue) return queue.failure();
  std::vector<Zeros> memory;  // outlives the buffers
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Argument> arguments;
  for (const Json& given : request.at("arguments")) {
    if (given.contains("scalar")) {
      const std::string bytes = core::bytes_of_text(given.at("scalar").get<std::string>());
      const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
      arguments.emplace_back(Scalar(begin, begin + bytes.size()));
    } else if (given.contains("local")) {
      arguments.emplace_back(LocalMemory{given.at("local").get<Bytes>()});
    } else {
      const Bytes size = std::max<Bytes>(1, given.at("buffer").get<Bytes>());
      const bool of_host = device.info().space == host_memory;
      if (of_host && memory.emplace_back(size).bytes().empty())
        return Failure{FailureKind::allocation, "no memory for a buffer of " + std::to_string(size) + " bytes", ""};
      auto buffer = of_host ? device.wrap(memory.back().bytes()) : device.allocate(size);
      if (!buffer) return buffer.failure();
      if (!of_host) {
        if (auto filled = (*queue)->fill(**buffer, 0, size, std::byte{0}); !filled) return filled.failure();
      }
      arguments.emplace_back(BufferArgument{buffer->get(), core::Access::read});  // no need for a copy of it
      buffers.push_back(std::move(*buffer));
    }
  }
  const Status prepared = prepare(device, **queue, {kernel, arguments, range});
  if (prepared) return prepared;
  (void)(*queue)->finish().ok();  // before the memory goes
  return prepared;
}

Status serve(Device& device, const Json& request, const std::function<void(const std::string&)>& say) {
  const auto text = [&](const char* name) { return core::bytes_of_text(request.at(name).get<std::string>()); };
  auto program = device.build({text("source"), text("options")});
  if (!program) return program.failure();
  auto kernel = (*program)->kernel(text("entry"));
  if (!kernel) return kernel.failure();
  if (!request.contains("arguments")) return core::Done{};
  say(trial_built);
  return launch(device, **kernel, request);
}

}  // namespace

std::string trial_device(const Info& device, const core::Settings& settings, Bytes memory) {
  return Json{{"library", core::text_of_bytes(device.library)},
              {"whole", device.parent.empty() ? device.fingerprint : device.parent},
              {"fingerprint", device.fingerprint},
              {"parent", device.parent},
              {"id", device.id},
              {"space", device.space},
              {"cache", core::text_of_bytes(settings.cache)},
              {"cache_limit", settings.cache_limit},
              {"memory", memory}}
      .dump();
}

std::string outcome_of(const Status& status) {
  if (status) return R"({"ok":true})";
  const Failure& failure = status.failure();
  return Json{{"ok", false},
              {"kind", static_cast<int>(failure.kind)},
              {"what", core::text_of_bytes(failure.what)},
              {"log", core::text_of_bytes(failure.log)}}
      .dump();
}

Status read_outcome(const std::string& text) {
  try {
    const Json out = Json::parse(text);
    if (out.at("ok").get<bool>()) return core::Done{};
    const int kind = out.at("kind");
    if (kind >= 0 && kind <= static_cast<int>(FailureKind::unsupported))
      return Failure{static_cast<FailureKind>(kind), core::bytes_of_text(out.at("what").get<std::string>()),
                     core::bytes_of_text(out.at("log").get<std::string>())};
  } catch (const std::exception&) {  // said below
  }
  return Failure{FailureKind::lost, "the builder's answer cannot be read", ""};
}

void serve_trials(const std::string& device, const std::function<std::optional<std::string>()>& next,
                  const std::function<void(const std::string&)>& say) {
  const Json wanted = Json::parse(device);
  auto opened = open(wanted);
  const Bytes memory = wanted.at("memory"), before = data_in_use();
  limit_memory(memory);
  say(trial_opened);
  while (const auto request = next()) {
    say(trial_taken);
    Status status = core::Done{};
    try {
      status = opened ? serve(**opened, Json::parse(*request), say) : Status(opened.failure());
    } catch (const std::bad_alloc&) {
      status = Failure{FailureKind::build, "its compiler ran out of memory", ""};
    } catch (const std::exception& error) {
      status = Failure{FailureKind::unsupported, std::string("no trial build: ") + error.what(), ""};
    }
    if (data_in_use() > before + memory / 4) say(trial_full);
    say(outcome_of(status));
  }
}

}  // namespace heddle::device

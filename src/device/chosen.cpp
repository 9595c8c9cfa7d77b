// Discovery, choice, cutting CPUs into sub-devices.
#include "device/chosen.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <sched.h>

#include "core/log.hpp"
#include "device/machine.hpp"
#include "device/opencl_device.hpp"
#include "device/proof.hpp"
#include "device/quirks.hpp"
#include "device/trial.hpp"

namespace heddle::device {

using Slots = cl_icd_dispatch;

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Threads that begin while it lives are for computing: woken, they do not take the core of whoever wakes them. Else the
// first part of a CPU that is given work keeps the next ones from theirs: Linux 6.18 left one of two cores idle while
// the first half was at work in every third process that was tried.
class ForComputing {
 public:
  explicit ForComputing(bool wanted) : changed_(wanted && ::sched_getscheduler(0) == SCHED_OTHER) {
    if (changed_) changed_ = set(SCHED_BATCH);
  }
  ~ForComputing() {
    if (changed_) set(SCHED_OTHER);
  }
  ForComputing(const ForComputing&) = delete;
  ForComputing& operator=(const ForComputing&) = delete;

 private:
  static bool set(int policy) {
    const sched_param none{};
    return ::sched_setscheduler(0, policy, &none) == 0;
  }
  bool changed_;
};

// `in_parts`: a CPU is to be cut.
std::vector<Chosen> find_devices(const std::vector<Platform>& platforms, bool in_parts,
                                 std::vector<std::string>& problems) {
  std::vector<Chosen> out;
  int seen[3] = {0, 0, 0};
  for (const Platform& platform : platforms) {
    const auto handles = [&] {
      const ForComputing threads(in_parts && computes_in_threads(name_of(platform)));
      return devices_of(platform);
    }();
    if (!handles) {
      // Seen: PoCL without a writable folder for its cache.
      problems.push_back("OpenCL driver " + platform.library + " offers no device: " + handles.failure().what +
                         "; some need a cache folder they can write to (HOME, XDG_CACHE_HOME, POCL_CACHE_DIR)");
      continue;
    }
    for (cl_device_id handle : handles.value()) {
      Chosen found{platform, handle, {}, describe(platform, handle, "")};
      const int number = seen[static_cast<int>(found.info.kind)]++;
      found.info.id = to_string(found.info.kind) + (number ? std::to_string(number) : "");
      // A CPU computes in the host's memory. Integrated GPUs say that they do, too, but what that promises differs from
      // driver to driver, so they keep a space of their own until one has been tried.
      found.info.space = found.info.kind == Kind::cpu ? host_memory : static_cast<MemorySpace>(out.size()) + 1;
      out.push_back(std::move(found));
    }
  }
  return out;
}

bool matches(const Selector& selector, const Chosen& found) {
  const std::string what = lower(selector.what);
  return what == "all" || what == to_string(found.info.kind) || what == found.info.id;
}

// Ids and kinds first; a part of a name only where nothing else fits, so that "cpu" is not every name with these
// letters in it.
std::vector<std::size_t> choose(const Selector& selector, const std::vector<Chosen>& found) {
  std::vector<std::size_t> out, by_name;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (matches(selector, found[i])) out.push_back(i);
    if (lower(found[i].info.name).find(lower(selector.what)) != std::string::npos) by_name.push_back(i);
  }
  return out.empty() ? by_name : out;
}

std::string listing(const std::vector<Chosen>& found) {
  std::string out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    out += fmt::format("{}{} ({})", i ? ", " : "", found[i].info.id, found[i].info.name);
  }
  return out.empty() ? "none" : out;
}

// Units as equal as they can be: 16 in 3 parts are 6, 5, 5.
Result<std::vector<OwnedSubDevice>> cut(const Chosen& found, int units, int parts) {
  std::vector<cl_device_partition_property> counts = {CL_DEVICE_PARTITION_BY_COUNTS};
  for (int part = 0; part < parts; ++part) counts.push_back(units / parts + (part < units % parts ? 1 : 0));
  counts.push_back(CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
  counts.push_back(0);
  const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, units / parts, 0};
  std::vector<cl_device_id> handles(static_cast<std::size_t>(parts));
  const Dispatch& cl = found.platform.cl;
  cl_uint made = 0;
  cl_int code =
      cl(&Slots::clCreateSubDevices, found.handle, counts.data(), static_cast<cl_uint>(parts), handles.data(), &made);
  if (code != CL_SUCCESS && found.info.units == units && units % parts == 0) {
    code = cl(&Slots::clCreateSubDevices, found.handle, equally, static_cast<cl_uint>(parts), handles.data(), &made);
  }
  if (code != CL_SUCCESS || made != static_cast<cl_uint>(parts)) {
    return failed(core::FailureKind::unsupported, "clCreateSubDevices", code);
  }
  std::vector<OwnedSubDevice> out;
  for (cl_device_id handle : handles) out.emplace_back(handle);
  return out;
}

// Heddle's driver under another name would go round in circles.
bool is_heddle(const Platform& platform) {
  char suffix[16] = "";
  platform.cl(&Slots::clGetPlatformInfo, platform.handle, CL_PLATFORM_ICD_SUFFIX_KHR, sizeof suffix, suffix, nullptr);
  return std::string(suffix) == "HEDDLE";
}

// Devices of all drivers that have proven themselves.
std::vector<Chosen> find_proven(const core::Settings& settings, const core::Lookup& environment, bool in_parts,
                                std::vector<std::string>& problems) {
  Proofs proofs(settings, environment);
  const auto bad = [&](const std::string& library, const std::string& objection) {
    if (!objection.empty())
      problems.push_back("OpenCL driver " + library + " is set aside: " + objection +
                         "; HEDDLE_PROVE=again tries it again, HEDDLE_PROVE=off uses it all the same");
    return !objection.empty();
  };
  std::vector<std::string> libraries = driver_libraries(environment);
  std::erase_if(libraries, [&](const std::string& library) { return bad(library, proofs.objection(library)); });
  std::vector<Platform> platforms = load_platforms(libraries, problems);
  std::erase_if(platforms, is_heddle);
  std::vector<std::string> of_devices;
  std::vector<Chosen> found = find_devices(platforms, in_parts, of_devices);
  bool again = false;
  for (const std::string& library : libraries) {
    std::vector<std::string> shown;
    for (const Chosen& one : found) {
      if (one.platform.library == library) shown.push_back(described(one.info));
    }
    if (shown.empty() || !bad(library, proofs.objection(library, shown))) continue;
    std::erase_if(platforms, [&](const Platform& platform) { return platform.library == library; });
    again = true;
  }
  if (again) {  // without their devices, others have other numbers
    of_devices.clear();
    found = find_devices(platforms, in_parts, of_devices);
  }
  problems.insert(problems.end(), of_devices.begin(), of_devices.end());
  return found;
}

}  // namespace

int units_beside_others(int units) { return units - std::min(2, units / 8); }

std::vector<Selector> parse_selectors(const std::string& text) {
  std::vector<Selector> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto slash = word.rfind('/');
    Selector selector{word.substr(0, slash), 0};
    bool right = !selector.what.empty();
    if (slash != std::string::npos) {
      const char *begin = word.data() + slash + 1, *end = word.data() + word.size();
      auto [stop, error] = std::from_chars(begin, end, selector.parts);
      right = right && error == std::errc() && stop == end && selector.parts >= 1;
    }
    if (!right) {
      throw core::UsageError(
          fmt::format("HEDDLE_DEVICES='{}': '{}' is not a device; all, cpu, gpu, accelerator, an id or a name "
                      "expected, /N to cut it",
                      text, word));
    }
    out.push_back(std::move(selector));
  }
  if (out.empty()) throw core::UsageError("HEDDLE_DEVICES='" + text + "' names no device");
  return out;
}

namespace {

// CPUs that are to be taken for devices with memory of their own.
void set_apart(const std::string& ids, std::vector<Chosen>& devices, int next_space) {
  std::istringstream words(ids);
  for (std::string id; std::getline(words, id, ',');) {
    const auto at =
        std::find_if(devices.begin(), devices.end(), [&](const Chosen& one) { return one.info.id == lower(id); });
    if (at == devices.end())
      throw core::UsageError(
          fmt::format("HEDDLE_APART='{}': no device '{}'; there are: {}", ids, id, listing(devices)));
    if (at->info.space != host_memory) continue;
    at->info.space = next_space++;
    at->info.overlaps = false;
    at->info.one_queue = true;  // PoCL must not have two forms of one kernel at work (quirks.cpp)
    if (at->info.parent.empty()) at->info.parent = at->info.fingerprint;
    at->info.fingerprint += "-apart";  // it is another thing to measure
  }
}

}  // namespace

Choice choose_devices(const core::Settings& settings, const core::Lookup& environment) {
  const std::vector<Selector> selectors = parse_selectors(settings.devices);
  if (settings.exactness != "exact" && settings.exactness != "conformant")
    throw core::UsageError("HEDDLE_EXACTNESS='" + settings.exactness + "': exact or conformant expected");
  Choice choice;
  const bool in_parts =
      std::any_of(selectors.begin(), selectors.end(), [](const Selector& one) { return one.parts > 1; });
  const std::vector<Chosen> found = find_proven(settings, environment, in_parts, choice.problems);
  for (const std::string& problem : choice.problems) core::log_once(core::LogLevel::warn, problem);

  std::vector<int> parts(found.size(), -1);  // -1: not chosen
  for (const Selector& selector : selectors) {
    const auto chosen = choose(selector, found);
    if (chosen.empty() && lower(selector.what) != "all") {
      throw core::UsageError(
          fmt::format("HEDDLE_DEVICES: '{}' matches no device; there are: {}", selector.what, listing(found)));
    }
    for (std::size_t i : chosen) {
      const int before = std::max(1, parts[i]), now = std::max(1, selector.parts);
      if (parts[i] >= 0 && before != now) {
        throw core::UsageError(fmt::format("HEDDLE_DEVICES='{}': {} is chosen both in {} and in {} parts",
                                           settings.devices, found[i].info.id, before, now));
      }
      if (selector.parts > found[i].info.units) {
        throw core::UsageError(fmt::format("HEDDLE_DEVICES: {}/{}: {} has only {} units", selector.what, selector.parts,
                                           found[i].info.id, found[i].info.units));
      }
      parts[i] = std::max(parts[i], selector.parts);
    }
  }

  bool feeds = false;  // devices with memory of their own
  for (std::size_t i = 0; i < found.size(); ++i) feeds |= parts[i] >= 0 && found[i].info.space != host_memory;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Chosen& f = found[i];
    if (parts[i] < 0) continue;
    const bool some = parts[i] == 0 && feeds && f.info.space == host_memory;
    const int units = some ? units_beside_others(f.info.units) : f.info.units;
    std::optional<Result<std::vector<OwnedSubDevice>>> subs;
    if (parts[i] > 1 || units < f.info.units) subs = cut(f, units, std::max(1, parts[i]));
    if (!subs || (some && !*subs)) {
      choice.devices.push_back({f.platform, f.handle, {}, f.info});
      continue;
    }
    if (!*subs) {
      throw core::UsageError(
          fmt::format("HEDDLE_DEVICES: {} cannot be cut into {} parts: {}", f.info.id, parts[i], subs->failure().what));
    }
    std::vector<OwnedSubDevice>& made = subs->value();
    for (std::size_t part = 0; part < made.size(); ++part) {
      const cl_device_id handle = made[part].get();
      Info info = describe(f.platform, handle, f.info.fingerprint);
      info.id = f.info.id + (parts[i] > 1 ? "." + std::to_string(part) : "");
      info.space = f.info.space;
      choice.devices.push_back({f.platform, handle, std::move(made[part]), std::move(info)});
    }
  }
  if (settings.exactness == "exact" && !choice.devices.empty()) {
    const std::string alike = primary_of(choice.devices).info.fingerprint;
    std::erase_if(choice.devices, [&](const Chosen& one) { return one.info.fingerprint != alike; });
  }
  set_apart(settings.apart, choice.devices, static_cast<int>(found.size()) + 1);
  return choice;
}

const Chosen& primary_of(const std::vector<Chosen>& devices) {
  return *std::min_element(devices.begin(), devices.end(),
                           [](const Chosen& a, const Chosen& b) { return comes_before(a.info, b.info); });
}

}  // namespace heddle::device

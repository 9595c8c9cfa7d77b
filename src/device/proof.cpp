// Asks the program `prove`, and remembers.
#include "device/proof.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "core/fingerprint.hpp"
#include "core/log.hpp"
#include "device/quirks.hpp"
#include "process/child.hpp"
#include "process/installed_program.hpp"

namespace heddle::device {

namespace fs = std::filesystem;

namespace {

constexpr int seconds = 10;  // for all devices of a driver; PoCL needs 0.2, NVIDIA's driver about 1

// The file that dlopen would find; empty where that cannot be told (its own list, ld.so.cache, is not read here).
std::string file_of(const std::string& library) {
  if (library.find('/') != std::string::npos) return library;
  void* self = ::dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo size{};
  if (!self || ::dlinfo(self, RTLD_DI_SERINFOSIZE, &size) != 0) return "";
  std::vector<std::max_align_t> room(size.dls_size / sizeof(std::max_align_t) + 1);
  auto* folders = reinterpret_cast<Dl_serinfo*>(room.data());
  *folders = size;
  if (::dlinfo(self, RTLD_DI_SERINFO, folders) != 0) return "";
  for (unsigned i = 0; i < folders->dls_cnt; ++i) {
    const std::string file = folders->dls_serpath[i].dls_name + ("/" + library);
    if (::access(file.c_str(), R_OK) == 0) return file;
  }
  return "";
}

}  // namespace

Verdict read_verdict(const std::string& said) {
  Verdict out;
  std::string trying, end;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    const auto tab = line.find('\t');
    const std::string word = line.substr(0, tab), rest = tab == std::string::npos ? "" : line.substr(tab + 1);
    if (word == "trying") out.devices.push_back(trying = rest);
    if (word == "right" || word == "failed") trying.clear();
    if (word == "wrong") out.objection = "a tiny kernel computed wrong on " + rest;
    if (word == "crashed") end = "crashed (" + rest + ")";
    if (word == "hung") end = "did not end within " + rest;
    if (word == "exited") end = "ended its process (" + rest + ")";
    if (word == "done") end = word;
  }
  out.conclusive = !end.empty();
  if (out.conclusive && end != "done" && out.objection.empty())
    out.objection = trying.empty() ? "it " + end + " before any kernel ran" : "a tiny kernel on " + trying + " " + end;
  return out;
}

Proofs::Proofs(const core::Settings& settings, const core::Lookup& environment)
    : environment_(environment),
      cache_("proof", settings.cache.empty() ? "" : settings.cache + "/proofs", core::Bytes{1} << 20) {
  if (settings.prove != "on" && settings.prove != "off" && settings.prove != "again")
    throw core::UsageError("HEDDLE_PROVE='" + settings.prove + "': on, off or again expected");
  if (settings.prove == "off" || !settings.active || !cache_.enabled()) return;
  program_ = process::installed_program("prove");
  again_ = settings.prove == "again";
}

std::string Proofs::objection(const std::string& library) {
  if (program_.empty()) return "";
  if (!again_) {
    if (const auto kept = cache_.load(key_of(library))) return read_verdict(*kept).objection;
  }
  return prove(library).objection;
}

std::string Proofs::objection(const std::string& library, const std::vector<std::string>& devices) {
  if (program_.empty()) return "";
  const auto kept = cache_.load(key_of(library));
  const Verdict verdict = kept ? read_verdict(*kept) : Verdict{};
  const auto tried = [&](const std::string& device) {
    return std::find(verdict.devices.begin(), verdict.devices.end(), device) != verdict.devices.end();
  };
  // Without a verdict it could not be had just before.
  if (!kept || std::all_of(devices.begin(), devices.end(), tried)) return verdict.objection;
  return prove(library).objection;
}

std::string Proofs::key_of(const std::string& library) const {
  core::Fingerprint key;
  key.add(HEDDLE_VERSION).add(library);
  const std::string file = file_of(library);
  std::error_code ignored;
  struct stat status {};
  if (!file.empty() && ::stat(file.c_str(), &status) == 0)
    key.add(fs::weakly_canonical(file, ignored).string())
        .add(static_cast<unsigned long long>(status.st_size))
        .add(static_cast<unsigned long long>(status.st_mtim.tv_sec))
        .add(static_cast<unsigned long long>(status.st_mtim.tv_nsec));
  for (const char* variable : device_variables()) key.add(environment_(variable).value_or(""));
  return key.hex();
}

Verdict Proofs::prove(const std::string& library) const {
  process::Program program{program_, {"--seconds", std::to_string(seconds), library}, {}};
  for (char** variable = ::environ; variable && *variable; ++variable) program.environment.emplace_back(*variable);
  // Its own limit ends it; the seconds more are for one that does not keep to it.
  auto said =
      process::output_of(program, process::Clock::now() + std::chrono::seconds(seconds + 3), core::Bytes{64} << 10);
  Verdict verdict;
  verdict.conclusive = false;
  if (said) verdict = read_verdict(*said);
  if (verdict.conclusive)
    cache_.store(key_of(library), *said);
  else
    core::log(core::LogLevel::info, fmt::format("OpenCL driver {} could not be proven and is used all the same{}",
                                                library, said ? "" : ": " + said.failure().what));
  return verdict;
}

}  // namespace heddle::device

// Requests, answers, and what to do when there is none.
#include "kernel/compiler.hpp"

#include <chrono>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fingerprint.hpp"
#include "core/log.hpp"
#include "core/wire_text.hpp"
#include "process/installed_program.hpp"

namespace heddle::kernel {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

core::Failure no_facts(const std::string& why) { return {core::FailureKind::unsupported, "no facts: " + why, ""}; }

core::Failure said_once(core::Failure failure) {
  core::log_once(core::LogLevel::warn, "a kernel is not analysed and runs on one device: " + failure.what);
  return failure;
}

// An answer is two lines: forms and what goes with them, then the facts.
struct Answer {
  explicit Answer(const std::string& text)
      : head(Json::parse(text.substr(0, text.find('\n')))),
        facts(text.substr(std::min(text.find('\n'), text.size()))) {}
  Json head;
  std::string facts;
};

Analysis read(const Answer& answer) {
  Analysis out;
  out.facts = core::program_facts_from_json(answer.facts);
  out.options = core::bytes_of_text(answer.head.at("options").get<std::string>());
  for (const auto& [name, form] : answer.head.at("forms").items())
    out.forms[name] = {core::bytes_of_text(form.value("source", "")), form.value("refused", "")};
  return out;
}

}  // namespace

std::string installed_compiler() { return process::installed_program("kernelc"); }

Options options_of(const core::Settings& settings) {
  Options out;
  out.program = settings.kernelc.empty() ? installed_compiler() : settings.kernelc == "off" ? "" : settings.kernelc;
  if (!settings.cache.empty()) out.cache = settings.cache + "/kernels";
  out.cache_limit = settings.cache_limit / 4;  // the rest is for built kernels
  return out;
}

Compiler::Compiler(Options options)
    : options_(std::move(options)), cache_("kernel", options_.cache, options_.cache_limit), owner_(::getpid()) {}

// Includes the program itself: another build of it may answer otherwise.
std::string Compiler::key_of(const std::string& request) const {
  core::Fingerprint key;
  struct stat program {};
  if (::stat(options_.program.c_str(), &program) == 0)
    key.add(static_cast<unsigned long long>(program.st_size))
        .add(static_cast<unsigned long long>(program.st_mtim.tv_sec))
        .add(static_cast<unsigned long long>(program.st_mtim.tv_nsec));
  return key.add(HEDDLE_VERSION).add(request).hex();
}

core::Result<Analysis> Compiler::analyse(const Source& source, const std::vector<std::string>& forms, bool pretty) {
  if (::getpid() != owner_) return no_facts("this process was forked and has no kernel compiler of its own");
  std::error_code ignored;
  Json request = {{"source", core::text_of_bytes(source.text)},
                  {"options", core::text_of_bytes(source.options)},
                  {"want", forms},
                  {"pretty", pretty},
                  {"extensions", source.target.extensions},
                  {"macros", source.target.macros},
                  {"absent_macros", source.target.absent_macros},
                  {"address_bits", source.target.address_bits}};
  request["want"].push_back("facts");
  request["folder"] = fs::current_path(ignored).string();
  std::string text;
  try {
    text = request.dump();
  } catch (const Json::exception&) {
    return no_facts("macros or the current folder hold text that is no UTF-8");
  }
  const std::string key = key_of(text);
  if (const auto kept = cache_.load(key)) {
    try {
      return read(Answer(*kept));
    } catch (const std::exception&) {
      core::log(core::LogLevel::info, "kernel cache: an answer of another version is replaced");
    }
  }
  const std::lock_guard lock(mutex_);
  if (given_up_.count(key)) return no_facts("the kernel compiler did not survive this source before");
  const auto answer = ask(text);
  if (!answer) {
    // Where none could be started the source is not the reason.
    const core::FailureKind kind = answer.failure().kind;
    if (kind != core::FailureKind::unsupported && kind != core::FailureKind::launch) given_up_.insert(key);
    return said_once(no_facts(answer.failure().what));
  }
  try {
    const Answer told(answer.value());
    if (!told.head.at("ok").get<bool>()) {
      const std::string error = core::bytes_of_text(told.head.at("error").get<std::string>());
      if (told.head.value("unsupported", false)) return said_once(no_facts(error));
      return core::Failure{core::FailureKind::build, "the source has errors", error};
    }
    Analysis out = read(told);
    if (!told.head.at("includes").get<bool>()) cache_.store(key, answer.value());
    return out;
  } catch (const std::exception& error) {
    process_.reset();
    given_up_.insert(key);
    return said_once(no_facts(std::string("the kernel compiler's answer cannot be read: ") + error.what()));
  }
}

core::Result<std::string> Compiler::ask(const std::string& request) {
  if (absent_ || options_.program.empty())
    return core::Failure{core::FailureKind::unsupported, "there is no kernel compiler", ""};
  const auto begin = Clock::now(), limit = begin + std::chrono::seconds(options_.limits.seconds);
  for (;;) {
    if (!process_) {
      auto started = Process::start(options_.program, options_.limits);
      if (!started) {
        absent_ = started.failure().kind == core::FailureKind::unsupported;
        return started.failure();
      }
      process_.emplace(std::move(started).value());
    }
    const bool fresh = process_->fresh();
    // Its own limit ends it; the second more is for one that does not keep to it.
    auto answer = process_->exchange(request, limit + std::chrono::seconds(1));
    if (!answer || !options_.resident) process_.reset();
    if (answer) return answer;
    // One that was idle for long has ended by itself; a new one shows whether the source was the reason. One that
    // worked for long has shown it.
    const bool ended_early =
        answer.failure().kind == core::FailureKind::lost && Clock::now() < begin + (limit - begin) / 2;
    if (fresh || !ended_early)
      return core::Failure{answer.failure().kind, "the kernel compiler gave no answer: " + answer.failure().what, ""};
  }
}

}  // namespace heddle::kernel

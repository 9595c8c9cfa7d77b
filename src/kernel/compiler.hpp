// The kernel compiler as the rest of Heddle sees it: facts and rewritten forms of a source, or the reason why there are
// none. Whatever happens to the compiler's process, here it is only a missing answer.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/file_cache.hpp"
#include "core/errors.hpp"
#include "core/facts.hpp"
#include "core/settings.hpp"
#include "kernel/process.hpp"

namespace heddle::kernel {

// The compiler of the device that a source is for: what it predefines (macro_probe.hpp asks it). What is not told is as
// clang has it.
struct Target {
  std::vector<std::string> extensions;
  std::map<std::string, std::string> macros;
  std::vector<std::string> absent_macros;  // that others define, but this one does not
  int address_bits = 64;
};

struct Source {
  std::string text;     // OpenCL C, as given to clCreateProgramWithSource
  std::string options;  // as given to clBuildProgram
  Target target;
};

struct Form {
  std::string source;
  std::string refused;  // why there is no source; empty: there is one
};

struct Analysis {
  core::ProgramFacts facts;
  std::map<std::string, Form> forms;
  std::string options;  // what the forms are to be built with: they are preprocessed, so without -D and -I
};

struct Options {
  std::string program;  // of the compiler; empty: there is none
  std::string cache;    // folder; empty: nothing is kept
  core::Bytes cache_limit = core::Bytes{64} << 20;
  bool resident = true;  // stays until this object goes; else started for each request
  Limits limits;
};

// The compiler that belongs to the program or library in which this code is, wherever that is installed; empty where
// there is none.
std::string installed_compiler();

// As the user's settings say.
Options options_of(const core::Settings& settings);

// Safe to use from several threads.
class Compiler {
 public:
  explicit Compiler(Options options);

  // Failures: `build` where the source has errors (the log says which), `unsupported` where there is no answer, or none
  // for such a source.
  core::Result<Analysis> analyse(const Source& source, const std::vector<std::string>& forms = {}, bool pretty = false);

 private:
  core::Result<std::string> ask(const std::string& request);
  std::string key_of(const std::string& request) const;

  const Options options_;
  const cache::FileCache cache_;
  const pid_t owner_;
  std::mutex mutex_;  // guards all below
  std::optional<Process> process_;
  std::set<std::string> given_up_;  // keys of requests that the compiler did not survive
  bool absent_ = false;             // it cannot be started
};

}  // namespace heddle::kernel

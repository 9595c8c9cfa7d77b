// Whether a driver may be loaded into the host program: one that crashes, hangs or computes wrong at a tiny kernel may
// not. The program `prove` finds out in a process of its own when a driver is first seen; what it said is kept.
#pragma once

#include <string>
#include <vector>

#include "cache/file_cache.hpp"
#include "core/settings.hpp"

namespace heddle::device {

// What the program `prove` said of a driver.
struct Verdict {
  std::vector<std::string> devices;  // that were tried
  std::string objection;             // why it must not be used; empty: it may
  bool conclusive = true;            // else something else ended the trial, and nothing is known
};
Verdict read_verdict(const std::string& said);

class Proofs {
 public:
  // UsageError where settings.prove cannot be read. Nothing is proven, and all are trusted, where it is off, where
  // nothing can be kept, where the driver is to do nothing else, or where the program is not installed.
  Proofs(const core::Settings& settings, const core::Lookup& environment);

  // Why a driver is not to be loaded; empty where nothing speaks against it.
  std::string objection(const std::string& library);
  // The same when it is loaded and shows these devices: it is proven again where one of them never was. Variables of
  // the environment and hardware decide which devices a driver shows.
  std::string objection(const std::string& library, const std::vector<std::string>& devices);

 private:
  std::string key_of(const std::string& library) const;
  Verdict prove(const std::string& library) const;

  std::string program_;  // empty: all are trusted
  bool again_ = false;
  core::Lookup environment_;
  cache::FileCache cache_;
};

}  // namespace heddle::device

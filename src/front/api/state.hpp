// What stands behind the handles of the public header.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "core/settings.hpp"
#include "core/tunable.hpp"
#include "device/machine.hpp"
#include "engine/engine.hpp"
#include "engine/tuning.hpp"
#include "heddle/heddle.hpp"
#include "kernel/compiler.hpp"
#include "profile/store.hpp"

namespace heddle::detail {

struct RuntimeState {
  explicit RuntimeState(const Options& options);

  bool locked;
  core::Settings settings;
  device::Machine machine;
  kernel::Compiler compiler;
  profile::Store store;
  engine::Engine engine;
};

struct BufferState {
  BufferState(std::shared_ptr<RuntimeState> of, std::shared_ptr<engine::Memory> first, bool ours)
      : runtime(std::move(of)), own(ours), memory_(std::move(first)) {}

  std::shared_ptr<engine::Memory> memory() const {
    std::lock_guard hold(mutex_);
    return memory_;
  }
  void replace(std::shared_ptr<engine::Memory> by) {
    std::lock_guard hold(mutex_);
    memory_ = std::move(by);
  }

  const std::shared_ptr<RuntimeState> runtime;
  const bool own;  // not the program's memory

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<engine::Memory> memory_;  // another one after a write while launches use this one
};

// A kernel with parameters, as it was described, and what was made of it.
struct Parametrised {
  core::Tunable tunable;  // without its space
  std::vector<core::Parameter> parameters;
  std::vector<core::Derived> derived;
  std::vector<std::string> constraints;
  bool points_given = false;                                   // else they are as the group
  bool complete = false;                                       // the space is that of all the above
  std::optional<core::KernelFacts> facts;                      // of one configuration
  std::map<std::string, core::Configuration> found;            // by shape: tuned for in this run
  std::map<std::string, core::Configuration> chosen;           // by shape, for launches
  std::map<std::string, std::shared_ptr<engine::Pool>> pools;  // by configuration
};

struct KernelState {
  std::shared_ptr<RuntimeState> runtime;
  std::shared_ptr<engine::Kernel> kernel;  // without variants
  std::mutex mutex;
  std::vector<engine::VariantSource> variants;
  std::shared_ptr<engine::Pool> pool;  // made of them at a launch
  std::optional<Parametrised> parametrised;
};

struct LaunchState {
  std::shared_ptr<RuntimeState> runtime;
  std::shared_ptr<engine::Launch> launch;
};

// Error where it is a failure.
void must(const core::Status& status);
std::optional<std::string> environment(const std::string& name);

// The engine's arguments of those that a launch of `kernel` was given.
std::vector<engine::Argument> engine_arguments(const std::string& kernel, const std::shared_ptr<RuntimeState>& runtime,
                                               std::vector<Argument> arguments);

bool has_parameters(KernelState& state);

// The variants of a kernel with parameters for such a launch: those that were added, and the configuration that is
// known to be best.
std::shared_ptr<engine::Pool> pool_for(const std::string& kernel, KernelState& state, const engine::Request& request);

}  // namespace heddle::detail

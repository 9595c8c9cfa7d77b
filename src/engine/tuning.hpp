// Finds the best configuration of a kernel's parameters on one device, by running it there.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/history.hpp"
#include "core/launch.hpp"
#include "core/tunable.hpp"
#include "decide/search.hpp"
#include "decide/stop.hpp"
#include "device/build_worker.hpp"
#include "device/device.hpp"
#include "device/timing.hpp"
#include "kernel/compiler.hpp"

namespace heddle::profile {
class Store;
}

namespace heddle::engine {

// An argument of the launch that is tuned for. Buffers are copied: what they hold is given back as it was.
struct TuningArgument {
  std::variant<std::span<const std::byte>, device::Scalar, device::LocalMemory> given;
  core::Access access = core::Access::read_write;
  // What is compared to tell a wrong result: numbers with the tolerance below, or bytes.
  enum class Element { bytes, f32, f64 } element = Element::bytes;
  std::span<const std::byte> expected = {};  // what it must hold afterwards; empty: as the reference leaves it
  std::optional<std::size_t> same_as = {};   // an earlier argument that is the same memory
};

// What became of one configuration. The words of a failure are those of the T4 format.
struct Trial {
  core::Configuration configuration;
  std::optional<double> ms;  // none: it failed
  std::string failure;       // constraints, compile, runtime, timeout, correctness
  std::string why;           // in words, with the compiler's where it gave any
  core::Nanoseconds build{0};
  bool remembered = false;  // from an earlier run: nothing was done
};

struct TuningOptions {
  std::string strategy;  // empty: the default
  std::uint64_t seed = 1;
  std::string until = "evaluations >= 400 || seconds >= 60 && since >= 50";  // decide::Stop
  double floor_ms = 0;                                                       // what any run takes; 0: unknown
  double relative = 1e-4, absolute = 1e-6;                                   // of numbers that are compared
  std::vector<core::Configuration> first = {};                               // to begin with: what was good elsewhere
  std::vector<Trial> known = {};  // of an earlier run that was interrupted: not run again
  device::Clock clock = {};
  profile::Store* store = nullptr;        // what was good before is tried first; what is measured is kept
  device::BuildWorker* worker = nullptr;  // builds first, so that a compiler that crashes takes nothing with it
  core::Nanoseconds build_limit = std::chrono::seconds(30);
  // Called after each trial; false: stop, and keep what was found.
  std::function<bool(const Trial&, const decide::Progress&)> heard = {};
};

struct Tuned {
  std::optional<core::Configuration> best;  // none: nothing ran
  double ms = 0;                            // of the best, measured again beside those that came close
  std::vector<Trial> trials;
  double seconds = 0;
  std::string stopped;  // why
};

// `base` computes what a configuration's footprints leave over, and what is right; without one, that is the first
// configuration of the space that runs, and those that do not fit the launch are left out. What the arguments point to
// must stay as it is meanwhile. UsageError for what cannot be tuned; a failure where the device cannot even hold the
// arguments, or the base does not run.
core::Result<Tuned> tune(device::Device& device, const core::Tunable& tunable, const core::Box& space,
                         const std::vector<TuningArgument>& arguments, const std::optional<core::Variant>& base,
                         const TuningOptions& options);

// Milliseconds of each configuration, medians of runs in turn: which is better, not how good they are. None where one
// does not run.
core::Result<std::vector<std::optional<double>>> compare(device::Device& device, const core::Tunable& tunable,
                                                         const core::Box& space,
                                                         const std::vector<TuningArgument>& arguments,
                                                         const std::optional<core::Variant>& base,
                                                         const std::vector<core::Configuration>& configurations,
                                                         int rounds, const TuningOptions& options);

// What the kernel compiler knows of the arguments, by one configuration. Others may do something else to them, so what
// is not declared constant may be written. Where nothing is known, everything may, and is compared byte by byte.
void describe(const core::KernelFacts& facts, std::vector<TuningArgument>& arguments);
// Whether a kernel with these facts can be run in parts by a global offset.
core::Cut cut_of(const core::KernelFacts& facts);

// Under which the store knows a trial: by all that a configuration's meaning depends on; whatever the group, so that
// configurations of one launch share a shape.
core::SampleKey key_of(const core::Tunable& tunable, const core::Configuration& configuration,
                       const device::Info& device, const core::Box& space,
                       const std::vector<TuningArgument>& arguments);

// What the store knows to be good for such a launch, best first: of the same shape on that device, then of the nearest
// shapes there, then of other devices. At most `most`.
std::vector<core::Configuration> remembered(const core::History& history, const core::Tunable& tunable,
                                            const core::SampleKey& like, std::size_t most);

}  // namespace heddle::engine

// The engine as the driver has it, and the kernels that were made for it.
#pragma once

#include <array>
#include <map>

#include "engine/engine.hpp"
#include "front/icd/line.hpp"
#include "front/icd/objects.hpp"
#include "kernel/compiler.hpp"

namespace heddle::front::icd {

// The engine and its devices: one per process, made for the first context that may use it, and leaked like all of the
// driver's state.
struct Loom {
  Loom(const core::Settings& settings, const device::Choice& choice);

  const bool always;  // every launch that can be is the engine's
  std::vector<std::unique_ptr<device::Device>> devices;
  kernel::Compiler compiler;
  engine::Engine engine;
  const bool own_memory;               // the primary device's, not the host's
  Line making;                         // kernels for the engine
  std::atomic<std::size_t> copied{0};  // much at once, between the program's memory and the primary device

  device::Device& primary() const { return *engine.devices()[engine.primary()]; }
};

// The loom for contexts on the virtual device; null where the direct path is all there is to gain.
Loom* loom();
// The process ends: nothing is built any more; and launches may end.
void stop_building();
void finish_weaving();

// A kernel of a program, as the engine knows it.
struct Woven {
  enum class State { unknown, coming, ready, unfit };
  std::atomic<State> state{State::unknown};
  std::shared_ptr<engine::Kernel> kernel;  // where it is ready
  std::mutex mutex;
  struct Verdict {
    int seen = 0;        // launches before its time was taken
    bool timed = false;  // that was long enough for others to help
    int alone = 0;       // launches in a row that the engine left to the primary device
    bool direct = false;
  };
  std::map<std::vector<std::int64_t>, Verdict> verdicts;  // by what launches depend on
  // Those of them that are direct, as numbers that are quickly compared: the last few.
  std::array<std::atomic<std::uint64_t>, 8> direct{};
  std::atomic<unsigned> directs{0};
  std::string why;                         // it is unfit
  std::int64_t largest_group = 0;          // on the primary device, which refuses more
  std::array<size_t, 3> required_group{};  // all zero: any
};

std::shared_ptr<Woven> woven_kernel(Program& program, const std::string& name);
// In the background, unless it was or is being made.
void make_kernel(Loom& loom, const std::shared_ptr<Woven>& woven, engine::KernelSource source);
// Launches of this mark are the direct path's; the latter under the kernel's lock.
void remember_direct(Woven& kernel, std::uint64_t mark);
void decide_direct(Woven& kernel, Woven::Verdict& verdict, std::uint64_t mark);

}  // namespace heddle::front::icd

// A kernel as the program gave it, and what was made of it so far: facts, and builds per device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/answers.hpp"
#include "core/byte_ranges.hpp"
#include "core/facts.hpp"
#include "decide/forms.hpp"
#include "decide/parts.hpp"
#include "device/device.hpp"
#include "engine/pace.hpp"
#include "kernel/compiler.hpp"

namespace heddle::engine {

struct KernelSource {
  std::string name;     // the kernel function
  std::string text;     // OpenCL C
  std::string options;  // for its compiler

  bool operator==(const KernelSource&) const = default;
};

// How one kernel runs in parts.
enum class CutBy {
  nothing,  // only whole
  offset,   // the original with a global offset
  box       // the box form
};

// A form that few launches need, made when one does: "window", for a device whose memory is too small for all of the
// arguments, "merge", for what another memory has written, or "box", where an offset makes a CPU slower.
struct RareForm {
  enum class State { none, building, ready, failed } state = State::none;
  std::unique_ptr<device::Program> program;
  std::unique_ptr<device::Kernel> kernel;
  std::optional<core::Failure> failure;
};

// On one device. `original` runs undivided launches, `parts` the others; it is the original again where that is enough.
struct Built {
  enum class State { none, building, ready, failed } state = State::none;
  std::unique_ptr<device::Program> program, form;
  std::unique_ptr<device::Kernel> original, box;
  std::optional<core::Failure> failure;
  RareForm windows, merging, instead_of_offset;

  RareForm& rare(const std::string& name) {
    return name == "merge" ? merging : name == "box" ? instead_of_offset : windows;
  }
};

// What is done to one argument, or one memory.
struct Touch {
  core::SpanSet read, written;
  bool exact = true;    // every byte of `written` is written
  bool picked = false;  // of those, only what is written will be taken

  // What must be there before: what is perhaps not written, too, so that all of the range is fresh afterwards.
  core::SpanSet needed() const;
  core::SpanSet all() const;
  bool in_place() const { return read.meets(written); }
};

// What was decided for a launch in one slice: it holds for the next one alike, as long as the devices are what they
// were.
struct Choice;
struct Plan {
  std::size_t member = 0, way = 0;
  std::size_t ways = 1;          // of the launch: with other buffers of the same sizes it may have others
  Choice* choice = nullptr;      // that it rests on, in the launch's pool; none: there was nothing to choose
  core::Index items{};           // points: groups that guard themselves may be as many for another number
  bool spread = false;           // as the program wished
  bool always = false;           // to find out at each launch: others may be divided into regions
  std::uint64_t generation = 0;  // of the engine's devices and builds
};

// Which part of such a launch each member computes, once all of them have ended together: their data stays where it is.
struct Cuts {
  std::vector<core::Box> boxes;  // per member; may be empty
  core::Index items{};
  bool spread = false;  // as the program wished
  std::uint64_t generation = 0;
  int uneven = 0;  // launches since, in a row, that did not end together, or took longer
  // Seconds of the launch that showed it, in parts for whoever was free; 0: all points are alike.
  double in_shares = 0;
  std::size_t latest = SIZE_MAX;  // who was the last to end, the last time
};

// What was found out about launches of one shape: the scalars, sizes and grid that decide which bytes are touched.
struct Shape {
  core::Grid grid;
  std::vector<std::vector<std::byte>> scalars;  // per argument; empty for memory
  std::vector<core::Bytes> sizes;               // per argument; of memory
  std::unique_ptr<core::BoundKernel> bound;     // none without facts
  std::vector<Touch> whole;                     // per argument: the undivided launch
  std::string undivided;                        // why it must be; empty: it can be cut
  bool one_space = true;                        // what boxes write in different memories could not be joined by copying
  std::vector<core::Merge> merges;              // per argument, where they could not: how else; empty: in no way
  int axis = 0;                                 // along which cuts leave the fewest pieces
  std::vector<double> variables;                // that times may depend on: sizes, integers, number of groups
  mutable bool footprint_fits = false;          // was looked at: it writes what the base writes
  mutable std::optional<Plan> plan;             // mutable: under the engine's lock, as all here
  mutable std::optional<Cuts> cuts;
  mutable int cuts_failed = 0, no_cuts_for = 0;  // times that they were given up; launches until they are tried again
  mutable decide::Experience experience;         // of devices in different memories
  mutable bool recalled = false;                 // what the store knows of that
  // Points per second of late, per member, with everything: for who wonders whether something hangs; 0: nothing ran.
  mutable std::vector<double> rates;
  mutable std::vector<decide::Forms> forms;  // per member: what those take that can be cut by an offset
};

class Kernel {
 public:
  Kernel(KernelSource source, std::optional<kernel::Analysis> analysis, std::string no_facts, std::size_t members,
         core::BytesAre bytes = core::BytesAre::copied);

  const KernelSource& source() const { return source_; }
  const core::KernelFacts* facts() const { return facts_; }
  CutBy cut_by() const { return cut_by_; }
  const std::string& why_not() const { return why_not_; }  // where it cannot be cut
  const kernel::Analysis* analysis() const { return analysis_ ? &*analysis_ : nullptr; }

  // Builds all that a device needs; touches nothing else, so that it can run beside everything.
  Built build_on(device::Device& device) const;
  RareForm build_on(device::Device& device, const kernel::Analysis& analysis, const std::string& form) const;

  std::vector<Built> built;  // per member
  std::vector<Pace> paces;   // and how fast it was there
  // The same in the store: its fingerprint there, once that was looked up.
  std::string paces_kept_as;

  // The shape of a launch, remembered for the next.
  std::shared_ptr<const Shape> shape(const core::Grid& grid, const std::vector<std::vector<std::byte>>& scalars,
                                     const std::vector<core::Bytes>& sizes);
  // What a box of groups touches, per argument.
  std::vector<Touch> touches(const Shape& shape, const core::Box& groups) const;

 private:
  KernelSource source_;
  std::optional<kernel::Analysis> analysis_;
  const core::KernelFacts* facts_ = nullptr;
  CutBy cut_by_ = CutBy::nothing;
  std::string why_not_;
  core::BytesAre bytes_;                              // between the devices
  std::vector<std::shared_ptr<const Shape>> shapes_;  // the newest first; launches hold them, too
};

}  // namespace heddle::engine

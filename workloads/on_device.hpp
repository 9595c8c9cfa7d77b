// A workload's instance on one device: what tests, the demo and benchmarks use to run any variant on any box and check
// it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/timing.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {

// One variant on one box.
struct Piece {
  std::size_t variant;
  core::Box box;
};

// The whole space as pieces: `variant` takes about `slices` equal ones along the slowest dimension, and the base
// variant fills what its footprint leaves over. Empty where that cannot be done: a variant that cannot be cut on a
// space that it does not fit, or in more than one slice.
std::vector<Piece> pieces(const Workload& workload, std::size_t variant, const core::Box& space, int slices);

class OnDevice {
 public:
  // Allocates the arguments; the device must outlive it, the instance need not.
  static core::Result<std::unique_ptr<OnDevice>> open(device::Device& device, const Workload& workload,
                                                      Instance instance);

  // Copies inputs in, a poison pattern into write-only arrays, and behind the end of every array what shows that a
  // kernel was there.
  core::Status reset();
  core::Status prepare(const Piece& piece);
  core::Result<core::Sample> run(const Piece& piece, const device::Clock& clock);  // and waits
  // Queues all pieces, then waits once: what slicing costs.
  core::Result<core::Nanoseconds> run_all(const std::vector<Piece>& pieces);
  core::Status read(std::size_t argument, std::span<std::byte> to);  // the begin of an array
  // Reads the arrays back and compares, also what lies behind their ends; a line that says what is wrong, or nothing.
  core::Result<std::optional<std::string>> check(const Instance& expected);

  core::Nanoseconds build_time() const { return build_time_; }  // of all variants built so far

 private:
  OnDevice(device::Device& device, const Workload& workload, Instance instance);
  core::Result<device::Kernel*> kernel(std::size_t variant);
  device::Run range(device::Kernel& kernel, const Piece& piece) const;

  device::Device& device_;
  const Workload& workload_;
  Instance instance_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Queue> untimed_;  // for run_all, which needs no event's times
  std::vector<std::unique_ptr<device::Buffer>> buffers_;
  std::vector<device::Argument> arguments_;
  std::map<std::size_t, std::pair<std::unique_ptr<device::Program>, std::unique_ptr<device::Kernel>>> kernels_;
  core::Nanoseconds build_time_{0};
};

}  // namespace heddle::workloads

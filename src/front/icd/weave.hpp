// Commands that the engine runs in place of the driver below: launches that several devices may share, and copies of
// much ordinary memory. All others keep the direct path; what both use, they use in turn.
#pragma once

#include "front/icd/enqueue.hpp"
#include "front/icd/loom.hpp"

namespace heddle::front::icd {

// A direct launch whose time, by itself, tells whether others could help.
struct Timing {
  std::shared_ptr<Woven> kernel;
  std::vector<std::int64_t> shape;
  std::uint64_t mark;
};
void note_time(const Queue& queue, const Timing& timing, core::Nanoseconds time);

// Of what its arguments are, which may take a launch from one shape to another.
std::uint64_t mark_of_extents(const Kernel& kernel);

// Nothing: the direct path takes it.
std::optional<cl_int> weave_launch(Queue& queue, Kernel& kernel, cl_uint dimensions, const size_t* offset,
                                   const size_t* global, const size_t* local, const Waits& waits,
                                   std::optional<Timing>& timing);
std::optional<cl_int> weave_write(Queue& queue, Memory& memory, size_t offset, size_t size, const void* from,
                                  const Waits& waits);
std::optional<cl_int> weave_read(Queue& queue, Memory& memory, size_t offset, size_t size, void* to,
                                 const Waits& waits);

}  // namespace heddle::front::icd

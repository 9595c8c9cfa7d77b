// What deciding needs to know of a kernel, derived from its facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/byte_ranges.hpp"

namespace heddle::core {

// Bytes of written and updated arguments of a box come as one piece each (SKMD 3.2): they can be gathered by copying
// ranges. False where they are unknown.
bool contiguous(const BoundKernel& kernel, const Box& groups);

// The axis along which cutting `groups` in two leaves the fewest pieces of bytes; among equals the slowest. Where they
// are to be copied, of those that are written, then read. In a memory that all share, of both; where one axis leaves
// more of these and another as many more of those, as in a transposition, the faster one: whoever walks along it then
// comes by half of the pages. Nothing where no axis has two groups.
enum class BytesAre { copied, shared };
std::optional<int> best_axis(const BoundKernel& kernel, const Box& groups, BytesAre bytes = BytesAre::copied);

// Whether all groups do the same amount of work (DySel 3.4), but for those at the edge of the launch: no loop whose
// length, and no branch between two kinds of work, depends on data or on the group's place.
bool uniform_work(const KernelFacts& facts);

// What a kernel does beside writing outputs that it does not read (DySel 3.4), in words; empty: nothing.
std::vector<std::string> side_effects(const KernelFacts& facts);

// Whether all that a kernel leaves behind is in its arguments: given others, it touches nothing else.
bool writes_arguments_alone(const KernelFacts& facts);

// How the results of boxes that ran in different memories become one argument.
enum class Merge {
  nothing,       // it is not written
  copy,          // copy each box's bytes: they are known exactly
  merge_kernel,  // run the kernel again for its addresses: they depend on nothing that it writes
  difference,    // compare with a snapshot
  deltas,        // add up what each memory's copy changed; or and, or, xor
  none           // boxes in different memories cannot be merged
};

const char* to_string(Merge);

// For one argument and a way of cutting; `groups` is one of the boxes. Whether other arguments are the same memory is
// for the caller to look into.
Merge merge_of(const BoundKernel& kernel, std::size_t argument, const Box& groups);

// Whether the kernel, run once more on what it has written, goes the same ways and stores at the same places, on
// whatever device: nothing that it writes, no floating-point arithmetic, atomic or local memory decides on that.
bool addresses_stay(const KernelFacts& facts);

// Arguments whose contents decide on that, ascending.
std::vector<int> sources_of_addresses(const KernelFacts& facts);

// What atomics do to an argument, where it can be told from what a memory's copy was before and after: "add", "and",
// "or", "xor", or "min" or "max" with "signed_" or "unsigned_" before it, for all of them; empty: nothing of the
// kind.
std::string atomic_merge(const KernelFacts& facts, std::size_t argument);

// Bytes of what must not be torn where an argument is compared with a snapshot: what all accesses that write to it have
// in common, with their addresses, at most 8. 0: none does.
std::int64_t store_width(const KernelFacts& facts, std::size_t argument);

}  // namespace heddle::core

// Which bytes of each argument a box of groups reads, writes and updates: facts evaluated for one launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/box.hpp"
#include "core/facts.hpp"
#include "core/spans.hpp"
#include "core/units.hpp"

namespace heddle::core {

enum class Certainty {
  exact,   // these bytes, all of them and no others
  may,     // no others, but perhaps not all
  unknown  // any byte of the argument
};

const char* to_string(Certainty);

struct Stride {
  std::int64_t step = 0, count = 0;

  bool operator==(const Stride&) const = default;
};

// `length` bytes from `begin` on, repeated along every stride, as far as they lie within the clip. Offsets count from
// the beginning of the argument and may be outside of it where a kernel leaves its buffer.
struct Run {
  std::int64_t begin = 0, length = 0;
  std::vector<Stride> strides;
  std::int64_t clip_begin = std::numeric_limits<std::int64_t>::min();
  std::int64_t clip_end = std::numeric_limits<std::int64_t>::max();

  bool operator==(const Run&) const = default;
  std::int64_t pieces() const;  // contiguous ones, at most
};

// Runs that lie side by side in all their repetitions become one: what a kernel touches in several statements is often
// one piece.
void join_neighbours(std::vector<Run>& runs);

struct ByteRanges {
  Certainty certainty = Certainty::exact;
  std::vector<Run> runs;  // of no meaning where unknown

  bool none() const { return certainty != Certainty::unknown && runs.empty(); }
  std::int64_t pieces() const;
};

// The ranges within a buffer of `size` bytes as sorted, disjoint, not adjacent spans; all of it where they are unknown
// or would be more than `most` pieces (then they are no longer exact: the caller compares pieces() with `most`).
std::vector<Span> spans(const ByteRanges& ranges, Bytes size, std::int64_t most = 1 << 20);

// A launch as the program wrote it, in whole groups.
struct Grid {
  Index groups{1, 1, 1};
  Index local{1, 1, 1};
  Index offset{0, 0, 0};  // work-items
  int dimensions = 1;
};

struct Touched {
  ByteRanges read, written, updated;  // updated: by atomics
};

// A kernel's facts with the scalars of one launch filled in. Ranges are per argument: two arguments may be the same
// buffer or overlapping parts of one, and only the caller knows.
class BoundKernel {
 public:
  // `scalars`: the bytes of each argument that is passed by value, empty for the others. The facts must outlive this.
  // UsageError where the number of arguments is another.
  BoundKernel(const KernelFacts& facts, const Grid& grid, std::vector<std::vector<std::byte>> scalars);
  ~BoundKernel();
  BoundKernel(BoundKernel&&) noexcept;

  const KernelFacts& facts() const;
  const Grid& grid() const;
  // Per argument, for a box of groups (not of work-items) inside the launch.
  std::vector<Touched> touched(const Box& groups) const;

 private:
  class Evaluation;
  std::unique_ptr<Evaluation> evaluation_;
};

}  // namespace heddle::core

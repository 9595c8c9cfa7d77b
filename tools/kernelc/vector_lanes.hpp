// Lanes of vectors, looked up through the instructions that put vectors together.
#pragma once

namespace llvm {
class Value;
}

namespace heddle::kernelc {

// A lane of `value`; a number of -1: all of it, which is a scalar.
struct Lane {
  const llvm::Value* value;
  int number;
};

// Where it comes from.
Lane origin_of(Lane lane);

// Whether a lane was ever set.
enum class LaneContent { set, undefined, either };
LaneContent content_of(const Lane& lane);

}  // namespace heddle::kernelc

// What a launch is given, and what a variant that prepares its own inputs makes of it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/box.hpp"
#include "engine/memory.hpp"

namespace heddle::engine {

// A buffer, or a part of one, as an argument.
struct View {
  std::shared_ptr<Memory> memory;  // shared: a launch may outlive the program's hold on it
  Bytes begin = 0, size = 0;
};
using Argument = std::variant<View, device::Scalar, device::LocalMemory>;

// What the program's function for a variant sees of an argument: nothing of those that it does not depend on.
struct Input {
  std::span<const std::byte> bytes;
  bool value = false;  // not a buffer
};
struct NewArray {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};
// An argument for its kernel as it gives it: one of the launch's, by its position, or its own.
using MadeArgument = std::variant<std::size_t, NewArray, device::Scalar, device::LocalMemory>;
using Prepare = std::function<std::vector<MadeArgument>(const core::Index& points, const std::vector<Input>& inputs)>;

// What prepared inputs were made from. The same function makes the same of it.
struct Origin {
  struct Part {
    std::weak_ptr<Memory> memory;  // weak: what was made of it is of no use after its end
    Bytes begin = 0, size = 0;
    std::uint64_t version = 0;
  };
  std::vector<Part> parts;
  std::vector<device::Scalar> values;
  core::Index points{};

  bool same_as(const Origin& other) const;
};
struct Prepared {
  Origin origin;
  std::vector<std::variant<std::size_t, Argument>> arguments;
};

// Of one variant of a pool. The engine's to touch, under its lock, but for the function.
struct Preparation {
  Prepare run;
  std::vector<std::size_t> reads;  // arguments of the launch that it depends on; empty: all that are only read
  bool same_points = false;        // a group computes the launch's points that its place says
  bool failed = false;             // the variant is left out
  std::vector<std::shared_ptr<const Prepared>> done;  // the newest first
};

}  // namespace heddle::engine

// A workload, described once: sizes, inputs, variants, reference. Tests, benchmarks, demo and training all use this.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/launch.hpp"
#include "core/tunable.hpp"
#include "core/variant.hpp"

namespace heddle::workloads {

enum class Size {
  tiny,
  normal,
  medium,
  large
};  // tiny: milliseconds on one core, for tests; normal is called "default" to people

// One of four, one for each size.
template <class T>
constexpr T by_size(Size size, T tiny, T normal, T medium, T large) {
  return size == Size::tiny ? tiny : size == Size::normal ? normal : size == Size::medium ? medium : large;
}

const char* to_string(Size);
Size parse_size(const std::string& text);  // UsageError for anything but tiny, default, medium, large

enum class Element { f32, i32, u32, u8 };

// One kernel argument as it stands in host memory: an array, or a scalar (one element).
struct Argument {
  std::string name;
  bool scalar = false;
  core::Access access = core::Access::read;  // what the kernel does to it
  Element element = Element::f32;
  std::vector<std::byte> bytes;
  bool constant = false;  // some variants read it as `constant`: see fits_constant

  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// An element is right if |actual - expected| <= absolute + relative * |expected|. Integers are compared exactly.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

// A problem to solve: one workload at one size with one input, all arguments in the order of the kernel's signature.
// Written arrays have their size, but no result yet (in-place ones hold their input).
struct Instance {
  core::Box space;  // the points to compute
  std::vector<Argument> arguments;
  Tolerance tolerance;    // of its results; the reason stands beside it in the workload's file
  double bytes = 0;       // least memory traffic, read and written: with the operations, the floor of any run
  double operations = 0;  // arithmetic
};

struct Workload {
  std::string name;
  std::string what;                 // what it computes, in a line
  std::vector<std::string> inputs;  // names of its inputs, the usual one first
  std::vector<core::Variant>
      variants;  // all of one signature; the first is the base: simplest, guarded or of footprint one
  Instance (*make)(Size size, const std::string& input, std::uint64_t seed);  // call the one below: it checks `input`
  void (*reference)(Instance& instance);  // computes on the host what the kernels leave in the written arrays
  core::Tunable (*tunable)() = nullptr;   // a kernel of the same signature with parameters; made when asked for, as
                                          // its space takes a while to count
};

// An instance of the workload; UsageError that lists its inputs for one that it does not have.
Instance make(const Workload& workload, Size size, const std::string& input, std::uint64_t seed);

// The launch of one variant as history knows it: kernel, space, group and the sizes and integers among the arguments.
core::Launch launch_of(const Instance& instance, const core::Variant& variant);

// All workloads, in the order of workloads/README.md.
const std::vector<const Workload*>& all();
const Workload& find(std::string_view name);  // UsageError that lists the names there are

// What is wrong with `actual`, in one line with the first wrong element and how many there are; nothing where all is
// right. A reference that is not finite would accept anything or nothing: that is told as an error of its own.
std::optional<std::string> compare(const Workload& workload, const Instance& expected, const Instance& actual);

// A byte pattern that no result has: -4.3e8 as a float.
constexpr std::byte poison_byte{0xCD};

// Overwrites every write-only array with it, so that what a kernel left out shows.
void poison(Instance& instance);

// Makers of arguments.
template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, float>)
    return Element::f32;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return Element::i32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return Element::u32;
  else {
    static_assert(std::is_same_v<T, std::uint8_t>);
    return Element::u8;
  }
}

template <class T>
Argument array(std::string name, core::Access access, std::size_t count) {
  return {std::move(name), false, access, element_of<T>(), std::vector<std::byte>(count * sizeof(T)), false};
}

template <class T>
Argument constant_array(std::string name, std::size_t count) {
  Argument out = array<T>(std::move(name), core::Access::read, count);
  out.constant = true;
  return out;
}

template <class T>
Argument scalar(std::string name, T value) {
  Argument out{std::move(name), true, core::Access::read, element_of<T>(), std::vector<std::byte>(sizeof(T)), false};
  out.as<T>()[0] = value;
  return out;
}

// Uniform in [low, high), from the upper 24 bits of a draw. The same on every machine and compiler: the product of two
// floats is exact in double, so that fusing it with the addition changes nothing.
inline float uniform(std::uint64_t draw, float low, float high) {
  const double fraction = static_cast<double>(draw >> 40) * 0x1p-24;
  const auto out = static_cast<float>(low + static_cast<double>(high - low) * fraction);
  return out < high ? out : std::nextafter(high, low);  // rounding may reach the end, as 1.5 from 0.5 to 1.5
}

inline float uniform(std::mt19937_64& random, float low, float high) { return uniform(random(), low, high); }

// What every size keeps to: kernels count elements with an int, also in groups that reach beyond the end (a million, to
// be safe), and all arrays together, of four bytes an element, stay below 4 GB.
constexpr bool fits(std::int64_t longest_array, std::int64_t all_arrays) {
  return longest_array <= std::numeric_limits<std::int32_t>::max() - 1'000'000 && 4 * all_arrays <= 4'000'000'000;
}

// What an array keeps to that some variants read as `constant`, which is 64 KB on every device: with what tests put
// behind its end, and at every size.
constexpr std::int64_t constant_tail_bytes = 4096;
constexpr bool fits_constant(std::int64_t elements) { return 4 * elements + constant_tail_bytes <= 65'536; }

}  // namespace heddle::workloads

// Tiny instances of workloads, and their arguments by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "workloads/workload.hpp"

namespace heddle::workloads {

constexpr std::uint64_t seed = 7;

inline Argument& argument(Instance& instance, std::string_view name) {
  for (Argument& a : instance.arguments) {
    if (a.name == name) return a;
  }
  throw core::InternalError("no argument " + std::string(name));
}

template <class T>
std::span<T> values(Instance& instance, std::string_view name) {
  return argument(instance, name).as<T>();
}

inline std::span<float> floats(Instance& instance, std::string_view name) { return values<float>(instance, name); }

inline std::int32_t& integer(Instance& instance, std::string_view name) {
  return values<std::int32_t>(instance, name)[0];
}

// A tiny instance of the workload's usual input, or of the one named.
inline Instance tiny(std::string_view name, const std::string& input = "") {
  const Workload& w = find(name);
  return make(w, Size::tiny, input.empty() ? w.inputs.front() : input, seed);
}

// Replaces an array, whatever its size was.
template <class T>
void set(Instance& instance, std::string_view name, const std::vector<T>& to) {
  const auto bytes = std::as_bytes(std::span(to));
  argument(instance, name).bytes.assign(bytes.begin(), bytes.end());
}

inline void expect_values(Instance& instance, const std::string& name, const std::vector<float>& expected) {
  const auto actual = floats(instance, name);
  ASSERT_GE(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]) << name << "[" << i << "]";
}

}  // namespace heddle::workloads

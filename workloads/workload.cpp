// The table of workloads, comparison of results and poisoning of outputs.
#include "workloads/workload.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

struct Mismatch {
  std::size_t count = 0, first = 0;
  double expected = 0, actual = 0;
};

// Reference values are finite, or the reference is wrong.
std::optional<std::string> not_finite(const Workload& workload, const Argument& expected) {
  if (expected.element != Element::f32) return std::nullopt;
  const auto want = expected.as<float>();
  const auto found = std::find_if(want.begin(), want.end(), [](float v) { return !std::isfinite(v); });
  if (found == want.end()) return std::nullopt;
  return fmt::format("{}: the reference gives {} for {}[{}]", workload.name, *found, expected.name,
                     found - want.begin());
}

template <class T>
Mismatch mismatch(const Argument& expected, const Argument& actual, const Tolerance& tolerance) {
  const auto want = expected.as<T>(), got = actual.as<T>();
  Mismatch out;
  for (std::size_t i = 0; i < want.size(); ++i) {
    bool right = want[i] == got[i];
    if constexpr (std::is_floating_point_v<T>) {
      const double w = want[i], g = got[i];
      right = right || std::abs(g - w) <= tolerance.absolute + tolerance.relative * std::abs(w);
    }
    if (right) continue;
    if (out.count++ == 0) {
      out.first = i;
      out.expected = static_cast<double>(want[i]);
      out.actual = static_cast<double>(got[i]);
    }
  }
  return out;
}

Mismatch mismatch(const Argument& expected, const Argument& actual, const Tolerance& tolerance) {
  switch (expected.element) {
    case Element::f32:
      return mismatch<float>(expected, actual, tolerance);
    case Element::i32:
      return mismatch<std::int32_t>(expected, actual, tolerance);
    case Element::u32:
      return mismatch<std::uint32_t>(expected, actual, tolerance);
    case Element::u8:
      return mismatch<std::uint8_t>(expected, actual, tolerance);
  }
  throw core::InternalError("Element out of range");
}

}  // namespace

const char* to_string(Size size) { return by_size(size, "tiny", "default", "medium", "large"); }

Size parse_size(const std::string& text) {
  for (Size size : {Size::tiny, Size::normal, Size::medium, Size::large}) {
    if (text == to_string(size)) return size;
  }
  throw core::UsageError("size '" + text + "': tiny, default, medium or large expected");
}

Instance make(const Workload& workload, Size size, const std::string& input, std::uint64_t seed) {
  if (std::find(workload.inputs.begin(), workload.inputs.end(), input) == workload.inputs.end()) {
    throw core::UsageError(
        fmt::format("{} has no input '{}'; there are: {}", workload.name, input, fmt::join(workload.inputs, ", ")));
  }
  return workload.make(size, input, seed);
}

core::Launch launch_of(const Instance& instance, const core::Variant& variant) {
  core::Launch out{core::fingerprint_of(variant), instance.space, variant.group, {}};
  for (const Argument& a : instance.arguments) {
    core::Argument argument{
        a.scalar ? core::Argument::Kind::scalar : core::Argument::Kind::buffer, a.access, a.bytes.size(), {}};
    if (a.scalar && a.element == Element::f32) argument.value = double{a.as<float>()[0]};
    if (a.scalar && a.element == Element::i32) argument.value = std::int64_t{a.as<std::int32_t>()[0]};
    if (a.scalar && a.element == Element::u32) argument.value = std::int64_t{a.as<std::uint32_t>()[0]};
    if (a.scalar && a.element == Element::u8) argument.value = std::int64_t{a.as<std::uint8_t>()[0]};
    out.arguments.push_back(std::move(argument));
  }
  return out;
}

const std::vector<const Workload*>& all() {
  static const std::vector<const Workload*> table = {
#define ADDRESS(name) &name,
      HEDDLE_WORKLOADS(ADDRESS)
#undef ADDRESS
  };
  return table;
}

const Workload& find(std::string_view name) {
  std::vector<std::string> names;
  for (const Workload* w : all()) {
    if (w->name == name) return *w;
    names.push_back(w->name);
  }
  throw core::UsageError(fmt::format("no workload '{}'; there are: {}", name, fmt::join(names, ", ")));
}

std::optional<std::string> compare(const Workload& workload, const Instance& expected, const Instance& actual) {
  for (std::size_t k = 0; k < expected.arguments.size(); ++k) {
    const Argument &want = expected.arguments[k], &got = actual.arguments[k];
    if (want.scalar) continue;
    if (want.bytes.size() != got.bytes.size()) throw core::InternalError("compared arrays differ in size");
    if (want.access == core::Access::read) {
      if (want.bytes != got.bytes)
        return fmt::format("{}: read-only argument {} was changed", workload.name, want.name);
      continue;
    }
    if (auto wrong = not_finite(workload, want)) return wrong;
    const Mismatch m = mismatch(want, got, expected.tolerance);
    if (m.count == 0) continue;
    return fmt::format(
        "{}: {} of {} elements of {} are wrong; the first is [{}]: {} instead of {} (tolerance {} + {} x)",
        workload.name, m.count, want.bytes.size() / (want.element == Element::u8 ? 1 : 4), want.name, m.first, m.actual,
        m.expected, expected.tolerance.absolute, expected.tolerance.relative);
  }
  return std::nullopt;
}

void poison(Instance& instance) {
  for (Argument& a : instance.arguments) {
    if (a.access == core::Access::write) std::fill(a.bytes.begin(), a.bytes.end(), poison_byte);
  }
}

}  // namespace heddle::workloads

// What is known of configurations before they are tried: from the kernel compiler, and from the store.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "engine/tuning.hpp"

namespace heddle::engine {

core::Cut cut_of(const core::KernelFacts& facts) {
  return facts.obstacles.empty() && core::offset_is_enough(facts) ? core::Cut::by_offset : core::Cut::none;
}

void describe(const core::KernelFacts& facts, std::vector<TuningArgument>& arguments) {
  if (facts.arguments.size() != arguments.size())
    throw core::UsageError(fmt::format("kernel '{}': {} arguments given, {} expected", facts.name, arguments.size(),
                                       facts.arguments.size()));
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    using Element = TuningArgument::Element;
    const std::string& type = facts.arguments[a].type;
    arguments[a].element = type.find("double") != type.npos  ? Element::f64
                           : type.find("float") != type.npos ? Element::f32
                                                             : Element::bytes;
    bool read = false, written = false;
    for (const core::AccessFacts& access : facts.accesses) {
      if (access.argument >= 0 && static_cast<std::size_t>(access.argument) != a) continue;
      read |= access.kind != core::AccessKind::write;
      written |= access.kind != core::AccessKind::read;
    }
    const bool constant = facts.arguments[a].space == core::AddressSpace::constant || type.find("const ") != type.npos;
    arguments[a].access = constant           ? core::Access::read
                          : written && !read ? core::Access::write
                                             : core::Access::read_write;
  }
  // The same memory twice: whatever is done to it is done to both.
  for (TuningArgument& argument : arguments) {
    if (!argument.same_as) continue;
    TuningArgument& first = arguments[*argument.same_as];
    if (argument.access != first.access) argument.access = first.access = core::Access::read_write;
  }
}

core::SampleKey key_of(const core::Tunable& tunable, const core::Configuration& configuration,
                       const device::Info& device, const core::Box& space,
                       const std::vector<TuningArgument>& arguments) {
  core::Launch launch{.space = space};
  for (const TuningArgument& argument : arguments) {
    core::Argument& to = launch.arguments.emplace_back();
    to.access = argument.access;
    if (const auto* bytes = std::get_if<std::span<const std::byte>>(&argument.given)) {
      to.kind = core::Argument::Kind::buffer, to.size = bytes->size();
    } else if (const auto* scalar = std::get_if<device::Scalar>(&argument.given)) {
      to.size = scalar->size();
      std::int64_t value = 0;
      std::memcpy(&value, scalar->data(), std::min(scalar->size(), sizeof value));
      if (argument.element == TuningArgument::Element::bytes)
        to.value = value;
      else
        to.value = 0.0;  // real numbers are no part of a shape
    } else {
      to.kind = core::Argument::Kind::local, to.size = std::get<device::LocalMemory>(argument.given).size;
    }
  }
  core::Variant plain{.source = tunable.source, .entry = tunable.entry, .options = tunable.options};
  for (const auto* extents : {&tunable.group, &tunable.points})
    plain.options += fmt::format("\n{}", fmt::join(*extents, ","));
  for (const core::Derived& derived : tunable.space.derived())
    plain.options += fmt::format("\n{}={}", derived.name, derived.expression);
  plain.options += tunable.guarded ? "\nguarded" : "";
  return {core::fingerprint_of(plain), "tuned", to_string(configuration), device.fingerprint, core::shape_of(launch)};
}

namespace {

// How far two shapes are from each other: by the logarithms of their numbers; infinite where they differ in more.
double shape_distance(const std::string& a, const std::string& b) {
  double out = 0;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const bool digits =
        std::isdigit(static_cast<unsigned char>(a[i])) && std::isdigit(static_cast<unsigned char>(b[j]));
    if (!digits) {
      if (a[i++] != b[j++]) return decide::Tried::failed;
      continue;
    }
    std::size_t n = 0, m = 0;
    const double x = std::stod(a.substr(i), &n), y = std::stod(b.substr(j), &m);
    out += std::abs(std::log2((x + 1) / (y + 1)));
    i += n, j += m;
  }
  return i == a.size() && j == b.size() ? out : decide::Tried::failed;
}

}  // namespace

std::vector<core::Configuration> remembered(const core::History& history, const core::Tunable& tunable,
                                            const core::SampleKey& like, std::size_t most) {
  // The best of each device and shape, nearest first. Of those that are about as fast, the one that was measured most:
  // that is the one that won in turn with others, and no lucky first try.
  struct Found {
    double far, time;
    std::int64_t count;
    std::string parameters;
  };
  using Where = std::pair<std::string, std::string>;
  std::map<Where, double> least;
  const auto counts = [&](const core::SampleKey& key, const core::Record& record) {
    return key.kernel == like.kernel && key.variant == like.variant && record.aggregate.count > 0 &&
           record.aggregate.failures == 0;
  };
  for (const auto& [key, record] : history.records()) {
    if (!counts(key, record)) continue;
    const auto [at, added] = least.try_emplace({key.device, key.shape}, record.median());
    at->second = std::min(at->second, record.median());
  }
  std::map<Where, Found> best;
  for (const auto& [key, record] : history.records()) {
    if (!counts(key, record) || record.median() > 1.05 * least.at({key.device, key.shape})) continue;
    const double far = shape_distance(key.shape, like.shape) + (key.device == like.device ? 0 : 1000);
    if (!std::isfinite(far)) continue;
    const Found found{far, record.median(), record.aggregate.count, key.parameters};
    const auto [at, added] = best.try_emplace({key.device, key.shape}, found);
    if (added) continue;
    const Found& other = at->second;
    if (found.count > other.count || (found.count == other.count && found.time < other.time)) at->second = found;
  }
  std::vector<Found> ranked;
  for (auto& [where, found] : best) ranked.push_back(std::move(found));
  std::stable_sort(ranked.begin(), ranked.end(), [](const Found& a, const Found& b) { return a.far < b.far; });
  std::vector<core::Configuration> out;
  for (const Found& found : ranked) {
    if (out.size() >= most) break;
    try {
      core::Configuration configuration = core::parse_configuration(found.parameters);
      (void)tunable.space.number_of(configuration);  // the space may have changed since
      if (std::find(out.begin(), out.end(), configuration) == out.end()) out.push_back(std::move(configuration));
    } catch (const core::UsageError& error) {
      core::log(core::LogLevel::debug, fmt::format("'{}' is not used: {}", found.parameters, error.what()));
    }
  }
  return out;
}

}  // namespace heddle::engine

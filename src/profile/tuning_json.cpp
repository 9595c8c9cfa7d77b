// Everything that is written here is read back by the code in json_parts.
#include "profile/tuning_json.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "profile/recorded.hpp"

namespace heddle::profile {

OrderedJson as_json(const core::Configuration& configuration) {
  OrderedJson out = OrderedJson::object();
  for (const auto& [name, value] : configuration.values)
    std::visit([&, &key = name](const auto& v) { out[key] = v; }, value);
  return out;
}

std::string to_line(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

void check(const Tried& tried) {
  const std::string name = core::to_string(tried.configuration);
  if (!tried.failure.empty() && !is_failure_word(tried.failure))
    throw core::InternalError(fmt::format("{}: '{}' is no word for a failure", name, tried.failure));
  if (tried.failure.empty() && !(tried.ms > 0 && std::isfinite(tried.ms)))
    throw core::InternalError(fmt::format("{}: neither a time nor a failure, but {} ms", name, tried.ms));
  for (const auto& [key, value] : tried.configuration.values) {
    const auto* real = std::get_if<double>(&value);
    if (real && !std::isfinite(*real)) throw core::InternalError(fmt::format("parameter {} is {}", key, *real));
  }
}

}  // namespace heddle::profile

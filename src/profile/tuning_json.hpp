// How both files of a tuning run, its progress and its results, write what was tried.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "profile/progress.hpp"

namespace heddle::profile {

using OrderedJson = nlohmann::ordered_json;  // parameters keep their order

OrderedJson as_json(const core::Configuration& configuration);
std::string to_line(const OrderedJson& value);  // ends in '\n'

// InternalError for what could not be read back: neither a time nor a failure, or a parameter that is infinite.
void check(const Tried& tried);

}  // namespace heddle::profile

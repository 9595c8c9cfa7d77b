// The trial builds that build_worker.hpp asks for, in the process that may die of them. Only the program `builder` does
// this; it watches that process, and answers for it when it is dead.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/settings.hpp"
#include "device/device.hpp"

namespace heddle::device {

constexpr std::chrono::seconds open_limit{10};  // for opening a device; NVIDIA's driver needs about 1

// All that the other process has to know of a device in order to open the same one.
std::string trial_device(const Info& device, const core::Settings& settings, Bytes memory);

// One answer as text, and back.
std::string outcome_of(const Status& status);
Status read_outcome(const std::string& text);

// Opens the device and says trial_opened, then serves requests until there are none: for each it says trial_taken,
// trial_built when only the first launch is to come, and at the end an outcome; before that trial_full where builds
// left so much memory behind that a later one might be blamed for it.
inline constexpr const char* trial_opened = "opened";
inline constexpr const char* trial_taken = "taken";
inline constexpr const char* trial_built = "built";
inline constexpr const char* trial_full = "full";
void serve_trials(const std::string& device, const std::function<std::optional<std::string>()>& next,
                  const std::function<void(const std::string&)>& say);

}  // namespace heddle::device

// `heddle profile`: look at, carry away, bring in and forget what was measured.
#pragma once

#include "core/settings.hpp"

namespace CLI {
class App;
}

namespace heddle::front::cli {

// The settings are read when the command runs and must live until then. Throws core::UsageError from the parse.
void add_profile_command(CLI::App& app, const core::Settings& settings, int& exit_code);

}  // namespace heddle::front::cli

// The store as JSON, to carry what one machine learnt to another or into another tool.
#pragma once

#include <string>

#include "profile/contents.hpp"

namespace heddle::profile {

constexpr int exchange_version = 1;

// {"heddle_profile": 1, "names": {fingerprint: name}, "records": [{kernel, variant, parameters, device, shape, count,
// mean_ns_per_point, m2, least, most, failures: {kind: times}, samples: [{points, duration_ns, bytes_in, bytes_out,
// contention, when}]}]}. `when` is in milliseconds since 1970; mean, least and most are nanoseconds per point, m2 is
// the sum of squared differences from the mean. What from_json would refuse is brought to the nearest that it accepts,
// or left out where there is none.
std::string to_json(const Contents& contents);

// The inverse. A `when` from the future, more than a day from now, becomes now. Everything else is checked: UsageError
// names `source` and the place, as line and column where it is not JSON and as "records[3].samples[0].points" where a
// value is wrong, and says what was expected and what is there.
Contents from_json(const std::string& text, const std::string& source);

}  // namespace heddle::profile

// One line for each result, so that two files can be compared by eye.
#include "profile/t4.hpp"

#include <ctime>

#include "profile/tuning_json.hpp"

namespace heddle::profile {

namespace {

std::string timestamp(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm utc{};
  if (!::gmtime_r(&time, &utc)) return "";  // a year that does not fit
  char text[64];
  text[std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S+00:00", &utc)] = 0;
  return text;
}

OrderedJson result(const Tried& tried) {
  check(tried);
  const bool failed = !tried.failure.empty();
  OrderedJson measurements = OrderedJson::array();
  if (!failed) measurements.push_back({{"name", "time"}, {"value", tried.ms}, {"unit", "milliseconds"}});
  return {{"timestamp", timestamp(tried.seconds_since_epoch)},
          {"configuration", as_json(tried.configuration)},
          {"objectives", OrderedJson::array({"time"})},
          {"times", {{"compilation_time", tried.build_ms}}},
          {"invalidity", failed ? tried.failure : "correct"},
          {"correctness", failed ? 0 : 1},
          {"measurements", measurements}};
}

}  // namespace

std::string t4_text(const Tuned& tuned, const std::vector<Tried>& tried) {
  const OrderedJson metadata = {{"timeunit", "milliseconds"},
                                {"kernel_name", tuned.kernel},
                                {"device_name", tuned.device},
                                {"problem_size", tuned.problem}};
  std::string out = "{\"schema_version\": \"1.0.0\",\n\"metadata\": " + to_line(metadata) + ",\"results\": [\n";
  for (std::size_t i = 0; i < tried.size(); ++i) out += (i ? "," : "") + to_line(result(tried[i]));
  return out + "]}\n";
}

}  // namespace heddle::profile

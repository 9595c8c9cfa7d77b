// The description of fake devices as values; its format stands in fake_device.hpp.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"

namespace heddle::device {

// What the n-th call of one kind does instead of succeeding.
enum class Mishap { fail, fail_late, lost, lost_late, hang };

enum class Call { build, allocation, launch, write, read };
constexpr const char* call_names[] = {"build", "allocation", "launch", "write", "read"};
constexpr std::size_t calls = std::size(call_names);

constexpr double at_once = std::numeric_limits<double>::infinity();  // the rate of what takes no time

struct Description {
  Info info;
  double rate = 0;
  std::map<std::string, double> kernel_rates;
  Nanoseconds launch{0}, copy{0}, build{0};  // latencies of launches and copies, time of a build
  double copy_in = at_once, copy_out = at_once, copy_within = at_once;
  int copy_engines = 1;
  double noise = 0;
  std::uint64_t seed = 1;
  std::map<std::int64_t, Mishap> mishaps[calls];  // by the number of the call
  std::map<std::int64_t, double> slow;            // factor by the launch from which on it holds
};

// UsageError "line 3: ..." for what is no description.
std::vector<Description> parse_description(std::string_view text);

}  // namespace heddle::device

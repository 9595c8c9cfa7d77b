// What suites need that call OpenCL as a plain program does.
#pragma once

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>

#include "bench/frame.hpp"
#include "device/chosen.hpp"

namespace heddle::bench {

inline void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) throw Failed{device::failed(core::FailureKind::unsupported, call, code)};
}

inline double microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

inline std::optional<std::string> from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace heddle::bench

// All OpenCL devices of the machine, and the CPU in halves, opened once per test program.
#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

#include "device/machine.hpp"

namespace heddle::device {

inline std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (!value) return std::nullopt;
  return value;
}

inline core::Settings test_settings(const std::string& devices, const std::string& cache = "") {
  core::Settings settings = core::read_settings([](const std::string&) { return std::nullopt; });
  settings.devices = devices;
  settings.cache = cache;
  settings.cache_limit = 64 << 20;
  return settings;
}

// Leaked on purpose: drivers dislike being closed by static destructors.
inline std::vector<Device*> every_device() {
  static auto& machines = *new std::vector<Machine>;
  if (machines.empty()) {
    machines.push_back(open_machine(test_settings("all"), process_environment));
    bool halves = false;
    for (auto& d : machines.front().devices) halves = halves || (d->info().id == "cpu" && d->info().units >= 2);
    if (halves) machines.push_back(open_machine(test_settings("cpu/2"), process_environment));
  }
  std::vector<Device*> out;
  for (auto& machine : machines) {
    for (auto& device : machine.devices) out.push_back(device.get());
  }
  return out;
}

inline std::string device_name(const testing::TestParamInfo<Device*>& info) {
  std::string name = info.param->info().id;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

template <class T>
T must(core::Result<T> result) {
  if (!result) throw std::runtime_error(result.failure().what + "\n" + result.failure().log);
  return std::move(result).value();
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& v) {
  return std::as_bytes(std::span(v));
}
template <class T>
std::span<std::byte> bytes_of(std::vector<T>& v) {
  return std::as_writable_bytes(std::span(v));
}

}  // namespace heddle::device
